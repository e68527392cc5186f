#!/usr/bin/env bash
# The four Debian packages from the build at hand: what is in which, what each needs, what Debian wants of every package.
# (`make deb` builds for /usr and lets lintian check; this looks at the same packing without building anew.)
. "$(dirname "$0")/common.bash"
command -v dpkg-shlibdeps >/dev/null || { complain "dpkg-dev is not installed: scripts/setup installs it"; exit 1; }
cd "$TENON_BUILD"
# Nobody is named unless somebody says who: `make deb` asks, and CPack refuses.
if cpack -B "$work" -D CPACK_OUTPUT_FILE_PREFIX="$work" -D CPACK_PACKAGE_CONTACT= >"$work/log" 2>&1; then
  complain "packages without a maintainer are made"
fi
make -C "$TENON_SOURCE" deb DEBFULLNAME= DEBEMAIL= >"$work/log" 2>&1 && complain "make deb names nobody"
grep -q "make deb DEBFULLNAME='Ada Lovelace' DEBEMAIL=ada@example.org" "$work/log" || complain "make deb does not say what to write: $(cat "$work/log")"
cpack -B "$work" -D CPACK_OUTPUT_FILE_PREFIX="$work" -D CPACK_PACKAGE_CONTACT='Ada Lovelace <ada@example.org>' >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
cd "$work"
shopt -s nullglob
declare -A file
for package in libtenon0 libtenon-dev tenon python3-tenon; do
  found=("$work"/${package}_*.deb "$work"/packages/${package}_*.deb)
  [ "${#found[@]}" -eq 1 ] || { complain "there is no package $package: $(ls "$work")"; exit 1; }
  file[$package]=${found[0]}
  dpkg-deb -c "${found[0]}" >"$package.list"
  grep -q "/usr/share/doc/$package/copyright$" "$package.list" || complain "$package has no copyright file"
  grep -q "/usr/share/doc/$package/changelog.Debian.gz$" "$package.list" || complain "$package has no changelog"
done
holds() { grep -qE "$2" "$1.list" || complain "$1 lacks $2: $(cat "$1.list")"; }
lacks() { if grep -qE "$2" "$1.list"; then complain "$1 should not hold $2"; fi; }
holds libtenon0 '/libtenon\.so\.0\.'
holds libtenon0 '/libtenon_profiler\.so\.0\.'
holds libtenon0 '/libtenon_profile\.so\.0\.'
lacks libtenon0 '/libtenon\.so ->'
holds libtenon-dev '/libtenon\.so ->'
holds libtenon-dev '/tenon/tenon\.h$'
holds libtenon-dev '/tenon/tenon\.hpp$'
holds libtenon-dev '/tenonConfig\.cmake$'
holds libtenon-dev '/tenon_profiler\.pc$'
holds libtenon-dev '/tenon_profile\.pc$'
holds tenon '/bin/tenon$'
holds tenon '/man1/tenon-tune\.1'
holds tenon '/bash-completion/completions/tenon$'
holds python3-tenon '/tenon/te\.py$'
needs() { dpkg-deb -f "${file[$1]}" Depends | grep -qF "$2" || complain "$1 does not depend on $2: $(dpkg-deb -f "${file[$1]}" Depends)"; }
[ "$(dpkg-deb -f "${file[tenon]}" Maintainer)" = 'Ada Lovelace <ada@example.org>' ] || complain "the packages name another maintainer"
needs libtenon0 libllvm19
needs libtenon-dev 'libtenon0 (='
needs libtenon-dev libdlpack-dev
needs tenon libllvm19
needs python3-tenon python3-numpy
exit $status
