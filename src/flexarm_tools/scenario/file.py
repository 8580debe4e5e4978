"""Scenario file reader: all problems are collected and reported together, each with file, line and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.added_springs import Springs
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.joint_limits_file import within_joint_limits
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.graph.packages import AmentPackages, Packages, resolve
from flexarm_tools.metrics.all import METRICS, OPTIONS, MetricOptions, deflection_unit
from flexarm_tools.metrics.figures import FigureSpec, Goal, parse_goal
from flexarm_tools.scenario.base import lay_over_base
from flexarm_tools.scenario.expected import Expected
from flexarm_tools.scenario.robot_changes import RobotChanges
from flexarm_tools.scenario.scenario import PLANT, EventSpec, NodeSpec, Phase, PushSpec, RobotSpec, Scenario
from flexarm_tools.scenario.tables import EXPECT, FIGURES, SCENARIO
from flexarm_tools.yaml_file.document import Document, ParameterValue, nearest, raise_problems
from flexarm_tools.yaml_file.schema import Kind
from flexarm_tools.yaml_file.section import Keys, Section, Vector

Describe = Callable[[Path, Mapping[str, str], Mapping[str, float], Springs], RobotDescription]
STANDARD_GRAVITY: Vector = (0.0, 0.0, -9.81)


def load_scenario(path: str | Path, packages: Packages | None = None) -> Scenario:
    """Read and check a scenario file.

    Args:
        path: the file.
        packages: locates ROS packages; by default in the sourced ROS 2 environment.

    Raises:
        ConfigError: the file has problems; the message lists all of them, each with file, line and key.
    """
    document = Document(Path(path), "scenario")
    scenario = read_scenario(document, packages or AmentPackages())
    raise_problems(document.problems, "scenario")
    assert scenario is not None  # None only if the file has errors
    return scenario


def describe_robot(
    path: Path, arguments: Mapping[str, str], held: Mapping[str, float], springs: Springs
) -> RobotDescription:
    """Read a robot description.

    Raises:
        RobotDescriptionError: the file cannot be used.
    """
    return parse_robot_description(load_robot_description(path, dict(arguments)), held=held, added_springs=springs)


def read_scenario(document: Document, packages: Packages, describe_robot: Describe = describe_robot) -> Scenario | None:
    """Return the scenario of an open file, or None if there are problems, which are stored in the document.

    Args:
        document: the file.
        packages: locates ROS packages.
        describe_robot: reads the file of a robot with xacro arguments.
    """
    lay_over_base(document, packages)
    if document.root is None:
        return None
    root = Section(document, document.root, SCENARIO, "")
    rate, duration = root.number("rate", 1000.0), root.number("duration")
    if not _on_tick(duration, rate):
        root.problem("duration", f"{duration:g} s is not a whole number of ticks of {1.0 / rate:g} s")
    robot = _read_robot(root, packages, describe_robot)
    plant_robot = _read_plant_robot(root, robot, packages, describe_robot)
    nodes = _read_nodes(root, packages)
    pushes = tuple(_read_push(section, duration, plant_robot or robot) for section in root.sections("pushes"))
    events = [_read_event(section, nodes, rate, duration) for section in root.sections("events")]
    phases = [_read_phase(section, duration) for section in root.sections("phases")]
    expected = _read_expected(root, nodes)
    figures = root.named_sections("figures", _figure_keys).items()
    specs = [_read_figure(name, section, duration, robot) for name, section in figures]
    scenario_fields = {
        "title": root.text("title"),
        "description": root.text("description"),
        "gravity": root.vector("gravity", STANDARD_GRAVITY),
        "mode": root.text("mode", "lockstep"),
        "composed": root.boolean("composed", False),
        "plant": _read_parameters(root, "plant", packages, "flexarm", PLANT),
    }
    if robot is None or document.problems:
        return None
    return Scenario(
        path=document.path,
        source=document.text,
        robot=robot,
        plant_robot=plant_robot,
        rate=rate,
        duration=duration,
        nodes=nodes,
        pushes=pushes,
        events=tuple(sorted(events, key=lambda event: event.at)),
        expected=expected,
        figures=tuple(figure for figure in specs if figure is not None),
        phases=tuple(sorted(phases, key=lambda phase: phase.start)),
        **scenario_fields,  # type: ignore[arg-type]
    )


def _read_robot(root: Section, packages: Packages, describe: Describe) -> RobotSpec | None:
    section = root.section("robot")
    if section is None:
        return None
    arguments, wanted = section.text_mapping("arguments", exact=True), section.text("tool_frame")
    path, held = _file(section, "description", packages), section.number_mapping("held")
    springs = _springs(section)
    description = _described(section, path, arguments, held, springs, describe)
    limits = _file(section, "joint_limits", packages)
    if path is None or description is None:
        return None
    try:
        tool_frame = description.tool_frame(wanted)
    except RobotDescriptionError as error:
        section.problem("tool_frame", str(error))
        return None
    try:
        description = within_joint_limits(description, limits) if limits else description
    except ConfigError as error:
        section.problem("joint_limits", str(error))
    return RobotSpec(path, arguments, tool_frame, description, held, limits, springs)


def _read_plant_robot(
    root: Section, robot: RobotSpec | None, packages: Packages, describe: Describe
) -> RobotSpec | None:
    section = root.section("plant_robot")
    if section is None:
        return None
    arguments, path = section.text_mapping("arguments", exact=True), None
    held = section.number_mapping("held")
    if robot is not None and "held" not in section:
        held = robot.held
    own = "elastic" in section or "elastic_damping" in section
    springs = _springs(section) if robot is None or own else robot.springs
    if "description" in section:
        path = _file(section, "description", packages)
    elif robot is not None:
        path, arguments = robot.path, robot.arguments | arguments
    factors = {name: section.number_mapping(name) for name in ("masses", "stiffness")}
    changes = RobotChanges(**factors, payload=section.number("payload", 0.0))
    description = _described(section, path, arguments, held, springs, describe)
    if robot is None or path is None or description is None:
        return None
    try:
        description = changes.apply(description, robot.tool_frame)
    except (ConfigError, RobotDescriptionError) as error:
        section.problem("", str(error))
        return None
    for kind in ("actuated", "elastic"):
        wanted, found = _joints(robot.description, kind), _joints(description, kind)
        if wanted != found:
            section.problem("", f"its {kind} joints must be those of the robot, {wanted}; it has {found}")
    if floats := set(description.free) - set(robot.description.free):
        section.problem("", f"'{min(floats)}' has stiffness 0: the plant's base would float freely, the robot's not")
    if robot.tool_frame not in description.links:
        section.problem("", f"the plant's robot has no link '{robot.tool_frame}', which is the robot's tool")
    return RobotSpec(path, arguments, robot.tool_frame, description, held, springs=springs)


def _springs(section: Section) -> dict[str, tuple[float, float]]:
    """Return stiffness and damping of the joints that are called elastic."""
    stiffness, damping = section.number_mapping("elastic"), section.number_mapping("elastic_damping")
    if unknown := sorted(damping.keys() - stiffness):
        section.problem("elastic_damping", f"'{unknown[0]}' has no stiffness in elastic")
    return {name: (value, damping.get(name, 0.0)) for name, value in stiffness.items()}


def _file(section: Section, key: str, packages: Packages) -> Path | None:
    uri = section.text(key)
    path, wrong = resolve(uri, section.document.path.parent, packages)
    if uri and wrong:
        section.problem(key, wrong)
    return None if wrong or not uri else path


def _described(
    section: Section,
    path: Path | None,
    arguments: dict[str, str],
    held: dict[str, float],
    springs: Springs,
    describe: Describe,
) -> RobotDescription | None:
    if path is None:
        return None
    try:
        description = describe(path, arguments, held, springs)
        load_flexible_links(description)  # report an invalid modal data file before the run
        return description
    except RobotDescriptionError as error:
        section.problem("description" if "description" in section else "", str(error))
        return None


def _joints(description: RobotDescription, kind: str) -> str:
    """Describe the actuated or elastic joints in words: ``base_x (prismatic)``."""
    names = description.actuated if kind == "actuated" else [joint.name for joint in description.elastic]
    return ", ".join(f"{name} ({description.joints[name].kind})" for name in names) or "none"


def _read_nodes(root: Section, packages: Packages) -> tuple[NodeSpec, ...]:
    nodes: list[NodeSpec] = []
    taken = {PLANT}
    for section in root.sections("nodes"):
        node = _read_node(section, packages)
        if node.name and node.name in taken:
            section.problem("name", f"node name '{node.name}' is taken: give this node another 'name'")
        taken.add(node.name)
        nodes.append(node)
    if "nodes" in root and not nodes:
        root.problem("nodes", "a run needs at least one node")
    return tuple(nodes)


def _read_node(section: Section, packages: Packages) -> NodeSpec:
    package, _, executable = section.text("executable").rpartition("/")
    package = package or "flexarm"
    known = packages.executables(package)
    if known is not None:
        wrong = f"package '{package}' has no executable '{executable}'"
        section.refuse_unknown("executable", executable, known, wrong)
    if executable == PLANT and package == "flexarm":
        section.problem("executable", "the plant is always started: give its parameters under the key 'plant'")
    name, remappings = section.text("name", executable), section.text_mapping("remappings")
    parameters = _read_parameters(section, "parameters", packages, package, executable)
    return NodeSpec(package, executable, name, parameters, remappings)


def _read_parameters(
    section: Section, key: str, packages: Packages, package: str, executable: str
) -> dict[str, ParameterValue]:
    given = section.parameters(key)
    known = packages.parameters(package, executable, given)
    for name in given:
        if known and name not in known and not name.startswith("qos_overrides."):
            wrong = f"{executable} has no parameter '{name}'; {nearest(name, known)}see docs/parameters.md"
            section.parameter_problem(key, name, wrong)
    return given


def _read_push(section: Section, duration: float, robot: RobotSpec | None) -> PushSpec:
    push = PushSpec(
        link=section.text("link"),
        start=section.number("start"),
        duration=section.number("duration"),
        force=section.vector("force"),
        torque=section.vector("torque"),
        shape=section.text("shape", "rectangle"),
    )
    if robot:
        section.refuse_unknown("link", push.link, robot.description.links, f"link '{push.link}' does not exist")
    if push.start + push.duration > duration:
        section.problem("start", f"the push ends at {push.start + push.duration:g} s, after the run ({duration:g} s)")
    if not any((*push.force, *push.torque)):
        section.problem("force", "a push needs a force or a torque that is not zero")
    return push


def _read_event(section: Section, nodes: tuple[NodeSpec, ...], rate: float, duration: float) -> EventSpec:
    event = EventSpec(
        at=section.number("at"),
        node=section.text("node"),
        parameters=section.parameters("set"),
        transition=section.text("transition"),
        kill=section.boolean("kill"),
    )
    names = [PLANT, *(node.name for node in nodes)]
    section.refuse_unknown("node", event.node, names, f"node '{event.node}' is not in this run")
    if event.at >= duration:
        section.problem("at", f"{event.at:g} s is not within the run of {duration:g} s")
    elif not _on_tick(event.at, rate):
        near = round(event.at * rate) / rate
        section.problem("at", f"{event.at:g} s lies between two ticks of {1.0 / rate:g} s: take {near:g}")
    actions = [name for name in ("set", "transition", "kill") if name in section]
    if len(actions) != 1:
        given = ", ".join(actions) or "none"
        section.problem("", f"an event does exactly one of set, transition, kill; this one has: {given}")
    elif actions == ["kill"] and not event.kill:
        section.problem("kill", "expected true: an event that kills nothing has no meaning")
    return event


def _read_phase(section: Section, duration: float) -> Phase:
    phase = Phase(section.text("name"), section.number("start"))
    if phase.start >= duration:
        section.problem("start", f"{phase.start:g} s is not within the run of {duration:g} s")
    return phase


def _read_expected(root: Section, nodes: tuple[NodeSpec, ...]) -> Expected:
    section = root.section("expect")
    if section is None:
        return Expected()
    counts = {key.name: read_goal(section, key.name) for key in EXPECT if key.kind is Kind.TEXT}
    blamed, names = section.texts("errors"), [PLANT, *(node.name for node in nodes)]
    for name in blamed:
        section.refuse_unknown("errors", name, names, f"node '{name}' is not in this run")
    return Expected({name: goal for name, goal in counts.items() if goal is not None}, blamed)


def _figure_keys(node: yaml.Node) -> Keys:
    """Return the keys of a figure: its metric has options; all options are valid while the metric is unknown."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    metric = METRICS.get(next((str(value.value) for key, value in pairs if key.value == "metric"), ""))
    return *FIGURES, *(metric.options if metric else (replace(option, default="any") for option in OPTIONS))


def _read_figure(name: str, section: Section, duration: float, robot: RobotSpec | None) -> FigureSpec | None:
    metric = section.text("metric")
    section.refuse_unknown("metric", metric, METRICS, f"metric '{metric}' does not exist")
    if metric not in METRICS:
        return None
    wanted = METRICS[metric]
    given = [option for option in wanted.options if option.name in section]
    settings = MetricOptions(**{option.name: section.value(option.name) for option in given})
    if settings.after >= min(settings.before, duration):
        section.problem("after", "nothing is measured: it lies at or after 'before' or the end of the run")
    if settings.since is not None and settings.since >= duration:
        section.problem("since", f"{settings.since:g} s is not within the run of {duration:g} s")
    known_period = robot is None or robot.description.elastic or settings.last is not None
    if any(option.name == "last" for option in wanted.options) and not known_period:
        section.problem("last", "is missing: the base of this robot is rigid and has no natural period to go by")
    if not any(settings.direction):
        section.problem("direction", "expected three numbers of which at least one is not 0")
    if robot is not None:
        names = robot.description.actuated
        section.refuse_unknown("joint", settings.joint, names, f"joint '{settings.joint}' does not exist")
    if wanted.unit == "deflection" or settings.joints:
        _check_joints(section, robot, settings)
    return FigureSpec(name, metric, settings, read_goal(section))


def _check_joints(section: Section, robot: RobotSpec | None, settings: MetricOptions) -> None:
    if robot is None:
        return
    names = tuple(joint.name for joint in robot.description.elastic)
    units = tuple("m" if robot.description.joints[name].kind == "prismatic" else "rad" for name in names)
    try:
        deflection_unit(names, units, settings.joints)
    except ConfigError as error:
        section.problem("joints", str(error))


def read_goal(section: Section, name: str = "goal") -> Goal | None:
    """Return the goal under a key, None if there is none; a whole number alone is to be met exactly."""
    text = section.text(name)
    try:
        return parse_goal(f"== {text}" if text.isdigit() else text) if text else None
    except ConfigError as error:
        section.problem(name, str(error))
        return None


def _on_tick(time: float, rate: float) -> bool:
    """Return whether a time lies on a tick; also true for non-finite values, which were already reported."""
    ticks = time * rate
    return not math.isfinite(ticks) or abs(ticks - round(ticks)) < 1e-6
