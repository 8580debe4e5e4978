"""Check, with a margin, whether gains of the vibration controller are stable on the full sampled model; find limits.

A loop is accepted if, at every checked posture,

* with the nominal model, it is stable for every base feedback from zero to ``Margin.feedback`` times the requested one;
* at every feedback up to the requested one, it remains stable if the base is up to ``Margin.stiffness`` times as stiff
  or as soft, if the actual efforts are up to ``Margin.effort`` times larger or smaller than commanded, and if
  larger efforts and a stiffness deviation, or smaller efforts and the softest base, occur together.

The first condition is the classic gain margin of the base feedback (1.5 is 3.5 dB). The others cover errors that it
does not detect: the joint servos also act on stiff, lightly damped directions and on the combined inertia of arm and
base. Delay and sampling change the phase of this action by a considerable fraction of a radian if a frequency is wrong
by 10 %, most of all near half the sampling frequency. Of random loops that pass only the first condition, errors of
+-10 % in the inertia of every link made one in six unstable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError, GainError
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.sampled_model import DRIFT, SampledModel
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

LARGEST_SEARCHED = 3.0  # damping ratio
LOOKS = 20  # number of feedback values checked, from 1/1000 of the largest one to the largest one: factor 1.44 apart
DIGITS = 1e-4  # relative tolerance to which a limit is found
HIT_ENERGY = 0.1  # [J] energy of an impact on the base
SLOW = 0.01  # [1/s] growth rate that counts as stable where computed torque observes a base that is not as told
FARTHEST = 0.5  # [rad | m] largest distance from a posture at which other postures are checked
HIT_TIME = 3.0  # [s] time after an impact in which a joint damping of 1 1/s has removed nearly all joint velocity


@dataclass(frozen=True, slots=True)
class Margin:
    """Deviations that must not make a loop unstable; factors, 1 = no margin.

    Attributes:
        feedback: factor on the base feedback.
        effort: factor on efforts, up and down.
        stiffness: factor on the base stiffness, up and down.
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
        """Yield the factors (effort, stiffness) of the deviating arms that are checked."""
        if self.effort > 1.0:
            yield from ((self.effort, 1.0), (1.0 / self.effort, 1.0))
        if self.stiffness > 1.0:
            for effort in dict.fromkeys((1.0, self.effort)):
                yield from ((effort, self.stiffness**power) for power in (-1.0, -0.5, 0.5, 1.0))
        if self.effort > 1.0 and self.stiffness > 1.0:
            # Under gravity weak servos on a soft base add up: at the limit of each alone, 1 of 100 random loops is
            # unstable with both. Of 365 no stiffer base was, and the softest was the worst: one plant is enough.
            yield 1.0 / self.effort, 1.0 / self.stiffness


@dataclass(frozen=True, slots=True)
class StabilityLimit:
    """Largest stable gain at the worst of several postures.

    Attributes:
        crossing: smallest gain at which the nominal loop is unstable; inf if none was found in the searched range; 0 if
            the loop is unstable without any base feedback.
        accepted: largest gain that is stable with the margins; inf if no limit was found.
        posture: (n,) posture at which ``accepted`` is smallest [rad | m].
        limited_by: the deviation from the nominal model that sets this limit, for example ``on a base 0.8 times as
            stiff``; empty: the nominal arm with its feedback margin.
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
    """Return the largest gain of the base feedback at some postures.

    The gain is the damping ratio, or the literal gain if the configuration has one.

    Args:
        model: arm model, used for the plant and for the controller.
        postures: (n,) or (count, n) joint positions [rad | m].
        config: settings of the controller; the value of its base feedback gain is not used.
        selection: selected base motions.
        sampling: periods, delays, drives.
        tool: tool task, for task ``tool_path``.
        margin: stability margins; None: the default.
        largest: upper end of the searched range of gains.

    Raises:
        ConfigError: ``largest`` is not positive; see also :class:`SampledModel`.
        InputError: see :class:`SampledModel`.
    """
    if not largest > 0.0:
        raise ConfigError(f"gains are searched up to a positive one, got {largest}")
    margin = Margin() if margin is None else margin
    slow = DRIFT if config.realization == "joint_servo" else SLOW
    literal = config.vibration_gain > 0.0
    unit = replace(config, damping_ratio=1.0, vibration_gain=1.0 if literal else 0.0, vibration_damping=True)
    found = StabilityLimit(np.inf, np.inf, np.atleast_2d(postures)[0])
    for posture in np.atleast_2d(np.asarray(postures, dtype=float)):
        loops = {1.0: SampledModel(model, posture, unit, selection, sampling, tool)}  # by the stiffness of the base
        first = _first_crossing(loops[1.0], margin.feedback * largest)
        limit, by = first / margin.feedback, ""
        for effort, stiffness in margin.plants():
            top = min(limit, found.accepted, largest)
            if top == 0.0:
                break
            if stiffness not in loops:
                loops[stiffness] = SampledModel(model, posture, unit, selection, sampling, tool, stiffness=stiffness)
            lower = _first_crossing(loops[stiffness].with_authority(effort), top, slow)
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
    """Return the largest damping ratio accepted at a posture, or at all of several; inf if no limit up to 3 was found.

    For the arguments see :func:`stability_limit`. The result is 0 if the loop is not stable, with the margins, without
    base feedback.
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
    """Reject gains that are not stable with the margins at every one of some postures.

    For the arguments see :func:`stability_limit`.

    Returns:
        The limit found, searched up to the requested gain; None if there is no base feedback.

    Raises:
        GainError: the gain of the base feedback is rejected; it has the largest one that would be accepted.
        ConfigError: the loop is rejected without base feedback, too.
    """
    margin = Margin() if margin is None else margin
    literal = config.vibration_gain > 0.0
    name, asked = ("vibration_gain", config.vibration_gain) if literal else ("damping_ratio", config.damping_ratio)
    fed_back = config.law != "resolved_acceleration" and config.vibration_damping and asked > 0.0
    searched = asked if fed_back else 1e-9  # practically no base feedback
    found = stability_limit(model, postures, config, selection, sampling, tool, margin, searched)
    at = f"at joint positions {np.round(found.posture, 2).tolist()}"
    if found.accepted == 0.0:
        state = "unstable" if found.crossing == 0.0 else f"stable with {sampling}, but not {found.limited_by}"
        gains = "servo gains" if config.realization == "joint_servo" else "gains, or realization joint_servo"
        if config.realization == "computed_torque":
            gains += ", another base_bandwidth (5 times the frequency of the base or more; less with a delay)"
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
        message = f"{state}: the largest stable one is {_down(found.accepted)} ({at})"
        raise GainError(message, name, asked, found.accepted)
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
    """Return a posture and postures to which an impact on the base moves the arm: farthest and half way, both signs.

    For :func:`check_gains`: a loop that is stable at a posture may be unstable where an impact moves the arm along the
    directions that its task leaves free. This is most likely where the arm is weakly coupled to a selected motion,
    because the inverse in the law then changes fast with the posture. For the same reason the arm moves farther than
    the linear loop predicts, so choose the energy with a margin: 16 times the expected energy is a factor of 4 on the
    displacement.

    Args:
        model: arm model, used for the plant and for the controller.
        posture: (n,) joint positions [rad | m].
        config: settings of the controller.
        selection: selected base motions.
        sampling: periods, delays, drives.
        tool: tool task, for task ``tool_path``.
        energy: energy of an impact in any direction [J].

    Returns:
        (5, n), the given posture first, within the joint limits and at most ``FARTHEST`` away; (1, n), only the given
        posture, if the loop is unstable there.
    """
    loop = SampledModel(model, posture, config, selection, sampling, tool)
    if not loop.is_stable():
        return np.atleast_2d(posture)
    left, values, _ = np.linalg.svd(loop.hit_response(HIT_TIME))
    way = np.sqrt(2.0 * energy) * values[0] * left[:, 0]
    way *= min(1.0, FARTHEST / max(float(np.abs(way).max()), 1e-12))
    return np.clip(posture + np.outer((0.0, 0.5, -0.5, 1.0, -1.0), way), model.lower, model.upper)


def _first_crossing(loop: SampledModel, top: float, slow: float = DRIFT) -> float:
    """Return the smallest unstable feedback; 0 if unstable without feedback, inf if stable at all up to ``top``.

    Growth up to a rate ``slow`` [1/s] counts as stable.
    """
    if loop.growth(0.0) > slow:
        return 0.0
    good = 0.0
    for bad in np.geomspace(1e-3 * top, top, LOOKS):
        if loop.growth(bad) > slow:
            break
        good = bad
    else:
        return float("inf")
    while bad - good > DIGITS * bad and bad > 1e-6 * top:
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if loop.growth(middle) <= slow else (good, middle)
    return float(good) if good > 1e-6 * top else 0.0


def _name(effort: float, stiffness: float) -> str:
    wrong = []
    if effort != 1.0:
        wrong.append(f"with efforts {effort:.3g} times as large as in the model")
    if stiffness != 1.0:
        wrong.append(f"on a base {stiffness:.3g} times as stiff")
    return " ".join(wrong)


def _down(value: float) -> str:
    """Format with two digits, rounded down, so that the printed gain is accepted."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return f"{np.floor(value / unit * (1.0 + 1e-9)) * unit:.2g}"
