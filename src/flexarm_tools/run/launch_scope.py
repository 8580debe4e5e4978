"""LaunchScope: the configurations of a launch file for actions that it starts later; common parts of the launch files.

A launch file may be included twice, each time in a namespace of its own. launch keeps namespaces, remappings and
arguments only while a file is being included: actions that an event starts later must get them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    PopLaunchConfigurations,
    PushLaunchConfigurations,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource

from flexarm_tools.graph.graph import GraphError
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

AUTO = "auto"  # frame_prefix: that of the namespace
ENDS_WITHIN = "15.0"  # [s] from SIGINT to SIGTERM: a gate brakes the arm for up to 5 s, and the machine may be busy


class LaunchScope:
    """Launch configurations and environment at the time at which a launch file is included.

    Attributes:
        namespace: namespace of the nodes, as ``/left``; empty: the root.
    """

    def __init__(self, context: LaunchContext) -> None:
        """Keep them."""
        said = context.launch_configurations.items()  # remappings are lists, to which others may append later
        self._configurations = {name: list(value) if isinstance(value, list) else value for name, value in said}
        self._environment = dict(os.environ)
        self.namespace = str(self._configurations.get("ros_namespace", "")).rstrip("/")

    def full_name(self, name: str) -> str:
        """Return an absolute name: that of the namespace, unless the name is absolute."""
        return name if name.startswith("/") else f"{self.namespace}/{name}"

    def frame_prefix(self, said: str) -> str:
        """Return the prefix of the names of links: the configured one, or the namespace, as ``left/``."""
        if said != AUTO:
            return said
        return f"{self.namespace.lstrip('/')}/" if self.namespace else ""

    def later(self, entities: Iterable[LaunchDescriptionEntity]) -> GroupAction:
        """Return a group for an event handler: its entities are executed as if the file were included at that time."""
        return GroupAction([OpaqueFunction(function=self._restore), *entities])

    def _restore(self, context: LaunchContext) -> None:
        context.launch_configurations.clear()
        context.launch_configurations.update(self._configurations)
        for name in set(os.environ) - set(self._environment):
            del os.environ[name]
        os.environ.update(self._environment)


def scoped_description(
    arguments: Sequence[DeclareLaunchArgument], function: Callable[[LaunchContext], list[LaunchDescriptionEntity]]
) -> LaunchDescription:
    """Return a launch description with these arguments; they do not affect the next included file."""
    return LaunchDescription(
        [PushLaunchConfigurations(), *arguments, OpaqueFunction(function=function), PopLaunchConfigurations()]
    )


def arguments_of(file: Path, *without: str) -> list[DeclareLaunchArgument]:
    """Return the arguments of a launch file that is included later, except those that are given to it."""
    description = PythonLaunchDescriptionSource(str(file)).get_launch_description(LaunchContext())
    return [argument for argument in description.get_launch_arguments() if argument.name not in without]


def included(file: Path, said: Mapping[str, str]) -> GroupAction:
    """Return a launch file with arguments; others have its defaults, even if they are set elsewhere."""
    values = [(argument.name, said.get(argument.name, argument.default_value)) for argument in arguments_of(file)]
    return GroupAction([IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=values)])


def end_all(context: LaunchContext, reason: str) -> None:
    """End everything with an exit status that says that something was wrong.

    Raises:
        GraphError: always, unless everything ends already.
    """
    if not context.is_shutdown:
        raise GraphError(reason)
