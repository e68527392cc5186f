#!/usr/bin/env bash
# README.md from the clone to a tuned product that one's own C file calls, the same in Python, and its example with an installed Tenon: its
# commands, as they stand there, one after another in an environment that knows nothing; fewer than ten each, none that fails, with the time
# of each. What is cloned is what is committed, and it is built.
#
# In the test suite this machine's packages are taken, but for the tests' (a user has none of them), and ccache's memory of the last time lies
# in the build folder. With CLONE_TO_USE_WHOLE=1 (`make clone-to-use`) there is a root of its own, where debootstrap and the rights for it are
# at hand: then Debian's packages are installed there, too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
whole=${CLONE_TO_USE_WHOLE:-}
if [ -z "$whole" ] && ! grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then
  exit 0 # the programs are not instrumented
fi

# What stands in README.md: the commands of C (0) or Python (1) and of the installation (2), and the files that they use.
python3 - "$TENON_SOURCE/README.md" "$work" <<'PYTHON'
import re, sys
text, work = open(sys.argv[1]).read(), sys.argv[2]
installed = next(b for b in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) if "PREFIX=" in b)
open(f"{work}/commands.2", "w").write("git clone REPOSITORY tenon\ncd tenon\n" + installed)
open(f"{work}/mine.example.c", "w").write(next(b for b in re.findall(r"^```c\n(.*?)^```", text, re.M | re.S) if "int main" in b))
section = re.search(r"^## From clone to a tuned kernel\n(.*?)^## ", text, re.M | re.S).group(1)
for number, block in enumerate(re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)):
    open(f"{work}/commands.{number}", "w").write(block)
for name, block in re.findall(r"^```\w+ (mine\.\w+)\n(.*?)^```", section, re.M | re.S):
    open(f"{work}/{name}", "w").write(block)
PYTHON

# A clone has what is committed; where the sources are no repository, a copy of them is made one.
origin=$TENON_SOURCE
if ! git -C "$origin" rev-parse --git-dir >/dev/null 2>&1; then
  origin=$work/origin
  mkdir "$origin"
  tar -C "$TENON_SOURCE" --exclude='./build*' -cf - . | tar -C "$origin" -xf -
  git -C "$origin" init -q
  git -C "$origin" add -A
  git -C "$origin" -c user.name=test -c user.email=test@localhost commit -qm "the sources"
fi
# Everything happens in ROOM, which the commands see as SEEN.
root='' room=$work/room seen=$work/room
if [ -n "$whole" ] && [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null; then
  root=$work/root
  if debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap" 2>&1; then
    room=$root/room seen=/room
    trap 'umount "$root/proc" 2>/dev/null; rm -rf "$work"' EXIT
    mount -t proc proc "$root/proc" 2>/dev/null || true
    [ -s "$root/etc/resolv.conf" ] || cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
    cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
    echo "in a root of its own, of debootstrap"
  else
    echo "debootstrap failed, an empty environment is taken: $(tail -1 "$work/debootstrap")"
    root=''
  fi
fi
mkdir "$room"
git clone -q --bare "$origin" "$room/tenon.git"

# Packages are installed in a root of its own only; else the line is left out, and that is said.
is_here() { case $1 in apt-get*) [ -n "$root" ] ;; *) true ;; esac; }

# What a line of README.md is here. A folder that is configured without tests stays so.
meant() {
  case $1 in
  'git clone REPOSITORY '*) echo "git clone -q $seen/tenon.git tenon" ;;
  'make build' | 'make install'*) [ -n "$whole" ] && echo "$1" || echo "cmake --preset release -DBUILD_TESTING=OFF && $1" ;;
  *) echo "$1" ;;
  esac
}

# write_script NUMBER: the commands of a block for one shell, each with the seconds that it takes. `log` gets what they print.
write_script() {
  echo "set -eu; cd $seen/home.$1"
  while IFS= read -r command; do
    if ! is_here "$command"; then
      echo "echo '          left out: $command'"
      continue
    fi
    printf 'began=$(date +%%s.%%N)\n{ %s; } >>%s 2>&1\n' "$(meant "$command")" "$seen/home.$1/log"
    printf 'echo "$(date +%%s.%%N) $began" | awk %s\n' "'{ printf \"%7.1f s  %s\n\", \$1 - \$2, \"$command\" }'"
    [ "$command" != 'cd tenon' ] || echo "cp $seen/home.$1/mine.* .; cp mine.example.c example.c"
  done <"$work/commands.$1"
}

# follow NUMBER: runs them; the log's last line is what the program or the script printed.
follow() {
  local home=$room/home.$1 n
  n=$(grep -c . "$work/commands.$1")
  [ "$n" -lt 10 ] || { echo "FAILED: README.md needs $n commands"; return 1; }
  mkdir "$home"
  cp "$work"/mine.* "$home/"
  write_script "$1" >"$room/follow.$1"
  local clean=(env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME="$seen/home.$1" DEBIAN_FRONTEND=noninteractive)
  if [ -z "$whole" ] && command -v ccache >/dev/null; then
    clean+=(CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR="$TENON_BUILD/ccache" CCACHE_BASEDIR="$home" CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=1G)
  fi
  clean+=(bash "$seen/follow.$1")
  [ -z "$root" ] || clean=(chroot "$root" "${clean[@]}")
  "${clean[@]}" || { echo "FAILED: a command of README.md; its output ends with"; tail -20 "$home/log"; return 1; }
  tail -1 "$home/log"
}

status=0
for number in 0 1 2; do
  began=$(date +%s)
  case $number in 0) echo "In C:" ;; 1) echo "In Python:" ;; *) echo "Installed:" ;; esac
  follow $number || status=1
  echo "$(($(date +%s) - began)) s in all"
done
exit $status
