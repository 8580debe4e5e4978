#!/usr/bin/env bash
# Writes setup/constraints.txt: resolves the requirements in an empty environment, without the versions held so far.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

base_python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
rm -rf build/pins
"$base_python" -m venv build/pins
build/pins/bin/python -m pip install --upgrade pip 'setuptools<80' wheel
build/pins/bin/python -m pip install --no-build-isolation \
    -r setup/requirements.txt -r setup/requirements-ros.txt -r setup/requirements-dev.txt
{
    echo "# Everything the requirements files pull in, at the versions that were tried together; written by \`make pins\`."
    # Not `pip freeze`: the ROS 2 wheels carry metadata of their Python halves, which are in no index.
    build/pins/bin/python -c '
from importlib.metadata import distributions
pinned = {d.metadata["Name"].lower().replace("_", "-") + "==" + d.version for d in distributions() if d.read_text("INSTALLER")}
print(*sorted(pinned), sep="\n")'
} > build/constraints.txt
mv build/constraints.txt setup/constraints.txt
rm -rf build/pins
