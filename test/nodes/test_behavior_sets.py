"""Behaviors that are added, removed and retuned between two samples: by sets, by the service, by parameters."""

from __future__ import annotations

import numpy as np
import pytest
from impedance_arm import (  # noqa: F401
    BENT,
    DT,
    NODE,
    ImpedanceArm,
    behavior,
    change,
    impedance_arm_made_active,
    impedance_arm_of_a_module,
    replace,
)
from other_package import install_package
from rcl_interfaces.srv import DescribeParameters

from flexarm.msg import Behavior, BehaviorSet
from flexarm_tools.graph.graph import GraphError

PULL = {"position": [0.5, 0.0, 0.6], "max_force": 20.0}


def pull(name: str, stiffness: float, **more) -> Behavior:
    return behavior(name, "spring", stiffness=[stiffness] * 3 + [0.0] * 3, **{**PULL, **more})


def test_sets_on_the_topic_add_retune_remove_and_replace_and_none_of_them_is_lost(arm):
    arm.step()
    for message in (
        change(pull("one", 10.0)),
        change(pull("two", 20.0), behavior("limits", "joint_limits")),
        change(pull("one", 30.0), removed=["limits"]),
        *(change(behavior(f"many_{i}", "dither")) for i in range(30)),
    ):
        arm.sets.publish(message)
    arm.live.handled(NODE)
    arm.step()
    assert arm.active == ["one", "two", *(f"many_{i}" for i in range(30))]
    force = [np.linalg.norm([f.x, f.y, f.z]) for f in (arm.of("one").force.force, arm.of("two").force.force)]
    assert force[0] == pytest.approx(1.5 * force[1])
    arm.sets.publish(replace(pull("two", 20.0)))
    arm.live.handled(NODE)
    arm.step()
    assert arm.active == ["two"]


def test_a_change_makes_no_step_of_acceleration_beyond_what_is_allowed_and_the_status_says_how_it_fades(arm):
    bound = 0.5  # [m/s^2] transition_acceleration
    arm.steps(3)
    for message in (
        change(pull("one", 300.0)),
        change(behavior("way", "path", positions=[0.0, 0.1, 0.0], relative=True)),
        change(pull("one", 5.0), behavior("shake", "dither", amplitude=[0.002] * 3 + [0.0] * 3)),
        change(removed=["one", "shake"]),
        replace(),
    ):
        arm.steps(30)
        before = linear(arm.statuses[-1].acceleration)
        arm.set(message)
        arm.step()
        assert np.linalg.norm(linear(arm.statuses[-1].acceleration) - before) <= bound + 1e-6
        assert not arm.statuses[-1].held
    arm.check_limits()


def linear(accel) -> np.ndarray:
    return np.array([accel.linear.x, accel.linear.y, accel.linear.z])


def test_a_set_of_the_future_takes_effect_with_the_sample_of_its_stamp_and_the_later_of_two_prevails(arm):
    arm.steps(2)
    answer = arm.ask(change(pull("later", 10.0), tick=arm.tick + 5))
    assert answer.success and answer.message == f"waits for its stamp, {5 * DT:.3f} s after the newest sample"
    arm.set(change(pull("first", 10.0), tick=arm.tick + 3))
    arm.set(change(pull("first", 40.0), tick=arm.tick + 3))
    seen = []
    for _ in range(6):
        arm.step()
        seen.append(arm.active)
    assert seen == [[], [], ["first"], ["first"], ["first", "later"], ["first", "later"]]
    forces = [np.linalg.norm([f.x, f.y, f.z]) for f in (arm.of("first").force.force, arm.of("later").force.force)]
    assert forces[0] == pytest.approx(min(4.0 * forces[1], 20.0))
    arm.set(change(removed=["first"], tick=1))  # of a sample that has been: with the next one
    arm.step()
    assert arm.active == ["later"]
    arm.set(change(removed=["first"], tick=arm.tick + 2))  # refused when its time comes
    arm.steps(3)
    arm.live.wait_for_diagnostic(NODE, "behavior set refused: behavior 'first' cannot be removed; there is: later")
    assert arm.active == ["later"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (change(pull("good", 1.0), behavior("bad", "levitate")), "kind 'levitate' is unknown; valid: path, teleop"),
        (change(pull("good", 1.0), behavior("bad", "spring", stifness=[1.0] * 6)), "'stifness' is unknown; valid"),
        (change(pull("good", 1.0), behavior("bad", "spring", stiffness=[1.0] * 5)), "stiffness needs 6 values, got 5"),
        (change(pull("good", 1.0), behavior("bad", "spring", stiffness=[-1.0] * 6)), "stiffness must lie in"),
        (
            change(pull("good", 1.0), behavior("bad", "spring", stiffness=[float("nan")] * 6)),
            "stiffness must be finite",
        ),
        (change(pull("good", 1.0), behavior("bad", "spring", max_force="much")), "max_force must be double"),
        (change(pull("good", 1.0), behavior("bad", "path", source="file", file="/no/such")), "behavior 'bad': "),
        (
            change(*(behavior(name, "path", positions=[0.0] * 3, relative=True) for name in ("one", "two"))),
            "one behavior at most can lead the tool, got one, two",
        ),
        (change(pull("kept", 1.0), removed=["kept"]), "each name must be there once"),
        (change(pull("", 1.0)), "each name must be there once and not empty"),
        (change(pull("good", 1.0), removed=["nobody"]), "'nobody' cannot be removed; there is: kept"),
        (BehaviorSet(mode=7), "mode 7 is unknown; valid: 0 (REPLACE), 1 (UPDATE)"),
        (change(pull("good", 1.0), removed=["kept"], mode=BehaviorSet.REPLACE), "'removed' is for UPDATE"),
        (change(behavior("bad", "spring", frame=None)), "setting 'frame' has no value"),
        (change(behavior("bad", "path", source="file", file="/etc/passwd")), "set the parameter file_folder"),
        (change(behavior("bad", "path", positions=[0.1] * 303)), "101 waypoints are too many: at most 100"),
        (change(*(pull(f"one{k}", 1.0) for k in range(51))), "behaviors are too many: at most 50 take part"),
        (change(*(pull(f"one{k}", 1.0) for k in range(5000))), "the request holds more than 1000 parts"),
    ],
)
def test_a_set_with_anything_wrong_is_refused_as_a_whole_with_its_reason(arm, message, reason):
    arm.set(replace(pull("kept", 10.0)))
    arm.step()
    answer = arm.ask(message)
    assert not answer.success and reason in answer.message
    arm.step()
    force = arm.of("kept").force.force
    assert arm.active == ["kept"] and force.z != 0.0 and not arm.statuses[-1].held


def test_behaviors_of_the_parameters_begin_with_the_node_and_are_retuned_by_them(live):
    given = {
        "pull.kind": "spring",
        "pull.stiffness": [10.0, 10.0, 10.0, 0.0, 0.0, 0.0],
        "pull.position": [0.5, 0.0, 0.6],
    }
    arm = ImpedanceArm(live, behaviors=["pull", "limits"], **given, **{"limits.kind": "joint_limits"})
    arm.steps(2)
    assert arm.active == ["pull", "limits"]
    first = arm.of("pull").force.force.z
    live.graph.set_parameters(NODE, {"pull.stiffness": [20.0, 20.0, 20.0, 0.0, 0.0, 0.0]})
    arm.step()
    assert arm.of("pull").force.force.z == pytest.approx(2.0 * first, rel=1e-3)
    for bad, reason in (
        ({"pull.stiffness": [1.0]}, "behavior 'pull': stiffness needs 6 values, got 1"),
        ({"pull.stiffness": [-1.0] * 6}, "pull.stiffness must lie in"),
        ({"pull.frame": "world"}, "pull.frame must be one of base, tool"),
        ({"pull.kind": "path"}, "pull.kind can only change while the node is not configured"),
        ({"behaviors": ["pull", "limits", "new"]}, "'new' was not there when the node was configured"),
        ({"stiffness": [-1.0] * 6}, "stiffness must be positive semidefinite"),
        ({"inertia": [0.0] * 6}, "inertia must be positive definite"),
        ({"damping": [float("inf")] * 6}, "damping must be finite"),
        ({"joint_inertia": [1.0, 1.0]}, "joint_inertia needs 1 or 7 or 49"),
        ({"weights": [1.0, 1.0]}, "weights needs 1 or 7 numbers"),
    ):
        with pytest.raises(GraphError, match=reason):
            live.graph.set_parameters(NODE, bad)
    arm.step()
    assert arm.of("pull").force.force.z == pytest.approx(2.0 * first, rel=1e-2) and arm.active == ["pull", "limits"]
    # live: on and off, and a set takes over
    live.graph.set_parameters(NODE, {"behaviors": ["limits"]})
    arm.step()
    assert arm.active == ["limits"]
    live.graph.set_parameters(NODE, {"behaviors": ["limits", "pull"]})
    arm.set(change(pull("pull", 40.0), pull("own", 1.0)))
    live.graph.set_parameters(NODE, {"pull.max_force": 1.0})  # of its present settings, the stiffness of the set
    arm.step()
    force = arm.of("pull").force.force
    assert arm.active == ["limits", "pull", "own"] and np.linalg.norm([force.x, force.y, force.z]) == pytest.approx(1.0)
    arm.set(change(behavior("limits", "dither")))
    with pytest.raises(GraphError, match="'limits' is now of kind 'dither', by a set: retune it by a set"):
        live.graph.set_parameters(NODE, {"limits.range": 0.2})
    row = described(live, "pull.max_force")
    assert "of the spring [N]" in row.description and "in [0.0, None]" in row.additional_constraints


def described(live, name: str):
    request = DescribeParameters.Request(names=[name])
    return live.graph.call(DescribeParameters, f"{NODE}/describe_parameters", request).descriptors[0]


def test_a_node_whose_parameters_cannot_be_had_does_not_configure_and_says_why(live):
    arm = ImpedanceArm(live, start=False, behaviors=["way"], **{"way.kind": "walk"})
    with pytest.raises(GraphError):
        live.graph.transition(NODE, "configure")
    live.wait_for_diagnostic(NODE, "behavior 'way': way.kind is 'walk'; valid: path, teleoperation")
    live.graph.set_parameters(NODE, {"way.kind": "path"})
    live.spin(0.6)  # the diagnostics say no more than so often
    with pytest.raises(GraphError):
        live.graph.transition(NODE, "configure")
    live.wait_for_diagnostic(NODE, "behavior 'way': positions needs three numbers a waypoint")
    live.graph.set_parameters(NODE, {"way.positions": [0.0, 0.0, 0.01], "way.relative": True})
    for transition in ("configure", "activate"):
        live.graph.transition(NODE, transition)
    arm.connect()
    arm.steps(3)
    assert arm.active == ["way"]
    # another kind, another time: its parameters go and come
    for transition in ("deactivate", "cleanup"):
        live.graph.transition(NODE, transition)
    live.graph.set_parameters(NODE, {"way.kind": "spring"})
    live.graph.transition(NODE, "configure")
    with pytest.raises(GraphError):
        live.graph.set_parameters(NODE, {"way.repeats": True})
    live.graph.set_parameters(NODE, {"way.max_force": 1.0})
    live.graph.transition(NODE, "activate")
    arm.tick = 0
    arm.steps(3)
    assert [(one.name, one.kind) for one in arm.statuses[-1].behaviors] == [("way", "spring")]


FOREIGN = '''
from flexarm_core.behavior_impedance.behavior import Behavior
from flexarm_core.settings import Setting
from flexarm_core.errors import ConfigError


class Wind(Behavior):
    """A constant push, of whatever the user likes."""

    KIND = "wind"
    SETTINGS = (Setting("force", "double", 3.0, "along y", "N"), Setting("trouble", "string", "", "what goes wrong"))

    def __init__(self, arm, settings):
        self._force, self._trouble, self._samples = settings["force"], settings["trouble"], 0
        if self._trouble == "made":
            raise KeyError("made")

    def take_over(self, old):
        self._samples = old._samples

    def update(self, sample, out):
        self._samples += 1
        if self._trouble == "update":
            raise RuntimeError("a gust")
        out.force[1] = float("nan") if self._trouble == "nan" else self._force
        out.measure[0] = self._samples

    def note(self):
        if self._trouble == "note":
            raise RuntimeError("no word")
        return "it blows"
'''


def test_a_behavior_of_another_package_is_found_by_its_entry_point_and_its_defects_do_no_harm(
    live, tmp_path, monkeypatch
):
    install_package(tmp_path, monkeypatch, FOREIGN, "flexarm.behaviors", "wind = other:Wind")
    arm = ImpedanceArm(live, behaviors=["breeze"], **{"breeze.kind": "wind", "breeze.force": 1.0})
    arm.steps(2)
    assert arm.of("breeze").force.force.y == 1.0 and arm.of("breeze").note == "it blows"
    arm.set(change(behavior("breeze", "wind", force=5.0)))
    begin = arm.tool
    arm.steps(300)
    assert arm.of("breeze").measure == 301.0  # it went on with what it had
    assert np.allclose(arm.tool - begin, [0.0, 5.0 / 2000.0, 0.0], atol=5e-4)
    for trouble, failure in (("update", "RuntimeError: a gust"), ("nan", "a number that is not finite")):
        arm.set(change(behavior("bad", "wind", trouble=trouble)))
        arm.step()
        assert failure in arm.of("bad").failure and not arm.of("bad").active and arm.of("breeze").active
        live.wait_for_diagnostic(NODE, "behavior 'bad' has failed: ")
        live.spin(0.6)  # the diagnostics say no more than so often
    arm.set(change(behavior("bad", "wind", trouble="note")))
    arm.step()
    assert arm.of("bad").note == "RuntimeError: no word" and arm.of("bad").active
    answer = arm.ask(change(behavior("worse", "wind", trouble="made")))
    assert not answer.success and "KeyError" in answer.message
    arm.steps(2)
    assert arm.active == ["breeze", "bad"] and np.allclose(BENT, arm.answers[0].position)
