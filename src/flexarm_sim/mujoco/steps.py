"""Steps of a compiled MuJoCo model: classical Runge-Kutta, with friction that is found anew for each step."""

from __future__ import annotations

import logging

import mujoco
import numba
import numpy as np

from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.friction.kernel import Index
from flexarm_sim.friction.state import FrictionState

ALL, FORCES = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)  # from where on a state is computed
# bad positions, velocities, accelerations and efforts are numbered one after the other
DIVERGENCE = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)


class MujocoSteps:
    """Integrates the state in a MjData, and brings what is read from it up to that state.

    Where joints rub, a step needs the accelerations without friction and then those with it; what depends on positions
    and velocities is the same for both. Sensors are computed where they are read, not in every step.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        joints: Index,
        friction: FrictionState | None,
        max_step: float,
    ) -> None:
        """Take a model.

        Args:
            model: compiled, with the integrator RK4.
            data: of it, whose state is integrated.
            joints: (n,) coordinates that are actuated joints.
            friction: of these joints; None for none.
            max_step: longest step [s], for the message of a divergence.
        """
        self._model, self._data, self._joints, self._friction = model, data, joints, friction
        self._max_step = max_step
        # views: MuJoCo writes in them
        self._motion = data.qpos, data.qvel, data.qacc
        self._applied, self._warnings = data.qfrc_applied, data.warning.number[DIVERGENCE]
        self._units, self._response = np.zeros((2, len(joints), model.nv))
        self._units[np.arange(len(joints)), joints] = 1.0
        self._placed = False  # whether all that depends on positions and velocities is that of the present state

    def forget(self) -> None:
        """Compute everything anew: the state or the model was changed."""
        self._placed = False

    def advance(self, steps: int, h: float) -> None:
        """Make steps of length ``h`` [s] under the efforts and wrenches that are set.

        Raises:
            PlantDivergedError: something has become infinite, or absurdly large.
        """
        model, data, friction = self._model, self._data, self._friction
        if h != model.opt.timestep:
            model.opt.timestep, self._placed = h, False
        if friction:
            for _ in range(steps):
                # mj_step in parts: friction comes after the accelerations without it
                self._accelerate_freely()
                self._applied[self._joints] = friction.step(*self._motion, self._response, h)
                mujoco.mj_forwardSkip(model, data, FORCES, 1)
                mujoco.mj_checkAcc(model, data)
                mujoco.mj_RungeKutta(model, data, 4)
                self._placed = False
        else:
            mujoco.mj_step(model, data, steps)
        mujoco.mj_checkPos(model, data)
        mujoco.mj_checkVel(model, data)
        self._stop_if_diverged()

    def look(self) -> None:
        """Bring accelerations and sensors up to the present state and effort: a step leaves those of its beginning.

        Raises:
            PlantDivergedError: something has become infinite, or absurdly large.
        """
        model, data, friction = self._model, self._data, self._friction
        if friction:
            self._accelerate_freely()
            self._applied[self._joints] = friction.look(*self._motion, self._response)
            mujoco.mj_sensorVel(model, data)
            mujoco.mj_forwardSkip(model, data, FORCES, 0)
        else:
            mujoco.mj_forward(model, data)
        mujoco.mj_checkAcc(model, data)
        self._stop_if_diverged()

    def _accelerate_freely(self) -> None:
        """Find the accelerations without friction, and what an effort on each joint adds to them."""
        model, data = self._model, self._data
        self._applied[:] = 0.0
        if self._placed:
            mujoco.mj_forwardSkip(model, data, FORCES, 1)
            return
        mujoco.mj_forwardSkip(model, data, ALL, 1)
        mujoco.mj_solveM(model, data, self._response, self._units)
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
    """Send MuJoCo's warnings to Python's log, where by default it writes a file into the working directory.

    And let it not time its own stages, which costs a tenth of them. What somebody else has set stays.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)
    if mujoco.get_mjcb_time() is None:
        mujoco.set_mjcb_time(_no_time.ctypes)
