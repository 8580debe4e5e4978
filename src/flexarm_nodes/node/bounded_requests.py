"""Bounds requests of services and goals of actions before Python objects are made of them.

rclpy makes a Python object of every part of a request, in the thread that answers joint states: 100,000 poses take
seconds, and a request may hold as many as a client likes. Here the parts are counted in the memory of the message first
(rosidl's C structures, in which a list is ``{data, size, capacity}``); of too many no object is made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from rosidl_parser.definition import (
    AbstractNestedType,
    Array,
    BasicType,
    NamespacedType,
)

from flexarm_core.joint_trajectory.points import MOST_POINTS
from flexarm_nodes.messages.cdr import kind_of, slots_of

MOST_PARTS = (
    1000  # messages and texts in the lists of a request; one takes 20 us, and several times that on a busy machine
)
MOST_NUMBERS = 100_000  # numbers in its lists
TOO_LARGE = (
    f"the request holds more than {MOST_PARTS} parts, {MOST_NUMBERS} numbers, or {MOST_POINTS} points of a trajectory:"
    " send less at a time"
)

# Called with a message in C: takes lists out of it, and returns what puts them back, and into the converted message.
SetAside = Callable[[Any], tuple[Callable[[], None], Callable[[Any], None]]]

_NUMBERS = {
    "boolean": ctypes.c_bool, "octet": ctypes.c_uint8, "char": ctypes.c_uint8, "wchar": ctypes.c_uint16,
    "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "int16": ctypes.c_int16, "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64, "uint64": ctypes.c_uint64,
    "float": ctypes.c_float, "double": ctypes.c_double, "long double": ctypes.c_longdouble,
}  # fmt: skip
_CONVERT = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)  # (message in C) -> object
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _List(ctypes.Structure):
    """A list or a text in a message."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


def bound_service(service: Any) -> None:
    """Let a service get an empty request for which :func:`is_too_large` holds in the place of one that is too large."""
    kind = service.srv_type
    service.srv_type = SimpleNamespace(Request=_bounded(kind.Request), Response=kind.Response)


def bound_message(kind: Any, set_aside: SetAside) -> Any:
    """Return what stands for a message type where bytes are deserialized to messages of a bounded size."""
    return _bounded(kind, set_aside)


def bound_action(action: Any, set_aside: SetAside | None = None) -> Any:
    """Return what stands for an action's type in a server that is to get goals of a bounded size; see bound_service."""
    request = action.Impl.SendGoalService.Request
    goal = SimpleNamespace(Request=_bounded(request, set_aside), Response=action.Impl.SendGoalService.Response)
    parts = {name: getattr(action.Impl, name) for name in dir(action.Impl) if not name.startswith("_")}
    return SimpleNamespace(
        Goal=action.Goal,
        Result=action.Result,
        Feedback=action.Feedback,
        Impl=SimpleNamespace(**(parts | {"SendGoalService": goal})),
    )


def is_too_large(request: Any) -> bool:
    """Return whether this request stands for one that was too large, and is empty for that reason."""
    return isinstance(request, _TooLarge)


class _TooLarge:
    """Base of the classes of requests that stand for others."""

    __slots__ = ()


@cache
def _bounded(kind: Any, set_aside: SetAside | None = None) -> Any:
    """Return a class that stands for a message type where rclpy converts a message; its objects are of the type."""
    meta, structure = type(kind), _structure(kind)
    meta.__import_type_support__()
    original = meta._CONVERT_TO_PY
    convert = _CONVERT(_capsule_pointer(original, _capsule_name(original)))
    nothing: Any = lambda *_: None  # noqa: E731
    instead: Any = type(f"TooLarge{kind.__name__}", (_TooLarge, kind), {"__slots__": ()})

    def converted(message: int) -> Any:
        held, left = structure.from_address(message), [MOST_PARTS, MOST_NUMBERS]
        put_back, fill = nothing, nothing
        try:
            if set_aside is not None:
                put_back, fill = set_aside(held)
            _count(held, kind, left)
            made = convert(message)
            fill(made)
        except OverflowError:
            return instead()
        finally:
            put_back()
        return made

    bounded = _CONVERT(converted)
    address = ctypes.cast(bounded, ctypes.c_void_p).value
    attributes = {name: getattr(meta, name) for name in dir(meta) if name.startswith("_") and name.isupper()}
    attributes |= {"_CONVERT_TO_PY": _new_capsule(address, None, None), "_kept": bounded}
    return type(f"Bounded{meta.__name__}", (type,), attributes)(f"Bounded{kind.__name__}", (), {})


@cache
def _structure(kind: Any) -> Any:
    """Return the C structure of a message type."""
    fields = [(slot, _in_c(part)) for slot, part in zip(slots_of(kind), kind.SLOT_TYPES, strict=True)]
    return type(kind.__name__, (ctypes.Structure,), {"_fields_": fields or [("empty", ctypes.c_uint8)]})


def _in_c(part: Any) -> Any:
    if isinstance(part, NamespacedType):
        return _structure(kind_of(part))
    if isinstance(part, Array):
        return _in_c(part.value_type) * part.size
    if isinstance(part, BasicType):
        return _NUMBERS[part.typename]
    return _List  # texts and lists without a fixed size


def _count(message: Any, kind: Any, left: list[int]) -> None:
    """Take the parts and numbers of a message from those that are left; OverflowError: it has more."""
    for slot, part in zip(slots_of(kind), kind.SLOT_TYPES, strict=True):
        if isinstance(part, NamespacedType):
            _count(getattr(message, slot), kind_of(part), left)
        elif isinstance(part, AbstractNestedType):
            _count_list(getattr(message, slot), part, left)


def _count_list(held: Any, part: Any, left: list[int]) -> None:
    inner = part.value_type
    fixed, numbers = isinstance(part, Array), isinstance(inner, BasicType)
    size = part.size if fixed else held.size
    left[numbers] -= size
    if min(left) < 0:
        raise OverflowError
    if not size or not isinstance(inner, NamespacedType):
        return
    kind = kind_of(inner)
    items = held if fixed else (_structure(kind) * size).from_address(held.data)
    for item in items:
        _count(item, kind, left)
