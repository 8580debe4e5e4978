"""Joint positions are compared across turns in one place, and everything that brings some in goes through it.

Inside a process positions of endless joints are continuous, so that laws subtract them plainly. That holds as long as
every entrance is a door (``flexarm_core/turns.py``): this walk finds the entrances in the source. A file that
reads positions anew fails it until it stands here, with what makes it a door.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
ENTRANCES = {  # what makes positions of messages, requests or files, and records of those that have arrived
    "ArmStateReader", "FlexibleSample", "JointStateSelector", "SampleReader", "given_poses",
    "joint_reference_from_message", "joint_trajectory_from_message",
}  # fmt: skip
DOORS = {  # file: what it calls of ENTRANCES, and what brings the positions into one turn
    "flexarm_nodes/node/input/readings.py": ({"FlexibleSample", "JointStateSelector", "SampleReader"}, "measured"),
    "flexarm_nodes/node/input/arm_state_reader.py": ({"JointStateSelector"}, ""),  # of the gate, which counts itself
    "flexarm_nodes/hardware_gate/gate.py": ({"ArmStateReader", "joint_reference_from_message"}, ""),  # the same
    "flexarm_nodes/node/input/references.py": ({"joint_reference_from_message"}, ""),  # into ticks, which bring it near
    "flexarm_nodes/node/stage/node.py": (set(), "bring_near"),
    "flexarm_nodes/node/input/synchronizer.py": ({"joint_reference_from_message"}, ""),  # only its friction is used
    "flexarm_nodes/messages/path.py": (set(), "near"),
    "flexarm_nodes/flexible_dynamics/parameters.py": ({"joint_trajectory_from_message"}, ""),  # that one brings it near
    "flexarm_nodes/base_wrench/plan.py": ({"given_poses"}, "near"),
    "flexarm_core/hardware_gate/gate.py": (set(), "reference_near"),
    "flexarm_core/pipeline/pipeline.py": (set(), "bring_near"),
    "flexarm_core/path/trajectory_motion.py": (set(), "near"),  # plan files
    "flexarm_core/ik_redundancy/config.py": (set(), "near"),  # parameter origin
    "flexarm_core/behavior_impedance/behaviors/posture.py": (set(), "difference"),  # parameter position
    "flexarm_core/reaction_null_space/reactionless/velocity_law.py": (set(), "near"),  # path files
    "flexarm_tools/motion/calibrate.py": (set(), "continuous"),  # recordings
    # made of zeros, to load code, or of a simulated plant, whose encoders count
    "flexarm_core/pipeline/warm.py": ({"FlexibleSample"}, ""),
    "flexarm_nodes/base_wrench/stage.py": ({"FlexibleSample"}, ""),
    "flexarm_nodes/flexible_dynamics/estimator.py": ({"FlexibleSample"}, ""),
    "flexarm_tools/faults/gate_under_test.py": ({"FlexibleSample"}, ""),
}
OWN_TURNS = {  # files that count whole turns otherwise, and why
    "flexarm_core/turns.py": "the one place",
    "flexarm_core/kernels/shortest_way.py": "the same, compiled",
    "flexarm_core/ik_redundancy/newton.py": "solutions of joints with limits, too, are shifted into these",
    "flexarm_core/reaction_null_space/reactionless/path.py": "by how many turns a closed path winds",
    "flexarm_core/path/pose_segments.py": "of the tool, not of a joint",
    "flexarm_core/behavior_impedance/behaviors/dither.py": "phase of an oscillation",
    "flexarm_core/behavior_impedance/smooth_motion.py": "a step of the tool's rotation",
    "flexarm_tools/report/camera.py": "from where a picture is drawn",
    "flexarm_tools/report/reactionless_plots.py": "curves in a picture of one turn",
}
ROUNDING = {"round", "rint", "floor", "ceil", "trunc", "fix", "fmod", "mod", "remainder", "divmod", "unwrap"}


@cache
def files() -> tuple[tuple[str, ast.Module], ...]:
    """All files of the source by name."""
    return tuple(
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    )


def called(tree: ast.AST) -> set[str]:
    """Names of all functions that are called, without what they are attributes of."""
    return {_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def takes_turns(node: ast.AST) -> bool:
    """Whether an expression rounds or takes the rest of something with a turn in it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv):
        parts: list[ast.AST] = [node.right]
    elif isinstance(node, ast.Call) and _name(node.func) in ROUNDING:
        if _name(node.func) == "unwrap":
            return True
        parts = list(node.args)
    else:
        return False
    names = {_name(one) for part in parts for one in ast.walk(part)}
    return bool(names & {"pi", "tau", "turn", "TURN"})


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_every_entrance_of_joint_positions_is_a_door():
    for name, tree in files():
        expected, brings = DOORS.get(name, (set(), ""))
        found = called(tree)
        assert found & ENTRANCES == expected, f"{name} reads joint positions: bring them into one turn, and say so here"
        assert not brings or brings in found, f"{name} no longer brings positions into one turn by {brings}()"
    assert not set(DOORS) - {name for name, _ in files()}


def test_ticks_with_references_of_others_bring_them_near():
    for name, tree in files():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and "Tick" in called(node) and any(
                keyword.arg is None for one in ast.walk(node) if isinstance(one, ast.Call) and _name(one.func) == "Tick"
                for keyword in one.keywords
            ):  # fmt: skip
                assert "bring_near" in called(node), f"{name}: {node.name}() makes a tick of what was given"


def test_whole_turns_are_taken_in_one_place():
    taking = {name for name, tree in files() for node in ast.walk(tree) if takes_turns(node)}
    assert "flexarm_core/turns.py" in taking
    assert not taking - set(OWN_TURNS), f"use flexarm_core.turns: {sorted(taking - set(OWN_TURNS))}"
    kinds = [
        name
        for name, tree in files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(getattr(c, "value", None) == "continuous" for c in node.comparators)
    ]
    assert set(kinds) == {"flexarm_tools/gazebo/model.py"}, (
        f"whether a joint is endless is said by Joint.endless, not by its kind: {kinds}"
    )
