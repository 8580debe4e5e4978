"""BuiltStage: a pipeline stage built from parameters, with the topics that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from rclpy.qos import QoSProfile

from flexarm.msg import BaseReaction, CartesianReference, JointReference
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import (
    base_reaction_to_message,
    cartesian_reference_to_message,
    joint_reference_to_message,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Output:
    """A topic that a stage writes.

    Attributes:
        topic: name of the topic.
        kind: message type.
        make: makes the message of a processed tick; None: nothing to publish.
        quality: quality of service.
    """

    topic: str
    kind: Any
    make: Callable[[Tick], Any]
    quality: QoSProfile = field(default_factory=lambda: topics.EVERY_SAMPLE)


class StageSetup(Protocol):
    """What a stage has beside its samples: subscriptions and services, and a status."""

    @property
    def waits(self) -> bool:
        """Whether requests wait for their sample, and must not be lost with a rehearsal."""

    def open(self, node: ArmNode, refuse: Callable[[str], None], private: str) -> None:
        """Create subscriptions and services of a node.

        Args:
            node: node that runs the stage.
            refuse: reports why a request was rejected.
            private: prefix of private names: ``~/``, or ``~/STAGE/`` in a node that runs several stages.
        """

    def close(self) -> None:
        """Destroy them."""

    def judge(self) -> tuple[bytes, str]:
        """Return the diagnostic level and text for the newest sample."""


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
        setup: what the stage has beside its samples; None: nothing.
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
    setup: StageSetup | None = None
    awaits: Callable[[], frozenset[str]] = frozenset


def required_base(source: str) -> tuple[str, ...]:
    """Return what joint states must contain for the deflection of the base, by its source."""
    return ("base",) if source == "joint_states" else ()


def unchanged(values: Values) -> None:
    """Ignore the change, for a stage without live parameters."""


def joint_message(joints: JointReferenceRecord | None, model: ArmModel) -> Any:
    """Return the message of a joint reference, None for none."""
    return None if joints is None else joint_reference_to_message(joints, model.joint_names)


def joint_output(stage: str, model: ArmModel, topic: str = topics.JOINT_REFERENCE) -> Output:
    """Return the output for the joint reference that a stage gives."""
    return Output(topic, JointReference, lambda tick: joint_message(tick.given.get(stage), model))


def tool_output(stage: str, model: ArmModel) -> Output:
    """Return the output for the tool reference that a stage gives."""

    def make(tick: Tick) -> Any:
        tool = tick.given_tools.get(stage)
        return None if tool is None else cartesian_reference_to_message(tool, model.tool_frame)

    return Output(topics.CARTESIAN_REFERENCE, CartesianReference, make)


def reaction_output(model: ArmModel) -> Output:
    """Return the output for the reaction of the arm on its base."""
    return Output(topics.BASE_REACTION, BaseReaction, partial(_reaction, model))


def _reaction(model: ArmModel, tick: Tick) -> Any:
    if tick.reaction is None:
        return None
    return base_reaction_to_message(tick.reaction, model.base_frame, model.elastic_joint_names)
