"""MujocoBackend: rigid bodies, springs as passive joint forces, beams as chains, classical Runge-Kutta steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.static_equilibrium import settle
from flexarm_core.types import Array
from flexarm_sim.backend import PlantState, SensedState
from flexarm_sim.beam_chain import make_chains
from flexarm_sim.chain_reader import ChainReaders, check_step
from flexarm_sim.contacts import Contacts
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.friction.state import FrictionState
from flexarm_sim.mujoco.coupling import Coupling
from flexarm_sim.mujoco.model import TOOL_SITE, build_model, link_body, wrench_body
from flexarm_sim.mujoco.steps import MujocoSteps, set_callbacks
from flexarm_sim.surfaces import Surface
from flexarm_sim.validation import checked_vector, is_number

SITE = int(mujoco.mjtObj.mjOBJ_SITE)
TWIST = np.array([3, 4, 5, 0, 1, 2])  # MuJoCo orders the angular part first


class Seen(NamedTuple):
    """Data of the ground truth at one time, or with one more axis at many times: arrays of MuJoCo's data.

    Attributes:
        twist: (6,) ``[w; v]`` of the tool frame's origin in axes of the world.
    """

    qpos: Array
    qvel: Array
    qacc: Array
    ctrl: Array
    qfrc_applied: Array
    sensordata: Array
    xpos: Array
    xmat: Array
    subtree_com: Array
    cvel: Array
    site_xpos: Array
    site_xmat: Array
    twist: Array


class MujocoBackend:
    """Simulated robot on MuJoCo (implements ``flexarm_sim.backend.Backend``).

    Integrated by RK4 in equal steps ``h`` of at most ``max_step``: MuJoCo's other integrators are of first order. An
    oscillation of ``w`` rad/s is stable for ``w h < 2.8``; each step delays it by ``(w h)^5 / 120`` rad and reduces its
    amplitude by the fraction ``(w h)^6 / 144``. A flexible link is a chain of rigid segments (see ``beam_chain``),
    whose highest frequency grows with the square of their number and limits ``max_step``.
    """

    def __init__(
        self,
        description: RobotDescription,
        *,
        tool_frame: str = "",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        max_step: float = 0.00025,
        hard_stops: bool = False,
        segments: int = 20,
        surfaces: Sequence[Surface] = (),
        tip_radius: float = 0.015,
        friction: JointFriction | None = None,
    ) -> None:
        """Build the model and set the robot to zero positions.

        Args:
            description: the robot.
            tool_frame: link of the tool, empty for ``tool0`` or the only tip.
            gravity: (3,) gravity in axes of the root link [m/s^2].
            max_step: longest integration step [s].
            hard_stops: whether joints stop at the position limits of the description.
            segments: number of rigid segments of each flexible link.
            surfaces: surfaces that the tool tip can touch; the rest of the robot passes through them.
            tip_radius: radius of the sphere around the tool frame's origin that touches them [m].
            friction: friction of the actuated joints, in addition to that of the description; None for none.

        Raises:
            ConfigError: gravity, max_step, segments or tip_radius out of bounds, two surfaces of the same name,
                friction that does not fit, or max_step too long for the chains or a surface.
            RobotDescriptionError: the robot cannot be simulated, or a flexible link is not a beam; the message says
                which.
        """
        if not (is_number(max_step) and max_step > 0.0):
            raise ConfigError(f"max_step is {max_step}, expected a positive number [s]")
        set_callbacks()
        chains = make_chains(description, segments)
        self._model = build_model(
            description,
            tool_frame=tool_frame,
            gravity=gravity,
            timestep=max_step,
            hard_stops=hard_stops,
            chains=chains,
            surfaces=surfaces,
            tip_radius=tip_radius,
        )
        if description.flexible_links:
            check_step(self._model, max_step, segments if chains else 0)
        self._contacts = Contacts(surfaces, description, self._model, max_step)
        self._data = mujoco.MjData(self._model)
        self._max_step = max_step
        self._joint_names = description.actuated
        self._elastic_joint_names = tuple(joint.name for joint in description.elastic)
        self._arm = self._indices(self._joint_names)
        self._elastic = self._indices(self._elastic_joint_names)
        self._friction = FrictionState(friction, self._arm) if friction else None
        self._coupling = Coupling(description, self._model)
        self._steps = MujocoSteps(self._model, self._data, self._arm, self._friction, max_step, self._coupling)
        self._wrench_rows = {link: self._body(wrench_body(description, link)) for link in description.links}
        self._tool = self._site(TOOL_SITE)
        self._base = self._body(link_body(description, description.base_frame))
        self._chains = ChainReaders(description, chains, self._model)
        # views, which MuJoCo writes to: an attribute of its data makes one anew
        data = self._data
        self._now = Seen(*(np.zeros(6) if name == "twist" else getattr(data, name) for name in Seen._fields))
        self._flat = tuple(array.reshape(-1) for array in self._now)
        self._sensor_slices = self._find_sensors("force", description.force_torque_sensors)
        self._imu_slices = self._find_sensors("accelerometer", description.imus)
        self._jacobian = np.zeros((3, self._model.nv))
        self._sensed: SensedState | None = None
        self._state: PlantState | None = None
        self._fresh = False  # whether accelerations and sensors belong to the present state
        self.reset()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n) actuated joints, in the order of every (n,) array."""
        return self._joint_names

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """(m) elastic joints, in the order of every (m,) array."""
        return self._elastic_joint_names

    @property
    def modes(self) -> tuple[str, ...]:
        """(k) deformation modes ``LINK/MODE``, in the order of every (k,) array."""
        return self._chains.modes

    @property
    def strain_gauges(self) -> tuple[str, ...]:
        """(g) strain gauges, in the order of every (g,) array."""
        return self._chains.strain_gauges

    def hinges(self) -> dict[str, float]:
        """Return the position of every hinge of the flexible links, by the name of ``mujoco.beam.hinge_joint``."""
        data = self._data
        return {self._model.joint(int(place)).name: float(data.qpos[place]) for place in self._chains.coordinates}

    def reset(
        self,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        deflection: ArrayLike | None = None,
        deflection_rate: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        modal_position: ArrayLike | None = None,
        modal_rate: ArrayLike | None = None,
        at_rest: bool = False,
    ) -> None:
        """Set the state, and the time and all external wrenches to zero; see ``Backend.reset``."""
        n, m, k = len(self._joint_names), len(self._elastic_joint_names), len(self.modes)
        values = (
            checked_vector("position", position, n),
            checked_vector("velocity", velocity, n),
            checked_vector("deflection", deflection, m),
            checked_vector("deflection_rate", deflection_rate, m),
            checked_vector("effort", effort, n),
            checked_vector("modal_position", modal_position, k),
            checked_vector("modal_rate", modal_rate, k),
        )
        data = self._data
        mujoco.mj_resetData(self._model, data)
        self._model.opt.timestep = self._max_step  # friction and stops depend on it: keep no value from before
        data.qpos[self._arm], data.qvel[self._arm] = values[0], values[1]
        data.qpos[self._elastic], data.qvel[self._elastic] = values[2], values[3]
        self._coupling.place(data)
        data.ctrl[:] = values[4]
        self._chains.set_modes(data, values[5], values[6])
        if at_rest:
            self._settle(deflection is None, modal_position is None)
        if self._friction:
            self._friction.reset()
        self._steps.forget()
        self._changed()

    def set_external_wrench(self, link: str, wrench_in_world: ArrayLike) -> None:
        """Apply a wrench to a link from now on; see ``Backend.set_external_wrench``."""
        if link not in self._wrench_rows:
            raise InputError(f"external wrench: link '{link}' does not exist; links: {', '.join(self._wrench_rows)}")
        wrench = checked_vector(f"external wrench on '{link}'", wrench_in_world, 6)
        self._data.xfrc_applied[self._wrench_rows[link]] = wrench
        self._changed()

    def change_surfaces(self, surfaces: Sequence[Surface]) -> None:
        """Change the stiffness, damping and friction of all surfaces; see ``Backend.change_surfaces``."""
        self._contacts.change(surfaces)
        self._steps.forget()

    def change_friction(self, friction: JointFriction) -> None:
        """Change the joint friction; see ``Backend.change_friction``."""
        if not self._friction:
            raise ConfigError("the plant was made without friction in the joints: begin with zeros to change it later")
        self._friction.change(friction)
        self._changed()

    def step(self, effort: ArrayLike, duration: float) -> None:
        """Integrate the equations of motion over a time, with constant effort; see ``Backend.step``."""
        applied = checked_vector("effort", effort, len(self._joint_names))
        if not (is_number(duration) and duration > 0.0):
            raise InputError(f"duration is {duration}, expected a positive time [s]")
        steps = max(1, math.ceil(duration / self._max_step - 1e-9))  # round-off must not add a step
        self._now.ctrl[:] = applied
        self._changed()
        self._steps.advance(steps, duration / steps)

    def state(self) -> PlantState:
        """Return the ground truth now; see ``Backend.state``."""
        if self._state is None:
            self._state = self._read_state()
        return self._state

    def trace(self) -> tuple[Array, float, dict[str, Array]]:
        """Return what :meth:`traced` needs of the ground truth now; see ``Backend.trace``."""
        self._refresh()
        self._find_twist()
        return np.concatenate(self._flat), self._data.time, self._contacts.read(self._data)

    def traced(self, traces: Sequence[tuple[Array, float, dict[str, Array]]]) -> PlantState:
        """Return the ground truth of many traces; see ``Backend.traced``."""
        shown, times, touches = zip(*traces, strict=True)
        parts = np.split(np.array(shown), np.cumsum([array.size for array in self._flat])[:-1], axis=1)
        seen = Seen(*(part.reshape(len(traces), *now.shape) for part, now in zip(parts, self._now, strict=True)))
        each = [Seen(*row) for row in zip(*seen, strict=True)] if self.modes else []
        modes = np.array([self._chains.read(one) for one in each]).reshape(len(traces), 2, -1).swapaxes(0, 1)
        strain = np.array([self._chains.strain(one) for one in each]).reshape(len(traces), -1)
        contacts = {name: np.array([one[name] for one in touches]) for name in touches[0]}
        return self._state_of(seen, self._sensed_of(seen, strain), np.array(times), modes, contacts)

    def sensed(self) -> SensedState:
        """Return what sensors measure now; see ``Backend.sensed``."""
        if self._sensed is None:
            self._sensed = self._read_sensed()
        return self._sensed

    def joint_dynamics(self) -> tuple[Array, Array]:
        """Return inertia and bias of the actuated joints on the free elastic base; see ``Backend.joint_dynamics``.

        The actuated block of ``H^-1`` is ``Lambda^-1``, so one solve with MuJoCo's factors yields both.
        """
        self._refresh()
        data, arm = self._data, self._arm
        rows = np.zeros((len(arm) + 1, self._model.nv))
        rows[np.arange(len(arm)), arm] = 1.0
        rows[-1] = data.qfrc_bias - data.qfrc_passive
        solved = np.empty_like(rows)
        self._coupling.respond(data, rows, solved)
        inertia = np.linalg.inv(solved[:-1, arm])
        return inertia, inertia @ solved[-1, arm]

    def gravity_effort(self) -> Array:
        """Return the efforts that compensate gravity, from the Jacobian of the center of mass; see ``Backend``."""
        self._refresh()
        return self._weight(self._arm)

    def base_frequency(self) -> float:
        """Return the highest frequency of the elastic base with free joints; see ``Backend.base_frequency``."""
        self._refresh()
        elastic = self._elastic
        rows = np.zeros((len(elastic), self._model.nv))
        rows[np.arange(len(elastic)), elastic] = 1.0
        solved = np.empty_like(rows)
        if len(elastic):
            self._coupling.respond(self._data, rows, solved)
        squares = np.linalg.eigvals(solved[:, elastic] * self._model.jnt_stiffness[elastic]).real
        return math.sqrt(squares.max(initial=0.0))

    def _weight(self, coordinates: NDArray[np.intp]) -> Array:
        mujoco.mj_jacSubtreeCom(self._model, self._data, self._jacobian, 0)
        mass = float(self._model.body_subtreemass[0])
        weight: Array = self._coupling.gathered(-mass * (self._model.opt.gravity @ self._jacobian))[coordinates]
        return weight

    def _settle(self, base: bool, links: bool) -> None:
        """Set the elastic joints, the chains, or both, to the static equilibrium under gravity."""
        model, data = self._model, self._data
        places = np.concatenate(
            (self._elastic[: None if base else 0], self._chains.coordinates[: None if links else 0])
        )
        if not (len(places) and model.opt.gravity.any()):
            return

        def weight(x: Array) -> Array:
            data.qpos[places] = x
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            return self._weight(places)

        names = [model.joint(int(place)).name for place in places]
        data.qpos[places] = settle(np.diag(model.jnt_stiffness[places]), weight, names)

    def _changed(self) -> None:
        """Discard the stored readings, as the state or the inputs have changed."""
        self._sensed, self._state, self._fresh = None, None, False

    def _refresh(self) -> None:
        """Update accelerations and sensors to the present state and effort: a step leaves those of its start."""
        if not self._fresh:
            self._steps.look()
            self._fresh = True

    def _read_sensed(self) -> SensedState:
        self._refresh()
        return self._sensed_of(self._now, self._chains.strain(self._now))

    def _read_state(self) -> PlantState:
        sensed, data = self.sensed(), self._data
        self._find_twist()
        contacts = self._contacts.read(data)
        return self._state_of(self._now, sensed, float(data.time), self._chains.read(self._now), contacts)

    def _find_twist(self) -> None:
        mujoco.mj_objectVelocity(self._model, self._data, SITE, self._tool, self._now.twist, 0)

    def _sensed_of(self, seen: Seen, strain: Array) -> SensedState:
        """Return what sensors measure at one time, or at many."""
        arm, elastic, sensors = self._arm, self._elastic, seen.sensordata
        return SensedState(
            position=seen.qpos.T[arm].T,
            velocity=seen.qvel.T[arm].T,
            effort=seen.ctrl.copy(),
            deflection=seen.qpos.T[elastic].T,
            deflection_rate=seen.qvel.T[elastic].T,
            # checked against Newton-Euler: MuJoCo's sensors give the wrench of the parent on the child, hence the minus
            # sign
            wrenches={name: -sensors[..., part] for name, part in self._sensor_slices.items()},
            strain=strain,
            imus={name: sensors[..., part].copy() for name, part in self._imu_slices.items()},
        )

    def _state_of(
        self, seen: Seen, sensed: SensedState, time: Any, modes: Array | tuple[Array, Array], contacts: dict[str, Array]
    ) -> PlantState:
        """Return the ground truth at one time, or at many."""
        square, base = (*seen.qpos.shape[:-1], 3, 3), self._base
        position, rotation = seen.site_xpos[..., self._tool, :].copy(), seen.site_xmat[..., self._tool, :].copy()
        rotation, to_base = rotation.reshape(square), seen.xmat[..., base, :].reshape(square).swapaxes(-1, -2)
        return PlantState(
            time=time,
            position=sensed.position,
            velocity=sensed.velocity,
            acceleration=seen.qacc.T[self._arm].T,
            effort=sensed.effort,
            deflection=sensed.deflection,
            deflection_rate=sensed.deflection_rate,
            deflection_acceleration=seen.qacc.T[self._elastic].T,
            wrenches=sensed.wrenches,
            tool_position_in_world=position,
            tool_rotation_in_world=rotation,
            tool_position_in_base=(to_base @ (position - seen.xpos[..., base, :])[..., None])[..., 0],
            tool_rotation_in_base=to_base @ rotation,
            tool_twist_in_world=seen.twist.T[TWIST].T,
            modal_position=modes[0],
            modal_rate=modes[1],
            strain=sensed.strain,
            imus=sensed.imus,
            contacts=contacts,
            friction=-seen.qfrc_applied.T[self._arm].T,
        )

    def _indices(self, names: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the indices of joints, equal for positions and velocities as every joint has one coordinate."""
        return np.array([self._model.joint(name).dofadr[0] for name in names], dtype=np.intp)

    def _body(self, name: str) -> int:
        return int(self._model.body(name).id)

    def _site(self, name: str) -> int:
        return int(self._model.site(name).id)

    def _find_sensors(self, first: str, names: Iterable[str]) -> dict[str, slice]:
        """Return the slices of the six values of each sensor: the second half directly follows the first."""
        slices = {}
        for name in names:
            start = int(self._model.sensor(f"{first}/{name}").adr[0])
            slices[name] = slice(start, start + 6)
        return slices
