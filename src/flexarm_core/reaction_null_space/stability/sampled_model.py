r"""SampledModel: the closed loop of arm, elastic base and vibration controller about a posture, as it is sampled.

The arm rests at a posture on its base, of which all elastic directions move, also those that the controller does not
know of. Commands are held over a period, which is discretised exactly; measurements come whole periods late; the joint
reference of ``joint_servo`` is integrated as the controller does it. From one sample to the next the state goes

    s' = (Phi_0 + g Phi_1) s

with ``g`` a factor on the base feedback G_b.

Drift. With task ``none``, and along what a task leaves free, the arm may rest anywhere: as many eigenvalues are 1, and
where the joints are not damped (G_m = 0) each is double. They are no instability, but next to them a slow one would not
be seen in computed eigenvalues. So states of rest, ``Phi_0 s = s`` and ``Phi_1 s = 0``, are found first, from the
static equations, and divided out; what remains has simple eigenvalues at 1 at most, from speeds that nothing brakes.

Delays: how a delay is shared out between sensors and motors does not change the poles of a linear loop, so what joints
and base have in common is put into one line of commands.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from flexarm_core.entrance import number
from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.linear_law import LinearLaw, ToolTask, linear_law
from flexarm_core.reaction_null_space.stability.linear_plant import linear_plant
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

DRIFT = 1e-6  # [1/s] below which a real pole counts as one that stands still: a time constant of 11 days
STATIC = 1e-10  # relative singular value of the static equations below which a direction is one of rest


class SampledModel:
    """Linear sampled closed loop about one posture.

    Attributes:
        matrix: Phi_0 (N, N).
        feedback: Phi_1 (N, N).
        rest: (N, d) orthonormal, states in which all stands still.
        plant: linearised arm and base.
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
        """Linearise.

        Args:
            model: of the arm.
            posture: (n,) at which it rests [rad | m].
            config: of the controller.
            selection: of the base's motions, made for the controller's model.
            sampling: periods, delays, drives.
            tool: for task ``tool_path``; None: all axes in the base link's frame.
            controller_model: with which the controller computes, where it is another one than the arm's.
            authority: factor by which the motors do more than they are told, gain of the loop broken there.
            stiffness: factor by which the base is stiffer than the models say.

        Raises:
            ConfigError: ``computed_torque`` on velocity or position drives.
            InputError: a posture of the wrong shape or not finite, or under which gravity overcomes the base's springs.
        """
        if config.realisation == "computed_torque" and sampling.drive != "effort":
            raise ConfigError(f"computed_torque gives efforts, which {sampling.drive} drives do not take: joint_servo")
        self.sampling = sampling
        self.plant = linear_plant(model, np.asarray(posture, dtype=float), sampling, stiffness)
        law = linear_law(controller_model or model, self.plant, config, selection, tool)
        self._compose(law, config.realisation == "joint_servo", number("authority", authority))
        complement = qr(self.rest)[0][:, self.rest.shape[1] :] if self.rest.size else np.eye(len(self.matrix))
        self._moving = complement.T @ self.matrix @ complement
        self._moving_feedback = complement.T @ self.feedback @ complement

    def poles(self, feedback: float = 1.0) -> Array:
        """Poles z of all that moves (states of rest divided out), largest first.

        Args:
            feedback: g, factor on the base feedback; 1 is what the configuration says, 0 none.
        """
        z = np.linalg.eigvals(self._moving + number("feedback", feedback) * self._moving_feedback)
        return np.asarray(z[np.argsort(-np.abs(z))])

    def growth(self, feedback: float = 1.0) -> float:
        """Rate at which the fastest growing motion grows [1/s], or the slowest decays where it is negative.

        Motions that stand still in all but name (``|ln z| / T`` below ``DRIFT``) do not count.
        """
        z = self.poles(feedback)
        z = z[np.abs(z - 1.0) > DRIFT * self.sampling.period]
        return float(np.log(max(np.abs(z).max(initial=0.0), 1e-300)) / self.sampling.period)

    def is_stable(self, feedback: float = 1.0) -> bool:
        """Whether nothing grows."""
        return self.growth(feedback) <= DRIFT

    def hit_response(self, duration: float) -> Array:
        """How far a hit on the base, at rest before, has moved the joints after a time.

        ``dq = R w``, where the hit leaves the base, under joints that still rest, at a rate ``L^-T w`` with
        ``H_b = L L^T``, so that its energy is ``|w|^2 / 2``: one of energy E moves the joints by ``sqrt(2 E)
        sigma_max(R)`` at most. What the base feedback gives to joints that the task leaves free is taken back by the
        joint damping G_m alone, so that a stable loop may go far.

        Args:
            duration: [s].

        Returns:
            R (n, m) [rad / sqrt(J) | m / sqrt(J)].
        """
        plant, H_b = self.plant, self.plant.blocks.H_b
        duration = number("duration", duration, 0.0, 1e6)
        outputs = np.vstack((plant.position, plant.velocity, plant.deflection, plant.rate))
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
            joint_late = base_late  # measured joints are not used
        common, extra = min(joint_late, base_late), abs(joint_late - base_late)
        wide = 0 if extra == 0 else 2 * n if joint_late > base_late else 2 * m
        sizes = (p, 2 * n if led else 0, common * n, extra * wide, m if sampling.rate_from_differences else 0)
        identity = np.eye(sum(sizes))
        z, reference, line, late, before = np.vsplit(identity, np.cumsum(sizes)[:-1])

        joints, deflection = np.vstack((plant.position, plant.velocity)) @ z, plant.deflection @ z
        rate = plant.rate @ z
        if sampling.rate_from_differences:
            rate = (deflection - before) / sampling.period
        base = np.vstack((deflection, rate))
        newest = joints if joint_late > base_late else base  # what enters the line of what is later than the rest
        if extra and joint_late > base_late:
            joints = late[-wide:]
        elif extra:
            base = late[-wide:]

        given = np.vstack((np.zeros((n, len(identity))), law.gives @ base[m:]))  # no part of the state
        reference = reference + given if led else reference
        seen = np.vstack((reference if led else joints, base))
        commands = [law.effort @ seen + law.servo @ joints, law.effort_feedback @ seen]
        if sampling.drive != "effort":
            chosen = reference[n:] if sampling.drive == "velocity" else reference[:n]
            commands = [chosen, np.zeros_like(chosen)]
        commands = [authority * command for command in commands]
        accelerations = [law.acceleration @ seen, law.acceleration_feedback @ seen]

        A, B = plant.step(sampling.period)
        T, one = sampling.period, np.eye(n)
        carry = np.kron([[1.0, T], [0.0, 1.0]], one)
        lead = np.kron([[0.5 * T * T], [T]], one)
        matrices = []
        for command, acceleration, fixed in zip(commands, accelerations, (1.0, 0.0), strict=True):
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
            matrices.append(np.vstack(rows))
        self.matrix, self.feedback = matrices
        self.rest = self._rest(commands[0], accelerations[0] if led else None, sizes, newest)

    def _rest(self, command: Array, acceleration: Array | None, sizes: tuple[int, ...], newest: Array) -> Array:
        """States of rest: the plant's forces are in balance, the reference (if any) is not accelerated."""
        plant, total = self.plant, sum(sizes)
        (p, n), led, common = plant.B.shape, acceleration is not None, sizes[2] // plant.B.shape[1]
        free = p + (n if led else 0)
        whole = np.eye(total, free)  # plant and positions of the reference to the whole state; lines hold what enters
        if sizes[4]:
            whole[total - sizes[4] :] = plant.deflection @ whole[:p]
        if sizes[3]:
            first = p + sizes[1] + sizes[2]
            entering = newest @ whole
            whole[first : first + sizes[3]] = np.tile(entering, (sizes[3] // len(entering), 1))
        if common:
            whole[p + sizes[1] : p + sizes[1] + sizes[2]] = np.tile(command @ whole, (common, 1))
        equations = plant.A @ whole[:p] + plant.B @ command @ whole
        if acceleration is not None:
            equations = np.vstack((equations, acceleration @ whole))
        size = np.linalg.norm(equations, axis=1, keepdims=True)
        _, values, right = np.linalg.svd(equations / np.where(size > 0.0, size, 1.0))
        directions = whole @ right[values <= STATIC * values[0]].T
        return np.asarray(qr(directions, mode="economic")[0]) if directions.size else directions
