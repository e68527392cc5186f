#!/usr/bin/env bash
# Colours: on a terminal, unless NO_COLOR or --color says otherwise; never in a file or a pipe by themselves.
. "$(dirname "$0")/common.bash"
unset NO_COLOR
export TERM=xterm
escape=$(printf '\033')

# terminal ARGUMENTS...: what the command prints on a terminal of its own.
terminal() {
  python3 - "$TENON" "$@" >out <<'PYTHON'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while data := os.read(fd, 65536):
        os.write(1, data)
except OSError:
    pass
os.waitpid(pid, 0)
PYTHON
}
coloured() { grep -q "$escape\[" out || complain "$1: no colours: $(head -3 out)"; }
plain() { ! grep -q "$escape\[[0-9;]*m" out || complain "$1: colours: $(head -3 out | cat -v)"; }
tree=(show 'C[i<8, j<8] = A[i,j]' -s 'parallel(C, i); vectorize(C, j)' --emit=tree)

terminal "${tree[@]}" && coloured 'a tree on a terminal'
grep -q "$escape\[35mparallel$escape\[0m i (8)" out || complain "the annotation has no colour: $(cat -v out)"
terminal show none.te && coloured 'an error on a terminal'
terminal doctor && coloured 'doctor on a terminal'
terminal "${tree[@]}" --color=never && plain '--color=never'
NO_COLOR=1 terminal "${tree[@]}" && plain 'NO_COLOR'
NO_COLOR= terminal "${tree[@]}" && coloured 'an empty NO_COLOR'
NO_COLOR=1 terminal "${tree[@]}" --color=always && coloured '--color counts more than NO_COLOR'
TERM=dumb terminal "${tree[@]}" && plain 'a terminal without colours'
terminal show "${tree[1]}" --emit=program && plain 'a program'

run "${tree[@]}" && plain 'a file'
run "${tree[@]}" --color always && coloured '--color=always into a file'
sed "s/$escape\[[0-9;]*m//g" out >bare
run "${tree[@]}" && cmp -s out bare || complain "colours change more than colours: $(diff out bare)"
run show none.te --color=always
mv err out && coloured '--color=always of an error'
refuses 2 "--color takes auto, always or never, not 'maybe'" show x --color=maybe
refuses 2 'did you mean --color?' show x --colour
exit $status
