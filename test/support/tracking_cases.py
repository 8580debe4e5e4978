"""Random tool paths of random arms on elastic bases, along which the vibration controller also damps the base.

A path is refused, by a ConfigError that says why, where

* more motions of the base are soft than the joints can keep quiet beside the path,
* a preview of the path over a base at rest comes to a posture at which an inverse of the law is damped: where the arm
  loses its grip on the base (H_bm), where the tool cannot move in some direction (J), or where both would be possible,
  but not at once (Jbar: algorithmic singularity, the two tasks fight), or to a joint's position limit,
* the gains are not safely stable at the start, or not stable at a posture of the preview,
* joint servos let the tool sag: they do not know what gravity's deflection of the base does to the weight of the arm,
* a hit of ``HIT_ENERGY``, with a margin, moves the arm to a posture at which the gains are refused or an inverse is
  damped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from elastic_robots import WEIGHTLESS
from rns_cases import text_of
from stability_cases import PERIODS, POSITION_AXES, StabilityCase, random_base

from flexarm_core.errors import ConfigError
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.linear_plant import linear_plant
from flexarm_core.reaction_null_space.stability.sampled_model import DRIFT
from flexarm_core.reaction_null_space.stability.stability import check_gains, postures_after_hits
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection, servo_inertia
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, CartesianReference

EARTH = (0.0, 0.0, -9.81)
PLANAR_AXES = (True, True, False, False, False, False)
# (robot, tracked axes, selection, length of the path at least and at most [m])
OWN_BASE = {
    "boom_7r": (POSITION_AXES, ("auto",), (0.05, 0.2)),
    "planar_3r": (PLANAR_AXES, ("all",), (0.1, 0.5)),
    "wheel_3r": (PLANAR_AXES, ("all",), (0.05, 0.3)),
}
FIGHT = "the two tasks fight"
PREVIEW = 0.02  # [s] between postures of a preview
RUN_OUT = 3.0  # [s] after a path, in which joints go on along what it leaves free: only G_m brakes them there
LOOKED_AT = 8  # postures along it at which the loop must be stable
HIT_ENERGY = 0.01  # [J] of the hits
HIT_MARGIN = 16.0  # on it: a factor of 4 on the way that the arm goes
SAG = 5e-3  # [m] of the tool


@dataclass(frozen=True, slots=True)
class TrackingCase:
    """An arm, settings, and a straight path of its tool.

    Attributes:
        case: arm and settings; its posture is the start.
        displacement: (3,) of the tool, axes of the reference's frame [m].
        duration: [s].
        hit_at: time of a hit on the base [s].
    """

    case: StabilityCase
    displacement: Array
    duration: float
    hit_at: float

    def path(self, rest: Array) -> Callable[[int], CartesianReference]:
        """References of a stamp [ns], the base resting at a deflection (m,) at the start."""
        model, tool = self.case.model, self.case.tool
        frame, axes = tool.frame or model.base_frame, np.array(tool.axes)
        still = ArmState(0, self.case.posture, np.zeros(model.n), rest, np.zeros(model.m))
        begin = model.tool_kinematics(still, frame)
        way = np.concatenate((self.displacement, np.zeros(3)))

        def reference(stamp: int) -> CartesianReference:
            s, rate, acceleration = fifth_order(stamp * 1e-9, self.duration)
            position = begin.position + s * way[:3]
            return CartesianReference(stamp, frame, position, begin.rotation, rate * way, acceleration * way, axes)

        return reference

    def check(self) -> None:
        """Raise ConfigError, which says why, where the path is refused; see the module."""
        case = self.case
        postures, rest = self._preview()
        check_gains(case.model, case.posture, case.config, case.selection, case.sampling, case.tool)
        for posture in postures[:: max(1, len(postures) // LOOKED_AT)]:
            growth = replace(case, posture=posture).loop().growth()
            if growth > DRIFT:
                raise ConfigError(f"the loop is unstable on the way, at {np.round(posture, 2).tolist()}")
        self._check_hit(postures[round(self.hit_at / PREVIEW)], rest)

    def _check_hit(self, posture: Array, rest: Array) -> None:
        """Raise ConfigError where a hit at a posture leads to one at which the law fails."""
        case, model = self.case, self.case.model
        settings = case.config, case.selection, case.sampling, case.tool
        after = postures_after_hits(model, posture, *settings, energy=HIT_MARGIN * HIT_ENERGY)
        try:
            check_gains(model, after, *settings)
        except ConfigError as error:
            raise ConfigError(f"a hit moves the arm to where {error}") from error
        law = VibrationController(model, replace(case.config, realization="joint_servo"), case.selection)
        reference = self.path(rest)(round(self.hit_at * 1e9))
        for there in after:
            law.reset()
            state = ArmState(0, there, np.zeros(model.n), rest, np.zeros(model.m))
            _, reaction = law.update(state, reference)
            if reaction.damping > 0.0:
                why = self._singular(there, rest, reaction.coupling_singular_values)
                raise ConfigError(f"a hit moves the arm to where {why}")

    def _preview(self) -> tuple[Array, Array]:
        """Postures (K, n) of the path, and of what follows, over a base at rest, and its deflection (m,) there."""
        case, model = self.case, self.case.model
        rest = linear_plant(model, case.posture, case.sampling).rest
        reference = self.path(rest)
        led = VibrationController(model, replace(case.config, realization="joint_servo"), case.selection)
        postures = []
        for k in range(round((self.duration + RUN_OUT) / PREVIEW) + 1):
            stamp = round(k * PREVIEW * 1e9)
            followed = postures[-1] if postures else case.posture
            state = ArmState(stamp, followed, np.zeros(model.n), rest, np.zeros(model.m))
            command, reaction = led.update(state, reference(stamp))
            assert command.position is not None
            postures.append(command.position)
            if reaction.damping > 0.0:
                raise ConfigError(self._singular(command.position, rest, reaction.coupling_singular_values))
            if (command.position < model.lower).any() or (command.position > model.upper).any():
                raise ConfigError("the path leads beyond a joint's position limit")
        self._check_sag(postures[-1], rest)
        return np.array(postures), rest

    def _check_sag(self, posture: Array, rest: Array) -> None:
        """Raise ConfigError where joint servos do not hold the tool: they know the weight over an undeflected base."""
        case, model = self.case, self.case.model
        if case.config.realization != "joint_servo" or not any(case.gravity):
            return
        state = ArmState(0, posture, np.zeros(model.n), rest, np.zeros(model.m))
        blocks = model.blocks(replace(state, deflection=np.zeros(model.m)))
        missing = model.blocks(state).c_m - blocks.c_m
        served = servo_inertia(blocks, case.selection.at(blocks, 0.0, 0.0).rows)
        J = model.tool_kinematics(state, model.base_frame).J_m[:3]
        sag = float(np.linalg.norm(J @ np.linalg.solve(case.config.servo_position_gain * served, missing)))
        if sag > SAG:
            raise ConfigError(f"the tool sags by {1e3 * sag:.3g} mm over a base that gravity bends")

    def _singular(self, posture: Array, rest: Array, coupling: Array) -> str:
        """Which inverse is damped at a posture."""
        case, model = self.case, self.case.model
        state = ArmState(0, posture, np.zeros(model.n), rest, np.zeros(model.m))
        J = model.tool_kinematics(state, case.tool.frame or model.base_frame).J_m[np.array(case.tool.axes)]
        smallest, threshold = np.linalg.svd(J)[1][-1], case.config.tool_threshold * np.linalg.norm(J)
        if smallest < threshold:
            return f"the tool cannot move: sigma_min(J) is {smallest:.3g} m, below {threshold:.3g} m"
        blocks = model.blocks(replace(state, deflection=np.zeros(model.m)))
        rows = case.selection.at(blocks, 0.0, 0.0).rows
        scale = np.sqrt(np.trace(rows @ blocks.H_b @ rows.T) * np.trace(blocks.H_m))
        if coupling[-1] < case.config.coupling_threshold * scale:
            return f"the arm has no grip on the base: sigma_min(H_bm) is {coupling[-1] / scale:.3g} of its scale"
        return f"{FIGHT}: sigma_min(Jbar) is below {threshold:.3g} m, while that of J is {smallest:.3g} m"


def random_tracking_cases(name: str, rng: np.random.Generator) -> Iterator[TrackingCase | ConfigError]:
    """Random paths of a robot, without end, or why there cannot be one."""
    while True:
        axes, chosen, lengths = OWN_BASE.get(name, (POSITION_AXES, ("auto",), (0.05, 0.3)))
        if name in OWN_BASE:
            model, text, gravity = own_base(name), text_of(name), WEIGHTLESS
            posture = rng.uniform(np.maximum(model.lower, -2.5), np.minimum(model.upper, 2.5))
        else:
            text, tool, posture, _ = random_base(name, rng)
            gravity = WEIGHTLESS if rng.random() < 0.7 else EARTH
            model = ArmModel(text, tool, gravity)
        bandwidth, duration = rng.uniform(8.0, 30.0), rng.uniform(1.0, 2.0)
        config = VibrationControllerConfig(
            realization="joint_servo" if rng.random() < 0.9 else "computed_torque",
            position_gain=100.0, velocity_gain=20.0, posture_gain=4.0,
            servo_position_gain=bandwidth**2, servo_velocity_gain=2.0 * bandwidth,
            damping_ratio=10.0 ** rng.uniform(-0.7, 0.0),
        )  # fmt: skip
        periods = PERIODS if axes[2] else PERIODS[2:]  # planar arms stand on slow bases: long runs
        sampling = Sampling(float(rng.choice(periods)), rng.uniform(0.0, 0.006))
        task = ToolTask(("", model.world_frame)[rng.integers(2)], axes)
        way = rng.standard_normal(3) * np.array(axes[:3])
        way *= rng.uniform(*lengths) / np.linalg.norm(way)
        hit_at = rng.uniform(0.2, 0.8) * duration
        try:
            selection = BaseSelection(model, chosen, spare=sum(axes))
        except ConfigError as error:
            yield error
            continue
        case = StabilityCase(text, model, gravity, selection, posture, config, sampling, task)
        yield TrackingCase(case, way, duration, hit_at)


@cache
def own_base(name: str) -> ArmModel:
    """Model of a robot that stands on its own elastic base."""
    return ArmModel(text_of(name), gravity=WEIGHTLESS)
