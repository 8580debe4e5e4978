"""Writes a package with the interfaces of control_msgs or tf2_msgs that flexarm uses, for machines without it.

Names, types and order of the fields are those of Jazzy (control_msgs 5.8, tf2_msgs 0.36), so that the type hashes are
the same, and nodes of both kinds understand each other; a test compares the hashes. PyPI has neither.
"""

from __future__ import annotations

import sys
from pathlib import Path

CONTROL_MSGS = {
    "msg/JointTolerance.msg": """
        # Accepted difference between reference and measured motion of a joint: 0 = default of the server, -1 = any.
        string name
        float64 position
        float64 velocity
        float64 acceleration
    """,
    "msg/JointComponentTolerance.msg": """
        # The same for a component of a joint with several degrees of freedom.
        uint16 X_AXIS=1
        uint16 Y_AXIS=2
        uint16 Z_AXIS=3
        uint16 TRANSLATION=4
        uint16 ROTATION=5
        string joint_name
        uint16 component
        float64 position
        float64 velocity
        float64 acceleration
    """,
    "msg/JointJog.msg": """
        # Velocities, or displacements within a duration, of joints that somebody moves by hand.
        std_msgs/Header header
        string[] joint_names
        float64[] displacements
        float64[] velocities
        float64 duration
    """,
    "msg/InterfaceValue.msg": """
        # Values of the interfaces of one joint or sensor.
        string[] interface_names
        float64[] values
    """,
    "msg/DynamicJointState.msg": """
        # All that joints and sensors report, whatever it is.
        std_msgs/Header header
        string[] joint_names
        InterfaceValue[] interface_values
    """,
    "action/FollowJointTrajectory.action": """
        # Move joints through points at given times.
        trajectory_msgs/JointTrajectory trajectory
        trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory
        JointTolerance[] path_tolerance
        JointComponentTolerance[] component_path_tolerance
        JointTolerance[] goal_tolerance
        JointComponentTolerance[] component_goal_tolerance
        builtin_interfaces/Duration goal_time_tolerance
        ---
        int32 error_code
        int32 SUCCESSFUL = 0
        int32 INVALID_GOAL = -1
        int32 INVALID_JOINTS = -2
        int32 OLD_HEADER_TIMESTAMP = -3
        int32 PATH_TOLERANCE_VIOLATED = -4
        int32 GOAL_TOLERANCE_VIOLATED = -5
        string error_string
        ---
        std_msgs/Header header
        string[] joint_names
        trajectory_msgs/JointTrajectoryPoint desired
        trajectory_msgs/JointTrajectoryPoint actual
        trajectory_msgs/JointTrajectoryPoint error
        string[] multi_dof_joint_names
        trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired
        trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual
        trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error
    """,
}
TF2_MSGS = {
    "msg/TFMessage.msg": """
        # Poses of frames in other frames.
        geometry_msgs/TransformStamped[] transforms
    """,
}
PACKAGES = {  # version, interfaces, packages whose interfaces they use
    "control_msgs": ("5.8.0", CONTROL_MSGS, ("action_msgs", "builtin_interfaces", "std_msgs", "trajectory_msgs")),
    "tf2_msgs": ("0.36.0", TF2_MSGS, ("geometry_msgs",)),
}


def write_package(package: str, folder: Path) -> None:
    """Write a package into a folder; files that are so already are left alone."""
    version, interfaces, dependencies = PACKAGES[package]
    files = {
        name: "".join(f"{line.strip()}\n" for line in text.strip().splitlines()) for name, text in interfaces.items()
    }
    depends = "".join(f"  <depend>{name}</depend>\n" for name in dependencies)
    files["package.xml"] = (
        f'<?xml version="1.0"?>\n<package format="3">\n  <name>{package}</name>\n  <version>{version}</version>\n'
        f"  <description>The interfaces of {package} that flexarm uses.</description>\n"
        '  <maintainer email="maintainers@flexarm.example">flexarm maintainers</maintainer>\n'
        "  <license>Apache-2.0</license>\n  <buildtool_depend>ament_cmake</buildtool_depend>\n"
        f"  <buildtool_depend>rosidl_default_generators</buildtool_depend>\n{depends}"
        "  <member_of_group>rosidl_interface_packages</member_of_group>\n"
        "  <export><build_type>ament_cmake</build_type></export>\n</package>\n"
    )
    found = "".join(
        f"find_package({name} REQUIRED)\n" for name in ("ament_cmake", "rosidl_default_generators", *dependencies)
    )
    listed = "".join(f'  "{name}"\n' for name in interfaces)
    files["CMakeLists.txt"] = (
        f"cmake_minimum_required(VERSION 3.16)\nproject({package})\n{found}"
        f"rosidl_generate_interfaces(${{PROJECT_NAME}}\n{listed}  DEPENDENCIES {' '.join(dependencies)}\n)\n"
        "if(TARGET ${PROJECT_NAME}__rosidl_generator_py)  # as in flexarm's own CMakeLists.txt\n"
        "  get_target_property(folders ${PROJECT_NAME}__rosidl_generator_py INTERFACE_INCLUDE_DIRECTORIES)\n"
        "  set_target_properties(${PROJECT_NAME}__rosidl_generator_py PROPERTIES\n"
        '    INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${folders}>")\nendif()\n'
        "ament_export_dependencies(rosidl_default_runtime)\nament_package()\n"
    )
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_package(sys.argv[1], Path(sys.argv[2]))
