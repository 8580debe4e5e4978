"""Points the CMake exports of the ROS 2 wheels at this machine's headers.

The wheels' message packages name the Python and NumPy include folders of the machine that built them, which do not
exist here, and CMake refuses to link against such a target.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

import numpy

PYTHON = r"include/python[0-9.]+"
NUMPY = r"lib/python[0-9.]+/site-packages/numpy/_?core/include"
BUILDER = re.compile(rf"/opt/python/[^/;\"]+/(?:{PYTHON}|(?P<numpy>{NUMPY}))")


def corrected(text: str) -> str:
    """Returns the export file's text with the builder's include folders replaced by this interpreter's."""
    return BUILDER.sub(lambda found: numpy.get_include() if found["numpy"] else sysconfig.get_path("include"), text)


def main() -> None:
    """Corrects every export below the prefix given; can be run again at no harm."""
    count = 0
    for path in Path(sys.argv[1], "share").glob("*/cmake/*.cmake"):
        text = path.read_text()
        if (fixed := corrected(text)) != text:
            # Not in place: pip may have linked the file to its cache.
            path.unlink()
            path.write_text(fixed)
            count += 1
        if "/opt/python/" in fixed:
            sys.exit(f"{path} names a folder of the machine that built the wheel, in a form not known to {sys.argv[0]}")
    print(f"{count} CMake exports corrected")


if __name__ == "__main__":
    main()
