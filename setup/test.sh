#!/usr/bin/env bash
# Every test: those of single live nodes, which mostly wait, and beside them what computes and then the tools.
# The latter are reported when they have ended; the exit code is that of whatever failed.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build
python -m pytest test --ignore=test/nodes --junit-xml=build/test_others.xml > build/test_others.txt 2>&1 &
others=$!
trap 'kill $others 2> /dev/null' INT TERM
python -m pytest test/nodes --junit-xml=build/test_nodes.xml
live=$?
wait $others
ended=$?
cat build/test_others.txt
exit $((live > ended ? live : ended))
