"""The torque loop when something is wrong, slow or noisy, and a momentum observer where that is concerned too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from base_wrench_judge import Verdict, judge
from base_wrench_peers import MomentumObserver
from base_wrench_station import BaseWrenchLoop, Conditions, Loop, run, told
from base_wrench_tracking import OBSERVER

from flexarm_core.base_wrench.controller import BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_sim.backend import PlantDivergedError
from flexarm_tools.metrics.figures import Figure, parse_goal

PERIODS = {"250 Hz": 0.004, "500 Hz": 0.002, "1000 Hz": 0.001}
INTEGRAL = PositionLoopConfig(integral_gain=5000.0)
TOO_STIFF = PositionLoopConfig(1e6, 2000.0)  # beyond what 500 Hz carry: this must be judged as unstable


def without_acceleration(model: ArmModel) -> Loop:
    """Loop under test that leaves out the terms with joint accelerations."""
    return BaseWrenchLoop(model, BaseWrenchEstimatorConfig(joint_acceleration="none"))


def with_integral(model: ArmModel) -> Loop:
    """Loop under test with a slow integral in the position loop, for what is no friction."""
    return BaseWrenchLoop(model, None, BaseWrenchControllerConfig(position_loop=INTEGRAL))


def too_stiff(model: ArmModel) -> Loop:
    """Position loop that cannot be stable."""
    return BaseWrenchLoop(model, None, BaseWrenchControllerConfig(position_loop=TOO_STIFF))


def rows() -> Iterator[tuple[str, Callable[[ArmModel], Loop], Conditions, bool]]:
    """Name, loop, conditions, and whether these concern a loop without the sensor too."""
    yield "nothing wrong", told(), Conditions(), True
    for bias in (0.2, 1.0):
        yield f"bias {bias:g} N, {0.1 * bias:g} N*m", told(), Conditions(bias=bias), False
    for scale in (0.9, 1.1):
        yield f"masses x {scale:g}", told(), Conditions(scale=scale), True
    yield "masses x 0.9, with an integral", with_integral, Conditions(scale=0.9), False
    for noise in (3.0, 10.0):
        yield f"noise x {noise:g}", told(), Conditions(noise=noise), False
    for delay in (0.002, 0.004):
        yield f"delay {1e3 * delay:g} ms, told", told(delay=delay), Conditions(delay=delay), False
        yield f"delay {1e3 * delay:g} ms, not told", told(), Conditions(delay=delay), False
    for payload in (1.0, 3.0):
        yield f"payload {payload:g} kg, not told", told(), Conditions(payload=payload), True
    yield "payload 3 kg, with an integral", with_integral, Conditions(payload=3.0), False
    for velocity in (0.02, 0.1):
        yield f"Stribeck velocity {velocity:g} rad/s", told(), Conditions(stribeck_velocity=velocity), True
    for name, period in PERIODS.items():
        if period != 0.002:
            yield name, told(period), Conditions(period=period), True
    yield "no acceleration terms", without_acceleration, Conditions(), False


def sensitivity() -> Iterator[Figure]:
    """One row a condition."""
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    unstable, better = 0, []
    for name, make, conditions, both in rows():
        verdict = _verdict(make, conditions)
        ours[name] = str(verdict or "NOT stable: the simulation diverged")
        unstable += int(verdict is None or not verdict.stable)
        if both:
            observer = _verdict(lambda model: MomentumObserver(model, OBSERVER), conditions)
            theirs[f"momentum observer, {name}"] = str(observer or "NOT stable: the simulation diverged")
            if observer and (verdict is None or observer.rms < verdict.rms):
                better.append(name)
    theirs["momentum observer has less error"] = "; ".join(better) or "nowhere"
    yield Figure(
        "unstable_rows", float(unstable), "1", parse_goal("<= 0"),
        f"of {len(ours)} conditions those under which the loop is not stable: error above 2 deg or growing, speeds"
        " above 20 times the reference's, or motion at the end",
        details=ours | theirs,
    )  # fmt: skip
    absurd = _verdict(too_stiff, Conditions())
    found = absurd is None or not absurd.stable
    yield Figure(
        "instability_found", float(found), "1", parse_goal(">= 1"),
        "whether that judgment fails a loop that is unstable",
        details={"position gain 1e6": str(absurd or "NOT stable: the simulation diverged")},
    )  # fmt: skip


def _verdict(make: Callable[[ArmModel], Loop], conditions: Conditions) -> Verdict | None:
    """None where the simulation blew up."""
    try:
        return judge(run(make, conditions))
    except PlantDivergedError:
        return None
