"""Invalid limits: NaN, zero or negative, in the robot description or in the gate's parameters."""

from __future__ import annotations

import re

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.hardware_gate.parameters import hardware_gate
from flexarm_tools.faults.arms import draw_arm
from flexarm_tools.faults.core_case import Setting
from flexarm_tools.faults.gate_under_test import gate_values
from flexarm_tools.faults.judge import WILD
from flexarm_tools.faults.outcome import Outcome

NAME, WHAT = "bad_limits", "limits that are NaN, zero or negative, in URDF or parameters"
VALUES = ("nan", "-1.0", "-inf", "0.0")
PARAMETERS = ("max_acceleration", "max_effort_rate", "max_friction", "max_jerk")


def run_bad_limits(setting: Setting) -> Outcome:
    """Try to create a gate with invalid limits: it must be rejected, and the error must name the invalid limit."""
    rng = np.random.default_rng([setting.seed, 3])
    arm = draw_arm(rng, setting.arm, setting.mode)
    values = gate_values(setting.mode, setting.rate)
    text, value = arm.text, str(rng.choice(VALUES))
    if rng.random() < 0.6:
        what = str(rng.choice(["velocity", "effort", "lower", "upper"]))
        value = "nan" if what in ("lower", "upper") else value
        # An elastic joint of the base has no motor: an effort limit of 0 has no effect there.
        joints = "|".join(arm.model.joint_names) if (what, value) == ("effort", "0.0") else '[^"]*'
        limits = rf'<joint\b[^>]*\bname="(?:{joints})"(?:(?!</joint>).)*<limit\b[^>]*\b{what}="([^"]*)"'
        places = [found.span(1) for found in re.finditer(limits, text, re.DOTALL)]
        first, last = places[int(rng.integers(len(places)))]
        text = text[:first] + value + text[last:]
    else:
        what = str(rng.choice(PARAMETERS))
        value = "nan" if value == "0.0" else value  # 0 is valid: it means "no limit" or the default
        values[what] = [float(value)]
    outcome = Outcome(
        setting.seed, NAME, "core", setting.arm, setting.mode, setting.layout, setting.rate, f"{what} is {value}"
    )
    try:
        hardware_gate(values, ArmModel(parse_robot_description(text), gravity=arm.gravity))
    except FlexarmError as error:
        outcome.refused, outcome.reason, outcome.recovery = True, str(error), "refused"
        outcome.named = what.removeprefix("max_") in str(error)
        return outcome
    outcome.recovery, outcome.speed_ratio = "accepted", WILD
    return outcome
