"""Behaviors in a pipeline: what leads them, what stops them, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pipeline_run import drive, gate_stage

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.measured_map import MeasuredMap, MeasuredMapConfig
from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.types import FlexibleSample
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig

START = np.radians([60.0, -60.0, -60.0])
AXES = (True, True, False, False, False, False)
AWAY = (-0.02, 0.0, 0.0)  # [m]
REACH = BehaviorSpec("reach", "path", {"positions": list(AWAY), "relative": True, "max_linear_velocity": 0.2})
STREAM = BehaviorSpec("follow", "path", {"source": "stream"})


class Given:
    """Behaviors that a test gives."""

    def __init__(self, controller: BehaviorImpedanceController, *specs: BehaviorSpec) -> None:
        self._controller, self.specs, self.refusals = controller, list(specs), []
        self.begun = 0

    def begin(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.begun += 1
        self._controller.set_behaviors([])
        self._controller.set_behaviors(self.specs)

    def due(self, stamp: int) -> list[str]:
        return [why for at, why in self.refusals if at == stamp]


def behaviors(model, *specs, **options):
    """A stage with these, and what gave them."""
    chain = build_chain(model.description, model.tool_frame)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(chain.n, 20.0))
    arm = Arm(chain, build_arm_shape(model.description, chain, 0.06), limits, 0.3)
    controller = BehaviorImpedanceController(arm, ImpedanceConfig(axes=AXES))
    given = Given(controller, *specs)
    wrenches = ExternalWrench("", None, model, np.zeros(3))
    return BehaviorStage(model, controller, given, wrenches, **options), given


def plant_of(model):
    """The planar arm at rest, without gravity."""
    backend = make_backend("mujoco", model.description, gravity=(0.0, 0.0, 0.0))
    return Plant(model.description, backend, PlantConfig(initial_position=tuple(START)))


def quiet(model):
    """The vibration controller, which follows the tool."""
    return VibrationStage(VibrationController(model, VibrationControllerConfig(vibration_damping=False)))


def tool_of(model, tick):
    return model.tool_kinematics(tick.arm_state("joint_states"), model.base_frame).position


def sample_at(stamp, position=START, **fields):
    return FlexibleSample(stamp, position, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1), **fields)


def test_behaviors_lead_the_tool_and_the_vibration_controller_takes_it_there_quietly(planar_3r):
    stage, _ = behaviors(planar_3r, REACH)
    run = drive(Pipeline([stage, quiet(planar_3r)], gate_stage(planar_3r)), plant_of(planar_3r), 600)
    last = run.ticks[-1]
    assert not any(tick.refused for tick in run.ticks)
    assert set(last.given) == {stage.name, "rns_vibration_controller"}
    assert last.tool is last.given_tools[stage.name]
    moved = tool_of(planar_3r, last) - tool_of(planar_3r, run.ticks[0])
    assert np.abs(moved - AWAY)[:2].max() < 1e-3
    assert np.abs(run.deflection).max() < 1e-5
    chain_tool = stage.controller.arm.chain.pose(last.given[stage.name].position)[0]
    assert np.abs(chain_tool - last.tool.position)[:2].max() < 1e-9  # both say the same


def test_a_stage_that_leads_by_the_tool_alone_gives_no_joint_reference(planar_3r):
    stage, _ = behaviors(planar_3r, REACH, leads=False)
    tick = Tick(sample_at(0), 1)
    stage.update(tick)
    assert tick.joints is None
    assert tick.tool is not None


def test_a_behavior_follows_the_tool_references_of_the_stage_before(planar_3r):
    stage, _ = behaviors(planar_3r, STREAM)
    line = ReferenceStage(planar_3r, LinePath(LinePathConfig(planar_3r.base_frame, AWAY, duration=0.3, axes=AXES)))
    run = drive(Pipeline([line, stage, quiet(planar_3r)], gate_stage(planar_3r)), plant_of(planar_3r), 500)
    last = run.ticks[-1]
    assert not any(tick.refused for tick in run.ticks)
    asked, led = (last.given_tools[name].position for name in (line.name, stage.name))
    assert np.abs(led - asked)[:2].max() < 1e-4
    assert np.abs(tool_of(planar_3r, last) - asked)[:2].max() < 1e-3


def test_after_a_gap_of_samples_it_sets_out_anew_and_says_so(planar_3r):
    stage, given = behaviors(planar_3r, REACH)
    for stamp in range(0, 20_000_000, 1_000_000):
        stage.update(Tick(sample_at(stamp), 1))
    before, elsewhere = given.begun, START + 0.1
    tick = Tick(sample_at(500_000_000, elsewhere), 1)
    stage.update(tick)
    assert "no joint state for 0.481 s" in tick.refused[stage.name]
    assert given.begun == before + 1
    assert np.array_equal(tick.joints.position, elsewhere)


def test_what_a_change_was_refused_for_is_said_and_the_arm_goes_on(planar_3r):
    stage, given = behaviors(planar_3r, REACH)
    given.refusals = [(2_000_000, "there is no such thing")]
    ticks = [Tick(sample_at(stamp), 1) for stamp in range(0, 5_000_000, 1_000_000)]
    for tick in ticks:
        stage.update(tick)
    assert [tick.refused.get(stage.name) for tick in ticks] == [
        *(None, None),
        "behavior set refused: there is no such thing",
        *(None, None),
    ]
    assert all(tick.joints is not None for tick in ticks)


def test_joints_that_are_not_where_they_were_sent_bring_the_arm_to_rest(planar_3r):
    stage, _ = behaviors(planar_3r, REACH)
    stage.deviation.tolerance = 0.05
    for stamp in range(0, 200_000_000, 1_000_000):
        stage.update(Tick(sample_at(stamp, START if stamp < 1e8 else START + 0.2), 1))
    assert "joint" in stage.trouble
    assert np.abs(stage.controller.solver.velocity).max() < 1e-9


def test_a_law_that_fails_in_a_sample_brings_the_arm_to_rest_and_is_told(planar_3r, monkeypatch):
    stage, _ = behaviors(planar_3r, REACH)
    for stamp in range(0, 100_000_000, 1_000_000):
        stage.update(Tick(sample_at(stamp), 1))
    follow = stage.controller._follow

    def fail(*arguments):
        follow(*arguments)
        raise ZeroDivisionError("of another package")

    monkeypatch.setattr(stage.controller, "_follow", fail)
    tick = Tick(sample_at(100_000_000), 1)
    before = stage.controller.solver.velocity.copy()
    stage.update(tick)
    assert "ZeroDivisionError: of another package" in stage.trouble
    assert "ZeroDivisionError" in stage.defect
    assert np.abs(tick.joints.velocity).max() < np.abs(before).max()


@pytest.mark.parametrize("field", ["position", "velocity", "deflection"])
def test_a_state_that_is_not_finite_is_refused_and_changes_nothing(planar_3r, field):
    stage, _ = behaviors(planar_3r, REACH)
    stage.update(Tick(sample_at(0), 1))
    bad = replace(sample_at(1_000_000), **{field: np.full(1 if field == "deflection" else 3, np.nan)})
    with pytest.raises(InputError, match="not finite"):
        stage.update(Tick(bad, 1))
    assert stage.answered == 0


def test_before_the_first_sample_no_wrench_can_be_zeroed(planar_3r):
    stage, _ = behaviors(planar_3r, REACH)
    with pytest.raises(InputError, match="no joint state"):
        stage.zero()
    stage.update(Tick(sample_at(0), 1))
    with pytest.raises(InputError, match="no force/torque sensor"):
        stage.zero()


def test_with_the_measured_map_the_reference_leads_the_lagging_joints_until_the_tool_is_on_its_path(planar_3r):
    lags = []
    for measured in (False, True):
        stage, _ = behaviors(planar_3r, REACH)
        if measured:
            arm = stage.controller.arm
            stage.map = MeasuredMap(arm.chain, arm.limits, arm.length_scale, MeasuredMapConfig("measured", rate=1000.0))
        real, away, chain = START.copy(), [], stage.controller.arm.chain
        wanted = chain.pose(START)[0]
        for k in range(150):
            away.append(float(np.linalg.norm(chain.pose(real)[0] - wanted)))
            stage.update(tick := Tick(sample_at(k * 1_000_000, real.copy()), 1))
            wanted = stage.controller.output.position
            real += 0.1 * (tick.given[stage.name].position - real)  # lags by 10 ms
        lags.append(max(away[50:]))
    assert lags[0] > 4e-4
    assert lags[1] < 0.3 * lags[0]
    stage.reset()
    stage.update(Tick(sample_at(0), 1))
    assert not stage.map.offset.any(), "a new start forgets the offset"
