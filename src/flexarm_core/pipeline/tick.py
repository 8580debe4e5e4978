"""Tick: what the sensors say at one stamp, and what each stage has made of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import InputError
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


@dataclass(slots=True)
class Tick:
    """One stamp on its way through the stages; a stage reads what it needs and adds what it makes.

    Attributes:
        sample: what was measured; an effort that is not known is NaN.
        elastic: m, number of elastic joints under the base.
        age: of the sample when it came, by the clock that its stamp is of [s]; None: not known.
        before: joint reference that reached the gate at the tick before, None where none did.
        flexible: estimated state of all that bends.
        tool: tool reference on its way.
        joints: joint reference on its way: that of the nearest stage before.
        reaction: what the arm does to its base.
        estimate: what the sensor under the base says of the joints.
        command: (n,) for the hardware, None where the gate gave none.
        given: joint reference of each stage that gave one, by its name.
        given_tools: likewise tool references, as the stage made them.
        refused: why a stage did not take its input, by its name.
        remarks: what people should know of a stage, by its name.
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
        """Of the measurement [ns]."""
        return self.sample.stamp

    def take_joints(self) -> JointReference | None:
        """The joint reference on its way: it goes no further than to whom it is given, whatever comes of it."""
        joints, self.joints = self.joints, None
        return joints

    def give_joints(self, stage: str, joints: JointReference) -> None:
        """Send a stage's joint reference on its way."""
        self.joints = self.given[stage] = joints

    def give_tool(self, stage: str, tool: CartesianReference) -> None:
        """Send a stage's tool reference on its way."""
        self.tool = self.given_tools[stage] = tool

    def arm_state(self, source: str) -> ArmState:
        """Joints, and the base's deflection from a source.

        Args:
            source: ``joint_states``: as measured, ``flexible_state``: as estimated, ``none``: undeflected and still.

        Raises:
            InputError: the deflection is not there, or not finite.
        """
        sample = self.sample
        said: FlexibleState | FlexibleSample | None
        if source == "flexible_state":
            said = self.flexible
        elif source == "joint_states" and self.elastic:
            said = sample
        else:
            still = np.zeros(self.elastic)
            return ArmState(sample.stamp, sample.position, sample.velocity, still, still)
        deflection, rate = (None, None) if said is None else (said.deflection, said.deflection_rate)
        if deflection is None or rate is None or not all_finite(deflection, rate):
            raise InputError(f"the base's deflection is not known from {source}: {deflection}, rate {rate}")
        return ArmState(sample.stamp, sample.position, sample.velocity, deflection, rate)
