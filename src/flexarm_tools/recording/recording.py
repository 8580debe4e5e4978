"""What a run leaves behind: one row a tick, in arrays, saved as ``.npz``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.array_file import MOST_BYTES, ArrayFile
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_tools.recording.shapes import recording_shapes

FORMAT = 7
MOST_PACKED = 200  # times its size may a large recording unpack to: what rests packs well, and so do bombs
OF_TICKS = frozenset(name for name, shape in recording_shapes(-1, 0, 0, 0, 0).items() if shape[:1] == (-1,))


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something that happened during the run.

    Attributes:
        time: simulation time [s].
        source: node or part of the runner that said it.
        level: ``info``, ``warn`` or ``error``.
        message: what happened.
    """

    time: float
    source: str
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything recorded of a run: T ticks, n actuated joints, m elastic joints of the base. NaN = not known.

    k counts the modes of the flexible links, g their strain gauges; both are 0 for an arm of rigid links.

    Attributes:
        time: (T,) simulation time, increasing [s].
        joint_names: (n) actuated joints.
        joint_units: (n) ``rad`` or ``m``.
        elastic_names: (m) elastic joints.
        elastic_units: (m) ``rad`` or ``m``.
        modes: (k) modes of the simulated arm, ``link/mode``.
        strain_gauges: (g) strain gauges.
        root_frame: fixed root link, the inertial frame.
        base_frame: link that carries the arm.
        position: (T, n) [rad | m].
        velocity: (T, n) [rad/s | m/s].
        effort: (T, n) applied at the joints [N*m | N].
        deflection: (T, m) x_b [m | rad].
        deflection_rate: (T, m) xd_b [m/s | rad/s].
        modal_position: (T, k) true, mass-normalised [sqrt(kg)*m].
        modal_rate: (T, k) true [sqrt(kg)*m/s].
        estimated_deflection: (T, m) of topic flexible_state, NaN where nothing estimates it [m | rad].
        estimated_deflection_rate: (T, m) [m/s | rad/s].
        estimated_modal_position: (T, k) of topic flexible_state, NaN where a mode is not estimated [sqrt(kg)*m].
        estimated_modal_rate: (T, k) [sqrt(kg)*m/s].
        strain: (T, g) as the gauges read it [1].
        desired_position: (T, n) joint reference that the controller is to follow [rad | m].
        reference_velocity: (T, n) of the joint reference that the gate was given [rad/s | m/s].
        reference_effort: (T, n) likewise [N*m | N].
        reference_friction: (T, n) likewise, part of the effort that friction takes as a torque loop has it [N*m | N].
        true_friction: (T, n) effort that joint friction takes, NaN where the plant has none [N*m | N].
        estimated_torque: (T, n) of topic base_wrench_estimate, that reaches the links beside gravity [N*m | N].
        estimated_friction: (T, n) likewise, motor effort that neither reaches the links nor turns the rotors [N*m | N].
        residual_wrench: (T, 6) likewise, of the base wrench what gravity and accelerations do not explain [N, N*m].
        estimate_valid: (T,) likewise, 1 where the wrench could be used, 0 where not, NaN where unknown.
        contact_detected: (T,) likewise, 1 where something touches the arm by the residual wrench.
        correction_weight: (T,) likewise, share of the torque loop's correction that acts, 0 to 1.
        resolution_position_error: (T,) what the joint reference leaves of the wanted tool position [m].
        resolution_orientation_error: (T,) likewise of the orientation [rad].
        condition_number: (T,) of the tool's Jacobian, as ik_redundancy_solver sees it.
        rows_given_up: (T,) number of tool axes that it gave up or damped.
        tool_position: (T, 3) in ``root_frame`` [m].
        tool_position_in_base: (T, 3) in ``base_frame`` [m].
        tool_rotation: (T, 4) in ``root_frame``, quaternion x y z w.
        reference_frame: ``root_frame`` or ``base_frame``: frame of the tool reference.
        reference_position: (T, 3) in ``reference_frame``, NaN rows where there is no reference [m].
        reference_acceleration: (T, 3) of the tool reference, its axes [m/s^2].
        reference_axes: (6,) bool, tracked components x y z rx ry rz.
        path_frame: ``root_frame`` or ``base_frame``: frame of the path.
        path_position: (T, 3) in ``path_frame``, the set-point from which behaviours make the tool reference, NaN rows
            where there is none apart from the tool reference [m].
        obstacle_distance: (T,) least one of the commanded arm that behaviours reported, NaN where there was none [m].
        behaviors_held: (T,) 1 where the arm was brought to rest instead of following its behaviours, NaN where unknown.
        contact_wrench: (T, 6) true, of all surfaces on the tool, ``[f; n]`` at the tool frame's origin in axes of
            ``root_frame``, NaN where there are no surfaces [N, N*m].
        base_wrench: (T, 6) exerted by the arm on the base, ``[f; n]`` [N, N*m].
        coupling_momentum: (T, m) L = H_bm qd.
        smallest_coupling_singular_value: (T,) of H_bm.
        smallest_restricted_singular_value: (T,) of Jbar.
        damping: (T,) damping factor in force on Jbar.
        vibration_damping: (T,) bool, base feedback in force.
        tick_latency: (T,) wall time from the joint state to its command, NaN where not known [s].
        events: what happened, in order of time.
        elastic_stiffness: (m,) of the elastic joints [N/m | N*m/rad].
        natural_period: of the base under the resting arm, NaN where nothing is elastic [s].
        watchdog_stops: times that the gate stopped the arm for want of good input.
        trips: times that the gate tripped, which only a reset ends.
        lockstep_timeouts: times that no command answered a state in lockstep.
        lost_samples: samples that were sent and not recorded.
        node_deaths: nodes that ended without being asked to.
        ended_early: why the run did not come to its end, empty where it did.
    """

    time: Array
    joint_names: tuple[str, ...]
    joint_units: tuple[str, ...]
    elastic_names: tuple[str, ...]
    elastic_units: tuple[str, ...]
    modes: tuple[str, ...]
    strain_gauges: tuple[str, ...]
    root_frame: str
    base_frame: str
    position: Array
    velocity: Array
    effort: Array
    deflection: Array
    deflection_rate: Array
    modal_position: Array
    modal_rate: Array
    estimated_deflection: Array
    estimated_deflection_rate: Array
    estimated_modal_position: Array
    estimated_modal_rate: Array
    strain: Array
    desired_position: Array
    reference_velocity: Array
    reference_effort: Array
    reference_friction: Array
    true_friction: Array
    estimated_torque: Array
    estimated_friction: Array
    residual_wrench: Array
    estimate_valid: Array
    contact_detected: Array
    correction_weight: Array
    resolution_position_error: Array
    resolution_orientation_error: Array
    condition_number: Array
    rows_given_up: Array
    tool_position: Array
    tool_position_in_base: Array
    tool_rotation: Array
    reference_frame: str
    reference_position: Array
    reference_acceleration: Array
    reference_axes: NDArray[np.bool_]
    path_frame: str
    path_position: Array
    obstacle_distance: Array
    behaviors_held: Array
    contact_wrench: Array
    base_wrench: Array
    coupling_momentum: Array
    smallest_coupling_singular_value: Array
    smallest_restricted_singular_value: Array
    damping: Array
    vibration_damping: NDArray[np.bool_]
    tick_latency: Array
    events: tuple[RunEvent, ...]
    elastic_stiffness: Array
    natural_period: float
    watchdog_stops: int
    trips: int
    lockstep_timeouts: int
    lost_samples: int
    node_deaths: tuple[str, ...]
    ended_early: str

    def __post_init__(self) -> None:
        """Check shapes, names and time; arrays become read-only.

        Raises:
            InputError: a field does not fit the others.
        """
        counts = (len(self.joint_names), len(self.elastic_names), len(self.modes), len(self.strain_gauges))
        shapes = recording_shapes(len(self.time), *counts)
        for name, shape in shapes.items():
            kind = np.bool_ if name in ("reference_axes", "vibration_damping") else np.float64
            array: NDArray[Any] = np.array(getattr(self, name), dtype=kind)
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
        """(T,) square root of the elastic energy in the base, about where it was at first [sqrt(J)]."""
        away = self.deflection - self.deflection[0]
        with np.errstate(over="ignore"):  # a run that diverged
            root: Array = np.sqrt(0.5 * (away**2 @ self.elastic_stiffness))
        return root

    @property
    def tracking_error(self) -> Array:
        """(T,) Euclidean distance of tool and reference over the tracked x, y, z, in the reference's frame [m]."""
        tool = self.tool_position_in(self.reference_frame)
        axes = self.reference_axes[:3]
        if not axes.any():
            return np.full(self.ticks, np.nan)
        norm: Array = np.linalg.norm((tool - self.reference_position)[:, axes], axis=1)
        return norm

    def tool_position_in(self, frame: str) -> Array:
        """(T, 3) place of the tool in ``root_frame`` or ``base_frame`` [m]."""
        return self.tool_position if frame == self.root_frame else self.tool_position_in_base

    @property
    def has_reference(self) -> NDArray[np.bool_]:
        """(T,) ticks with a tool reference."""
        finite: NDArray[np.bool_] = np.all(np.isfinite(self.reference_position), axis=1)
        return finite

    @property
    def has_desired(self) -> NDArray[np.bool_]:
        """(T,) ticks with a desired joint position."""
        finite: NDArray[np.bool_] = np.all(np.isfinite(self.desired_position), axis=1)
        return finite

    @classmethod
    def blank(cls, description: RobotDescription, time: Array, natural_period: float, **known: Any) -> Recording:
        """Recording of a robot in which everything that is not given is NaN, false, zero or empty.

        Args:
            description: the robot; gives names, units and frames.
            time: (T,) [s].
            natural_period: [s].
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
        values |= {name: np.full(shape, np.nan) for name, shape in shapes.items() if name not in values}
        values["reference_axes"] = np.zeros(6, dtype=bool)
        values["vibration_damping"] = np.zeros(len(time), dtype=bool)
        return cls(**(values | known))

    def save(self, path: Path) -> None:
        """Write a compressed ``.npz`` that ``load_recording`` reads; arrays keep their names."""
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


def load_recording(path: Path) -> Recording:
    """Read what ``Recording.save`` wrote.

    Raises:
        InputError: no such file, not a recording, or of another format.
    """
    size = path.stat().st_size if path.is_file() else 0
    archive = ArrayFile(path, "recording", InputError, max(MOST_BYTES, MOST_PACKED * size))
    ticks = {claim.shape[0] for name, claim in archive.claims.items() if name in OF_TICKS and claim.shape}
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
        raise InputError(f"'{path}' is not a recording of a run: {' '.join(str(error).split())}") from error


def mode_names(description: RobotDescription) -> tuple[str, ...]:
    """Modes of every flexible link of a robot, ``link/mode``, in the order in which the dynamics has them."""
    links = load_flexible_links(description)
    return tuple(f"{link}/{mode}" for link, data in links.items() for mode in data.modes)


def _unit(description: RobotDescription, joint: str) -> str:
    return "m" if description.joints[joint].kind == "prismatic" else "rad"
