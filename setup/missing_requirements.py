"""Prints the requirements whose module does not import here: what a ROS 2 installation leaves to be added.

A requirement names its module in a comment, and perhaps the version that goes with an installation's older NumPy:
``pin==4.1.0  # import pinocchio; beside numpy 1: pin==2.7.0``.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy

LINE = re.compile(r"(?P<newest>[^\s#]+)\s+# import (?P<module>[^\s;]+)(; beside numpy 1: (?P<older>\S+))?")
OLD_NUMPY = numpy.__version__.startswith("1.")


def imports(module: str) -> bool:
    """Returns whether the module is there and loads; in a process of its own, as a broken one may take it down."""
    if importlib.util.find_spec(module) is None:
        return False
    return module.endswith("-stubs") or subprocess.run([sys.executable, "-c", f"import {module}"]).returncode == 0


def main() -> None:
    """Prints one requirement a line for the files given."""
    for name in sys.argv[1:]:
        for found in LINE.finditer(Path(name).read_text()):
            if not imports(found["module"]):
                print(found["older"] if OLD_NUMPY and found["older"] else found["newest"])


if __name__ == "__main__":
    main()
