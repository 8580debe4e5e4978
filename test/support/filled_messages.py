"""Messages whose every field has a value."""

from __future__ import annotations

from array import array

from rosidl_parser.definition import Array, BasicType, NamespacedType, UnboundedSequence, UnboundedString

TEXTS = ("", "a", "base", "tool_ft_sensor", "Gelenk für Öl")  # every alignment of what follows


def fill(message, rng) -> None:
    """Give every field of a message, however deep, a value of its type."""
    for slot, part in zip(message.__slots__, message.SLOT_TYPES, strict=False):
        setattr(message, slot[1:], some(part, getattr(message, slot), rng))


def some(part, before, rng):
    if isinstance(part, NamespacedType):
        fill(before, rng)
        return before
    if isinstance(part, UnboundedString):
        return str(rng.choice(TEXTS))
    if isinstance(part, BasicType):
        if part.typename == "boolean":
            return bool(rng.integers(2))
        if part.typename == "octet":
            return bytes([rng.integers(4)])
        return float(rng.normal()) if part.typename in ("double", "float") else int(rng.integers(100))
    count = part.size if isinstance(part, Array) else int(rng.integers(4))
    assert isinstance(part, Array | UnboundedSequence)
    if isinstance(part.value_type, NamespacedType):
        module = __import__(".".join(part.value_type.namespaces), fromlist=["x"])
        values = [getattr(module, part.value_type.name)() for _ in range(count)]
        for value in values:
            fill(value, rng)
        return values
    values = [some(part.value_type, None, rng) for _ in range(count)]
    return before.__class__(before.typecode, values) if isinstance(before, array) else values
