"""Node rns_vibration_controller: ACT stage that avoids or damps base vibration (core: reaction_null_space).

Task ``tool_path`` processes references on ``cartesian_reference``; with ``posture: desired_joint_reference`` each
together with the joint reference of the same stamp. Task ``joint_path`` processes references on
``desired_joint_reference``. The other tasks need no reference and process every state.
"""

from __future__ import annotations

from typing import Any

from visualization_msgs.msg import MarkerArray

from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import POSTURES
from flexarm_core.reaction_null_space.reactionless.conditioning_map import ConditioningMapConfig, map_conditioning
from flexarm_core.reaction_null_space.vibration.config import LAWS, REALIZATIONS, TASKS, VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import DRIVES
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.arm_state_reader import BASE_STATE_SOURCES, NO_BASE_STATE
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_nodes.node.frames import in_tf
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.ports import (
    BY_POSITION,
    JOINTS,
    MARKERS,
    MOTION,
    STATES,
    TOOL,
    Input,
    Output,
    Ports,
    Role,
    base_state_input,
    needed,
)
from flexarm_nodes.node.stage_node import StageNode
from flexarm_nodes.reaction_null_space.reactionless_markers import map_markers
from flexarm_nodes.reaction_null_space.vibration_parameters import built_vibration

MAP_ROOM = 1.5  # conditioning required of the map's postures, as a multiple of the threshold at which damping begins
USUAL = VibrationControllerConfig()


class RnsVibrationController(StageNode):
    """Reads measured states and tool references; publishes joint references (acceleration, effort), base reactions."""

    NAME = "rns_vibration_controller"
    HEARS = ("tool", "joints")
    CHECKS_GAINS = True

    PARAMETERS = (
        Parameter("law", "string", USUAL.law,
            "control law: reactionless (acceleration law), torque (torque law), or resolved_acceleration without"
            " base control", choices=LAWS, live=True),
        Parameter("task", "string", USUAL.task,
            "task of the arm beside base control: follow tool references, follow joint references, hold the first"
            " posture, or none", choices=TASKS, live=True),
        Parameter("realization", "string", USUAL.realization,
            "how joint accelerations are realized: inverse dynamics (computed_torque), or a servo for each joint"
            " (joint_servo)", choices=REALIZATIONS),
        Parameter("selection", "string[]", ["all"],
            "base motions that are kept quiet: all, auto (soft vibration modes), or names of elastic joints"),
        Parameter("position_gain", "double", USUAL.position_gain,
            "position gain G_p of the tracked tool, of the joint reference or of the held posture",
            "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", USUAL.velocity_gain,
            "velocity gain G_d of the tracked tool, of the joint reference or of the held posture",
            "1/s", 0.0, live=True),
        Parameter("posture_gain", "double", USUAL.posture_gain,
            "position gain of the joints toward a posture in motions that base and tool leave free (task tool_path);"
            " 0: damping only", "1/s^2", 0.0, live=True),
        Parameter("posture", "string", "first",
            "posture that posture_gain refers to: the first one measured, or that of the desired_joint_reference topic",
            choices=POSTURES),
        Parameter("servo_position_gain", "double", USUAL.servo_position_gain,
            "position gain of the servo of each joint (realization joint_servo)", "1/s^2", 0.0, live=True),
        Parameter("servo_velocity_gain", "double", USUAL.servo_velocity_gain,
            "velocity gain of the servo of each joint (realization joint_servo)", "1/s", 0.0, live=True),
        Parameter("vibration_damping", "bool", USUAL.vibration_damping,
            "damp vibrations of the base by feedback with gain G_b; false: no base feedback", live=True),
        Parameter("damping_ratio", "double", USUAL.damping_ratio,
            "damping ratio of the base for which the feedback gain G_b is computed", "", 0.0, live=True),
        Parameter("vibration_gain", "double", USUAL.vibration_gain,
            "fixed gain g_b of the base feedback; 0: computed from damping_ratio", "1/s", 0.0, live=True),
        Parameter("joint_damping", "double", USUAL.joint_damping,
            "joint damping gain G_m, applied to the joint velocities", "1/s", 0.0, live=True),
        Parameter("coupling_threshold", "double", USUAL.coupling_threshold,
            "relative singular value of the coupling inertia, sigma(H_bm) / sqrt(tr H_b tr H_m), below which its"
            " inverse is damped", "", 1e-6, 0.999, live=True),
        Parameter("tool_threshold", "double", USUAL.tool_threshold,
            "relative singular value of the tool Jacobian in the reaction null space, sigma(Jbar) / |J|, below which"
            " its inverse is damped", "", 1e-6, 0.999, live=True),
        Parameter("base_state_source", "string", "joint_states",
            "source of the base deflection: joint states, flexible state of the estimator, or none (base assumed at"
            " rest)", choices=(*BASE_STATE_SOURCES, NO_BASE_STATE)),
        Parameter("load_bandwidth", "double", USUAL.load_bandwidth,
            "bandwidth at which an unknown constant load is estimated and compensated; 0: off, the tool sags",
            "rad/s", 0.0, 100.0, live=True),
        Parameter("longest_wait", "double", USUAL.longest_wait,
            "largest delay of the path due to joint limits before the law gives up", "s", 0.0, live=True),
        Parameter("largest_error", "double", USUAL.largest_error,
            "position error of the tool at which the law gives up; 3 rad of orientation error count as 1 m",
            "m", 1e-6, live=True),
        Parameter("check_gains", "bool", True,
            "refuse gains with which the closed loop is unstable where the arm starts"),
        Parameter("start_position", "double[]", [],
            "joint positions at which gains are checked when configured; empty: checked at activation, where the arm"
            " is", "rad | m"),
        Parameter("axes", "bool[]", [],
            "tool axes x y z rx ry rz assumed to be tracked when gains are checked (task tool_path); empty: as in"
            " the first reference"),
        Parameter("frame", "string", "",
            "frame of tool references assumed when gains are checked (task tool_path): root link or base link;"
            " empty: base link"),
        Parameter("rate", "double", 1000.0, "nominal sampling rate for which gains are checked", "Hz", 10.0, 1e5),
        Parameter("delay", "double", 0.0,
            "delay from the sensors to the motors for which gains are checked", "s", 0.0, 1.0),
        Parameter("drive", "string", "effort",
            "type of command that the drives take, for which gains are checked: effort, velocity or position",
            choices=DRIVES),
        Parameter("drive_bandwidth", "double", 200.0,
            "bandwidth of velocity and position drives for which gains are checked", "rad/s", 1e-3),
        Parameter("reference_timeout", "double", 0.08,
            "largest accepted age of a reference, relative to the measured state", "s", 1e-4, live=True),
        Parameter("map_postures", "int", 0,
            "number of postures tried at configuration for the workspace map on ~/markers; 0: no map", "", 0, 20_000),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        task, because = values["task"], f"task '{values['task']}'"
        led = task == "tool_path" and values["posture_gain"] > 0.0 and values["posture"] == "desired_joint_reference"
        gives = frozenset({"acceleration", "effort"})
        return Ports(
            (
                STATES,
                base_state_input(values),
                Input(topics.CARTESIAN_REFERENCE, TOOL, needed(task == "tool_path"), because),
                Input(
                    topics.DESIRED_JOINT_REFERENCE, JOINTS, needed(task == "joint_path" or led), because, BY_POSITION
                ),
            ),
            (
                Output(
                    topics.JOINT_REFERENCE,
                    JOINTS,
                    Role.LEADS,
                    MOTION | gives if values["realization"] == "joint_servo" else gives,
                ),
                Output(topics.BASE_REACTION, "BaseReaction"),
                MARKERS,
            ),
        )

    def __init__(self) -> None:
        """Create the markers."""
        super().__init__()
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)

    def build_stage(self, values: dict[str, Any], model: ArmModel) -> BuiltStage:
        """Build the controller from parameters."""
        built = built_vibration(values, model)
        self._show(built.stage, model, values["map_postures"], values["coupling_threshold"])
        return built

    def status(self, tick: Tick) -> tuple[bytes, str, dict[str, str]]:
        """Return the status, an error once the law gave up."""
        level, message, values = super().status(tick)
        return ERROR if self.stage.gave_up else level, message, values

    def _show(self, stage: Any, model: ArmModel, postures: int, threshold: float) -> None:
        """Publish a map of where the tool can move without reaction on the base."""
        found = None
        if postures:
            config = ConditioningMapConfig(postures, least_conditioning=MAP_ROOM * threshold)
            found = map_conditioning(model, stage.controller.selection, config)
        self._markers.publish(in_tf(map_markers(found, model.base_frame), self.frame_prefix))


def main() -> None:
    """Entry point."""
    run(RnsVibrationController)
