"""The fuzz campaign: mutants of every kind of file go through the readers, in a process that may die of them.

A case ends in a clear error (of the FlexarmError family, one short message) or is accepted. Everything else is counted
against us: a crash or a hang, an exception of another library, more than a second of processor time, more than 100 MB,
a file that is written where none belongs, numbers without meaning from a robot that was accepted.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mutations as mutate
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SECONDS, MEGABYTES, HANG = 1.0, 100.0, 20  # HANG, too, is processor time
LONGEST_LINE, MOST_LINES = 1000, 32  # of a message: one thing that is wrong a line
BOMBS_FROM = 0.3  # share of cases that are not mutants of a good file but bombs, or broken bytes


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input.

    Attributes:
        name: for the table.
        suffix: of its files.
        good: bytes of files that are accepted.
        mutate: one mutant of such bytes.
        bombs: whole documents.
        read: reads a file as the suite does; its result is nothing, or raises what is wrong with it.
    """

    name: str
    suffix: str
    good: list[bytes]
    mutate: Callable[[np.random.Generator, bytes], bytes]
    bombs: list[bytes]
    read: Callable[[Path], None]


def kinds() -> list[Kind]:
    """Every kind of input of the suite."""
    from flexarm_core.robot.load import load_robot_description

    names = ("planar_3r", "trep", "boom_7r", "flexible_2r")
    urdf = {name: load_robot_description(ROOT / "urdf" / f"{name}.urdf.xacro") for name in names}
    xml, yml = mutate.xml_bombs(), mutate.yaml_bombs()
    made = _made_files(urdf["trep"], urdf["planar_3r"])
    descriptions = [text.encode() for text in urdf.values()]
    readers = _readers(urdf["trep"], urdf["planar_3r"])
    found = [Kind("robot description", ".urdf", descriptions, mutate.mutate_xml, xml, readers["robot description"])]
    for name in ("scenario", "study", "waypoints", "parameter file", "offered QoS"):
        found.append(Kind(name, ".yaml", made[name], mutate.mutate_yaml, yml, readers[name]))
    for name in ("modal data", "plan", "reactionless path", "gravity table", "recording"):
        found.append(Kind(name, ".npz", made[name], mutate.mutate_npz, mutate.npz_bombs(made[name][0]), readers[name]))
    mcap = [b"", b"\x89MCAP0\r\n" * 2]
    found.append(Kind("MCAP", ".mcap", made["MCAP"], mutate.mutate_bytes, mcap, readers["MCAP"]))
    found.append(Kind("MCAP, whole", ".mcap", made["MCAP"], _other_mcap, [], readers["MCAP"]))
    uris = [b"package://flexarm/urdf/trep.urdf.xacro", b"file:///tmp/x", b"/tmp/x"]
    found.append(Kind("URI", ".uri", uris, mutate.mutate_uri, [b"file://[", b"", b"\xff"], readers["URI"]))
    for name, good in _made_messages().items():
        found.append(Kind(name, ".cdr", good, mutate.mutate_record, [b"", b"\0\1\0\0", b"\0"], readers[name]))
    browser = [b"\x82\xa4type\xb0GuiUpdateMessage\xa1a\x93\x01\x02\xa1b"]
    deep = [b"\x91" * 1_000_000, b"\x81\x90\x01", b"\x81\xa4type\x90"]
    found.append(Kind("view message", ".msgpack", browser, mutate.mutate_message, deep, readers["view message"]))
    figures = [json.dumps(campaign_figures()).encode()]
    found.append(Kind("campaign figures", ".json", figures, mutate.mutate_yaml, yml, readers["campaign figures"]))
    return found


def _other_mcap(rng: np.random.Generator, _: bytes) -> bytes:
    """A whole file, with checksums, of names, definitions, qualities and messages that are none."""

    def text(usual: str) -> str:
        return mutate.some_text(rng) if rng.random() < 0.25 else usual

    definition = mutate.mutate_bytes(rng, b"string data\nuint8[3] more\n") if rng.random() < 0.5 else b"string data\n"
    return _mcap(
        profile="ros2" if rng.random() < 0.95 else text("ros2"),
        kind=text("std_msgs/msg/String"),
        encoding=text("ros2msg"),
        definition=definition,
        topic=text("/said"),
        message_encoding=text("cdr"),
        qos=mutate.mutate_yaml(rng, QOS).decode() if rng.random() < 0.5 else QOS.decode(),
        message=mutate.mutate_bytes(rng, b"\0\1\0\0\5\0\0\0text\0"),
    )


def _mcap(
    profile: str = "ros2", kind: str = "std_msgs/msg/String", encoding: str = "ros2msg",
    definition: bytes = b"string data\n", topic: str = "/said", message_encoding: str = "cdr",
    qos: str = "", message: bytes = b"\0\1\0\0\5\0\0\0text\0", count: int = 10,
) -> bytes:  # fmt: skip
    from mcap.writer import Writer

    stream = io.BytesIO()
    writer = Writer(stream, chunk_size=1024)
    writer.start(profile=profile)
    schema = writer.register_schema(kind, encoding, definition)
    channel = writer.register_channel(topic, message_encoding, schema, {"offered_qos_profiles": qos})
    for tick in range(count):
        writer.add_message(channel, 10**9 + tick * 10**6, message, 10**9)
    writer.finish()
    return stream.getvalue()


def campaign_figures() -> dict[str, Any]:
    """Figures of a campaign without a case."""
    from flexarm_tools.faults.tally import tally

    return json.loads(json.dumps(tally([], {})))


def _message_types() -> dict[str, Any]:
    from sensor_msgs.msg import Imu, JointState
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory

    from flexarm.msg import CartesianReference, FlexibleState, JointReference, SimulationStatus

    kinds = (JointState, Imu, Float64MultiArray, JointTrajectory)
    return {
        kind.__name__: kind for kind in (*kinds, CartesianReference, FlexibleState, JointReference, SimulationStatus)
    }


def _made_messages() -> dict[str, list[bytes]]:
    """Bytes of messages of the suite, with names and numbers."""
    from filled_messages import fill
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    def message(kind: Any) -> Any:
        made = kind()
        fill(made, np.random.default_rng(0))
        if kind is JointState:
            made.name, made.position, made.velocity, made.effort = ["joint1", "joint2"], *([0.1, 0.2] for _ in range(3))
        return made

    return {f"CDR {name}": [bytes(serialize_message(message(kind)))] for name, kind in _message_types().items()}


SCENARIO = b"""\
title: A run
robot:
  description: package://flexarm/urdf/planar_3r.urdf.xacro
gravity: [0.0, 0.0, 0.0]
rate: 1000.0
duration: 6.0
plant:
  initial_position: !degrees [60, -60, -60]
nodes:
  - executable: reference_generator
    parameters: {displacement: [-0.3, 0.0, 0.0]}
  - executable: rns_vibration_controller
    parameters: {vibration_damping: false}
pushes:
  - {link: base_link, start: 1.0, duration: 0.1, force: [30.0, 0.0, 0.0]}
events:
  - {at: 3.0, node: rns_vibration_controller, set: {vibration_damping: true}}
figures:
  peak: {metric: peak_base_deflection, goal: "<= 1e-5"}
"""
STUDY = b"""\
title: A study
runs:
  damped: package://flexarm/config/planar_3r/scenarios/combined.yaml
figures:
  peak: {run: damped, figure: peak_base_deflection}
comparisons:
  - {title: All, runs: [damped]}
"""
WAYPOINTS = b"""\
frame: ""
relative: false
characteristic_length: 0.2
segments:
  - line: {position: [0.5, 0.1, 0.4], rpy: [0.0, !degrees 90, 0.0]}
  - turn: {axis_angle: [0, 0, 1, !degrees 400]}
  - arc: {via: [0.5, 0.2, 0.5], position: [0.5, 0.3, 0.4]}
  - circle: {center: [0.5, 0.2, 0.4], normal: [1, 0, 0], turns: 2, follow: true}
  - spline: [{position: [0.4, 0.3, 0.5]}, {position: [0.3, 0.2, 0.5], quaternion: [0, 0, 0, 1]}]
"""
PARAMETERS = b"""\
/**:
  ros__parameters:
    gravity: [0.0, 0.0, -9.81]
simulated_plant:
  ros__parameters:
    rate: 1000.0
    nested: {a: 1, b: [1.0, 2.0]}
"""
QOS = b"""\
- history: 1
  depth: 10
  reliability: 1
  durability: 2
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: 1
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: false
"""


def _made_files(trep: str, planar: str) -> dict[str, list[bytes]]:
    """Good files of every kind that no file of the repository is."""
    from flexarm_core.base_wrench.gravity_table import GravityTable
    from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
    from flexarm_core.flexible_dynamics.modal_data import save_modal_data
    from flexarm_core.reaction_null_space.reactionless.path_file import save_path
    from flexarm_core.reaction_null_space.reactionless.trace import trace
    from flexarm_core.robot.arm_model import ArmModel
    from flexarm_core.robot.load import load_robot_description
    from flexarm_core.robot.urdf_reader import parse_robot_description
    from flexarm_tools.recording.recording import Recording

    flexible = parse_robot_description(load_robot_description(ROOT / "urdf" / "flexible_2r.urdf.xacro"))
    bundle: dict[str, list[bytes]] = {
        "scenario": [SCENARIO],
        "study": [STUDY],
        "waypoints": [WAYPOINTS],
        "parameter file": [PARAMETERS],
        "offered QoS": [QOS],
        "plan": [(ROOT / "config" / "boom_7r" / "planned_half_meter.npz").read_bytes()],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file.npz"
        save_modal_data(file, next(iter(load_flexible_links(flexible).values())))
        bundle["modal data"] = [file.read_bytes()]
        save_path(trace(ArmModel(trep, gravity=(0.0, 0.0, 0.0)), np.array([0.5 * np.pi, 0.0])), file)
        bundle["reactionless path"] = [file.read_bytes()]
        ends = np.tile((-1.0, 1.0), (2, 1))
        GravityTable(("joint1", "joint2"), "ft", np.array([3, 1]), ends, np.ones((3, 6)), np.zeros(2)).save(file)
        bundle["gravity table"] = [file.read_bytes()]
        Recording.blank(parse_robot_description(planar), np.arange(200) * 1e-3, 1.0).save(file)
        bundle["recording"] = [file.read_bytes()]
    return bundle | {"MCAP": [_mcap(qos=QOS.decode(), count=300)]}


def _readers(trep: str, planar: str) -> dict[str, Callable[[Path], None]]:
    from sensor_msgs.msg import JointState

    from flexarm_core.base_wrench.gravity_table import GravityTable
    from flexarm_core.flexible_dynamics.modal_data import load_modal_data
    from flexarm_core.flexible_dynamics.model import FlexibleModel
    from flexarm_core.path.waypoint_file import load_waypoint_file
    from flexarm_core.reaction_null_space.planning.plan_file import load_plan
    from flexarm_core.reaction_null_space.reactionless.path_file import load_path
    from flexarm_core.robot.arm_model import ArmModel
    from flexarm_core.robot.load import load_robot_description
    from flexarm_core.robot.urdf_reader import parse_robot_description
    from flexarm_core.types import ArmState
    from flexarm_core.uri import resolve_uri
    from flexarm_nodes.messages.cdr import message_reader, slots_of, stamp_of
    from flexarm_nodes.messages.layout import FlatReader
    from flexarm_nodes.node.input.readings import SampleReader
    from flexarm_tools.bag.file import McapFile
    from flexarm_tools.commands.faults import _shown
    from flexarm_tools.graph.offered_qos import read_offered_qos
    from flexarm_tools.recording.recording import load_recording
    from flexarm_tools.run.parameter_file import read_parameter_file
    from flexarm_tools.scenario.file import load_scenario
    from flexarm_tools.scenario.study import load_study
    from flexarm_tools.view.door import read_message

    boom = ArmModel(load_robot_description(ROOT / "urdf" / "boom_7r.urdf.xacro"))
    trep_model = ArmModel(trep, gravity=(0.0, 0.0, 0.0))

    def robot(path: Path) -> None:
        description = parse_robot_description(load_robot_description(path))
        tool = description.tip_links()[0]
        model = ArmModel(description, tool)
        still, none = np.zeros(model.n), np.zeros(model.m)
        state = ArmState(0, still + 0.1, still, none, none)
        blocks = model.blocks(state)
        values = [blocks.H_m, blocks.c_m, model.forward_dynamics(state, still), model.gravity_effort(state)]
        if description.flexible_links:
            bent = FlexibleModel(description, tool)
            rest = np.zeros(bent.size)
            values.append(bent.forward_dynamics(rest, rest, np.zeros(len(bent.hinge_names))))
        if not all(np.isfinite(value).all() for value in values):
            raise ArithmeticError("an accepted robot has dynamics without meaning")

    def mcap(path: Path) -> None:
        with McapFile(path) as file:
            for _ in file.messages(list(file.topics)):
                pass
            for topic in file.topics.values():
                if topic.definition is not None:
                    topic.definition.layout()

    def waypoints(path: Path) -> None:
        load_waypoint_file(path).build(np.array([0.5, 0.0, 0.4]), np.eye(3))

    def cdr(kind: Any) -> Callable[[Path], None]:
        fields = [slot.removeprefix("_") for slot in slots_of(kind)][1:2]

        def read(path: Path) -> None:
            raw = path.read_bytes()
            flat = FlatReader(kind, *fields)
            stamp_of(raw)
            flat.learn(raw)
            flat.read(raw)
            message_reader(kind)(raw)
            if kind is JointState:
                SampleReader(trep_model).read(raw)

        return read

    messages = {f"CDR {name}": cdr(kind) for name, kind in _message_types().items()}
    return messages | {
        "URI": lambda path: _nothing(resolve_uri(path.read_text(encoding="utf-8", errors="replace"))),
        "view message": lambda path: _nothing(read_message(path.read_bytes())),
        "campaign figures": lambda path: _nothing(_shown(path)),
        "robot description": robot,
        "scenario": lambda path: _nothing(load_scenario(path)),
        "study": lambda path: _nothing(load_study(path)),
        "waypoints": waypoints,
        "parameter file": lambda path: _nothing(read_parameter_file(path, ("simulated_plant",))),
        "offered QoS": lambda path: _nothing(read_offered_qos(path.read_text(encoding="utf-8", errors="replace"))),
        "modal data": lambda path: _nothing(load_modal_data(path)),
        "plan": lambda path: _nothing(load_plan(path, boom)),
        "reactionless path": lambda path: _nothing(load_path(path, trep_model)),
        "gravity table": lambda path: _nothing(GravityTable.load(path, ("joint1", "joint2"), "ft")),
        "recording": lambda path: _nothing(load_recording(path)),
        "MCAP": mcap,
    }


def _nothing(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended.

    Attributes:
        kind: of the input.
        index: of the case.
        result: ``error`` (clear), ``accepted``, ``foreign`` (exception), ``crash``, ``hang``.
        message: of the error.
        seconds: of processor time.
        megabytes: that the process grew by at most.
        written: a file outside its folder, empty where there is none.
    """

    kind: str
    index: int
    result: str
    message: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0
    written: str = ""


def run_case(kind: Kind, index: int, seed: int, folder: Path) -> Outcome:
    """Make one mutant and read it."""
    inside = folder / "a" / "b"
    inside.mkdir(parents=True, exist_ok=True)
    path = inside / f"case{kind.suffix}"
    path.write_bytes(make_case(kind, index, seed))
    before = {str(file) for file in folder.rglob("*")}
    result, message = "accepted", ""
    begun, resident = time.process_time(), _memory("VmRSS", reset=True)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        kind.read(path)
    except Hang:
        result = "hang"
    except BaseException as error:  # that is the question
        result, message = classify(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds, grown = time.process_time() - begun, _memory("VmHWM") - resident
    written = sorted({str(file) for file in folder.rglob("*")} - before)
    return Outcome(kind.name, index, result, message, seconds, grown, written[0] if written else "")


def make_case(kind: Kind, index: int, seed: int) -> bytes:
    """Bytes of a case: the bombs first, then mutants."""
    if index < len(kind.bombs):
        return kind.bombs[index]
    rng = np.random.default_rng([seed, index, len(kind.name)])
    good = mutate.choice(rng, kind.good)
    return mutate.mutate_bytes(rng, good) if rng.random() < BOMBS_FROM else kind.mutate(rng, good)


def classify(error: BaseException) -> tuple[str, str]:
    """``error`` or ``foreign``, and what it says."""
    from flexarm_core.errors import FlexarmError

    text = str(error)
    lines = text.splitlines()
    clear = isinstance(error, FlexarmError) and 0 < len(lines) <= MOST_LINES and max(map(len, lines)) <= LONGEST_LINE
    return ("error" if clear else "foreign"), f"{type(error).__name__}: {text[:300]}"


class Hang(BaseException):
    """The time is up."""


def _memory(key: str, reset: bool = False) -> float:
    """[MB] of this process; ``reset``: the peak begins anew."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return float(line.split()[1]) / 1024.0
    return 0.0


def worker(count: int, seed: int, first: int) -> None:
    """Run all cases from one on; a line when each begins, a line when it has ended."""

    def up(number: int, frame: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, up)
    resource.setrlimit(resource.RLIMIT_AS, (12 * 1024**3, 12 * 1024**3))  # what runs away must not take the machine
    every = kinds()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, (kind, index) in enumerate(cases(every, count)):
            if number < first:
                continue
            print(json.dumps([number, kind.name, index]), flush=True)
            print(json.dumps(asdict(run_case(kind, index, seed, Path(folder)))), flush=True)


def cases(every: list[Kind], count: int) -> Iterator[tuple[Kind, int]]:
    """Kinds in turn, ``count`` in all."""
    for number in range(count):
        yield every[number % len(every)], number // len(every)


def run_campaign(count: int, seed: int) -> list[Outcome]:
    """All cases; a process that dies is counted, and another goes on."""
    outcomes: list[Outcome] = []
    first = 0
    while first < count:
        command = [sys.executable, __file__, str(count), str(seed), str(first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate()
        lines = [json.loads(line) for line in out.splitlines() if line.startswith(("[", "{"))]
        begun = [line for line in lines if isinstance(line, list)]
        outcomes += [Outcome(**line) for line in lines if isinstance(line, dict)]
        if not begun:
            raise RuntimeError(f"the worker did not begin: {err[-2000:]}")
        number, kind, index = begun[-1]
        if isinstance(lines[-1], list):  # it died of this one
            outcomes.append(Outcome(kind, index, "crash", f"exit status {process.returncode}: {err[-300:]}"))
        first = number + 1
    return outcomes


COMMANDS: dict[str, tuple[str, Callable[[str, str], list[str]]]] = {
    "flexarm check": ("robot description", lambda file, out: ["check", "--no-xacro", file]),
    "flexarm check MODES": ("modal data", lambda file, out: ["check", file]),
    "flexarm run SCENARIO": ("scenario", lambda file, out: ["run", file, "--report", out]),
    "flexarm run STUDY": ("study", lambda file, out: ["run", file, "--report", out]),
    "flexarm plan": (
        "robot description",
        lambda file, out: ["plan", file, "--goal", "9", "9", "9", "--duration", "1", "--out", f"{out}.npz"],
    ),
    "flexarm map": ("robot description", lambda file, out: ["map", file, "--postures", "20"]),
    "flexarm replay": ("MCAP", lambda file, out: ["replay", file, "--rate", "1000"]),
    "flexarm view RUN": ("recording", lambda file, out: ["view", file, "--port", "0"]),
    "flexarm calibrate": (
        "recording",
        lambda file, out: [
            "calibrate",
            file,
            "--robot",
            str(ROOT / "urdf/boom_7r.urdf.xacro"),
            "--output",
            f"{out}.yaml",
        ],
    ),
}
CODES = (1, 2)  # of a command that refuses
STEPS_OUT = [b"title: x\nruns:\n  ../../../x: package://flexarm/config/planar_3r/scenarios/combined.yaml\n"]


def run_commands(count: int, seed: int, labels: Sequence[str] = tuple(COMMANDS)) -> list[Outcome]:
    """Real commands on mutants that readers refuse; what they cost beyond a file that is not there."""
    every = {kind.name: kind for kind in kinds()}
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a" / "b").mkdir(parents=True)
        idle: dict[str, tuple[float, ...]] = {}  # what starting a command costs
        for number in range(count):
            label = labels[number % len(labels)]
            kind, arguments = every[COMMANDS[label][0]], COMMANDS[label][1]
            index, content = _refused(kind, number, seed, folder)
            inside = folder / "a" / "b"
            (inside / f"case{kind.suffix}").write_bytes(content)
            before = {str(file) for file in folder.rglob("*")}
            if label not in idle:
                idle[label] = _command(arguments(f"none{kind.suffix}", "out"), inside)[2:]
            code, text, *spent = _command(arguments(f"case{kind.suffix}", "out"), inside)
            extra = [str(file) for file in folder.rglob("*") if str(file) not in before]
            outside = [file for file in extra if not file.startswith(str(inside))]
            clear = code in CODES and "Traceback" not in text and bool(text.strip())
            result = "hang" if code == HUNG else "crash" if code < 0 else "error" if clear else "foreign"
            cost = _beyond(spent, idle[label])
            if cost[0] > SECONDS:  # the machine may have become slower meanwhile: both again, one beside the other
                idle[label] = _command(arguments(f"none{kind.suffix}", "out"), inside)[2:]
                cost = _beyond(_command(arguments(f"case{kind.suffix}", "out"), inside)[2:], idle[label])
            outcomes.append(Outcome(label, index, result, text[-400:], *cost, outside[0] if outside else ""))
    return outcomes


def _beyond(spent: Sequence[float], idle: Sequence[float]) -> list[float]:
    return [max(mine - base, 0.0) for mine, base in zip(spent, idle, strict=True)]


READ, WRITTEN = "read", "written"
PLACES: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "flexarm run --report": (WRITTEN, lambda place: ["run", "good.yaml", "--report", place]),
    "flexarm faults --json": (WRITTEN, lambda place: ["faults", "--core", "0", "--nodes", "0", "--json", place]),
    "flexarm faults --report": (WRITTEN, lambda place: ["faults", "--core", "0", "--nodes", "0", "--report", place]),
    "flexarm map --out": (WRITTEN, lambda place: ["map", "good.urdf", "--postures", "5", "--out", place]),
    "flexarm faults --show": (READ, lambda place: ["faults", "--show", place]),
    "flexarm run": (READ, lambda place: ["run", place]),
    "flexarm check": (READ, lambda place: ["check", place]),
    "flexarm map": (READ, lambda place: ["map", place]),
    "flexarm replay": (READ, lambda place: ["replay", place]),
    "flexarm view": (READ, lambda place: ["view", place, "--port", "0"]),
    "flexarm calibrate": (READ, lambda place: ["calibrate", place, "--robot", "good.urdf", "--output", "x.yaml"]),
}
NOWHERE = ("/proc/x", "/dev/null/x", "x" * 300, "/proc/self/environ/x", "good.urdf/x", "\udc80" * 300)
NO_FILES = (*NOWHERE, "/dev/zero", "/dev/null", ".", "fifo", "file://[", "a\nb", "\udcff.yaml", "/proc/kmsg", "")


def run_places(count: int, seed: int) -> list[Outcome]:
    """Real commands whose arguments name places that nothing can be read from, or written to."""
    rng, outcomes = np.random.default_rng([seed, 1]), []
    labels = list(PLACES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.mkfifo(folder / "fifo")
        (folder / "good.yaml").write_bytes(SCENARIO)
        robot = ROOT / "urdf" / "trep.urdf.xacro"
        from flexarm_core.robot.load import load_robot_description

        (folder / "good.urdf").write_text(load_robot_description(robot))
        for number in range(count):
            label = labels[number % len(labels)]
            use, arguments = PLACES[label]
            place = mutate.choice(rng, NO_FILES if use == READ else NOWHERE)
            code, text, *_ = _command(arguments(place), folder)
            clear = code in CODES and "Traceback" not in text and bool(text.strip())
            result = "hang" if code == HUNG else "crash" if code < 0 else "error" if clear else "foreign"
            outcomes.append(Outcome(label, number, result, f"{place[:40]!r}: {text[-400:]}"))
    return outcomes


HUNG = 124


def _refused(kind: Kind, number: int, seed: int, folder: Path) -> tuple[int, bytes]:
    """A case that the reader refuses."""
    if kind.name == "study" and number < len(COMMANDS):
        return -1, STEPS_OUT[0]
    index = number
    while True:
        content = make_case(kind, index, seed)
        path = folder / "a" / "b" / f"case{kind.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        try:
            kind.read(path)
        except Exception:  # that is what is looked for
            return index, content
        index += 1000


def _command(arguments: list[str], folder: Path) -> tuple[int, str, float, float]:
    """Exit status, what was said, processor time [s] and most memory [MB] of one command."""
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "flexarm_tools.cli", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        timer = threading.Timer(120.0, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timed_out = not timer.is_alive()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    code = HUNG if timed_out else process.returncode
    return code, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0


COLUMNS = (
    "cases",
    "clear_errors",
    "accepted",
    "crashes",
    "foreign_exceptions",
    "over_1_s",
    "over_100_MB",
    "written_outside",
)
MUST_BE_ZERO = COLUMNS[3:]


def tabulate(outcomes: list[Outcome]) -> dict[str, dict[str, Any]]:
    """Counts by kind of input, and ``all``."""
    table: dict[str, dict[str, Any]] = {}
    for name in (*dict.fromkeys(outcome.kind for outcome in outcomes), "all"):
        mine = [outcome for outcome in outcomes if name in ("all", outcome.kind)]
        table[name] = {
            "cases": len(mine),
            "clear_errors": sum(each.result == "error" for each in mine),
            "accepted": sum(each.result == "accepted" for each in mine),
            "crashes": sum(each.result in ("crash", "hang") for each in mine),
            "foreign_exceptions": sum(each.result == "foreign" for each in mine),
            "over_1_s": sum(each.seconds > SECONDS for each in mine),
            "over_100_MB": sum(each.megabytes > MEGABYTES for each in mine),
            "written_outside": sum(bool(each.written) for each in mine),
        }
    return table


def faults(outcomes: list[Outcome]) -> list[Outcome]:
    """Those that count against us."""
    return [
        each
        for each in outcomes
        if each.result not in ("error", "accepted")
        or each.seconds > SECONDS
        or each.megabytes > MEGABYTES
        or each.written
    ]


if __name__ == "__main__":
    worker(*(int(word) for word in sys.argv[1:4]))
