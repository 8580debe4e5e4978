"""One table per node, from which its parameters are declared, bounded, validated and documented."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.joint_limits_file import within_joint_limits
from flexarm_core.settings import Setting, Settings, declared_settings, in_brackets
from flexarm_core.uri import resolve_uri

LIVE = "may change while the node is active"  # texts in a descriptor's additional_constraints
AT_START = "is set when the node starts"
Record = TypeVar("Record", bound=Settings)


@dataclass(frozen=True, slots=True)
class Parameter(Setting):
    """One row of a node's parameter table: a setting, and when it may change.

    Attributes:
        live: whether it may change while the node is active; other parameters are read when the node is configured.
        at_start: whether it has its value from the start of the node on, and can only be emptied and set back later.
            Parameters that name files are of this kind: the user who starts a node may name any file, the sender of a
            message may not.
    """

    live: bool = False
    at_start: bool = False


def rows(
    record: type[Settings],
    *,
    prefix: str = "",
    live: bool = False,
    but: Container[str] = (),
    without: Container[str] = (),
) -> tuple[Parameter, ...]:
    """Return the parameters for the settings that a record declares.

    Args:
        record: the record.
        prefix: what stands before each name.
        live: whether the parameters may change while the node is active.
        but: settings for which the opposite of ``live`` holds.
        without: settings that are no parameters.
    """
    return tuple(
        Parameter(**(asdict(one) | {"name": f"{prefix}{one.name}", "live": live != (one.name in but)}))
        for one in declared_settings(record)
        if one.name not in without
    )


def record_of(record: type[Record], values: Mapping[str, Any], prefix: str = "", **others: Any) -> Record:
    """Return a record of settings made from parameters.

    Args:
        record: what is made.
        values: parameter values; a setting that is no parameter has its default.
        prefix: what stands before each name.
        others: values of further fields, and of settings that come from elsewhere.

    Raises:
        ConfigError: an invalid value.
    """
    given = {}
    for one in declared_settings(record):
        if (name := f"{prefix}{one.name}") in values:
            given[one.name] = tuple(values[name]) if isinstance(values[name], list) else values[name]
    return record(**(given | others))


FILE_FOLDER = Parameter("file_folder", "string", "",
    "folder of the .yaml files that messages may name: package:// or file:// URI, or absolute path; empty: none may be"
    " named", at_start=True)  # fmt: skip
ARM_PARAMETERS = (
    Parameter("robot_description", "string", "",
        "robot description as URDF text; empty: received from the robot_description topic"),
    Parameter("tool_frame", "string", "",
        "link used as the tool frame; empty: tool0 if there is one, otherwise the only tip link"),
    Parameter("gravity", "double[]", [0.0, 0.0, -9.81], "gravity vector in the axes of the root link", "m/s^2"),
    Parameter("joint_limits", "string", "",
        "joint_limits.yaml of MoveIt or ros2_control, whose limits narrow those of the robot description: package:// or"
        " file:// URI, or absolute path", at_start=True),
    Parameter("frame_prefix", "string", "",
        "text in front of the names of links in the headers of markers, wrenches, IMU readings and poses, as in TF (the"
        " parameter frame_prefix of robot_state_publisher); messages to the node may have it or not"),
    Parameter("wrench_frames", "string[]", [],
        "frames of measured wrenches that are not links of the robot: NAME=LINK, or NAME=LINK x y z roll pitch yaw with"
        " the pose of the frame in the link; optionally followed by the signs of the six components, such as ++-++-",
        "m, rad"),
    Parameter("read_joints", "string[]", [""],
        "joints outside of the arm, such as a lift, a head or fingers, whose positions the model takes from joint"
        " states when the node is activated; other joints outside of the arm stay at their held positions"),
    Parameter("join_joint_states", "bool", False,
        "whether joint states with only some joints of the arm, from several publishers, are joined to complete ones;"
        " false: such a joint state is faulty", at_start=True),
    Parameter("dynamic_joint_states", "bool", False,
        "whether joints, force/torque sensors and IMUs are read from dynamic_joint_states, instead of from joint_states"
        " and the topics of these sensors", at_start=True),
    Parameter("velocity_window", "double", 0.004,
        "window over which positions are differentiated if joint states have no velocities, at least two samples; the"
        " velocities are late by half of it; 0: such joint states are faulty", "s", 0.0, 0.1, at_start=True),
    Parameter("thread_priority", "int", 0,
        "real-time priority (SCHED_FIFO) requested at activation; 0: normal scheduling", "", 0, 99),
)  # fmt: skip


def described_arm(values: Mapping[str, Any], description: RobotDescription) -> ArmModel:
    """Return the arm as the parameters of a node have it: its joint limits, tool and gravity.

    Raises:
        ConfigError: gravity is not three numbers, or the file of joint limits cannot be used.
        RobotDescriptionError: the robot has no such tool link.
    """
    if len(values["gravity"]) != 3:
        raise ConfigError(f"gravity must be three numbers [m/s^2], got {values['gravity']}")
    if file := values["joint_limits"]:
        description = within_joint_limits(description, resolve_uri(file))
    return ArmModel(description, values["tool_frame"], tuple(values["gravity"]))


class ParameterTable:
    """Declares the rows of a table on a node and keeps their values valid."""

    def __init__(self, node: Node, rows: tuple[Parameter, ...]) -> None:
        """Declare every row.

        Args:
            node: node that gets the parameters.
            rows: rows of the table.
        """
        self._node = node
        self._rows: dict[str, Parameter] = {}
        self._begun: dict[str, Any] = {}  # values at the start of the node
        self._check: Callable[[dict[str, Any]], None] | None = None
        self.declare(rows)
        node.add_on_set_parameters_callback(self._on_set)

    def declare(self, rows: Iterable[Parameter]) -> None:
        """Declare further rows; a parameter that is already declared keeps its value."""
        for row in rows:
            if row.name not in self._rows:
                declared = self._node.declare_parameter(row.name, row.default, _descriptor(row))
                if row.at_start:
                    self._begun[row.name] = declared.value
        self._rows |= {row.name: row for row in rows}

    def remove(self, names: Iterable[str]) -> None:
        """Undeclare the rows with these names."""
        for name in names:
            del self._rows[name]
            self._node.undeclare_parameter(name)

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """Return all declared rows."""
        return tuple(self._rows.values())

    def values(self) -> dict[str, Any]:
        """Return the present values by name; arrays as lists.

        Raises:
            ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
        """
        return {name: row.checked(self._node.get_parameter(name).value) for name, row in self._rows.items()}

    def on_change(self, check: Callable[[dict[str, Any]], None] | None) -> None:
        """Call ``check`` with all values when live parameters change; a FlexarmError from it rejects the change."""
        self._check = check

    def _on_set(self, changes: list[RosParameter]) -> SetParametersResult:
        try:
            # Values from a file are validated when the node is configured; until then a bad value can be corrected.
            values = {} if self._check is None else self.values()
            for change in changes:
                row = self._rows.get(change.name)
                if row is None:
                    continue
                if row.at_start and change.value not in (row.default, self._begun[row.name]):
                    raise ConfigError(f"{row.name} is set when the node starts, and later only emptied or set back")
                if self._check is not None and not row.live:
                    raise ConfigError(f"{row.name} can only change while the node is not configured")
                values[row.name] = row.checked(change.value)
            if self._check is not None and any(change.name in self._rows for change in changes):
                self._check(values)
        except FlexarmError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def row_values(rows: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table without a node: the given value, else the default.

    Raises:
        ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
    """
    return {row.name: row.checked(given.get(row.name, row.default)) for row in rows}


def _descriptor(row: Parameter) -> ParameterDescriptor:
    constraints = f"one of: {', '.join(row.choices)}" if row.choices else ""
    if row.lower is not None or row.upper is not None:
        constraints = f"in [{row.lower}, {row.upper}]"
    constraints = "; ".join(filter(None, (constraints, LIVE if row.live else "", AT_START if row.at_start else "")))
    # The table checks the types itself: rclpy would end the process if a parameter file has 4 for 4.0.
    return ParameterDescriptor(
        description=f"{row.description}{in_brackets(row.unit)}", additional_constraints=constraints, dynamic_typing=True
    )
