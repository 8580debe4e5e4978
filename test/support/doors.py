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

HANG = 5  # [s] of processor time: the machine may be busy
WRONG = ("empty", "short", "long", "huge", "matrix", "deep", "nan", "inf")  # an array so may never be taken as it is
NONSENSE: dict[str, Any] = {
    "empty": np.zeros(0),
    "short": np.zeros(1),
    "long": np.zeros(101),
    "huge": np.zeros(100_000),
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


def enters_compiled_code(function: Any) -> bool:
    """Whether a function calls a kernel or Pinocchio itself."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    if inspect.isclass(function):
        function = function.__init__
    code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None:
        return False
    found = [names.get(name) for name in code.co_names]
    modules = [value for value in found if inspect.ismodule(value) and value.__name__.startswith("flexarm_core")]
    inside = [getattr(module, name, None) for module in modules for name in code.co_names]
    pinocchio = any(inspect.ismodule(value) and value.__name__ == "pinocchio" for value in found)
    return pinocchio or any(isinstance(value, Dispatcher) for value in (*found, *inside))


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
                if (
                    issubclass(value, BaseException)
                    or getattr(value, "_is_protocol", False)
                    or inspect.isabstract(value)
                ):
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


class UnknownError(Exception):
    """No example of a type can be built."""


class Examples:
    """Good values by annotation and name of the parameter."""

    def __init__(self) -> None:
        """Build a robot of two links that bend on a spring, and what belongs to it."""
        from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
        from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
        from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
        from flexarm_core.flexible_dynamics.model import FlexibleModel
        from flexarm_core.ik_redundancy.chain import build_chain
        from flexarm_core.ik_redundancy.config import RedundancyConfig
        from flexarm_core.ik_redundancy.limits import MotionLimits
        from flexarm_core.ik_redundancy.solver import RedundancySolver
        from flexarm_core.path.pose_path import PosePath
        from flexarm_core.pipeline.warm import ON_A_SPRING
        from flexarm_core.robot.arm_model import ArmModel
        from flexarm_core.robot.urdf_reader import parse_robot_description
        from flexarm_core.types import ArmState

        description = parse_robot_description(ON_A_SPRING)
        model, bent = ArmModel(description), FlexibleModel(description)
        chain = build_chain(description)
        self.n, self.m, self.size = model.n, model.m, bent.size
        ones = np.ones(2)
        state = ArmState(0, np.full(2, 0.3), np.zeros(2), np.zeros(1), np.zeros(1))
        made = (
            description, model, bent, chain, state, model.blocks(state),
            build_sensed_bodies(description, "base_ft_sensor"),
            build_arm_shape(description, chain, 0.05), next(iter(load_flexible_links(description).values())),
            PosePath(np.zeros(3), np.eye(3), 0.2).line(np.array([0.1, 0.0, 0.0]), None),
        )  # fmt: skip
        self.made: dict[type, Any] = {type(value): value for value in made}
        begun = RedundancySolver(chain, MotionLimits(-ones, ones, ones, ones), RedundancyConfig())
        begun.begin(np.array([0.3, 0.4]))
        self.made[RedundancySolver] = begun
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
            raise UnknownError("files: see the fuzz campaign")
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
        raise UnknownError(f"{name}: {hint}")

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
    ("MotionLimits", "velocity"): lambda e: np.ones(2),
    ("MotionLimits", "acceleration"): lambda e: np.ones(2),
    ("JointLimits", "velocity"): lambda e: np.ones(2),
    ("JointLimits", "acceleration"): lambda e: np.ones(2),
    ("JointLimits", "effort"): lambda e: np.ones(2),
    ("JointLimits", "effort_rate"): lambda e: np.ones(2),
    ("JointLimits", "friction"): lambda e: np.ones(2),
    ("Stillness", "stiction"): lambda e: np.ones(2),
    ("ToolWrench", "sensor"): lambda e: "tool_ft_sensor",
    ("ToolWrench", "convention"): lambda e: "outboard_on_inboard",
    ("ExternalWrench", "sensor"): lambda e: "tool_ft_sensor",
    ("SmoothMotion", "out"): lambda e: np.zeros(24),
    ("Obstacle", "kind"): lambda e: "half_space",
    ("Obstacle", "position"): lambda e: np.array([0.0, 0.0, -3.0]),
    ("Obstacle", "rotation"): lambda e: np.eye(3),
    ("Progress", "set_twist"): lambda e: np.zeros(6),
    ("Progress", "error"): lambda e: np.zeros(6),
    ("damped_inverse", "matrix"): lambda e: np.eye(2),
    ("Proximity", "influence"): lambda e: 0.3,
    ("Proximity", "stiffness"): lambda e: np.zeros((2, 2)),
    ("EffortDirection", "inertia"): lambda e: np.eye(2),
    ("IdentifiableGravity", "positions"): lambda e: np.full((4, 3), 0.3),
    ("GravityRegressor", "positions"): lambda e: np.full((4, 3), 0.3),
    ("SensorDynamics", "position"): lambda e: np.full(3, 0.3),
    ("SensorDynamics", "velocity"): lambda e: np.zeros(3),
    ("SensorDynamics", "acceleration"): lambda e: np.zeros(3),
    ("GravityTable", "counts"): lambda e: np.array([3, 1]),
    ("GravityTable", "ends"): lambda e: np.tile((-1.0, 1.0), (2, 1)),
    ("GravityTable", "values"): lambda e: np.ones((3, 6)),
    ("GravityTable", "error"): lambda e: np.zeros(2),
    ("MotionFilter", "endless"): lambda e: [True, True],
    ("KinematicChain", "v"): lambda e: np.zeros(2),
    ("KinematicChain", "q"): lambda e: np.zeros(2),
    ("BaseLink", "vector"): lambda e: np.zeros(3),
    ("ContactInput", "acceleration"): lambda e: np.zeros(e.size),
    ("beam_modes", "gauges"): lambda e: [],
    ("FlexibleModel", "effort"): lambda e: np.zeros(3),
    ("FlexibleModel", "acceleration"): lambda e: np.zeros(e.size),
    ("ObservedDynamics", "efforts"): lambda e: np.zeros((1, 2)),
    ("Chain", "links"): lambda e: np.zeros((3, 13)),
    ("BaseLink", "position"): lambda e: np.zeros(3),
    ("TwistMotion", "position"): lambda e: np.zeros(3),
    ("InverseKinematics", "position"): lambda e: np.array([1.0, 0.5, 0.0]),
    ("RedundancySolver", "position"): lambda e: np.array([1.0, 0.5, 0.0]),
}


def is_data(hint: Any) -> bool:
    """Whether a parameter takes arrays, numbers, texts, or lists of them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray or hint in (float, int, str, np.ndarray):
        return True
    if origin in (typing.Union, types.UnionType, tuple, list) or (
        inspect.isclass(origin) and issubclass(origin, Sequence)
    ):
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

    signal.signal(signal.SIGPROF, up)
    for door in doors():
        print(json.dumps({"at": door.name}), flush=True)
        strict = enters_compiled_code(door.function)
        owner = door.owner.__name__ if door.owner else door.name.split(".")[-1]
        try:
            target = examples.instance(door.owner) if door.owner else None
            bind = (
                (lambda target=target, door=door: door.function.__get__(target))
                if door.owner
                else (lambda door=door: door.function)
            )
            good = {name: examples.value(name, door.hints[name], owner) for name in door.required}
            signal.setitimer(signal.ITIMER_PROF, HANG)
            bind()(**good)
            signal.setitimer(signal.ITIMER_PROF, 0)
            target = None
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            why = f"{type(error).__name__}: {str(error)[:150]}"
            print(json.dumps({"door": door.name, "reached": False, "strict": strict, "why": why}), flush=True)
            continue
        wrong = []
        calls = 0
        for name, kind in itertools.product(door.hints, NONSENSE):
            if not is_data(door.hints[name]):
                continue
            try:
                value = nonsense(kind, good.get(name))
                calls += 1
                if door.owner and target is None:
                    target = examples.instance(door.owner)
                signal.setitimer(signal.ITIMER_PROF, HANG)
                used, target = target, None
                (door.function.__get__(used) if door.owner else door.function)(**(good | {name: value}))
                signal.setitimer(signal.ITIMER_PROF, 0)
                same = isinstance(good.get(name), np.ndarray) and np.shape(value) == np.shape(good[name])
                fits = kind not in ("nan", "inf") and same and np.isfinite(value).all()
                if strict and is_array(door.hints[name]) and kind in WRONG and name in door.required and not fits:
                    wrong.append([name, kind, "accepted"])
            except FlexarmError:
                target = used  # what is refused leaves no trace
            except TypeError:
                pass
            except Hang:
                wrong.append([name, kind, "hang"])
            except BaseException as error:
                wrong.append([name, kind, f"{type(error).__name__}: {str(error)[:80]}"])
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        line = {"door": door.name, "reached": True, "strict": strict, "calls": calls, "wrong": wrong}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    walk()
    sys.stdout.flush()
