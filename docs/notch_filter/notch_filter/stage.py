"""Notch filter: takes one frequency of vibration out of joint references, with the gain 1 at rest."""

import math
from dataclasses import replace

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.stage import Stage
from flexarm_nodes.node.built_stage import BuiltStage, joint_output
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.stage.kind import StageKind

FIELDS = ("position", "velocity", "acceleration")  # a linear filter keeps each the derivative of the one before


class NotchFilter(Stage):
    """``H(s) = (s^2 + w^2) / (s^2 + 2 d w s + w^2)``, by the bilinear transform, for each joint and field."""

    name, needs = "notch_filter", frozenset({"joints"})

    def __init__(self, values):
        self.configure(values)
        self.reset()

    def configure(self, values):
        if values["frequency"] >= 0.5 * values["rate"]:
            raise ConfigError(f"frequency must be below half the rate, got {values['frequency']} Hz")
        k = math.tan(math.pi * values["frequency"] / values["rate"])
        sides, middle, damped = 1.0 + k * k, 2.0 * k * k - 2.0, 2.0 * values["damping"] * k
        self._b = np.array([sides, middle, sides]) / (sides + damped)
        self._a = np.array([middle, sides - damped]) / (sides + damped)

    def reset(self):
        self._memory = {}

    def update(self, tick):
        if (joints := tick.take_joints()) is not None:
            given = {name: self._filtered(name, x) for name in FIELDS if (x := getattr(joints, name)) is not None}
            tick.give_joints(self.name, replace(joints, **given))

    def _filtered(self, name, x):
        (a1, a2), (b0, b1, b2) = self._a, self._b
        z1, z2 = self._memory.get(name, ((1.0 - b0) * x, (b2 - a2) * x))  # at first as after a long rest there
        y = b0 * x + z1
        self._memory[name] = b1 * x - a1 * y + z2, b2 * x - a2 * y
        return y


def build(values, model):
    stage = NotchFilter(values)
    return BuiltStage(stage, stage.configure, (joint_output(stage.name, model),))


NOTCH_FILTER = StageKind("notch_filter", "notch_filter", (
    Parameter("frequency", "double", 5.0, "frequency that is taken out of the references", "Hz", 0.01, live=True),
    Parameter("damping", "double", 0.5, "half the relative width of the notch", "", 0.01, 2.0, live=True),
    Parameter("rate", "double", 500.0, "rate of the joint states", "Hz", 1.0),
), build)  # fmt: skip
