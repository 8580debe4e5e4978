#!/usr/bin/env bash
# Every test: those of live nodes, which mostly wait, and beside them those that only compute.
# What computes is reported when it has ended; the exit code is that of whatever failed.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
mkdir -p build
python -m pytest test --ignore=test/nodes --ignore=test/tools --junit-xml=build/test_core.xml > build/test_core.txt 2>&1 &
computing=$!
trap 'kill $computing 2> /dev/null' INT TERM
python -m pytest test/nodes test/tools --junit-xml=build/test_nodes.xml
live=$?
wait $computing
computed=$?
cat build/test_core.txt
exit $((live > computed ? live : computed))
