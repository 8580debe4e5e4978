"""Stage base_odometry: OBSERVE, the motion of the base from odometry of somebody else (core: base_odometry_stage).

Each joint state is answered with a ``flexible_state`` of its stamp, from the newest pose and twist on ``odom``. Nodes
with ``base_state_source: flexible_state`` follow it as they follow that of flexible_dynamics_estimator. Where the
odometry ends, the flexible states do, and the gate stops.
"""

from __future__ import annotations

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
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_nodes.node.ports import STATES, Input, Ports
from flexarm_nodes.node.ports import Output as Port
from flexarm_nodes.node.stage.kind import StageKind

BASE_ODOMETRY_PARAMETERS = (
    *rows(BaseOdometryConfig),
    Parameter("world_frame", "string", "",
        "frame_id of the odometry, which stands for the root link of the robot; empty: its name"),
    Parameter("child_frame", "string", "",
        "child_frame_id of the odometry, which stands for the link; empty: its name"),
)  # fmt: skip


class OdometryInput(Interfaces):
    """Takes nav_msgs/Odometry for a stage."""

    def __init__(self, stage: BaseOdometryStage, frames: tuple[str, str]) -> None:
        """Take odometry with these names of the root link and of the link that is measured."""
        self._stage, self._frames = stage, frames

    def open(self) -> None:
        """Create the subscription."""
        try:
            from nav_msgs.msg import Odometry
        except ImportError as error:
            raise ConfigError("base_odometry needs the package nav_msgs, which is not installed") from error
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
        given = message.header.frame_id, message.child_frame_id.removeprefix(self.node.frame_prefix)
        if given != self._frames:
            raise InputError(
                f"it gives '{given[1]}' in '{given[0]}', expected '{self._frames[1]}' in '{self._frames[0]}': see"
                " world_frame and child_frame"
            )
        pose, twist = message.pose.pose, message.twist.twist
        point, v, w = pose.position, twist.linear, twist.angular
        self._stage.take(
            stamp_to_nanoseconds(message.header.stamp),
            np.array([point.x, point.y, point.z]),
            quaternion_to_rotation(pose.orientation),
            np.array([v.x, v.y, v.z, w.x, w.y, w.z]),
        )


def built_base_odometry(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage with its input and its output.

    Raises:
        ConfigError: values that do not fit the arm.
    """
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
        interfaces=OdometryInput(stage, frames),
        status=status,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses."""
    return Ports((STATES, Input(topics.ODOMETRY, "Odometry")), (Port(topics.FLEXIBLE_STATE, "FlexibleState"),))


KIND = StageKind("base_odometry", "flexarm", BASE_ODOMETRY_PARAMETERS, built_base_odometry, (), ports_of=_ports)
