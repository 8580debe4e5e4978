"""Tick: the measurements at one stamp, and the results of all stages so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.turns import Turns
from flexarm_core.types import (
    ArmState,
    Array,
    BaseReaction,
    BaseWrenchEstimate,
    CartesianReference,
    FlexibleSample,
    FlexibleState,
    JointReference,
    all_finite,
)

BASE_STATES = ("joint_states", "flexible_state", "none")


def base_needs(source: str) -> frozenset[str]:
    """Return the inputs of a tick that the deflection of the base needs, by its source: one of BASE_STATES."""
    return frozenset({"flexible"}) if source == "flexible_state" else frozenset()


@dataclass(slots=True)
class Tick:
    """Data of one stamp that pass through the stages; each stage reads its inputs and adds its results.

    Attributes:
        sample: measurements; an unknown effort is NaN.
        elastic: m, number of elastic joints of the base.
        age: age of the sample on arrival, by the clock that set its stamp [s]; None: unknown.
        before: joint reference that reached the gate at the previous tick, None if there was none.
        flexible: estimated state of the flexible arm.
        tool: current tool reference.
        joints: current joint reference: that of the last stage that gave one.
        reaction: reaction of the arm on its base.
        estimate: joint torque estimate from the force/torque sensor under the base.
        command: (n,) command for the hardware, None if the gate gave none.
        given: joint references by the names of the stages that gave them.
        given_tools: tool references by the names of the stages that gave them, unmodified.
        refused: reasons why stages rejected their input, by stage name.
        remarks: remarks of stages for the operator, by stage name.
    """

    sample: FlexibleSample
    elastic: int
    age: float | None = None
    before: JointReference | None = None
    flexible: FlexibleState | None = None
    tool: CartesianReference | None = None
    joints: JointReference | None = None
    reaction: BaseReaction | None = None
    estimate: BaseWrenchEstimate | None = None
    command: Array | None = None
    given: dict[str, JointReference] = field(default_factory=dict)
    given_tools: dict[str, CartesianReference] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def stamp(self) -> int:
        """Stamp of the measurement [ns]."""
        return self.sample.stamp

    def bring_near(self, turns: Turns) -> None:
        """Take the joint reference that was given, if any, in the turns that are nearest to the measured joints."""
        if self.joints is not None:
            self.joints = turns.reference_near(self.joints, self.sample.position)

    def take_joints(self) -> JointReference | None:
        """Return the joint reference and remove it: later stages do not see it, even if this stage rejects it."""
        joints, self.joints = self.joints, None
        return joints

    def give_joints(self, stage: str, joints: JointReference) -> None:
        """Set the current joint reference, given by this stage."""
        self.joints = self.given[stage] = joints

    def give_tool(self, stage: str, tool: CartesianReference) -> None:
        """Set the current tool reference, given by this stage."""
        self.tool = self.given_tools[stage] = tool

    def arm_state(self, source: str) -> ArmState:
        """Return the joint state together with the base deflection from a source.

        Args:
            source: ``joint_states``: measured, ``flexible_state``: estimated, ``none``: undeflected and at rest.

        Raises:
            InputError: the deflection is missing or not finite.
        """
        sample = self.sample
        bent: FlexibleState | FlexibleSample | None
        if source == "flexible_state":
            bent = self.flexible
        elif source == "joint_states" and self.elastic:
            bent = sample
        else:
            still = np.zeros(self.elastic)
            return ArmState(sample.stamp, sample.position, sample.velocity, still, still)
        deflection, rate = (None, None) if bent is None else (bent.deflection, bent.deflection_rate)
        if deflection is None or rate is None or not all_finite(deflection, rate):
            raise InputError(f"the base's deflection is not known from {source}: {deflection}, rate {rate}")
        return ArmState(sample.stamp, sample.position, sample.velocity, deflection, rate)
