"""Recording of a run: arrays with one row per tick, saved as ``.npz``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from flexarm_core.array_file import MOST_BYTES, ArrayFile
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array

FORMAT = 7
MOST_PACKED = 200  # largest ratio of unpacked to packed size of a large file: protects against decompression bombs

Ticks = Annotated[Array, ("T",)]
Joints = Annotated[Array, ("T", "n")]
Elastic = Annotated[Array, ("T", "m")]
Modal = Annotated[Array, ("T", "k")]
Gauges = Annotated[Array, ("T", "g")]
Place = Annotated[Array, ("T", 3)]
Rotation = Annotated[Array, ("T", 4)]
Wrench = Annotated[Array, ("T", 6)]
Stiffness = Annotated[Array, ("m",)]
Flags = Annotated[NDArray[np.bool_], ("T",)]
Axes = Annotated[NDArray[np.bool_], (6,)]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event during the run."""

    time: float  # simulation time [s]
    source: str  # node or part of the runner that reported the event
    level: str  # `info`, `warn` or `error`
    message: str  # description of the event


@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded data of a run with T ticks, n actuated joints and m elastic joints of the base. NaN = unknown.

    k is the number of modes of the flexible links, g that of their strain gauges; both are 0 for an arm with rigid
    links. Wrenches are ``[f; n]``, that on the tool at the tool's origin.
    """

    time: Ticks  # simulation time, strictly increasing [s]
    joint_names: tuple[str, ...]  # (n) names of the actuated joints
    joint_units: tuple[str, ...]  # (n) `rad` or `m`
    elastic_names: tuple[str, ...]  # (m) names of the elastic joints
    elastic_units: tuple[str, ...]  # (m) `rad` or `m`
    modes: tuple[str, ...]  # (k) modes of the simulated arm, ``link/mode``
    strain_gauges: tuple[str, ...]  # (g) names of the strain gauges
    root_frame: str  # fixed root link, the inertial frame
    base_frame: str  # link that carries the arm
    position: Joints  # true joint positions [rad | m]
    velocity: Joints  # true joint velocities [rad/s | m/s]
    effort: Joints  # joint effort applied [N*m | N]
    deflection: Elastic  # true deflection x_b of the elastic joints [m | rad]
    deflection_rate: Elastic  # its rate xd_b [m/s | rad/s]
    modal_position: Modal  # true modal coordinates, mass-normalized [sqrt(kg)*m]
    modal_rate: Modal  # true rates of the modal coordinates [sqrt(kg)*m/s]
    estimated_deflection: Elastic  # from topic flexible_state, NaN where it is not estimated [m | rad]
    estimated_deflection_rate: Elastic  # from topic flexible_state [m/s | rad/s]
    estimated_modal_position: Modal  # from topic flexible_state, NaN where a mode is not estimated [sqrt(kg)*m]
    estimated_modal_rate: Modal  # from topic flexible_state [sqrt(kg)*m/s]
    strain: Gauges  # measured strain [1]
    desired_position: Joints  # desired joint positions given to the controller [rad | m]
    reference_velocity: Joints  # velocity in the joint reference given to the gate [rad/s | m/s]
    reference_effort: Joints  # effort in that reference [N*m | N]
    reference_friction: Joints  # the part of that effort that compensates friction, from a torque loop [N*m | N]
    true_friction: Joints  # effort lost to joint friction, NaN where the plant has no friction [N*m | N]
    # from topic base_wrench_estimate
    estimated_torque: Joints  # effort that reaches the links, gravity compensated [N*m | N]
    estimated_friction: Joints  # motor effort that neither reaches the links nor accelerates the rotors [N*m | N]
    residual_wrench: Wrench  # base wrench without the parts due to gravity and the arm's accelerations [N, N*m]
    estimate_valid: Ticks  # 1 if the wrench could be used, 0 if not, NaN if unknown
    contact_detected: Ticks  # 1 if the residual wrench indicates contact with the arm
    correction_weight: Ticks  # weight of the torque loop's correction, 0 to 1

    resolution_position_error: Ticks  # distance of the tool in the joint reference from the requested position [m]
    resolution_orientation_error: Ticks  # angle between the tool in it and the requested orientation [rad]
    condition_number: Ticks  # condition number of the tool Jacobian, as computed by ik_redundancy_solver
    rows_given_up: Ticks  # number of tool axes that ik_redundancy_solver dropped or damped
    tool_position: Place  # true tool position in `root_frame` [m]
    tool_position_in_base: Place  # true tool position in `base_frame` [m]
    tool_rotation: Rotation  # true tool orientation in `root_frame`, quaternion x y z w
    reference_frame: str  # `root_frame` or `base_frame`: frame of the tool reference
    reference_position: Place  # tool reference in `reference_frame`, NaN rows where there is no reference [m]
    reference_acceleration: Place  # acceleration of the tool reference, in `reference_frame` [m/s^2]
    reference_axes: Axes  # tracked components x y z rx ry rz
    path_frame: str  # `root_frame` or `base_frame`: frame of the path
    path_position: Place  # set-point of the behaviors in `path_frame`, NaN rows where there is none apart [m]
    obstacle_distance: Ticks  # smallest distance of the commanded arm to obstacles, NaN if there are none [m]
    behaviors_held: Ticks  # 1 where the arm was brought to rest instead of following its behaviors, NaN where unknown
    contact_wrench: Wrench  # of all surfaces on the tool, in axes of `root_frame`, NaN without surfaces [N, N*m]
    base_wrench: Wrench  # exerted by the arm on the base [N, N*m]
    coupling_momentum: Elastic  # coupling momentum L = H_bm qd
    smallest_coupling_singular_value: Ticks  # smallest singular value of H_bm
    smallest_restricted_singular_value: Ticks  # smallest singular value of Jbar
    damping: Ticks  # damping factor applied to Jbar
    vibration_damping: Flags  # whether the base feedback is active
    tick_latency: Ticks  # wall time from a joint state to its command, NaN where unknown [s]
    events: tuple[RunEvent, ...]  # events in order of time
    elastic_stiffness: Stiffness  # stiffness of the elastic joints [N/m | N*m/rad]
    natural_period: float  # natural period of the base with the arm at rest, NaN if there is no elastic joint [s]
    watchdog_stops: int  # number of times that the gate stopped the arm because of missing or invalid input
    trips: int  # number of times that the gate tripped; a trip ends only by a reset
    lockstep_timeouts: int  # number of states in lockstep without a command in reply
    lost_samples: int  # number of samples that were published but not recorded
    node_deaths: tuple[str, ...]  # nodes that ended without being asked to
    ended_early: str  # reason why the run did not reach its end; empty if it did

    def __post_init__(self) -> None:
        """Check shapes, names and time, and make the arrays read-only.

        Raises:
            InputError: a field is inconsistent with the others.
        """
        counts = (len(self.joint_names), len(self.elastic_names), len(self.modes), len(self.strain_gauges))
        for name, shape in recording_shapes(len(self.time), *counts).items():
            array: NDArray[Any] = np.array(getattr(self, name), dtype=np.bool_ if name in FLAGS else np.float64)
            if array.shape != shape:
                raise InputError(f"recording: {name} has shape {array.shape}, expected {shape}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.time) < 2 or not np.all(np.diff(self.time) > 0.0):
            raise InputError("recording: time needs at least two ticks and must increase from each to the next")
        for name, count in (("joint_units", len(self.joint_names)), ("elastic_units", len(self.elastic_names))):
            units = getattr(self, name)
            if len(units) != count or not set(units) <= {"rad", "m"}:
                raise InputError(f"recording: {name} is {units}, expected {count} of 'rad' or 'm'")
        for name in ("reference_frame", "path_frame"):
            if getattr(self, name) not in (self.root_frame, self.base_frame):
                raise InputError(
                    f"recording: {name} '{getattr(self, name)}' is neither the root link '{self.root_frame}'"
                    f" nor the base link '{self.base_frame}'"
                )

    @property
    def ticks(self) -> int:
        """Number of ticks T."""
        return len(self.time)

    @property
    def base_motion(self) -> Array:
        """(T,) Euclidean norm of the deflection over all elastic joints."""
        with np.errstate(over="ignore"):  # a run that diverged
            norm: Array = np.linalg.norm(self.deflection, axis=1)
        return norm

    @property
    def base_energy_root(self) -> Array:
        """(T,) square root of the elastic energy of the base, relative to its first position [sqrt(J)]."""
        away = self.deflection - self.deflection[0]
        with np.errstate(over="ignore"):  # a run that diverged
            root: Array = np.sqrt(0.5 * (away**2 @ self.elastic_stiffness))
        return root

    @property
    def tracking_error(self) -> Array:
        """(T,) Euclidean distance of tool and reference along the tracked axes, in the reference's frame [m]."""
        tool = self.tool_position_in(self.reference_frame)
        axes = self.reference_axes[:3]
        if not axes.any():
            return np.full(self.ticks, np.nan)
        norm: Array = np.linalg.norm((tool - self.reference_position)[:, axes], axis=1)
        return norm

    def tool_position_in(self, frame: str) -> Array:
        """Return the tool position (T, 3) in ``root_frame`` or ``base_frame`` [m]."""
        return self.tool_position if frame == self.root_frame else self.tool_position_in_base

    @property
    def has_reference(self) -> NDArray[np.bool_]:
        """(T,) whether there is a tool reference at each tick."""
        finite: NDArray[np.bool_] = np.all(np.isfinite(self.reference_position), axis=1)
        return finite

    @property
    def has_desired(self) -> NDArray[np.bool_]:
        """(T,) whether there is a desired joint position at each tick."""
        finite: NDArray[np.bool_] = np.all(np.isfinite(self.desired_position), axis=1)
        return finite

    @classmethod
    def blank(cls, description: RobotDescription, time: Array, natural_period: float, **known: Any) -> Recording:
        """Create a recording of a robot; everything that is not given is NaN, false, zero or empty.

        Args:
            description: the robot; provides names, units and frames.
            time: (T,) simulation time [s].
            natural_period: natural period of the base [s].
            known: other fields by name.
        """
        elastic = tuple(joint.name for joint in description.elastic)
        values: dict[str, Any] = {
            "time": time,
            "joint_names": description.actuated,
            "joint_units": tuple(_unit(description, name) for name in description.actuated),
            "elastic_names": elastic,
            "elastic_units": tuple(_unit(description, name) for name in elastic),
            "elastic_stiffness": np.array([joint.stiffness for joint in description.elastic]),
            "modes": mode_names(description),
            "strain_gauges": tuple(description.strain_gauges),
            "root_frame": description.root,
            "base_frame": description.base_frame,
            "reference_frame": description.base_frame,
            "path_frame": description.base_frame,
            "natural_period": natural_period,
            "events": (),
            "node_deaths": (),
            "ended_early": "",
            "watchdog_stops": 0,
            "trips": 0,
            "lockstep_timeouts": 0,
            "lost_samples": 0,
        }
        names = ("joint_names", "elastic_names", "modes", "strain_gauges")
        shapes = recording_shapes(len(time), *(len(values[name]) for name in names))
        unknown = {name: unknown_values(name, shape) for name, shape in shapes.items() if name not in values}
        return cls(**(values | unknown | known))

    def save(self, path: Path) -> None:
        """Write a compressed ``.npz`` file for ``load_recording``; the arrays keep their names."""
        arrays: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                arrays[field.name] = value
            elif field.name != "events":
                rest[field.name] = value
        rest |= {"events": [asdict(event) for event in self.events], "format": FORMAT}
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays, meta=np.array(json.dumps(rest)))


_AXES: dict[str, tuple[str | int, ...]] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Recording, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
_OF_TICKS = frozenset(name for name, axes in _AXES.items() if axes[0] == "T")
FLAGS = ("reference_axes", "vibration_damping")


def recording_shapes(ticks: int, n: int, m: int, k: int, g: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a recording, for its numbers of ticks, joints, modes and gauges."""
    sizes: dict[str | int, int] = {"T": ticks, "n": n, "m": m, "k": k, "g": g, 3: 3, 4: 4, 6: 6}
    return {name: tuple(sizes[axis] for axis in axes) for name, axes in _AXES.items()}


def unknown_values(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of a recording without any known value: NaN, or false."""
    return np.zeros(shape, dtype=bool) if name in FLAGS else np.full(shape, np.nan)


def load_recording(path: Path) -> Recording:
    """Read a file written by ``Recording.save``.

    Raises:
        InputError: the file does not exist, is not a recording, or has another format version.
    """
    size = path.stat().st_size if path.is_file() else 0
    archive = ArrayFile(path, "recording", InputError, max(MOST_BYTES, MOST_PACKED * size))
    ticks = {claim.shape[0] for name, claim in archive.claims.items() if name in _OF_TICKS and claim.shape}
    unknown = sorted(archive.claims.keys() - {"meta"} - {field.name for field in fields(Recording)})
    if archive.lacking(("meta", "time")) or unknown or len(ticks) != 1:
        wrong = f"holds {unknown[0]}" if unknown else "lacks time, meta, or ticks in one of its arrays"
        raise InputError(f"'{path}' is not a recording of a run: it {wrong}")
    values: dict[str, Any] = dict(archive.load())
    try:
        meta = json.loads(str(values.pop("meta")))
        if not isinstance(meta, dict) or meta.pop("format", None) != FORMAT:
            raise InputError(f"'{path}' has another format than {FORMAT}: record the run again")
        values |= {key: tuple(value) if isinstance(value, list) else value for key, value in meta.items()}
        values["events"] = tuple(RunEvent(**event) for event in values["events"])
        return Recording(**values)
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"'{path}' is not a recording of a run: {' '.join(str(error).split())[:200]}") from error


def mode_names(description: RobotDescription) -> tuple[str, ...]:
    """Return the modes of all flexible links of a robot, ``link/mode``, in the order used by the dynamics."""
    links = load_flexible_links(description)
    return tuple(f"{link}/{mode}" for link, data in links.items() for mode in data.modes)


def _unit(description: RobotDescription, joint: str) -> str:
    return "m" if description.joints[joint].kind == "prismatic" else "rad"
