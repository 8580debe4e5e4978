"""Prints what a ROS 2 installation leaves to be added, out of the lock: versions and hashes.

A requirement names its module in a comment, and perhaps the version that goes with an installation's older NumPy:
``pin==4.1.0  # import pinocchio; beside numpy 1: pin==2.7.0``. What imports is left alone; the rest is added with all
that it needs, except NumPy, against which the installation's messages are compiled.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy
from lock import BESIDE_NUMPY_1, Pin, merged, normalized, read_lock, with_needs

LINE = re.compile(r"(?P<name>[^\s#=]+)==\S+\s+# import (?P<module>[^\s;]+)(; beside numpy 1: \S+)?")


def imports(module: str) -> bool:
    """Returns whether the module is there and loads; in a process of its own, as a broken one may take it down."""
    if importlib.util.find_spec(module) is None:
        return False
    return module.endswith("-stubs") or subprocess.run([sys.executable, "-c", f"import {module}"]).returncode == 0


def installed(name: str) -> str:
    """Returns the version of a package that is installed, or an empty string."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def missing(pins: Mapping[str, Pin], requirements: Iterable[str], more: Iterable[str] = ()) -> list[Pin]:
    """Returns what is to be installed.

    Args:
        pins: the lock.
        requirements: texts of requirement files.
        more: further packages, whatever imports.
    """
    there, wanted = {"numpy"}, set(more)
    for text in requirements:
        for found in LINE.finditer(text):
            (there if imports(found["module"]) else wanted).add(normalized(found["name"]))
    needed = with_needs(pins, wanted - {"numpy"})
    return [pin for pin in needed if pin.name not in there and installed(pin.name) != pin.version]


def main() -> None:
    """Prints the entries of the lock for the requirement files given, and for packages after ``--``."""
    files, _, more = "\n".join(sys.argv[1:]).partition("\n--\n")
    pins = read_lock()
    if numpy.__version__.startswith("1."):
        pins = merged(pins, read_lock(BESIDE_NUMPY_1))
    texts = [Path(name).read_text() for name in files.split("\n")]
    print("".join(pin.text for pin in missing(pins, texts, more.split())), end="")


if __name__ == "__main__":
    main()
