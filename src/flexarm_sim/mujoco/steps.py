"""MujocoSteps: classical Runge-Kutta steps of a compiled MuJoCo model, with friction solved once for each step."""

from __future__ import annotations

import logging

import mujoco
import numba
import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.types import Array
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.friction.kernel import Index, Motion, Rubbing, friction_step
from flexarm_sim.friction.state import INSTANT, FrictionState
from flexarm_sim.mujoco.coupling import Coupling, respond
from flexarm_sim.mujoco.library import address, forward_skip, runge_kutta, sensor_velocity

ALL, FORCES = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)  # stages to skip
# the warnings for bad positions, velocities, accelerations and controls have consecutive numbers
DIVERGENCE = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)


# A compiled model: its address, that of its data, and arrays that MuJoCo changes: the motion of all coordinates (nv,),
# and the efforts applied to them (nv,). A plain tuple, see ``Motion``.
Robot = tuple[int, int, Motion, Array]
# Units (n, nv), ``held`` (c, nv) of the coupling, and the response (n, nv) to the units.
Linear = tuple[Array, Array, Array]


@kernel
def rubbed_steps(robot: Robot, linear: Linear, friction: Rubbing, placed: bool, h: float, steps: int) -> None:
    """Integrate steps with friction: mj_step in parts, because friction depends on the frictionless accelerations.

    Args:
        robot: the robot, which gets the friction as applied effort.
        linear: unit efforts on the joints, and the response to them.
        friction: its joints with friction.
        placed: whether what depends on positions and velocities only belongs to the present state.
        h: length of a step [s].
        steps: their number; 0: accelerations and sensors are updated to the present state.
    """
    model, data, motion, applied = robot
    units, held, response = linear
    for k in range(max(steps, 1)):
        applied[:] = 0.0
        if placed and k == 0:
            forward_skip(model, data, FORCES, 1)
        else:
            forward_skip(model, data, ALL, 1)
            respond(model, data, units, held, response)
        friction_step(motion, friction, response, h, steps == 0, applied)
        if steps > 0:
            forward_skip(model, data, FORCES, 1)
            runge_kutta(model, data, 4)
        else:
            sensor_velocity(model, data)
            forward_skip(model, data, FORCES, 0)


class MujocoSteps:
    """Integrates the state of an MjData, and updates accelerations and sensors to that state.

    With joint friction, a step first needs the accelerations without friction and then those with it; the quantities
    that depend on positions and velocities only are computed once. Sensors are computed when they are read, not in
    every step.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        joints: Index,
        friction: FrictionState | None,
        max_step: float,
        coupling: Coupling,
    ) -> None:
        """Set up the integration of a model.

        Args:
            model: compiled model with the integrator RK4.
            data: simulation data of the model, whose state is integrated.
            joints: (n,) coordinates of the actuated joints.
            friction: friction of these joints; None for none.
            max_step: longest step [s], for the error message of a divergence.
            coupling: joints that follow others.
        """
        self._model, self._data, self._joints, self._friction = model, data, joints, friction
        self._max_step = max_step
        self._warnings = data.warning.number[DIVERGENCE]
        units, response = np.zeros((2, len(joints), model.nv))
        units[np.arange(len(joints)), joints] = 1.0
        self._robot: Robot = address(model), address(data), (data.qpos, data.qvel, data.qacc), data.qfrc_applied
        self._linear: Linear = units, coupling.held, response
        self._placed = False  # whether position- and velocity-dependent data belong to the present state

    def forget(self) -> None:
        """Recompute everything in the next step, as the state or the model was changed."""
        self._placed = False

    def advance(self, steps: int, h: float) -> None:
        """Integrate steps of length ``h`` [s] with the present efforts and wrenches.

        Raises:
            PlantDivergedError: a value is not finite, or too large.
        """
        model, data, friction = self._model, self._data, self._friction
        if h != model.opt.timestep:
            model.opt.timestep, self._placed = h, False
        if friction:
            self._rub(friction.memory, h, steps)
        else:
            mujoco.mj_step(model, data, steps)
        mujoco.mj_checkAcc(model, data)
        mujoco.mj_checkPos(model, data)
        mujoco.mj_checkVel(model, data)
        self._stop_if_diverged()

    def look(self) -> None:
        """Update accelerations and sensors to the present state and effort: a step leaves those of its start.

        Raises:
            PlantDivergedError: a value is not finite, or too large.
        """
        model, data, friction = self._model, self._data, self._friction
        if friction:
            self._rub(friction.at_instant(), INSTANT, 0)
        else:
            mujoco.mj_forward(model, data)
        mujoco.mj_checkAcc(model, data)
        self._stop_if_diverged()

    def _rub(self, friction: Rubbing, h: float, steps: int) -> None:
        rubbed_steps(self._robot, self._linear, friction, self._placed, h, steps)
        self._placed = steps == 0

    def _stop_if_diverged(self) -> None:
        if any(self._warnings.tolist()):
            raise PlantDivergedError(
                f"the simulated plant diverged at {self._data.time:.6g} s: lower the effort or the gains, or give"
                f" a max_step below {self._max_step} s if a spring is stiff; then reset"
            )


@numba.cfunc("float64()", cache=True)
def _no_time() -> float:
    return 0.0


def set_callbacks() -> None:
    """Send MuJoCo's warnings to Python's log; by default MuJoCo writes a file into the working directory.

    Also disable MuJoCo's timing of its stages, which takes a tenth of their time. Callbacks that are already set are
    kept.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)
    if mujoco.get_mjcb_time() is None:
        mujoco.set_mjcb_time(_no_time.ctypes)
