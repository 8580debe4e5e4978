"""The dynamics of the tick against Pinocchio, on random arms with elastic bases and on trees."""

from __future__ import annotations

import numpy as np
import pytest
import robots
from elastic_base_arms import elastic_base_model
from random_arms import random_arm

from flexarm_core.compiled import allocating_kernel
from flexarm_core.reaction_null_space.vibration.arm_dynamics import (
    ArmMotion,
    Terms,
    ToolMotion,
    equation_of_motion,
    pack_arm,
    tool_motion,
    view_arm,
    wrench_on_base,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

GRAVITY = (1.0, -2.0, -9.0)


@allocating_kernel
def terms(arm, structure, moving, out):
    equation_of_motion(view_arm(arm, structure), moving, out)


@allocating_kernel
def reaction(arm, structure, moving, qdd, xdd, out):
    wrench_on_base(view_arm(arm, structure), moving, qdd, xdd, out)


@allocating_kernel
def tool(arm, structure, moving, in_world, out):
    tool_motion(view_arm(arm, structure), moving, in_world, out)


def models():
    """Arms of every kind, every direction of a base, an armature, and two arms on one base."""
    for seed in range(12):
        yield ArmModel(random_arm(seed)[1], gravity=GRAVITY)
    for joints, directions in enumerate((("x",), ("ry", "z"), ("x", "y", "z", "rx", "ry", "rz")), 3):
        yield elastic_base_model(directions, joints, joints)
    yield ArmModel(load_robot_description(robots.URDF / "boom_7r.urdf.xacro", {"armature": "true"}), gravity=GRAVITY)
    yield ArmModel(load_robot_description(robots.URDF / "dual_arm_trep.urdf.xacro"), "left_tool", GRAVITY)


def near(ours, theirs) -> bool:
    return np.allclose(ours, theirs, rtol=0.0, atol=1e-10 * max(1.0, np.abs(theirs).max(initial=0.0)))


@pytest.mark.parametrize("model", list(models()), ids=lambda model: model.description.name)
def test_the_terms_are_those_of_pinocchio(model):
    rng, (n, m), packed = np.random.default_rng(0), (model.n, model.m), pack_arm(model)
    for turn in range(10):
        (q, v, qdd), (x, xd, xdd) = rng.uniform(-2.0, 2.0, (3, n)), 0.3 * rng.normal(size=(3, m))
        xd *= turn > 0  # a base at rest takes a way of its own
        state = ArmState(0, q, v, x, xd)
        blocks = model.blocks(state)
        moving = ArmMotion(q, v, x, xd)
        found = Terms(*(np.full(shape, np.nan) for shape in ((m, m), (m, n), (n, n), m, n, m, m)))
        terms(*packed, moving, found)
        assert all(near(ours, getattr(blocks, name)) for name, ours in found._asdict().items() if name != "weight")
        assert near(found.weight, model.weight(state))
        wrench = np.full(6, np.nan)
        reaction(*packed, moving, qdd, xdd, wrench)
        assert near(wrench, model.wrench_on_base(state, qdd, xdd))
        for frame in (model.base_frame, model.world_frame):
            theirs = model.tool_kinematics(state, frame)
            ours = ToolMotion(*(np.full(shape, np.nan) for shape in (3, (3, 3), 6, 6, (6, n), (6, m))))
            tool(*packed, moving, frame == model.world_frame, ours)
            named = ("position", "rotation", "velocity", "dJ_v", "J_m", "J_b")
            assert all(near(value, getattr(theirs, name)) for value, name in zip(ours, named, strict=True))
