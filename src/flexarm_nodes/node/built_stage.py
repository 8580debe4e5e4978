"""BuiltStage: a pipeline stage built from parameters, with the topics that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rclpy.qos import QoSProfile

from flexarm.msg import BaseReaction, CartesianReference, JointReference
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import (
    base_reaction_form,
    cartesian_reference_form,
    joint_reference_form,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.diagnostics import OK, WARN, Shown
from flexarm_nodes.node.interfaces import Interfaces

Values = Mapping[str, Any]
Status = tuple[bytes, str, Shown]  # level, message and values of the diagnostics


@dataclass(frozen=True, slots=True)
class Output:
    """A topic that a stage writes.

    Attributes:
        topic: name of the topic.
        kind: message type.
        make: makes the form or message of a processed tick, whose numbers do not change afterwards; None: nothing to
            publish.
        quality: quality of service; messages of ``topics.LATCHED`` are made even without subscribers.
        first: message that is published before any tick, None: none.
        rate: returns how many messages are published in a second of stamps at most [Hz], 0: none; None: one a tick.
        brief: makes the message with those fields alone that a recording takes; None: as ``make``.
        later: whether ``make`` uses the tick alone, and may be called when others have been processed.
    """

    topic: str
    kind: Any
    make: Callable[[Tick], Any]
    quality: QoSProfile = field(default_factory=lambda: topics.EVERY_SAMPLE)
    first: Any = None
    rate: Callable[[], float] | None = None
    brief: Callable[[Tick], Any] | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class BuiltStage:
    """A stage built from parameters.

    Attributes:
        stage: stage for the pipeline.
        change: applies changed live parameters, all or none; raises FlexarmError to reject them.
        outputs: topics that the stage writes.
        sensors: sensors to wait for, as (kind, name); kind is ``wrench``, ``imu`` or ``strain``, or ``flexible`` for a
            flexible state, which another stage gives in a control loop.
        required: what joint states must contain in addition: ``base``, the elastic joints; ``effort``.
        modes: names of the modes that the stage needs in flexible states.
        before: whether the stage uses the joint reference that answered the sample before.
        prepare: checks the gains at joint positions (n,) before the first sample; raises FlexarmError to reject them.
        interfaces: services, actions and further subscriptions of the stage.
        status: returns the status after a processed tick, or after an observed one; None: that of :meth:`judge`.
        waits: returns the references that a sample waits for, from its stamp and that of the newest tool reference
            [ns], -1 before any; None: ``stage.needs``.
        awaits: names the references of which a sample takes the newest one once, and waits for that of its stamp as it
            does for sensor readings; called for every joint state.
    """

    stage: Stage
    change: Callable[[Values], None]
    outputs: tuple[Output, ...] = ()
    sensors: tuple[tuple[str, str], ...] = ()
    required: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    before: bool = False
    prepare: Callable[[Array], None] | None = None
    interfaces: Interfaces = field(default_factory=Interfaces)
    status: Callable[[Tick], Status] | None = None
    waits: Callable[[int, int], frozenset[str]] | None = None
    awaits: Callable[[], frozenset[str]] = frozenset

    def waits_for(self, stamp: int, newest: int) -> frozenset[str]:
        """Return the references that a sample of a stamp waits for; see ``waits``."""
        return self.stage.needs if self.waits is None else self.waits(stamp, newest)

    def judge(self, tick: Tick) -> Status:
        """Return the status of the stage after a tick: its own, else its remark in the tick."""
        if self.status is not None:
            return self.status(tick)
        remark = tick.remarks.get(self.stage.name, "")
        return (WARN, remark, {}) if remark else (OK, "controlling", {})


def required_base(source: str) -> tuple[str, ...]:
    """Return what joint states must contain for the deflection of the base, by its source."""
    return ("base",) if source == "joint_states" else ()


def reaction_status(stage: str, tick: Tick) -> Status:
    """Return the status of a stage that gives the reaction of the arm on its base."""
    remark = tick.remarks.get(stage, "")
    if not remark and tick.reaction is not None and tick.reaction.damping > 0.0:
        remark = "near-singular: the inverse is damped"
    return (WARN, remark, {}) if remark else (OK, "controlling", {})


def unchanged(values: Values) -> None:
    """Ignore the change, for a stage without live parameters."""


def joint_message(joints: JointReferenceRecord | None, model: ArmModel) -> Any:
    """Return the message of a joint reference, None for none."""
    return None if joints is None else joint_reference_form(joints, model.joint_names)


def joint_output(stage: str, model: ArmModel, topic: str = topics.JOINT_REFERENCE) -> Output:
    """Return the output for the joint reference that a stage gives."""
    return Output(topic, JointReference, lambda tick: joint_message(tick.given.get(stage), model), later=True)


def tool_output(stage: str, model: ArmModel) -> Output:
    """Return the output for the tool reference that a stage gives."""

    def make(tick: Tick) -> Any:
        tool = tick.given_tools.get(stage)
        return None if tool is None else cartesian_reference_form(tool, model.tool_frame)

    return Output(topics.CARTESIAN_REFERENCE, CartesianReference, make, later=True)


def reaction_output(model: ArmModel) -> Output:
    """Return the output for the reaction of the arm on its base."""
    return Output(topics.BASE_REACTION, BaseReaction, partial(_reaction, model), later=True)


def _reaction(model: ArmModel, tick: Tick) -> Any:
    if tick.reaction is None:
        return None
    return base_reaction_form(tick.reaction, model.base_frame, model.elastic_joint_names)
