r"""The lock: every package that is installed, at one version, with the hashes of all its files.

``make pins`` writes it with uv, which says in comments what needs each package::

    cmeel==0.62.0 \
        --hash=sha256:... \
        --hash=sha256:...
        # via
        #   -r setup/requirements.txt
        #   pin

``python setup/lock.py LOCK NAME...`` prints what the lock has of these packages and of what they need; without names,
what it has otherwise than setup/constraints.txt: packages of other versions, and what these need.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LOCK, BESIDE_NUMPY_1 = FOLDER / "constraints.txt", FOLDER / "constraints-numpy-1.txt"
ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?P<rest>(?:.*\n)(?:[ \t].*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """A package in a lock.

    Attributes:
        name: normalized name.
        version: its version.
        text: its lines.
        needed_by: normalized names of the packages that need it.
    """

    name: str
    version: str
    text: str
    needed_by: frozenset[str]


def normalized(name: str) -> str:
    """Returns a package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path = LOCK) -> dict[str, Pin]:
    """Returns the packages of a lock by name."""
    found = {}
    for entry in ENTRY.finditer(path.read_text()):
        name = normalized(entry["name"])
        via = re.findall(r"^\s+#\s+(?:via )?([A-Za-z0-9][A-Za-z0-9._-]*)$", entry["rest"], re.MULTILINE)
        found[name] = Pin(name, entry["version"], entry[0], frozenset(map(normalized, via)) - {"via"})
    return found


def merged(usual: Mapping[str, Pin], other: Mapping[str, Pin]) -> dict[str, Pin]:
    """Returns a lock with the entries of another one, whose packages no longer need what they did in other versions."""
    changed = {pin.name for pin in other.values() if pin.name in usual and usual[pin.name].version != pin.version}
    kept = {pin.name: replace(pin, needed_by=pin.needed_by - changed) for pin in usual.values()}
    return kept | dict(other)


def with_needs(pins: Mapping[str, Pin], names: Iterable[str]) -> list[Pin]:
    """Returns the packages of these names, and all that they need, in the order of the lock."""
    wanted = {normalized(name) for name in names}
    if unknown := wanted - set(pins):
        sys.exit(f"not in the lock: {', '.join(sorted(unknown))}; run `make pins`")
    while more := {pin.name for pin in pins.values() if pin.needed_by & wanted} - wanted:
        wanted |= more
    return [pin for pin in pins.values() if pin.name in wanted]


def main() -> None:
    """Prints a part of a lock."""
    path, *names = sys.argv[1:]
    pins = read_lock(Path(path))
    if names:
        chosen = with_needs(pins, names)
    else:
        usual = read_lock()
        changed = {pin.name for pin in pins.values() if pin.name not in usual or usual[pin.name].version != pin.version}
        chosen = [pin for pin in pins.values() if pin.name in changed or pin.needed_by & changed]
    print("".join(pin.text for pin in chosen), end="")


if __name__ == "__main__":
    main()
