"""Whether gains of the vibration controller are stable on the full sampled model with a margin, and which still are.

A loop is accepted if, at every posture that is looked at,

* with the models as they are, it is stable for every base feedback from none to ``Margin.feedback`` times the one
  that is asked for;
* at every feedback up to that it stays stable where the base is up to ``Margin.stiffness`` times as stiff or as soft,
  where efforts do up to ``Margin.effort`` times more or less than they are told, and where both happen.

The first is the classic gain margin of the base feedback (1.5 is 3.5 dB). The others cover what it does not see: the
servos of the joints act on stiff, lightly damped directions too, through delay and sampling with a phase that turns by
whole fractions of a radian where a frequency is 10 % wrong (most of all near half the sampling frequency), and on the
inertia of arm and base together. Of random loops that pass the first alone, errors of +-10 % in the inertia of every
link made one in six unstable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

LARGEST_SEARCHED = 3.0  # damping ratio
LOOKS = 20  # at feedbacks from 1/1000 of the largest one to it: 1.44 apart
DIGITS = 1e-4  # relative, to which a limit is found
HIT_ENERGY = 0.1  # [J]
FARTHEST = 0.5  # [rad | m] from a posture at which others are looked at
HIT_TIME = 3.0  # [s] after a hit, in which a joint damping of 1 1/s has taken back nearly all speed


@dataclass(frozen=True, slots=True)
class Margin:
    """What must not make a loop unstable; factors, 1 = no margin.

    Attributes:
        feedback: on the base feedback.
        effort: on efforts, up and down.
        stiffness: on the stiffness of the base, up and down.
    """

    feedback: float = 1.5
    effort: float = 1.25
    stiffness: float = 1.25

    def __post_init__(self) -> None:
        """Raise ConfigError for factors below 1."""
        for name in ("feedback", "effort", "stiffness"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 1.0):
                raise ConfigError(f"margin {name} must be a factor >= 1, got {value}")

    def plants(self) -> Iterator[tuple[float, float]]:
        """Factors (effort, stiffness) of the arms that could be there instead."""
        if self.effort > 1.0:
            yield from ((self.effort, 1.0), (1.0 / self.effort, 1.0))
        if self.stiffness > 1.0:
            for effort in dict.fromkeys((1.0, self.effort)):
                yield from ((effort, self.stiffness**power) for power in (-1.0, -0.5, 0.5, 1.0))


@dataclass(frozen=True, slots=True)
class StabilityLimit:
    """How large a gain may be at the worst of some postures.

    Attributes:
        crossing: gain from which on the loop as modelled is unstable, inf where none up to the searched one is; 0
            where it is so without any base feedback.
        accepted: largest gain with the margins, inf likewise.
        posture: (n,) where the latter is smallest [rad | m].
        limited_by: what else than the models' arm sets it there, ``on a base 0.8 times as stiff``; empty: the arm as
            modelled, with its margin of feedback.
    """

    crossing: float
    accepted: float
    posture: Array
    limited_by: str = ""


def stability_limit(
    model: ArmModel,
    postures: Array,
    config: VibrationControllerConfig,
    selection: BaseSelection,
    sampling: Sampling,
    tool: ToolTask | None = None,
    margin: Margin | None = None,
    largest: float = LARGEST_SEARCHED,
) -> StabilityLimit:
    """Largest gain of the base feedback at some postures: damping ratio, or the literal gain where the config has one.

    Args:
        model: of the arm, and the controller's.
        postures: (n,) or (count, n) [rad | m].
        config: of the controller; how large its gain of the base feedback is does not matter.
        selection: of the base's motions.
        sampling: periods, delays, drives.
        tool: for task ``tool_path``.
        margin: None for the default.
        largest: gain that is searched up to.

    Raises:
        ConfigError: nothing to be searched, or what :class:`SampledModel` refuses.
        InputError: as of :class:`SampledModel`.
    """
    if not largest > 0.0:
        raise ConfigError(f"gains are searched up to a positive one, got {largest}")
    margin = Margin() if margin is None else margin
    literal = config.vibration_gain > 0.0
    unit = replace(config, damping_ratio=1.0, vibration_gain=1.0 if literal else 0.0, vibration_damping=True)
    found = StabilityLimit(np.inf, np.inf, np.atleast_2d(postures)[0])
    for posture in np.atleast_2d(np.asarray(postures, dtype=float)):
        first = _first_crossing(
            SampledModel(model, posture, unit, selection, sampling, tool), margin.feedback * largest
        )
        limit, by = first / margin.feedback, ""
        for effort, stiffness in margin.plants():
            top = min(limit, found.accepted, largest)
            if top == 0.0:
                break
            other = SampledModel(model, posture, unit, selection, sampling, tool, authority=effort, stiffness=stiffness)
            lower = _first_crossing(other, top)
            if lower < limit:
                limit, by = lower, _name(effort, stiffness)
        crossing = min(found.crossing, first)
        if limit < found.accepted:
            found = StabilityLimit(crossing, limit, posture, by)
        else:
            found = replace(found, crossing=crossing)
    return found


def largest_stable_damping_ratio(
    model: ArmModel,
    posture: Array,
    config: VibrationControllerConfig,
    selection: BaseSelection,
    sampling: Sampling,
    tool: ToolTask | None = None,
    margin: Margin | None = None,
) -> float:
    """Largest damping ratio that is accepted at a posture (or at all of several), inf where 3 is; see module.

    Arguments as of :func:`stability_limit`. 0 where the loop is not safely stable without any base feedback.
    """
    return stability_limit(
        model, posture, replace(config, vibration_gain=0.0), selection, sampling, tool, margin
    ).accepted


def check_gains(
    model: ArmModel,
    postures: Array,
    config: VibrationControllerConfig,
    selection: BaseSelection,
    sampling: Sampling,
    tool: ToolTask | None = None,
    margin: Margin | None = None,
) -> StabilityLimit | None:
    """Refuse gains that are not stable with the margins at every one of some postures.

    Arguments as of :func:`stability_limit`.

    Returns:
        What was found, searched up to the gains asked for; None where there is no base feedback to be found a limit of.

    Raises:
        ConfigError: the gains are refused; the message says what would be accepted.
    """
    margin = Margin() if margin is None else margin
    literal = config.vibration_gain > 0.0
    name, asked = ("vibration_gain", config.vibration_gain) if literal else ("damping_ratio", config.damping_ratio)
    fed_back = config.law != "resolved_acceleration" and config.vibration_damping and asked > 0.0
    searched = asked if fed_back else 1e-9  # as good as no base feedback
    found = stability_limit(model, postures, config, selection, sampling, tool, margin, searched)
    at = f"at joint positions {np.round(found.posture, 2).tolist()}"
    if found.accepted == 0.0:
        state = "unstable" if found.crossing == 0.0 else f"stable with {sampling}, but not {found.limited_by}"
        gains = "servo gains" if config.realisation == "joint_servo" else "gains, or realisation joint_servo"
        with_delay = f" with {sampling}" if found.crossing == 0.0 else ""
        raise ConfigError(
            f"even without vibration damping the loop is {state}{with_delay} ({at}): choose lower {gains}, a shorter"
            " delay or period"
        )
    if not fed_back:
        return None
    if found.accepted < asked:
        state = f"{name} {asked:g} is unstable with {sampling}"
        if found.crossing > asked:
            beyond = found.limited_by or f"with {margin.feedback:g} times the feedback"
            state = f"{name} {asked:g} is stable with {sampling}, but not {beyond}"
        raise ConfigError(f"{state}: the largest stable one is {_down(found.accepted)} ({at})")
    return found


def postures_after_hits(
    model: ArmModel,
    posture: Array,
    config: VibrationControllerConfig,
    selection: BaseSelection,
    sampling: Sampling,
    tool: ToolTask | None = None,
    energy: float = HIT_ENERGY,
) -> Array:
    """A posture, and where a hit on the base moves the arm to from there: farthest, either way, and half as far.

    For :func:`check_gains`: what is stable at a posture need not be so where a hit throws the arm to, along what its
    task leaves free; least of all where the arm has little grip on a selected motion, since there the inverse of the
    law changes fast with the posture. That also makes the arm go farther than the linear loop says: the energy wants a
    margin, 16 times that of the hits that are to be expected is a factor of 4 on the way.

    Args:
        model: of the arm, and the controller's.
        posture: (n,) [rad | m].
        config: of the controller.
        selection: of the base's motions.
        sampling: periods, delays, drives.
        tool: for task ``tool_path``.
        energy: of a hit, in whatever direction [J].

    Returns:
        (5, n), the posture first, within the joint limits and at most ``FARTHEST`` away; (1, n), the posture alone,
        where the loop is unstable there.
    """
    loop = SampledModel(model, posture, config, selection, sampling, tool)
    if not loop.is_stable():
        return np.atleast_2d(posture)
    left, values, _ = np.linalg.svd(loop.hit_response(HIT_TIME))
    way = np.sqrt(2.0 * energy) * values[0] * left[:, 0]
    way *= min(1.0, FARTHEST / max(float(np.abs(way).max()), 1e-12))
    return np.clip(posture + np.outer((0.0, 0.5, -0.5, 1.0, -1.0), way), model.lower, model.upper)


def neighbouring_postures(model: ArmModel, posture: Array, reach: float = FARTHEST, count: int = 8) -> Array:
    """A posture and some around it, within the joint limits: the same ones at every call.

    Args:
        model: of the arm.
        posture: (n,) [rad | m].
        reach: largest distance of every joint [rad | m].
        count: of neighbours.

    Returns:
        (count + 1, n), the posture first.
    """
    steps = reach * np.random.default_rng(0).uniform(-1.0, 1.0, (count, model.n))
    return np.vstack((posture, np.clip(posture + steps, model.lower, model.upper)))


def _first_crossing(loop: SampledModel, top: float) -> float:
    """Smallest feedback at which the loop is unstable; 0 if it is without any, inf if none up to the top one is."""
    if not loop.is_stable(0.0):
        return 0.0
    good = 0.0
    for bad in np.geomspace(1e-3 * top, top, LOOKS):
        if not loop.is_stable(bad):
            break
        good = bad
    else:
        return float("inf")
    while bad - good > DIGITS * bad and bad > 1e-6 * top:
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if loop.is_stable(middle) else (good, middle)
    return float(good) if good > 1e-6 * top else 0.0


def _name(effort: float, stiffness: float) -> str:
    wrong = []
    if effort != 1.0:
        wrong.append(f"with efforts {effort:.3g} times as large as told")
    if stiffness != 1.0:
        wrong.append(f"on a base {stiffness:.3g} times as stiff")
    return " ".join(wrong)


def _down(value: float) -> str:
    """Two digits, rounded down: what is said must be accepted."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return f"{np.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}"
