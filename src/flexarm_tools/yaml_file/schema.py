"""Schema of scenario and study files: one table per section, from which checks, messages and docs are derived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

MODES = ("lockstep", "real_time")
TRANSITIONS = ("configure", "activate", "deactivate", "cleanup", "shutdown")
PUSH_SHAPES = ("rectangle", "half_sine")


class Kind(Enum):
    """Type of a value, as named in messages and docs."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "true or false"
    VECTOR = "three numbers"
    TEXTS = "list of texts"
    TEXT_MAPPING = "mapping of texts"
    PARAMETERS = "parameters"
    SECTION = "section"
    SECTIONS = "list of sections"
    NAMED_SECTIONS = "sections by name"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section.

    Attributes:
        name: as written in the file.
        kind: type of its value.
        meaning: one sentence for the docs.
        unit: SI unit of a number, empty if it has none.
        default: default in words; empty: the key is required.
        minimum: smallest allowed number.
        above: exclusive lower bound of a number.
        below: exclusive upper bound of a number.
        choices: allowed texts.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    default: str = ""
    minimum: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether the key must be given."""
        return not self.default

    @property
    def expected(self) -> str:
        """Description of a valid value, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        bounds = [f">= {self.minimum:g}" if self.minimum is not None else ""]
        bounds += [f"> {self.above:g}" if self.above is not None else ""]
        bounds += [f"< {self.below:g}" if self.below is not None else ""]
        words = [self.kind.value, " and ".join(filter(None, bounds)), f"[{self.unit}]" if self.unit else ""]
        return " ".join(filter(None, words))


@dataclass(frozen=True, slots=True)
class Table:
    """The keys of one section.

    Attributes:
        name: path of the section, empty for the file itself.
        keys: keys in the order of the docs.
    """

    name: str
    keys: tuple[Key, ...]

    def key(self, name: str) -> Key:
        """Return the key of a name that must exist."""
        return next(key for key in self.keys if key.name == name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all keys."""
        return tuple(key.name for key in self.keys)


SCENARIO = Table(
    "",
    (
        Key("base", Kind.TEXT, "scenario file that this one varies, see [base](#base)", default="none"),
        Key("title", Kind.TEXT, "heading of the report"),
        Key("description", Kind.TEXT, "what the run shows; a paragraph of the report", default="empty"),
        Key("robot", Kind.SECTION, "the robot, see [robot](#robot)"),
        Key(
            "plant_robot",
            Kind.SECTION,
            "robot of the plant where it differs from that of the nodes, see [plant_robot](#plant_robot)",
            default="the robot",
        ),
        Key(
            "gravity",
            Kind.VECTOR,
            "in axes of the root link, given to every node and the plant",
            "m/s^2",
            "[0, 0, -9.81]",
        ),
        Key(
            "mode",
            Kind.TEXT,
            "`lockstep`: the plant waits for each command, the machine does not matter; `real_time`: wall clock",
            default="lockstep",
            choices=MODES,
        ),
        Key(
            "composed",
            Kind.BOOLEAN,
            "all stages in one process, `control_loop`: the same results, sooner; see [one process](control_loop.md)",
            default="false",
        ),
        Key("rate", Kind.NUMBER, "control rate; one tick is 1 / rate", "Hz", above=0.0, default="1000"),
        Key("duration", Kind.NUMBER, "length of the run, a whole number of ticks", "s", above=0.0),
        Key("plant", Kind.PARAMETERS, "parameters of the node `simulated_plant`", default="none"),
        Key("nodes", Kind.SECTIONS, "nodes to start, in order of bring-up, see [nodes](#nodes)"),
        Key("pushes", Kind.SECTIONS, "external forces, see [pushes](#pushes)", default="none"),
        Key("events", Kind.SECTIONS, "changes during the run, see [events](#events)", default="none"),
        Key(
            "expect",
            Kind.SECTION,
            "what may happen without the run being a failure, see [expect](#expect)",
            default="none",
        ),
        Key("figures", Kind.NAMED_SECTIONS, "what is measured, see [figures](#figures)", default="none"),
    ),
)

ROBOT = Table(
    "robot",
    (
        Key(
            "description",
            Kind.TEXT,
            "`.urdf` or `.xacro` file: `package://PACKAGE/PATH`, or a path relative to this file",
        ),
        Key("arguments", Kind.TEXT_MAPPING, "xacro arguments", default="none"),
        Key("tool_frame", Kind.TEXT, "link whose origin is the tool", default="`tool0`, else the only tip link"),
    ),
)

PLANT_ROBOT = Table(
    "plant_robot",
    (
        Key("description", Kind.TEXT, "as in [robot](#robot)", default="the robot's own file"),
        Key(
            "arguments",
            Kind.TEXT_MAPPING,
            "xacro arguments; for the robot's own file they are added to the robot's",
            default="none",
        ),
    ),
)

NODES = Table(
    "nodes",
    (
        Key("executable", Kind.TEXT, "an executable of flexarm, or `PACKAGE/EXECUTABLE`"),
        Key("name", Kind.TEXT, "node name, unique in the run", default="the executable's name"),
        Key("parameters", Kind.PARAMETERS, "ROS parameters of the node", default="none"),
        Key("remappings", Kind.TEXT_MAPPING, "ROS names, from: to", default="none"),
    ),
)

NODES_OVER_BASE = Table(
    "nodes",
    (
        Key(
            "before",
            Kind.TEXT,
            "the node's place: before the node of this executable or name",
            default="as it is; last",
        ),
        Key("remove", Kind.BOOLEAN, "`true`: leave the base's node out", default="false"),
    ),
)

PUSHES = Table(
    "pushes",
    (
        Key("link", Kind.TEXT, "link that is pushed, at its origin"),
        Key("start", Kind.NUMBER, "when it begins", "s", minimum=0.0),
        Key("duration", Kind.NUMBER, "how long it lasts", "s", above=0.0),
        Key("force", Kind.VECTOR, "largest force, in axes of the root link", "N", "[0, 0, 0]"),
        Key("torque", Kind.VECTOR, "largest torque, in axes of the root link", "N*m", "[0, 0, 0]"),
        Key("shape", Kind.TEXT, "course over time", default="rectangle", choices=PUSH_SHAPES),
    ),
)

EVENTS = Table(
    "events",
    (
        Key("at", Kind.NUMBER, "when it happens, on a tick; in lockstep exactly between two ticks", "s", minimum=0.0),
        Key("node", Kind.TEXT, "a node of this run, or `simulated_plant`"),
        Key("set", Kind.PARAMETERS, "parameters to change", default="none"),
        Key("transition", Kind.TEXT, "lifecycle transition to ask for", default="none", choices=TRANSITIONS),
        Key("kill", Kind.BOOLEAN, "`true`: end the process abruptly", default="none"),
    ),
)

EXPECT = Table(
    "expect",
    (
        Key("stops", Kind.TEXT, "controlled stops of the gate", default="0"),
        Key("trips", Kind.TEXT, "stops of the gate that only a reset ends", default="0"),
        Key("unanswered", Kind.TEXT, "states in lockstep that no command answered", default="0"),
        Key("lost_samples", Kind.TEXT, "samples that were sent and not recorded", default="0"),
        Key("errors", Kind.TEXTS, "nodes that may report errors on `/diagnostics`", default="none"),
    ),
)

FIGURES = Table(
    "figures",
    (
        Key("metric", Kind.TEXT, "name of a [metric](#metrics); its options stand beside it"),
        Key(
            "goal",
            Kind.TEXT,
            "`<=`, `<`, `>=`, `>` or `==` and a number in the metric's unit",
            default="none: only reported",
        ),
    ),
)

STUDY = Table(
    "",
    (
        Key("title", Kind.TEXT, "heading of the report"),
        Key("description", Kind.TEXT, "what the study shows", default="empty"),
        Key(
            "runs", Kind.TEXT_MAPPING, "name of each run and its scenario file, relative to this one; run in this order"
        ),
        Key(
            "figures",
            Kind.NAMED_SECTIONS,
            "figures of the study, see [figures of a study](#figures-of-a-study)",
            default="none",
        ),
        Key(
            "comparisons",
            Kind.SECTIONS,
            "runs to show together, see [comparisons](#comparisons)",
            default="one, of all runs",
        ),
    ),
)

STUDY_FIGURES = Table(
    "figures",
    (
        Key("run", Kind.TEXT, "run from which a figure is taken", default="none"),
        Key("figure", Kind.TEXT, "name of the figure in that run", default="none"),
        Key("ratio", Kind.TEXTS, "two figures of this study: the first over the second", default="none"),
        Key("goal", Kind.TEXT, "as in a scenario", default="that of the run's figure"),
    ),
)

COMPARISONS = Table(
    "comparisons",
    (
        Key("title", Kind.TEXT, "heading"),
        Key("runs", Kind.TEXTS, "names of runs"),
    ),
)

TABLES = {
    "scenario": SCENARIO,
    "robot": ROBOT,
    "plant_robot": PLANT_ROBOT,
    "nodes": NODES,
    "base": NODES_OVER_BASE,
    "pushes": PUSHES,
    "events": EVENTS,
    "expect": EXPECT,
    "figures": FIGURES,
    "study": STUDY,
    "figures of a study": STUDY_FIGURES,
    "comparisons": COMPARISONS,
}


def markdown_keys(keys: Iterable[Key]) -> str:
    """Return the table of keys in Markdown, as used in docs/scenario.md."""
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{k.name}` | {k.expected} | {k.default or '**required**'} | {k.meaning} |" for k in keys]
    return "\n".join(rows)
