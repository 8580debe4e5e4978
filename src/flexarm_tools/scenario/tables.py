"""Tables of the keys of scenario and study files."""

from __future__ import annotations

from flexarm_tools.metrics.figures import GOAL
from flexarm_tools.yaml_file.schema import Form, Key, Kind

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_WORDS = "letters, digits and _, not beginning with a digit"
_NODE_NAME = Form(_WORD, f"a node name: {_WORDS}")
_FIGURE_NAME = Form(_WORD, f"a figure's name: {_WORDS}")
_ROS_NAME = Form(r"[~/]?[A-Za-z_][A-Za-z0-9_/]*", "a ROS name")
_RUN_NAME = Form(
    r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}", "a name of a run: letters, digits, _, -, ., the first a letter or digit"
)
_GOAL = Form(GOAL, "a comparison and a number, such as '<= 1e-5'; the comparisons are <=, <, >=, > and ==")
_COUNT = Form(rf"[0-9]+|{GOAL}", "a number, or a comparison and a number, such as '<= 3'")

ROBOT = (
    Key(
        *("description", Kind.TEXT),
        "`.urdf` or `.xacro` file: `package://PACKAGE/PATH`, or a path relative to this file",
    ),
    Key("arguments", Kind.TEXT_MAPPING, "xacro arguments", default="none"),
    Key(
        *("held", Kind.NUMBER_MAPPING),
        "joints that do not belong to the arm, and the positions at which they are held; a floating or planar joint"
        " stays at 0",
        "rad or m",
        "joints that only carry a gripper or follow others, see [robot description](robot_description.md#held-joints)",
    ),
    Key(
        *("elastic", Kind.NUMBER_MAPPING),
        "stiffness of joints under the base for which the file describes no spring, see [a maker's root"
        " joint](robot_description.md#a-makers-root-joint); `JOINT_x` to `JOINT_rz` are directions of a floating or"
        " planar joint",
        "N/m or N*m/rad",
        "none",
    ),
    Key("elastic_damping", Kind.NUMBER_MAPPING, "damping of the joints in `elastic`", "N*s/m or N*m*s/rad", "0"),
    Key("tool_frame", Kind.TEXT, "link whose origin is the tool", default="`tool0`, else the only tip link"),
    Key(
        *("joint_limits", Kind.TEXT),
        "`joint_limits.yaml` of MoveIt or ros2_control, whose limits narrow those of the description for all nodes but"
        " the plant: `package://PACKAGE/PATH`, or a path relative to this file",
        default="none",
    ),
)

PLANT_ROBOT = (
    Key("description", Kind.TEXT, "as in [robot](#robot)", default="the robot's own file"),
    Key(
        *("arguments", Kind.TEXT_MAPPING),
        "xacro arguments; with the robot's own file, they are added to the robot's arguments",
        default="none",
    ),
    Key("held", Kind.NUMBER_MAPPING, "as in [robot](#robot)", "rad or m", "those of the robot"),
    Key("elastic", Kind.NUMBER_MAPPING, "as in [robot](#robot)", "N/m or N*m/rad", "those of the robot"),
    Key("elastic_damping", Kind.NUMBER_MAPPING, "damping of the joints in `elastic`", "N*s/m or N*m*s/rad", "0"),
    Key(
        *("masses", Kind.NUMBER_MAPPING),
        "factors on masses and inertias of links, by name; `all` is a factor on every link",
        default="none",
        above=0.0,
    ),
    Key(
        *("stiffness", Kind.NUMBER_MAPPING),
        "factors on the springs of elastic joints, by name; `all` is a factor on every spring",
        default="none",
        above=0.0,
    ),
    Key(
        *("payload", Kind.NUMBER, "mass of a ball of 5 cm radius about the tool, unknown to all nodes", "kg"),
        default="0",
        minimum=0.0,
    ),
)

NODES = (
    Key("executable", Kind.TEXT, "an executable of flexarm, or `PACKAGE/EXECUTABLE`"),
    Key("name", Kind.TEXT, "node name, unique in the run", default="the executable's name", form=_NODE_NAME),
    Key("parameters", Kind.PARAMETERS, "ROS parameters of the node", default="none"),
    Key("remappings", Kind.TEXT_MAPPING, "ROS names, from: to", default="none", form=_ROS_NAME, names=_ROS_NAME),
)

NODES_OVER_BASE = (
    Key(
        *("before", Kind.TEXT),
        "position of the node: before the node of this executable or name",
        default="unchanged; a new node comes last",
    ),
    Key("remove", Kind.BOOLEAN, "`true`: remove the node of the base", default="false"),
)

PUSHES = (
    Key("link", Kind.TEXT, "link to push, at its origin"),
    Key("start", Kind.NUMBER, "start of the push", "s", minimum=0.0),
    Key("duration", Kind.NUMBER, "duration of the push", "s", above=0.0),
    Key("force", Kind.VECTOR, "largest force, in axes of the root link", "N", "[0, 0, 0]"),
    Key("torque", Kind.VECTOR, "largest torque, in axes of the root link", "N*m", "[0, 0, 0]"),
    Key("shape", Kind.TEXT, "shape over time", default="rectangle", choices=("rectangle", "half_sine")),
)

EVENTS = (
    Key(
        *("at", Kind.NUMBER),
        "time of the event, a whole number of ticks; in lockstep it acts exactly between two ticks",
        "s",
        minimum=0.0,
    ),
    Key("node", Kind.TEXT, "a node of this run, or `simulated_plant`"),
    Key("set", Kind.PARAMETERS, "parameters to change", default="none"),
    Key(
        *("transition", Kind.TEXT, "lifecycle transition to request"),
        default="none",
        choices=("configure", "activate", "deactivate", "cleanup", "shutdown"),
    ),
    Key("kill", Kind.BOOLEAN, "`true`: kill the process", default="none"),
)

PHASES = (
    Key("name", Kind.TEXT, "shown in the plots and the animation"),
    Key("start", Kind.NUMBER, "begin of the phase, which lasts until the next one", "s", minimum=0.0),
)

EXPECT = (
    Key("stops", Kind.TEXT, "controlled stops of the gate", default="0", form=_COUNT),
    Key("trips", Kind.TEXT, "trips of the gate, which only a reset ends", default="0", form=_COUNT),
    Key("unanswered", Kind.TEXT, "states in lockstep without a command", default="0", form=_COUNT),
    Key("lost_samples", Kind.TEXT, "samples that were sent but not recorded", default="0", form=_COUNT),
    Key("errors", Kind.TEXTS, "nodes that may report errors on `/diagnostics`", default="none"),
)

FIGURES = (
    Key("metric", Kind.TEXT, "name of a [metric](#metrics); its options stand beside it"),
    Key(
        *("goal", Kind.TEXT, "`<=`, `<`, `>=`, `>` or `==` and a number in the metric's unit"),
        default="none: only reported",
        form=_GOAL,
    ),
)

SCENARIO = (
    Key("base", Kind.TEXT, "scenario file from which this one differs, see [base](#base)", default="none"),
    Key("title", Kind.TEXT, "heading of the report"),
    Key("description", Kind.TEXT, "what the run shows; a paragraph of the report", default="empty"),
    Key("robot", Kind.SECTION, "the robot, see [robot](#robot)", keys=ROBOT),
    Key(
        *("plant_robot", Kind.SECTION),
        "robot of the plant if it differs from that of the nodes, see [plant_robot](#plant_robot)",
        default="the robot",
        keys=PLANT_ROBOT,
    ),
    Key(
        *("gravity", Kind.VECTOR, "gravity in axes of the root link, for every node and the plant", "m/s^2"),
        default="[0, 0, -9.81]",
    ),
    Key(
        *("mode", Kind.TEXT),
        "`lockstep`: the plant waits for each command, the load of the machine has no effect; `real_time`: wall clock",
        default="lockstep",
        choices=("lockstep", "real_time"),
    ),
    Key(
        *("composed", Kind.BOOLEAN),
        "all stages in one process, `control_loop`, with the same results; see [one process](control_loop.md)",
        default="false",
    ),
    Key("rate", Kind.NUMBER, "control rate; one tick is 1 / rate", "Hz", above=0.0, default="1000"),
    Key("duration", Kind.NUMBER, "length of the run, a whole number of ticks", "s", above=0.0),
    Key("plant", Kind.PARAMETERS, "parameters of the node `simulated_plant`", default="none"),
    Key("nodes", Kind.SECTIONS, "nodes, in the order of their start, see [nodes](#nodes)", keys=NODES),
    Key("pushes", Kind.SECTIONS, "external forces, see [pushes](#pushes)", default="none", keys=PUSHES),
    Key("events", Kind.SECTIONS, "changes during the run, see [events](#events)", default="none", keys=EVENTS),
    Key(
        *("phases", Kind.SECTIONS, "named parts of the run, see [phases](#phases)"),
        default="none",
        keys=PHASES,
    ),
    Key(
        *("expect", Kind.SECTION, "events that are not a failure, see [expect](#expect)"),
        default="none",
        keys=EXPECT,
    ),
    Key(
        *("figures", Kind.NAMED_SECTIONS, "figures to measure, see [figures](#figures)"),
        default="none",
        names=_FIGURE_NAME,
    ),
)

STUDY_FIGURES = (
    Key("run", Kind.TEXT, "run from which a figure is taken", default="none"),
    Key("figure", Kind.TEXT, "name of the figure in that run", default="none"),
    Key("ratio", Kind.TEXTS, "two figures of this study: the first divided by the second", default="none"),
    Key("goal", Kind.TEXT, "as in a scenario", default="that of the run's figure", form=_GOAL),
)

COMPARISONS = (Key("title", Kind.TEXT, "heading"), Key("runs", Kind.TEXTS, "names of runs"))

STUDY = (
    Key("title", Kind.TEXT, "heading of the report"),
    Key("description", Kind.TEXT, "what the study shows", default="empty"),
    Key(
        *("runs", Kind.TEXT_MAPPING),
        "name of each run and its scenario file, relative to this one; run in this order",
        names=_RUN_NAME,
    ),
    Key(
        *("figures", Kind.NAMED_SECTIONS, "figures of the study, see [figures of a study](#figures-of-a-study)"),
        default="none",
        keys=STUDY_FIGURES,
    ),
    Key(
        *("comparisons", Kind.SECTIONS, "runs to show together, see [comparisons](#comparisons)"),
        default="one, of all runs",
        keys=COMPARISONS,
    ),
)

VARIABLES = (
    Key(
        *("key", Kind.TEXT),
        "quantity of the scenario, as `plant.friction.coulomb[0]` or `nodes.NAME.parameters.NAME`, see [keys](#keys)",
    ),
    Key(
        "uniform", Kind.NUMBERS, "lowest and highest value; all values between them are equally likely", default="none"
    ),
    Key(
        "log",
        Kind.NUMBERS,
        "lowest and highest value; the logarithm of the value is uniformly distributed",
        default="none",
    ),
    Key("normal", Kind.NUMBERS, "mean and standard deviation", default="none"),
    Key("choice", Kind.VALUES, "values, all equally likely", default="none"),
    Key(
        "grid",
        Kind.VALUES,
        "values, each combined with each value of the other grids and with all samples",
        default="none",
    ),
)

SHARES = (
    Key("share", Kind.NUMBER, "least share of all runs in which the figure meets the goal", "1", above=0.0),
    Key("figure", Kind.TEXT, "figure of the scenario", default="whether the whole run holds"),
    Key("goal", Kind.TEXT, "goal that the figure has to meet", default="the figure's goal in the scenario", form=_GOAL),
)

CHOICES = (
    VARIABLES[0],
    Key("uniform", Kind.NUMBERS, "lowest and highest value", default="none"),
    Key("log", Kind.NUMBERS, "lowest and highest value, on a logarithmic scale", default="none"),
    Key("choice", Kind.VALUES, "values to choose from", default="none"),
)

OPTIMIZE = (
    Key(
        "choose",
        Kind.NAMED_SECTIONS,
        "quantities that the optimizer chooses, by their names in the table",
        keys=CHOICES,
        names=_FIGURE_NAME,
    ),
    Key("minimize", Kind.TEXT, "figure of the scenario that is to be small", default="none"),
    Key(
        "maximize",
        Kind.TEXT,
        "figure of the scenario that is to be large; give either minimize or maximize",
        default="none",
    ),
    Key(
        *("take", Kind.TEXT, "value that represents a trial, from the figures of its runs"),
        default="mean",
        choices=("mean", "median", "worst"),
    ),
    Key("trials", Kind.NUMBER, "number of trials", minimum=1.0, default="50"),
    Key(
        "parallel",
        Kind.NUMBER,
        "number of trials that are proposed at once, for parallel workers",
        minimum=1.0,
        default="4",
    ),
)

SWEEP = (
    Key("title", Kind.TEXT, "heading", default="the scenario's"),
    Key("description", Kind.TEXT, "what the sweep shows", default="the scenario's"),
    Key("scenario", Kind.TEXT, "scenario file, relative to this one, or `package://PACKAGE/PATH`"),
    Key(
        *("vary", Kind.NAMED_SECTIONS, "quantities that vary, by their names in the table"),
        default="required without `optimize`",
        keys=VARIABLES,
        names=_FIGURE_NAME,
    ),
    Key(
        *("optimize", Kind.SECTION, "quantities that an optimizer chooses, see [optimize](#optimize)"),
        default="nothing",
        keys=OPTIMIZE,
    ),
    Key("samples", Kind.NUMBER, "number of runs for each point of the grid", minimum=1.0, default="1"),
    Key(
        *("method", Kind.TEXT, "how samples are drawn"),
        default="latin_hypercube",
        choices=("latin_hypercube", "sobol", "random"),
    ),
    Key("seed", Kind.NUMBER, "seed of the samples and of the runs' noise", minimum=0.0, default="0"),
    Key(
        *(
            "figures",
            Kind.NAMED_SECTIONS,
            "changes of the scenario's figures, in the form of changes to a [base](scenario.md#base)",
        ),
        default="none",
        names=_FIGURE_NAME,
    ),
    Key(
        *("goals", Kind.NAMED_SECTIONS, "least shares of runs that must meet their goals, see [goals](#goals)"),
        default="none",
        keys=SHARES,
        names=_FIGURE_NAME,
    ),
)

SWEEP_TABLES = {"sweep": SWEEP, "vary": VARIABLES, "goals": SHARES, "optimize": OPTIMIZE, "choose": CHOICES}

TABLES = {
    "scenario": SCENARIO,
    "robot": ROBOT,
    "plant_robot": PLANT_ROBOT,
    "nodes": NODES,
    "base": NODES_OVER_BASE,
    "pushes": PUSHES,
    "events": EVENTS,
    "phases": PHASES,
    "expect": EXPECT,
    "figures": FIGURES,
    "study": STUDY,
    "figures of a study": STUDY_FIGURES,
    "comparisons": COMPARISONS,
}
