"""MessageDefinition: text of a message type and all nested types, as stored in recordings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.packages import Packages

SEPARATOR = "=" * 80
TYPE_NAME = re.compile(r"(?P<package>\w+)/(msg/)?(?P<name>\w+)")
FIELD = re.compile(
    r"^[ \t]*(?P<type>[\w/]+)(?P<bound><=\d+)?(?P<array>\[[^\]]*\])?[ \t]+(?P<name>\w+)[ \t]*(?P<constant>=)?", re.M
)
PRIMITIVES = frozenset(
    ("bool", "byte", "char", "float32", "float64", "string", "wstring")
    + tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
)

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MessageDefinition:
    """A message type in the ``ros2msg`` format of MCAP files, arranged as in rosbag2.

    The text of the type is first. Each nested type follows once, after a line of 80 ``=`` and a line
    ``MSG: PACKAGE/NAME``.
    """

    type_name: str  # `PACKAGE/msg/NAME`
    text: str  # definition of the type and of all nested types

    @classmethod
    def find(cls, type_name: str, packages: Packages) -> MessageDefinition:
        """Read the definition from the installed ``share/PACKAGE/msg/NAME.msg``, including nested types.

        Raises:
            ConfigError: a definition is not installed, or the name is not that of a message.
        """
        return cls.of(type_name, _installed(type_name, packages), packages)

    @classmethod
    def of(cls, type_name: str, definition: str, packages: Packages) -> MessageDefinition:
        """Complete the definition of a type, which need not be installed, by the installed nested types.

        Raises:
            ConfigError: a nested type is not installed.
        """
        seen: set[str] = set()

        def collect(name: str, text: str) -> Iterator[str]:
            yield text
            for inner in sorted(_inner_types(text, name)):
                if inner not in seen:
                    seen.add(inner)
                    yield f"\n{SEPARATOR}\nMSG: {inner}\n"
                    yield from collect(inner, _installed(inner, packages))

        return cls(type_name, "".join(collect(type_name, definition)))

    def layout(self) -> dict[str, Fields]:
        """Return (type, name) of every field of every type, in order; equal layouts have the same serialized form.

        Comments, constants, default values and the order of the types do not matter.
        """
        first, *others = re.split(rf"^{SEPARATOR}$\n", self.text, flags=re.M)
        layout = {_short(self.type_name): _fields(first, self.type_name)}
        for other in others:
            heading, _, text = other.partition("\n")
            name = _short(heading.removeprefix("MSG:").strip())
            layout[name] = _fields(text, name)
        return layout


def _installed(type_name: str, packages: Packages) -> str:
    found = TYPE_NAME.fullmatch(type_name)
    if found is None:
        raise ConfigError(f"'{type_name}' is not of the form PACKAGE/msg/NAME")
    share = packages.share(found["package"])
    path = share / "msg" / f"{found['name']}.msg" if share else None
    if path is None or not path.is_file():
        raise ConfigError(
            f"definition of '{type_name}' is not installed: source the workspace that holds package"
            f" '{found['package']}'"
        )
    return path.read_text(encoding="utf-8")


def _short(type_name: str) -> str:
    return type_name.replace("/msg/", "/")


def _full(field_type: str, owner: str) -> str:
    """Return the type of a field with its package; a type without a package belongs to the owner's package."""
    if field_type in PRIMITIVES:
        return field_type
    return _short(field_type) if "/" in field_type else f"{owner.partition('/')[0]}/{field_type}"


def _inner_types(text: str, owner: str) -> set[str]:
    return {_full(field["type"], owner) for field in FIELD.finditer(text) if field["type"] not in PRIMITIVES}


def _fields(text: str, owner: str) -> Fields:
    return tuple(
        (_full(field["type"], owner) + (field["bound"] or "") + (field["array"] or ""), field["name"])
        for field in FIELD.finditer(text)
        if not field["constant"]
    )
