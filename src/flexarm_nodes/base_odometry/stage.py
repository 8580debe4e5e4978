"""Stage base_odometry: OBSERVE, the motion of the base from external odometry (core: base_odometry_stage).

Each joint state is answered with a ``flexible_state`` of its stamp, from the newest pose and twist on ``odom``, or the
latest common time of transforms on ``/tf`` and ``/tf_static``. Nodes with ``base_state_source: flexible_state`` follow
it as they follow that of flexible_dynamics_estimator. Where the odometry ends, the flexible states do, and the gate
stops.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from flexarm.msg import FlexibleState
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.base_odometry_stage import BaseOdometryConfig, BaseOdometryStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.messages.conversions import quaternion_to_rotation, stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import measured_base_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Output, Status, Values, unchanged
from flexarm_nodes.node.diagnostics import OK
from flexarm_nodes.node.frames import own_frame
from flexarm_nodes.node.input.frame_tree import Chain, FrameTree
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_nodes.node.ports import STATES, Input, Ports, needed
from flexarm_nodes.node.ports import Output as Port
from flexarm_nodes.node.stage.kind import StageKind

ODOM, FRAMES = "odometry", "tf"
BASE_ODOMETRY_PARAMETERS = (
    *rows(BaseOdometryConfig),
    Parameter("source", "string", ODOM,
        "odometry: messages on odom; tf: the transforms between world_frame and child_frame on /tf and /tf_static; they"
        " have no twist, and need a twist_window", choices=(ODOM, FRAMES)),
    Parameter("world_frame", "string", "",
        "frame_id of odometry or transform that corresponds to the root link of the robot; empty: the name of the root"
        " link"),
    Parameter("child_frame", "string", "",
        "child_frame_id of odometry or transform that corresponds to the measured link; empty: the name of that link"),
)  # fmt: skip


class OdometryInput(Interfaces):
    """Takes nav_msgs/Odometry for a stage."""

    def __init__(self, stage: BaseOdometryStage, frames: tuple[str, str]) -> None:
        """Take poses with these names of the root link and of the link that is measured."""
        self._stage, self._frames = stage, frames

    def open(self) -> None:
        """Create the subscription."""
        try:
            from nav_msgs.msg import Odometry
        except ImportError as error:
            raise _not_installed(error) from error
        self._topic = self.node.hear(Odometry, topics.ODOMETRY, self._on_odometry, topics.UNCONFIRMED)

    def close(self) -> None:
        """Destroy it."""
        self.node.destroy_subscription(self._topic)

    def _on_odometry(self, message: Any) -> None:
        try:
            self._take(message)
        except InputError as error:
            self.refuse(f"odometry: {error}")

    def _take(self, message: Any) -> None:
        given = message.header.frame_id, own_frame(message.child_frame_id, self.node.frame_prefix)
        if given != self._frames:
            raise InputError(
                f"it gives '{given[1]}' in '{given[0]}', expected '{self._frames[1]}' in '{self._frames[0]}': see"
                " world_frame and child_frame"
            )
        pose, v, w = message.pose.pose, message.twist.twist.linear, message.twist.twist.angular
        position = np.array([pose.position.x, pose.position.y, pose.position.z])
        rotation, twist = quaternion_to_rotation(pose.orientation), np.array([v.x, v.y, v.z, w.x, w.y, w.z])
        self._stage.take(stamp_to_nanoseconds(message.header.stamp), position, rotation, twist)


class TransformInput(Interfaces):
    """Takes tf2_msgs/TFMessage for a stage: any chain of transforms between two frames."""

    def __init__(self, stage: BaseOdometryStage, frames: tuple[str, str]) -> None:
        """Take poses between these names of the root link and of the link that is measured."""
        self._stage, self._frames = stage, frames

    def open(self) -> None:
        """Create the subscriptions."""
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError as error:
            raise _not_installed(error) from error
        self._tree, self._chain = FrameTree(self.node.frame_prefix), Chain((), ())
        self._changes, self._stamp = -1, -1
        read, hear = self.node.reader(TFMessage), self.node.hear

        def take_fixed(raw: bytes) -> None:  # they come once, mostly while the node is inactive
            self._on_transforms(read(raw), fixed=True)

        self._topics = (
            hear(TFMessage, topics.TF_STATIC, take_fixed, topics.FRAMES, idle=take_fixed, raw=True),
            hear(TFMessage, topics.TF, partial(self._on_transforms, fixed=False), topics.MOVING_FRAMES),
        )

    def close(self) -> None:
        """Destroy them."""
        for topic in self._topics:
            self.node.destroy_subscription(topic)

    def _on_transforms(self, message: Any, *, fixed: bool) -> None:
        try:
            self._tree.take(message, fixed=fixed)
        except InputError as error:
            self.refuse(f"transform: {error}")
        try:
            self._follow()
        except InputError as error:
            self.refuse(f"transform: {error}")

    def _follow(self) -> None:
        """Give the pose at the latest common time of the chain, if there is one."""
        tree, stage = self._tree, self._stage
        try:
            if tree.changes != self._changes:
                self._chain, self._changes = tree.chain(*self._frames), tree.changes
            if not tree.moving(self._chain):
                raise InputError(f"'{self._frames[1]}' is fixed to '{self._frames[0]}' on /tf_static")
            stamp = tree.common(self._chain)
        except InputError as error:
            stage.lack = str(error)
            return
        stage.lack = f"the oldest transform is that of {tree.slowest(self._chain)}"
        if stamp == self._stamp:
            return
        self._stamp, pose = stamp, tree.pose(self._chain, stamp)
        stage.take(stamp, pose[:3, 3], pose[:3, :3], None)


def _not_installed(error: ImportError) -> ConfigError:
    return ConfigError(f"base_odometry needs the package {error.name}, which is not installed")


def built_base_odometry(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage with its input and its output.

    Raises:
        ConfigError: values that do not fit the arm, or each other.
    """
    if values["source"] == FRAMES and not values["twist_window"]:
        raise ConfigError("transforms have no twist: twist_window must be > 0, at least two periods of the transform")
    stage = BaseOdometryStage(model, record_of(BaseOdometryConfig, values))
    frames = values["world_frame"] or model.world_frame, values["child_frame"] or stage.link

    def make(tick: Tick) -> Any:
        return None if tick.flexible is None else measured_base_form(tick.flexible, model.elastic_joint_names)

    def status(tick: Tick) -> Status:
        shown = {"distance": f"{stage.distance:.3g}", "angle": f"{stage.angle:.3g}"}
        return OK, "measuring", shown

    return BuiltStage(
        stage,
        unchanged,
        (Output(topics.FLEXIBLE_STATE, FlexibleState, make),),
        interfaces=(TransformInput if values["source"] == FRAMES else OdometryInput)(stage, frames),
        status=status,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses."""
    frames = values["source"] == FRAMES
    odometry = Input(topics.ODOMETRY, "Odometry", needed(not frames), f"source '{ODOM}'")
    transforms = Input(topics.TF, "TFMessage", needed(frames), f"source '{FRAMES}'")
    return Ports((STATES, odometry, transforms), (Port(topics.FLEXIBLE_STATE, "FlexibleState"),))


KIND = StageKind("base_odometry", "flexarm", BASE_ODOMETRY_PARAMETERS, built_base_odometry, (), ports_of=_ports)
