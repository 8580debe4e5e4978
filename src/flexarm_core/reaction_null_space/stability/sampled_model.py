r"""SampledModel: sampled closed loop of arm, elastic base and vibration controller, linearized about a posture.

The arm rests at a posture on its base. All elastic directions of the base can move, including those that the controller
does not control. Commands are held for one period, and the plant is discretized exactly; measurements are delayed by
whole periods; the joint reference of ``joint_servo`` is integrated as in the controller. The transition of the state
from one sample to the next is

    s' = (Phi_0 + g Phi_1) s

with a factor ``g`` on the base feedback G_b.

Drift. With task ``none``, and in the directions that a task leaves free, the arm can rest at any position: each such
direction gives an eigenvalue 1, which is double if the joints are not damped (G_m = 0). These eigenvalues are no
instability, but they would hide a slow instability in the numerically computed eigenvalues. Therefore the rest states,
``Phi_0 s = s`` and ``Phi_1 s = 0``, are computed first, from the static equations, and projected out. The remaining
eigenvalues at 1 are at most simple; they belong to velocities that are not damped.

Delays: the poles of a linear loop do not depend on how a delay is divided between sensors and motors. The part of the
delay that joints and base have in common is therefore modeled as a delay line of commands.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.linalg import qr

from flexarm_core.entrance import number
from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.linear_law import LinearLaw, ToolTask, linear_law
from flexarm_core.reaction_null_space.stability.linear_plant import linear_plant
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.law import LAG
from flexarm_core.reaction_null_space.vibration.law_memory import base_bandwidth
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

DRIFT = 1e-6  # [1/s] decay rate below which a real pole counts as 1 (at rest): a time constant of 11 days
STATIC = 1e-10  # relative singular value of the static equations below which a direction is a rest state


class SampledModel:
    """Linear sampled closed loop about one posture.

    Attributes:
        matrix: Phi_0 (N, N).
        feedback: Phi_1 (N, N).
        rest: (N, d) orthonormal basis of the rest states.
        plant: linearized arm and base.
        sampling: periods and delays.
    """

    def __init__(
        self,
        model: ArmModel,
        posture: Array,
        config: VibrationControllerConfig,
        selection: BaseSelection,
        sampling: Sampling,
        tool: ToolTask | None = None,
        controller_model: ArmModel | None = None,
        authority: float = 1.0,
        stiffness: float = 1.0,
    ) -> None:
        """Linearize the loop.

        Args:
            model: arm model.
            posture: (n,) posture at which the arm rests [rad | m].
            config: settings of the controller.
            selection: selected base motions, constructed with the model of the controller.
            sampling: periods, delays, drives.
            tool: tool task, for task ``tool_path``; None: all axes in the base link frame.
            controller_model: arm model that the controller uses; None: ``model``.
            authority: ratio of actual to commanded motor effort; a gain of the loop at the motors.
            stiffness: ratio of the actual to the modeled stiffness of base, links and drives.

        Raises:
            ConfigError: ``computed_torque`` with velocity or position drives.
            InputError: the posture has a wrong shape, is not finite, or the base cannot carry the arm under gravity.
        """
        if config.realization == "computed_torque" and sampling.drive != "effort":
            raise ConfigError(f"computed_torque gives efforts, which {sampling.drive} drives do not take: joint_servo")
        self.sampling = sampling
        self.plant = linear_plant(model, np.asarray(posture, dtype=float), sampling, stiffness)
        self._held = self.plant.step(sampling.period)
        self._law = linear_law(controller_model or model, self.plant, config, selection, tool)
        self._led = config.realization == "joint_servo"
        self._observed = 0.0 if self._led else min(base_bandwidth(config), LAG / sampling.period)  # [rad/s]
        self._close(authority)

    def with_authority(self, authority: float) -> SampledModel:
        """Return the loop of the same arm and law with another ratio of actual to commanded motor effort."""
        other = copy(self)
        other._close(authority)
        return other

    def _close(self, authority: float) -> None:
        self._compose(self._law, self._led, number("authority", authority))
        complement = qr(self.rest)[0][:, self.rest.shape[1] :] if self.rest.size else np.eye(len(self.matrix))
        self._moving = complement.T @ self.matrix @ complement
        self._moving_feedback = complement.T @ self.feedback @ complement

    def poles(self, feedback: float = 1.0) -> Array:
        """Return the poles z without the rest states, largest absolute value first.

        Args:
            feedback: g, factor on the base feedback; 1: as configured, 0: none.
        """
        z = np.linalg.eigvals(self._moving + number("feedback", feedback) * self._moving_feedback)
        return np.asarray(z[np.argsort(-np.abs(z))])

    def growth(self, feedback: float = 1.0) -> float:
        """Return the growth rate of the fastest growing motion [1/s]; negative: decay rate of the slowest motion.

        Motions that are practically at rest (``|z - 1| / T`` up to ``DRIFT``) do not count.
        """
        z = self.poles(feedback)
        z = z[np.abs(z - 1.0) > DRIFT * self.sampling.period]
        return float(np.log(max(np.abs(z).max(initial=0.0), 1e-300)) / self.sampling.period)

    def is_stable(self, feedback: float = 1.0) -> bool:
        """Return whether no motion grows."""
        return self.growth(feedback) <= DRIFT

    def hit_response(self, duration: float) -> Array:
        """Return the joint displacement that an impact on the base, initially at rest, has caused after a given time.

        ``dq = R w``: after the impact the base has the rate ``L^-T w``, with ``H_b = L L^T``, while the joints are
        still at rest. The energy of the impact is ``|w|^2 / 2``, so an energy E displaces the joints by at most
        ``sqrt(2 E) sigma_max(R)``. In the directions that the task leaves free, only the joint damping G_m removes the
        joint velocity that the base feedback causes, so even a stable loop may move far.

        Args:
            duration: time after the impact [s].

        Returns:
            R (n, m) [rad / sqrt(J) | m / sqrt(J)].
        """
        plant, H_b = self.plant, self.plant.blocks.H_b
        duration = number("duration", duration, 0.0, 1e6)
        outputs = np.vstack((plant.modes, plant.position, plant.velocity, plant.deflection, plant.rate))
        hit = np.zeros((len(outputs), len(H_b)))
        hit[-len(H_b) :] = np.linalg.inv(np.linalg.cholesky(H_b)).T
        state = np.zeros((len(self.matrix), len(H_b)))
        state[: len(plant.A)] = np.linalg.lstsq(outputs, hit, rcond=None)[0]
        steps = np.linalg.matrix_power(self.matrix + self.feedback, round(duration / self.sampling.period))
        return np.asarray(plant.position @ (steps @ state)[: len(plant.A)])

    def _compose(self, law: LinearLaw, led: bool, authority: float) -> None:
        plant, sampling = self.plant, self.sampling
        (p, n), m = plant.B.shape, len(plant.rest)
        joint_late, base_late = sampling.joint_samples, sampling.base_samples
        if sampling.drive != "effort":
            joint_late = base_late  # these drives do not use the measured joints
        common, extra = min(joint_late, base_late), abs(joint_late - base_late)
        wide = 0 if extra == 0 else 2 * n if joint_late > base_late else 2 * m
        differences, w = m if sampling.rate_from_differences else 0, self._observed
        sizes = (p, 2 * n if led else 0, common * n, extra * wide, differences, 2 * m if w else 0)
        identity = np.eye(sum(sizes))
        z, reference, line, late, before, expected = np.vsplit(identity, np.cumsum(sizes)[:-1])

        joints, deflection = np.vstack((plant.position, plant.velocity)) @ z, plant.deflection @ z
        rate = plant.rate @ z
        if sampling.rate_from_differences:
            rate = (deflection - before) / sampling.period
        base = np.vstack((deflection, rate))
        newest = joints if joint_late > base_late else base  # input of the delay line of the more delayed measurement
        if extra and joint_late > base_late:
            joints = late[-wide:]
        elif extra:
            base = late[-wide:]

        given = np.vstack((np.zeros((n, len(identity))), law.gives @ base[m:]))  # not part of the state
        reference = reference + given if led else reference
        lacking = np.zeros((m, len(identity)))
        if w:
            lacking = law.share @ (w * w * (expected[:m] - base[:m]) + 2.0 * w * (expected[m:] - base[m:]))
        seen = np.vstack((reference if led else joints, base, lacking))
        commands = [law.effort @ seen + law.servo @ joints, law.effort_feedback @ seen]
        if sampling.drive != "effort":
            chosen = reference[n:] if sampling.drive == "velocity" else reference[:n]
            commands = [chosen, np.zeros_like(chosen)]
        commands = [authority * command for command in commands]
        accelerations = [law.acceleration @ seen, law.acceleration_feedback @ seen]

        A, B = self._held
        T, one = sampling.period, np.eye(n)
        carry, carry_base = (np.kron([[1.0, T], [0.0, 1.0]], each) for each in (one, np.eye(m)))
        lead, lead_base = (np.kron([[0.5 * T * T], [T]], each) for each in (one, np.eye(m)))
        expectations = [-law.coupled @ accelerations[0] - law.drawn @ seen, -law.coupled @ accelerations[1]]
        matrices = []
        for command, acceleration, expectation, fixed in zip(
            commands, accelerations, expectations, (1.0, 0.0), strict=True
        ):
            applied = fixed * line[-n:] if common else command
            rows = [fixed * A @ z + B @ applied]
            if led:
                rows.append(fixed * (carry @ reference - given) + lead @ acceleration)
            if common:
                rows += [command, fixed * line[:-n]]
            if extra:
                rows += [fixed * newest, fixed * late[:-wide]]
            if sampling.rate_from_differences:
                rows.append(fixed * deflection if fixed else np.zeros_like(deflection))
            if w:  # as the law expects the base to move
                rows.append(fixed * carry_base @ expected + lead_base @ expectation)
            matrices.append(np.vstack(rows))
        self.matrix, self.feedback = matrices
        self.rest = self._rest(commands[0], accelerations[0] if led else None, expectations[0], sizes, newest)

    def _rest(
        self,
        command: Array,
        acceleration: Array | None,
        base_acceleration: Array,
        sizes: tuple[int, ...],
        newest: Array,
    ) -> Array:
        """Return the rest states: the plant forces are balanced, reference and expected base are not accelerated."""
        plant, total = self.plant, sum(sizes)
        (p, n), led, common = plant.B.shape, acceleration is not None, sizes[2] // plant.B.shape[1]
        free, observed = p + (n if led else 0), sizes[5] // 2
        # plant, reference positions and expected positions of the base -> whole state; delay lines hold their input
        whole = np.eye(total, free + observed)
        whole[:, free:] = np.eye(total, observed, sizes[5] - total)
        if sizes[4]:
            whole[total - sizes[5] - sizes[4] : total - sizes[5]] = plant.deflection @ whole[:p]
        if sizes[3]:
            first = p + sizes[1] + sizes[2]
            entering = newest @ whole
            whole[first : first + sizes[3]] = np.tile(entering, (sizes[3] // len(entering), 1))
        if common:
            whole[p + sizes[1] : p + sizes[1] + sizes[2]] = np.tile(command @ whole, (common, 1))
        equations = plant.A @ whole[:p] + plant.B @ command @ whole
        if acceleration is not None:
            equations = np.vstack((equations, acceleration @ whole))
        if observed:
            equations = np.vstack((equations, base_acceleration @ whole))
        size = np.linalg.norm(equations, axis=1, keepdims=True)
        _, values, right = np.linalg.svd(equations / np.where(size > 0.0, size, 1.0))
        directions = whole @ right[values <= STATIC * values[0]].T
        return np.asarray(qr(directions, mode="economic")[0]) if directions.size else directions
