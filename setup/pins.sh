#!/usr/bin/env bash
# Writes the lock anew from the requirements, without the versions held so far: setup/constraints.txt, and what differs
# from it beside an installation's NumPy 1. All files of a version are hashed, for any Python and machine.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

rm -rf build/pins
mkdir -p build/pins
locked() {
    .venv/bin/uv pip compile --quiet --no-config --default-index "${PIP_INDEX_URL:-https://pypi.org/simple}" \
        --generate-hashes --no-header --python-version "$1" --python-platform x86_64-manylinux_2_28 "${@:2}"
}
# what packages without wheels are built with
printf '%s\n' pip 'setuptools<80' wheel > build/pins/builders.txt
{
    echo "# Everything that is installed, at the versions that were tried together, with the hashes of all its files;"
    echo "# written by \`make pins\`."
    locked 3.11 setup/requirements.txt setup/requirements-ros.txt setup/requirements-dev.txt build/pins/builders.txt
} > build/pins/constraints.txt
mv build/pins/constraints.txt setup/constraints.txt

sed -E 's/^numpy==\S+/numpy==1.26.4/; s/^\S+(.*; beside numpy 1: (\S+))/\2\1/' \
    setup/requirements.txt setup/requirements-dev.txt > build/pins/beside.txt
cp setup/constraints.txt build/pins/numpy-1.txt  # uv keeps these versions where it can
locked 3.12 build/pins/beside.txt --output-file build/pins/numpy-1.txt > /dev/null
{
    echo "# What differs from constraints.txt beside an installation's NumPy 1; written by \`make pins\`."
    .venv/bin/python setup/lock.py build/pins/numpy-1.txt
} > setup/constraints-numpy-1.txt
rm -rf build/pins
