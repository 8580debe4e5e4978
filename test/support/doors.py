"""The walk: every public callable of flexarm_core is called with values that cannot be meant.

What a callable takes is built from its annotations: records and classes from their own constructors, arrays by the name
of the parameter, or by what fits. Where a call with good values works, each parameter of data (arrays, numbers, texts,
lists of them) is replaced by nonsense, one at a time. Allowed is an error of ours, a TypeError, or a result.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import importlib
import inspect
import itertools
import json
import pkgutil
import signal
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

import flexarm_core
from flexarm_core.errors import FlexarmError

HANG = 10  # [s]
NONSENSE: dict[str, Any] = {
    "empty": np.zeros(0),
    "short": np.zeros(1),
    "long": np.zeros(101),
    "huge": np.zeros(1_000_000),
    "matrix": np.zeros((3, 5)),
    "deep": np.zeros((2, 2, 2, 2)),
    "scalar": np.float64(0.5),
    "nan": "as the good value, with NaN",
    "inf": "as the good value, with inf",
    "text array": np.array(["a", "b"]),
    "object array": np.array([None, {}], dtype=object),
    "complex": np.zeros(2, dtype=complex),
    "list": [[1, 2], [3]],
    "none": None,
    "text": "nonsense",
    "dict": {"a": 1},
    "int": -(2**70),
    "bytes": b"\0",
}


@dataclasses.dataclass(frozen=True)
class Door:
    """A public callable.

    Attributes:
        name: with its module.
        call: takes the arguments by name; makes its own object first where it is a method.
        hints: annotations by parameter.
        required: parameters without a default.
    """

    name: str
    owner: type | None
    function: Callable[..., Any]
    hints: dict[str, Any]
    required: tuple[str, ...]


def doors(package: types.ModuleType = flexarm_core) -> Iterator[Door]:
    """Every public function, class and method that the package defines; kernels are what lies behind the doors."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.split(".")[-1] in ("warm", "warm_up", "compiled"):
            continue  # what compiles, and how
        module = importlib.import_module(info.name)
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or getattr(value, "__module__", None) != info.name or isinstance(value, Dispatcher):
                continue
            if inspect.isclass(value):
                if issubclass(value, BaseException) or getattr(value, "_is_protocol", False) or inspect.isabstract(value):
                    continue
                yield _door(f"{info.name}.{name}", None, value, value.__init__)
                for method, member in sorted(vars(value).items()):
                    if method.startswith("_"):
                        continue
                    if inspect.isfunction(member):
                        yield _door(f"{info.name}.{name}.{method}", value, member, member)
                    elif isinstance(member, (classmethod, staticmethod)):
                        yield _door(f"{info.name}.{name}.{method}", None, getattr(value, method), member.__func__)
            elif inspect.isfunction(value):
                yield _door(f"{info.name}.{name}", None, value, value)


def _door(name: str, owner: type | None, function: Callable[..., Any], annotated: Any) -> Door:
    try:
        hints = typing.get_type_hints(annotated)
    except Exception:
        hints = {}
    parameters = [p for p in inspect.signature(annotated).parameters.values() if p.name not in ("self", "cls")]
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = tuple(p.name for p in named if p.default is p.empty)
    return Door(name, owner, function, {p.name: hints.get(p.name, Any) for p in named}, required)


class Unknown(Exception):
    """No example of a type can be built."""


class Examples:
    """Good values by annotation and name of the parameter."""

    def __init__(self) -> None:
        """Build a robot of two links that bend on a spring, and what belongs to it."""
        from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
        from flexarm_core.behavior_impedance.arm_shape import build_arm_shape
        from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
        from flexarm_core.flexible_dynamics.model import FlexibleModel
        from flexarm_core.hardware_gate.limits import JointLimits
        from flexarm_core.ik_redundancy.chain import build_chain
        from flexarm_core.ik_redundancy.limits import MotionLimits
        from flexarm_core.path.pose_path import PosePath
        from flexarm_core.reaction_null_space.motion_limits import MotionBounds
        from flexarm_core.robot.arm_model import ArmModel
        from flexarm_core.robot.urdf_reader import parse_robot_description
        from flexarm_core.types import ArmState
        from flexarm_core.warm import ON_A_SPRING

        description = parse_robot_description(ON_A_SPRING)
        model, bent = ArmModel(description), FlexibleModel(description)
        chain = build_chain(description)
        self.n, self.m, self.size = model.n, model.m, bent.size
        state = ArmState(0, np.full(2, 0.3), np.zeros(2), np.zeros(1), np.zeros(1))
        ones = np.ones(2)
        made = (
            description, model, bent, chain, state, model.blocks(state), build_sensed_bodies(description, "base_ft_sensor"),
            build_arm_shape(description, chain, 0.05), next(iter(load_flexible_links(description).values())),
            JointLimits(-ones, ones, ones, ones, ones, ones, ones) if False else None,
            PosePath(np.zeros(3), np.eye(3), 0.2).line(np.array([0.1, 0.0, 0.0]), None),
        )  # fmt: skip
        self.made: dict[type, Any] = {type(value): value for value in made if value is not None}
        for kind in (JointLimits, MotionLimits, MotionBounds):
            self.made.pop(kind, None)
        self.text = ON_A_SPRING
        self.names: dict[str, Any] = {
            "position": np.full(2, 0.3), "velocity": np.zeros(2), "acceleration": np.zeros(2), "effort": np.zeros(2),
            "x": np.zeros(self.size), "v": np.zeros(self.size), "rotation": np.eye(3), "wrench": np.zeros(6),
            "deflection": np.zeros(1), "deflection_rate": np.zeros(1), "gravity": np.array([0.0, 0.0, -9.81]),
            "positions": np.full((4, 2), 0.3), "velocities": np.zeros((4, 2)), "H_b": np.eye(1), "K_b": np.eye(1),
            "matrix": np.eye(2), "frame": "base", "link": "outer", "sensor": "base_ft_sensor", "rows": np.eye(1),
            "lower": -np.ones(2), "upper": np.ones(2), "text": ON_A_SPRING, "tool_frame": "outer", "dt": 1e-3,
            "base_acceleration": np.zeros(1), "rate": np.zeros(1), "coordinates": np.array([0]), "stamp": 0,
            "selection": ("all",), "start": np.full(2, 0.3), "J": np.ones((2, 2)), "displacement": np.zeros(2),
            "offset": np.zeros(2), "gravity_in_base": np.zeros(3), "wrench_in_sensor": np.zeros(6), "time": 0.1,
            "axes": np.ones(6, dtype=bool), "friction": np.zeros(2), "name": "x", "wanted": "outer", "tool": "outer",
            "lower_bound": 0.0, "frames": np.zeros((3, 12)), "velocity_limit": np.ones(2), "effort_limit": np.ones(2),
            "joint_names": ("first", "second"), "names": ("first", "second"), "posture": np.full(2, 0.3),
        }  # fmt: skip

    def value(self, name: str, hint: Any, owner: str = "", depth: int = 0) -> Any:
        """An example for a parameter."""
        special = SPECIAL.get((owner, name))
        if special is not None:
            return special(self)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return self.value(name, next(a for a in arguments if a is not type(None)), owner, depth)
        if inspect.isclass(hint) and hint in self.made:
            return self.made[hint]
        if (origin is np.ndarray or hint is np.ndarray) and isinstance(self.names.get(name, np.zeros(0)), np.ndarray):
            return self.names.get(name, np.full(2, 0.1)).copy()
        if hint is float:
            found = self.names.get(name, 0.1)
            return found if isinstance(found, float) else 0.1
        if hint is int:
            return 2
        if hint is bool:
            return False
        if hint is str:
            found = self.names.get(name, "base")
            return found if isinstance(found, str) else "base"
        if hint is Path:
            raise Unknown("files: see the fuzz campaign")
        if origin is tuple:
            found = self.names.get(name)
            if found is not None and not isinstance(found, str):
                return tuple(found)
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return (self.value(name, arguments[0], owner, depth + 1),)
            return tuple(self.value(name, a, owner, depth + 1) for a in arguments)
        if origin in (list, Sequence, typing.Sequence) or (inspect.isclass(origin) and issubclass(origin, Sequence)):
            found = self.names.get(name)
            return list(found) if isinstance(found, tuple) else [self.value(name, arguments[0], owner, depth + 1)]
        if origin is dict or (inspect.isclass(origin) and issubclass(origin, Mapping)):
            return {}
        if inspect.isclass(hint) and hint.__module__.startswith("flexarm_core") and depth < 6:
            return self.instance(hint, depth + 1)
        raise Unknown(f"{name}: {hint}")

    def instance(self, kind: type, depth: int = 0) -> Any:
        """An example of a class."""
        if kind in self.made:
            return self.made[kind]
        try:
            return kind()
        except FlexarmError:
            pass
        except TypeError:
            pass
        door = _door(kind.__name__, None, kind, kind.__init__)
        return kind(**{name: self.value(name, door.hints[name], kind.__name__, depth) for name in door.required})


SPECIAL: dict[tuple[str, str], Callable[[Examples], Any]] = {
    ("FlexibleModel", "effort"): lambda e: np.zeros(3),
    ("FlexibleModel", "acceleration"): lambda e: np.zeros(e.size),
    ("Chain", "links"): lambda e: np.zeros((3, 13)),
    ("BaseLink", "position"): lambda e: np.zeros(3),
    ("InverseKinematics", "position"): lambda e: np.array([1.0, 0.5, 0.0]),
    ("RedundancySolver", "position"): lambda e: np.array([1.0, 0.5, 0.0]),
}


def is_data(hint: Any) -> bool:
    """Whether a parameter takes arrays, numbers, texts, or lists of them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray or hint in (float, int, str, np.ndarray):
        return True
    if origin in (typing.Union, types.UnionType, tuple, list) or (inspect.isclass(origin) and issubclass(origin, Sequence)):
        return any(is_data(a) for a in arguments if a not in (type(None), Ellipsis))
    return False


def is_array(hint: Any) -> bool:
    """Whether a parameter takes an array."""
    return typing.get_origin(hint) is np.ndarray or any(
        typing.get_origin(a) is np.ndarray for a in typing.get_args(hint)
    )


def nonsense(name: str, good: Any) -> Any:
    """A value in the place of a good one."""
    if name not in ("nan", "inf"):
        return NONSENSE[name]
    bad = float(name)
    if isinstance(good, np.ndarray) and good.dtype.kind == "f" and good.size:
        changed = good.copy()
        changed.flat[-1] = bad
        return changed
    return bad


class Hang(BaseException):
    """The time is up."""


def walk() -> None:
    """Call everything; a line of JSON for each call that ended otherwise than allowed, and for each door."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    examples = Examples()

    def up(number: int, frame: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, up)
    for door in doors():
        print(json.dumps({"at": door.name}), flush=True)
        owner = door.owner.__name__ if door.owner else door.name.split(".")[-1]
        try:
            target = examples.instance(door.owner) if door.owner else None
            bind = (lambda target=target, door=door: door.function.__get__(target)) if door.owner else (lambda door=door: door.function)
            good = {name: examples.value(name, door.hints[name], owner) for name in door.required}
            signal.alarm(HANG)
            bind()(**good)
            signal.alarm(0)
        except (Exception, Hang) as error:
            signal.alarm(0)
            print(json.dumps({"door": door.name, "reached": False, "why": f"{type(error).__name__}: {str(error)[:150]}"}), flush=True)
            continue
        wrong = []
        calls = 0
        for name, kind in itertools.product(door.hints, NONSENSE):
            if not is_data(door.hints[name]):
                continue
            try:
                value = nonsense(kind, good.get(name))
                calls += 1
                if door.owner:
                    target = examples.instance(door.owner)
                signal.alarm(HANG)
                door_result = (door.function.__get__(target) if door.owner else door.function)(**(good | {name: value}))
                signal.alarm(0)
                if is_array(door.hints[name]) and kind in ("short", "long", "huge", "deep", "nan", "inf") and door_result is not None:
                    wrong.append([name, kind, "accepted"])
            except (FlexarmError, TypeError):
                pass
            except Hang:
                wrong.append([name, kind, "hang"])
            except BaseException as error:
                wrong.append([name, kind, f"{type(error).__name__}: {str(error)[:80]}"])
            finally:
                signal.alarm(0)
        print(json.dumps({"door": door.name, "reached": True, "calls": calls, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    walk()
    sys.stdout.flush()
