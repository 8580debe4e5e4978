#!/usr/bin/env bash
# Every test, in two processes that take equally long: single live nodes, which mostly wait, and the simulated plant;
# beside them the core and the tools, which are reported when they have ended. The exit code is that of whatever failed.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build
python -m pytest test --ignore=test/nodes --ignore=test/sim --junit-xml=build/test_others.xml > build/test_others.txt 2>&1 &
others=$!
trap 'kill $others 2> /dev/null' INT TERM
python -m pytest test/nodes test/sim --junit-xml=build/test_nodes.xml
live=$?
wait $others
ended=$?
cat build/test_others.txt
exit $((live > ended ? live : ended))
