#!/usr/bin/env bash
# Every test but the long ones, in two processes that take equally long: single live nodes, which mostly wait; beside them
# the others, which are reported when they have ended. The exit code is that of whatever failed.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build
extra=test/sim/test_drive_limits.py  # goes with the nodes, so that both take equally long
python -m pytest test --ignore=test/nodes --ignore=$extra --junit-xml=build/test_others.xml > build/test_others.txt 2>&1 &
others=$!
trap 'kill $others 2> /dev/null' INT TERM
python -m pytest test/nodes $extra --junit-xml=build/test_nodes.xml
live=$?
wait $others
ended=$?
cat build/test_others.txt
exit $((live > ended ? live : ended))
