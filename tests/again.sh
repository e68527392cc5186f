#!/usr/bin/env bash
# again.sh COMMAND...: a test of what takes how long. One that fails has a second try, after both of which it has failed;
# status 77 is "skipped". What both print stays.
"$@"
status=$?
case $status in 0 | 77) exit $status ;; esac
echo "---- status $status: this test looks at times, so it is run once more ----"
exec "$@"
