"""Node reference_generator: DECIDE stage, computes a tool or joint reference for every joint state (core: path)."""

from __future__ import annotations

from dataclasses import replace

from flexarm_core.path.input_shaping import SHAPERS
from flexarm_core.path.joint_move import TIME_LAWS
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.arm_state_reader import BASE_STATE_SOURCES
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, TOOL, Output, Ports, Role, Use, base_state_input
from flexarm_nodes.node.stage_node import StageNode
from flexarm_nodes.references.parameters import built_reference

SPACES = ("tool", "joints", "path", "plan")


class ReferenceGenerator(StageNode):
    """Reads measured states; publishes a reference with the same stamp.

    The motion begins at the first measured tool pose or joint position.
    """

    NAME = "reference_generator"
    PARAMETERS = (
        Parameter("space", "string", "tool",
            "motion to generate: tool along a line (tool), joint displacement (joints), tool along a waypoint file"
            " (path), or joints along a stored plan (plan)", choices=SPACES),
        Parameter("frame", "string", "",
            "frame of tool references (spaces tool and path), root or base link; empty: that of the waypoint file,"
            " or the base link"),
        Parameter("displacement", "double[]", [0.0, 0.0, 0.0],
            "displacement of the tool along a straight line (space tool), in the axes of the reference frame", "m"),
        Parameter("start", "double", 0.0, "time between the first joint state and the start of the motion", "s", 0.0),
        Parameter("duration", "double", 4.0,
            "duration of the motion, one way, including the input shaper (spaces tool and joints)", "s", 1e-3),
        Parameter("returns", "bool", False,
            "move back and forth, each way in the same time, without end unless repetitions sets one; false: move"
            " once"),
        Parameter("repetitions", "int", 0,
            "number of back-and-forth cycles before the joints rest (space joints with returns); 0: without end",
            "", 0),
        Parameter("axes", "bool[]", [True, True, True, True, True, True],
            "tool axes x y z rx ry rz that the reference specifies (spaces tool and path)"),
        Parameter("base_state_source", "string", "joint_states",
            "source of the base deflection for tool references (spaces tool and path): joint states, or the flexible"
            " state of the estimator", choices=BASE_STATE_SOURCES),
        Parameter("waypoint_file", "string", "",
            "waypoint file of space path: package:// or file:// URI, or absolute path"),
        Parameter("plan_file", "string", "",
            "stored joint plan of space plan: package:// or file:// URI, or absolute path"),
        Parameter("start_tolerance", "double", 0.05,
            "largest accepted distance of a joint from the start of the stored plan (space plan)", "rad | m", 1e-9),
        Parameter("max_linear_velocity", "double", 0.25,
            "largest linear velocity of the tool along the waypoint path (space path)", "m/s", 1e-6),
        Parameter("max_linear_acceleration", "double", 1.0,
            "largest linear acceleration of the tool along the waypoint path (space path)", "m/s^2", 1e-6),
        Parameter("max_angular_velocity", "double", 1.0,
            "largest angular velocity of the tool along the waypoint path (space path)", "rad/s", 1e-6),
        Parameter("max_angular_acceleration", "double", 4.0,
            "largest angular acceleration of the tool along the waypoint path (space path)", "rad/s^2", 1e-6),
        Parameter("joint_displacement", "double[]", [],
            "displacement of each actuated joint from its first measured position (space joints)", "rad | m"),
        Parameter("time_law", "string", "fifth_order",
            "time law of the joint motion (space joints): polynomial of fifth or seventh order, or constant speed"
            " with blends", choices=TIME_LAWS),
        Parameter("blend_time", "double", 0.1,
            "time to reach and to leave the constant speed of time law constant_speed (space joints)", "s", 0.0),
        Parameter("shaper", "string", "none",
            "input shaper of the time law (spaces tool and joints): zero vibration (zv), zero vibration and"
            " derivative (zvd), or none", choices=SHAPERS),
        Parameter("shaper_frequency", "double[]", [],
            "natural frequency of each vibration mode that the input shaper suppresses (spaces tool and joints)",
            "Hz", 0.0),
        Parameter("shaper_damping_ratio", "double[]", [0.0],
            "damping ratio of the vibration modes that the input shaper suppresses; one for all modes or one per mode",
            "", 0.0, 0.99),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        joints = values["space"] in ("joints", "plan")
        led, other = (Role.SILENT, Role.LEADS) if joints else (Role.LEADS, Role.SILENT)
        state = base_state_input(values)
        return Ports(
            (STATES, replace(state, use=Use.IGNORED, because=f"space '{values['space']}'") if joints else state),
            (
                Output(topics.CARTESIAN_REFERENCE, TOOL, led),
                Output(topics.DESIRED_JOINT_REFERENCE, JOINTS, other, MOTION),
            ),
        )

    build_stage = staticmethod(built_reference)


def main() -> None:
    """Entry point."""
    run(ReferenceGenerator)
