"""FlexibleBackend: backend on this suite's flexible dynamics: modal links, classical Runge-Kutta steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.records import stacked
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.static_equilibrium import settle
from flexarm_core.types import Array
from flexarm_sim.backend import PlantDivergedError, PlantState
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.friction.state import FrictionState
from flexarm_sim.surfaces import Surface
from flexarm_sim.validation import checked_vector, is_number

STABLE = 2.5  # largest product of frequency and step: classical Runge-Kutta is stable up to 2.8


class FlexibleBackend:
    """Simulated robot whose flexible links have modes (implements ``flexarm_sim.backend.Backend``).

    External wrenches are converted to axes of their link at the start of each step, and are constant in these axes
    during the step.
    """

    def __init__(
        self,
        description: RobotDescription,
        *,
        tool_frame: str = "",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        max_step: float = 0.00025,
        friction: JointFriction | None = None,
    ) -> None:
        """Build the model and set the robot to zero positions.

        Args:
            description: the robot.
            tool_frame: link of the tool, empty for ``tool0`` or the only tip.
            gravity: (3,) gravity in axes of the root link [m/s^2].
            max_step: longest integration step [s].
            friction: friction of the actuated joints, in addition to that of the description; None for none.

        Raises:
            ConfigError: gravity or max_step out of bounds, friction that does not fit, or a step too long for the
                stiffest mode.
            RobotDescriptionError: the robot cannot be simulated; the message says why.
        """
        if not (is_number(max_step) and max_step > 0.0):
            raise ConfigError(f"max_step is {max_step}, expected a positive number [s]")
        if len(gravity) != 3 or not all(is_number(component) for component in gravity):
            raise ConfigError(f"gravity is {gravity}, expected three finite numbers [m/s^2] in axes of the root link")
        self._model = model = FlexibleModel(description, tool_frame, (gravity[0], gravity[1], gravity[2]))
        self._max_step = max_step
        stiffness = np.linalg.solve(model.mass_matrix(np.zeros(model.size)), model.stiffness_matrix())
        fastest = math.sqrt(max(0.0, np.linalg.eigvals(stiffness).real.max()))
        if fastest * max_step > STABLE:
            raise ConfigError(
                f"max_step {max_step} s is too long for robot '{description.name}', whose stiffest mode has"
                f" {fastest:.0f} rad/s: give at most {STABLE / fastest:.1e} s"
            )
        self._x, self._v = np.zeros(model.size), np.zeros(model.size)
        self._applied = np.zeros(len(model.hinge_names))
        self._friction = FrictionState(friction, np.arange(len(model.actuated))) if friction else None
        self.reset()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n) actuated joints, in the order of every (n,) array."""
        return self._model.description.actuated

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """(m) elastic joints, in the order of every (m,) array."""
        return tuple(joint.name for joint in self._model.description.elastic)

    @property
    def modes(self) -> tuple[str, ...]:
        """(k) modes of the flexible links, in the order of every (k,) array."""
        return self._model.mode_names

    @property
    def strain_gauges(self) -> tuple[str, ...]:
        """(g) strain gauges, in the order of every (g,) array."""
        return tuple(self._model.description.strain_gauges)

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
        model = self._model
        n, m, k = len(model.actuated), len(model.elastic), len(model.modal)
        values = (
            checked_vector("position", position, n),
            checked_vector("velocity", velocity, n),
            checked_vector("deflection", deflection, m),
            checked_vector("deflection_rate", deflection_rate, m),
            checked_vector("effort", effort, n),
            checked_vector("modal_position", modal_position, k),
            checked_vector("modal_rate", modal_rate, k),
        )
        self._x[model.actuated], self._v[model.actuated] = values[0], values[1]
        self._x[model.elastic], self._v[model.elastic] = values[2], values[3]
        self._x[model.modal], self._v[model.modal] = values[5], values[6]
        self._applied[model.actuated] = values[4]
        if at_rest:
            self._settle(deflection is None, modal_position is None)
        if self._friction:
            self._friction.reset()
        self._time = 0.0
        self._wrenches: dict[str | tuple[str, int], Array] = {}
        self._state: PlantState | None = None

    def set_external_wrench(self, link: str, wrench_in_world: ArrayLike) -> None:
        """Apply a wrench to a link from now on; see ``Backend.set_external_wrench``."""
        links = self._model.description.links
        if link not in links:
            raise InputError(f"external wrench: link '{link}' does not exist; links: {', '.join(links)}")
        self._wrenches[link] = checked_vector(f"external wrench on '{link}'", wrench_in_world, 6)
        self._state = None

    def change_surfaces(self, surfaces: Sequence[Surface]) -> None:
        """Reject any surface, as this backend has no contact; see ``Backend.change_surfaces``."""
        if surfaces:
            raise ConfigError("the backend flexible_dynamics has no contact: take mujoco")

    def change_friction(self, friction: JointFriction) -> None:
        """Change the joint friction; see ``Backend.change_friction``."""
        if not self._friction:
            raise ConfigError("the plant was made without friction in the joints: begin with zeros to change it later")
        self._friction.change(friction)
        self._state = None

    def step(self, effort: ArrayLike, duration: float) -> None:
        """Integrate the equations of motion over a time, with constant effort; see ``Backend.step``."""
        model = self._model
        applied = checked_vector("effort", effort, len(model.actuated))
        if not (is_number(duration) and duration > 0.0):
            raise InputError(f"duration is {duration}, expected a positive time [s]")
        steps = max(1, math.ceil(duration / self._max_step - 1e-9))  # round-off must not add a step
        self._applied[model.actuated] = applied
        single = self._friction is not None or any(wrench.any() for wrench in self._wrenches.values())
        h = duration / steps
        for _ in range(steps if single else 1):
            left = self._applied.copy()
            if self._friction:
                left[model.actuated] += self._rub(self._friction.step, h)
            model.set_wrenches(self._x, self._v, self._wrenches)
            model.integrate(self._x, self._v, left, h, 1 if single else steps)
        self._time += duration
        self._state = None
        if not (np.isfinite(self._x).all() and np.isfinite(self._v).all()):
            raise PlantDivergedError(
                f"the simulated plant diverged at {self._time:.6g} s: lower the effort or the gains, or give"
                f" a max_step below {self._max_step} s if a mode is stiff; then reset"
            )

    def state(self) -> PlantState:
        """Return the ground truth now; see ``Backend.state``."""
        if self._state is None:
            self._state = self._read_state()
        return self._state

    def trace(self) -> PlantState:
        """Return the ground truth now; see ``Backend.trace``."""
        return self.state()

    def traced(self, traces: Sequence[PlantState]) -> PlantState:
        """Return the ground truth of many traces; see ``Backend.traced``."""
        return stacked(traces)

    def sensed(self) -> PlantState:
        """Return what sensors measure now; see ``Backend.sensed``."""
        return self.state()

    def joint_dynamics(self) -> tuple[Array, Array]:
        """Return inertia and bias of the joints with free elastic coordinates; see ``Backend.joint_dynamics``."""
        model = self._model
        model.articulate(self._x, self._v)
        inertia = np.linalg.inv(model.response(model.actuated)[model.actuated])
        free = model.accelerate(np.zeros(len(model.hinge_names)))
        return inertia, -inertia @ free[model.actuated]

    def gravity_effort(self) -> Array:
        """Return the efforts that compensate gravity; see ``Backend.gravity_effort``."""
        still = np.zeros(self._model.size)
        return self._model.inverse_dynamics(self._x, still, still)[self._model.actuated]

    def base_frequency(self) -> float:
        """Return the highest frequency of the elastic base with free joints; see ``Backend.base_frequency``."""
        model = self._model
        model.articulate(self._x, self._v)
        stiffness = model.stiffness_matrix()[np.ix_(model.elastic, model.elastic)]
        squares = np.linalg.eigvals(model.response(model.elastic)[model.elastic] @ stiffness).real
        return math.sqrt(squares.max(initial=0.0))

    def _settle(self, base: bool, links: bool) -> None:
        """Set the elastic joints, the modes, or both, to the static equilibrium under gravity."""
        model, still = self._model, np.zeros(self._model.size)
        places = np.concatenate((model.elastic[: None if base else 0], model.modal[: None if links else 0]))
        stiffness = model.stiffness_matrix()[np.ix_(places, places)]

        def weight(x: Array) -> Array:
            self._x[places] = x
            return model.inverse_dynamics(self._x, still, still)[places] - stiffness @ x

        self._x[places] = settle(stiffness, weight, [(*model.hinge_names, *model.mode_names)[i] for i in places])

    def _rub(self, solve: Callable[..., None], *step: float) -> Array:
        """Return the friction effort (n,) on the joints, computed from their acceleration without friction."""
        model, x, v, arm = self._model, self._x, self._v, self._model.actuated
        free = model.forward_dynamics(x, v, self._applied, self._wrenches)
        rubbed = np.zeros(len(arm))
        solve(x[arm], v[arm], free[arm], model.response(arm)[arm], *step, rubbed)
        return rubbed

    def _read_state(self) -> PlantState:
        model, x, v = self._model, self._x, self._v
        description = model.description
        rubbed = self._rub(self._friction.look) if self._friction else np.zeros(len(model.actuated))
        left = self._applied.copy()
        left[model.actuated] += rubbed
        acceleration = model.forward_dynamics(x, v, left, self._wrenches)
        tool = model.frame_motion(model.tool_frame, x, v)
        base = model.frame_motion(description.base_frame, x, v)
        imus = {}
        for name, imu in description.imus.items():
            motion = model.frame_motion(imu.frame, x, v, acceleration)
            force = motion.rotation.T @ (motion.acceleration[:3] + model.tree.root)
            imus[name] = np.concatenate((force, motion.rotation.T @ motion.velocity[3:]))
        sensed = description.force_torque_sensors
        return PlantState(
            time=self._time,
            position=x[model.actuated],
            velocity=v[model.actuated],
            acceleration=acceleration[model.actuated],
            effort=self._applied[model.actuated],
            deflection=x[model.elastic],
            deflection_rate=v[model.elastic],
            deflection_acceleration=acceleration[model.elastic],
            wrenches=model.sensor_wrenches(x, v, acceleration, self._wrenches) if sensed else {},
            tool_position_in_world=tool.position,
            tool_rotation_in_world=tool.rotation,
            tool_position_in_base=base.rotation.T @ (tool.position - base.position),
            tool_rotation_in_base=base.rotation.T @ tool.rotation,
            tool_twist_in_world=tool.velocity,
            modal_position=x[model.modal],
            modal_rate=v[model.modal],
            strain=model.strain_map @ x[model.modal],
            imus=imus,
            friction=-rubbed,
        )
