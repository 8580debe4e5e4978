"""Reactionless motions of arms that plans are made for."""

from __future__ import annotations

from pathlib import Path

from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description

URDF = Path(__file__).resolve().parents[2] / "urdf"


def boom_motions(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> ReactionlessMotions:
    """Of boom_7r: three soft modes, the tool position, one joint to spare."""
    model = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"), gravity=gravity)
    return ReactionlessMotions(model, BaseSelection(model, ("auto",), spare=3))


def planar_motions(axes: tuple[bool, bool, bool] = (True, True, False)) -> ReactionlessMotions:
    """Of planar_3r: one direction of the base, the tool in the plane, no joint to spare."""
    model = ArmModel(load_robot_description(URDF / "planar_3r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    return ReactionlessMotions(model, BaseSelection(model), axes)
