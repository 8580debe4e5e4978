"""MujocoSteps: classical Runge-Kutta steps of a compiled MuJoCo model, with friction solved once for each step."""

from __future__ import annotations

import logging

import mujoco
import numba
import numpy as np

from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.friction.kernel import Index
from flexarm_sim.friction.state import FrictionState
from flexarm_sim.mujoco.coupling import Coupling

ALL, FORCES = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)  # stages to skip
# the warnings for bad positions, velocities, accelerations and controls have consecutive numbers
DIVERGENCE = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)


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
        self._max_step, self._coupling = max_step, coupling
        # views: MuJoCo writes to them
        self._motion = data.qpos, data.qvel, data.qacc
        self._applied, self._warnings = data.qfrc_applied, data.warning.number[DIVERGENCE]
        self._units, self._response = np.zeros((2, len(joints), model.nv))
        self._units[np.arange(len(joints)), joints] = 1.0
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
            for _ in range(steps):
                # mj_step in parts: friction follows from the accelerations without it
                self._accelerate_freely()
                friction.step(*self._motion, self._response, h, self._applied)
                mujoco.mj_forwardSkip(model, data, FORCES, 1)
                mujoco.mj_RungeKutta(model, data, 4)
                self._placed = False
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
            self._accelerate_freely()
            friction.look(*self._motion, self._response, self._applied)
            mujoco.mj_sensorVel(model, data)
            mujoco.mj_forwardSkip(model, data, FORCES, 0)
        else:
            mujoco.mj_forward(model, data)
        mujoco.mj_checkAcc(model, data)
        self._stop_if_diverged()

    def _accelerate_freely(self) -> None:
        """Compute the accelerations without friction, and the response to an effort on each joint."""
        model, data = self._model, self._data
        self._applied.fill(0.0)
        if self._placed:
            mujoco.mj_forwardSkip(model, data, FORCES, 1)
            return
        mujoco.mj_forwardSkip(model, data, ALL, 1)
        self._coupling.respond(data, self._units, self._response)
        self._placed = True

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
