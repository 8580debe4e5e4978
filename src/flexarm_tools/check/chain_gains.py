r"""Stability of the whole chain of a scenario: its real plant, stages and gate, linearized by two runs side by side.

The two runs differ by a tap on the motors that is too small to leave the linear range. Their difference, sample by
sample, is a free response of the complete linearized chain: sampling, delays, estimator, filters, rotors, friction
loop, flexible links. :func:`response_modes` finds its modes.

What is assumed:

- The arm rests where the scenario begins. References are held, and there are no pushes. Gains that events change are
examined
  before the first one and after the last.
- Sensors have neither noise nor steps, because these are not linear; their delays stay.
- Dry friction acts as viscous friction does that dissipates as much, ``4 C / (pi v)`` in an oscillation with the
  amplitude ``v`` of the velocity: the describing function of Coulomb friction ``C``. The chain is examined without dry
  friction, as a joint that slips fast, and with that of small amplitudes, as a joint that nearly sticks.
- Motions that change less than ``TURNS`` within the response count as rest: drift that no task holds.

A chain is accepted if no motion grows, nor with all gains of ``GAINS`` raised by ``MARGIN``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.response_modes import FEWEST, response_modes
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_nodes.node.parameters import record_of
from flexarm_nodes.registry import parameters_of
from flexarm_tools.run.composition import BENDING, VIBRATION
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.run.runner import natural_period
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import NodeSpec, Scenario
from flexarm_tools.scenario.study import is_study, is_sweep, load_study

MARGIN = 1.2  # factor on all gains with which a chain must be stable
SLIPS = (0.1, 0.01)  # [rad/s | m/s] amplitudes at which dry friction is examined, in addition to none
TURNS = 3.0  # [rad] way of a pole within the response below which its motion counts as rest
TAP = 1e-6  # of the effort or velocity limit
UNLIMITED = 10.0  # assumed limit of a joint without one
SETTLE = 0.6  # [s] time in which estimators and filters settle
FIRST = 5  # samples before the first tap
PERIODS, SHORTEST, LONGEST = 3.0, 2.0, 5.0  # length of a response in periods of the softest mode, and limits [s]
SKIPPED = 20  # part of a response at its beginning that is not used
GROWN, LARGE = 10.0, 1e4  # growth of a response that a second tap must not cover, and after which it is long enough
EXPLODES = 24  # samples of a response below which its growth rate cannot be told
RATE, RELATIVE = 0.05, 2e-4  # [1/s], share of its speed: growth of a motion below which it counts as steady
CONFIRM = 20.0  # [s] that a response is continued at most, to see that a motion goes on growing
MOVES = 0.02  # [rad/s | m/s] rate at which a chain that should rest leaves the linear range
LATER = 1e4  # [s] start of held references
BEHAVIORS, TORQUES = "behavior_impedance_controller", "base_wrench_torque_estimator"
# what holds the references of a stage, and lets it take what it reads at rest
HELD: dict[str, dict[str, Any]] = {
    "reference_generator": {"start": LATER},
    "joint_trajectory_follower": {"start": LATER},
    "flexible_dynamics_estimator": {"frozen_samples": 1_000_000_000},  # gauges at rest without noise are not frozen
    "ik_redundancy_solver": {"origin": []},  # of its objective: where the arm is
    "reactionless_path_controller": {"task": "hold", "posture": [], "path_file": "", "span": []},
}
# gains of a stage that may be too high; of those of a servo the first one counts as a square
GAINS: dict[str, tuple[tuple[str, ...], ...]] = {
    VIBRATION: (
        ("servo_position_gain", "servo_velocity_gain"),
        ("position_gain", "velocity_gain"),
        ("damping_ratio",),
        ("vibration_gain",),
        ("joint_damping",),
    ),
    TORQUES: (("torque_bandwidth",), ("position_gain", "velocity_gain")),
    BENDING: (("position_gain", "velocity_gain"), ("mode_damping",)),
}
LOWER = (0.8, 0.65, 0.5, 0.35, 0.25)  # factors on a gain that are tried
TRIED = 2  # of them, to find the gain to lower


@dataclass(frozen=True, slots=True)
class ChainMode:
    """The least stable motion of a chain.

    Attributes:
        growth: growth rate [1/s]; negative: decay rate.
        frequency: frequency [Hz].
        margin: factor on all gains with which it was found.
        slip: amplitude of the joint velocity for which dry friction was taken; inf: no dry friction [rad/s | m/s].
        stop: why the chain stopped; empty: it did not.
    """

    growth: float
    frequency: float
    margin: float = 1.0
    slip: float = np.inf
    stop: str = ""

    @property
    def grows(self) -> bool:
        """Whether it grows, faster than the accuracy of this estimate."""
        speed = float(np.hypot(self.growth, 2.0 * np.pi * self.frequency))
        return bool(self.stop) or self.growth > max(RATE, RELATIVE * speed)


@dataclass(frozen=True, slots=True)
class GainToLower:
    """A gain with which a chain would be accepted.

    Attributes:
        stage: its stage.
        values: (name, value now, value with which the chain is accepted) of the parameters.
    """

    stage: str
    values: tuple[tuple[str, Any, Any], ...]


@dataclass(frozen=True, slots=True)
class ChainGains:
    """Result of the check.

    Attributes:
        worst: least stable motion that was found.
        lower: gain to lower; None: not searched for, or no single one is enough.
        searched: whether a gain to lower was searched for.
    """

    worst: ChainMode
    lower: GainToLower | None = None
    searched: bool = False

    @property
    def stable(self) -> bool:
        """Whether the gains are accepted."""
        return not self.worst.grows

    def text(self) -> str:
        """Describe the result in words."""
        worst = self.worst
        motion = f"at {worst.frequency:.3g} Hz" if worst.frequency > 0.0 else "without oscillation"
        sliding = "" if np.isinf(worst.slip) else f", with joints that slip at {worst.slip:g} rad/s"
        if self.stable and np.isinf(worst.growth):
            return f"stable, also with all gains raised by {100.0 * (MARGIN - 1.0):.0f} %; every motion decays at once"
        if self.stable:
            return (
                f"stable, also with all gains raised by {100.0 * (MARGIN - 1.0):.0f} %; least stable motion: {motion},"
                f" decays at {-worst.growth:.3g} 1/s{sliding}"
            )
        if worst.stop:
            what = f"does not rest: {worst.stop}"
        elif worst.margin == 1.0:
            what = f"unstable: a motion {motion} grows at {worst.growth:.3g} 1/s{sliding}"
        else:
            raised = f"with all gains raised by {100.0 * (worst.margin - 1.0):.0f} %"
            what = f"close to instability: {raised} a motion {motion} grows at {worst.growth:.3g} 1/s{sliding}"
        if self.lower is None:
            return f"{what}; no gain alone is to blame" if self.searched else what
        changes = ", ".join(f"{name} from {_shown(now)} to {_shown(then)}" for name, now, then in self.lower.values)
        return f"{what}; lower {changes} ({self.lower.stage})"


def _shown(value: Any) -> str:
    texts = list(dict.fromkeys(f"{part:.3g}" for part in np.atleast_1d(value)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(f'{part:.3g}' for part in np.atleast_1d(value))}]"


def check_file(path: Path, say: Callable[[str], None] = lambda line: None) -> tuple[str, bool]:
    """Check the gains of a scenario, or of each run of a study.

    Args:
        path: the file.
        say: called with a text before each run is checked.

    Returns:
        Report as text, and whether all gains are accepted.

    Raises:
        ConfigError: the file has problems.
    """
    if is_sweep(path):
        raise ConfigError(f"'{path}' varies a scenario: check the scenario that it names")
    runs = load_study(path).scenarios if is_study(path) else {path.stem: load_scenario(path)}
    lines, fine = [f"{path.name}: gains of the whole chain, linearized at rest"], True
    for name, scenario in runs.items():
        say(f"{name}: runs the chain at rest, twice for each case")
        try:
            found = check_chain(scenario)
            fine = fine and found.stable
            lines.append(f"  {name}: {found.text()}")
        except FlexarmError as error:
            fine = False
            lines.append(f"  {name}: error: {error}")
    return "\n".join(lines), fine


def check_chain(scenario: Scenario, search: bool = True) -> ChainGains:
    """Check the gains of a scenario over its whole chain.

    Args:
        scenario: the chain.
        search: whether to search for the gain to lower if they are not accepted.

    Raises:
        ConfigError: a stage refuses its settings, or the run needs nodes.
    """
    rubs = any(np.any(scenario.plant.get(f"friction.{key}", 0.0)) for key in ("coulomb", "stiction"))
    slips = (np.inf, *(SLIPS if rubs else ()))
    cases = [(margin, slip) for margin in (1.0, MARGIN) for slip in slips]
    found: list[ChainGains] = []
    before, after = scenario.nodes, _changed(scenario)
    for settings in (before,) if after == before else (before, after):
        worst = _worst(replace(scenario, nodes=settings), cases)
        if worst.grows:
            lower = _lower(replace(scenario, nodes=settings), worst, slips) if search else None
            return ChainGains(worst, lower, search)
        found.append(ChainGains(worst))
    return max(found, key=lambda one: one.worst.growth)


def _changed(scenario: Scenario) -> tuple[NodeSpec, ...]:
    """Return the nodes after all events, as far as these change a stage with gains."""
    nodes = {node.name: node for node in scenario.nodes}
    for event in scenario.events:
        node = nodes.get(event.node)
        if node is not None and node.executable in GAINS:
            nodes[event.node] = replace(node, parameters={**node.parameters, **event.parameters})
    return tuple(nodes.values())


def _worst(scenario: Scenario, cases: Sequence[tuple[float, float]]) -> ChainMode:
    """Return the least stable motion of cases (margin, slip); the first one that grows ends the search."""
    modes: list[ChainMode] = []
    for margin, slip in cases:
        modes.append(least_stable(scenario, margin, slip))
        if modes[-1].grows:
            return modes[-1]
    return max(modes, key=lambda mode: mode.growth)


def _lower(scenario: Scenario, worst: ChainMode, slips: Sequence[float]) -> GainToLower | None:
    """Return the gain that stabilizes the chain if it is lowered, by the smallest factor that is enough."""
    growths = {}
    for stage, names in _gains(scenario):
        try:
            mode = least_stable(_scaled(scenario, stage, names, LOWER[TRIED]), worst.margin, worst.slip)
        except ConfigError:
            continue  # another stage refuses it
        if not mode.stop and mode.growth < worst.growth:
            growths[stage, names] = mode.growth
    for stage, names in sorted(growths, key=lambda key: growths[key])[:1]:
        for factor in LOWER:
            lower = _scaled(scenario, stage, names, factor)
            if not _worst(lower, [(MARGIN, worst.slip), *((MARGIN, s) for s in slips), (1.0, worst.slip)]).grows:
                now, then = _values(scenario, stage), _values(lower, stage)
                return GainToLower(stage, tuple((name, now[name], then[name]) for name in names))
    return None


def least_stable(scenario: Scenario, margin: float = 1.0, slip: float = np.inf) -> ChainMode:
    """Return the least stable motion of a chain.

    Args:
        scenario: the chain.
        margin: factor on all gains.
        slip: amplitude of the joint velocity for which dry friction is taken [rad/s | m/s].

    Raises:
        ConfigError: a stage refuses its settings, or the run needs nodes.
    """
    robot, rate = scenario.true_robot, scenario.rate
    soft = natural_period(scenario, ArmModel(robot.description, robot.tool_frame, scenario.gravity))
    length = min(max(PERIODS * soft, SHORTEST), LONGEST) if np.isfinite(soft) else SHORTEST
    ticks, settled = round((SETTLE + length) * rate), round(SETTLE * rate)
    last = ticks + round(CONFIRM * rate)
    still = replace(held(scenario if margin == 1.0 else with_gains(scenario, margin), slip), duration=(last + 1) / rate)
    rest, tapped = (_Chain(still, late=scenario.mode != "lockstep") for _ in range(2))
    tap, begun, moved, wild = _tap(scenario, rest.run.model), 0, 0.0, False
    own: list[Array] = []
    response: list[Array] = []
    found = ChainMode(np.inf, 0.0, margin, slip, "nothing commands the arm")
    for row in range(last):
        wanted, command = rest.command(row), tapped.command(row)
        if rest.stop or tapped.stop or wanted is None or command is None:
            if begun:
                wild = True
        else:
            own.append(np.concatenate((rest.rates, wanted)))
            apart = tapped.rates - rest.rates
            if begun:
                response.append(np.concatenate((apart, command - wanted)))
            if (begun == 0 and row >= FIRST) or (row == settled and _growth(response) < GROWN):
                begun, response, command = row, [], command + tap
            moved = max(moved, float(np.abs(rest.rates).max())) if row <= settled else moved
            loose = row > settled and np.abs(rest.rates).max() > max(10.0 * moved, MOVES)
            loose = loose or _growth(response) > LARGE or bool(np.abs(apart).max() > MOVES)
            wild = loose and len(response) >= FEWEST
        if wild or row + 1 >= ticks:
            found = _least_stable(own, response, wild, rest.stop or tapped.stop, 1.0 / rate)
            if wild or not found.grows or found.stop:
                break
            ticks += max(round(length * rate), ticks // 2)  # what grows must go on growing
        rest.advance(wanted)
        tapped.advance(command)
    return replace(found, margin=margin, slip=slip)


def _least_stable(own: Sequence[Array], response: Sequence[Array], wild: bool, stop: str, period: float) -> ChainMode:
    """Return the least stable motion of a response.

    Args:
        own: what the chain does at rest.
        response: what a tap adds to it.
        wild: whether the response left the linear range, or ended, before its time.
        stop: why the chain stopped.
        period: of a sample [s].
    """
    rows = response if len(response) >= FEWEST else own
    if len(rows) < FEWEST:
        return ChainMode(np.inf, 0.0, stop=stop or "nothing commands the arm")
    found = ChainMode(-np.inf, 0.0, stop=stop)
    for mode in response_modes(np.array(rows[len(rows) // SKIPPED :]), period):  # without the tap's own spike
        if mode.way > TURNS:
            found = ChainMode(mode.growth, mode.frequency, stop=stop)
            break
    if wild and not stop and rows is response and len(rows) < EXPLODES:
        return replace(found, stop=f"a tap on the motors grows beyond all bounds within {len(rows)} samples")
    if (wild or rows is own) and not found.grows:
        return replace(found, stop="the arm does not come to rest")
    return found


def held(scenario: Scenario, slip: float = np.inf) -> Scenario:
    """Return a scenario that can be linearized: at rest, with perfect sensors, and with viscous friction only.

    Args:
        scenario: what to hold.
        slip: amplitude of the joint velocity for which dry friction is replaced [rad/s | m/s].
    """
    given = scenario.plant
    plant: dict[str, Any] = {
        key: value
        for key, value in given.items()
        if not key.startswith(("friction.", "pushes.")) and (not key.startswith("sensors.") or key.endswith(".delay"))
    }
    if any(key.startswith("friction.") for key in given):
        joints = len(scenario.true_robot.description.actuated)
        dry = given.get("friction.coulomb") or given.get("friction.stiction")
        viscous, level = (
            np.resize(np.array(value or 0.0, dtype=float), joints) for value in (given.get("friction.viscous"), dry)
        )
        plant["friction.viscous"] = (viscous + 4.0 / np.pi * level / slip).tolist()
    nodes = tuple(replace(node, parameters=_held_node(node)) for node in scenario.nodes)
    return replace(scenario, plant=plant, nodes=nodes, pushes=(), events=(), figures=(), mode="lockstep")


def _held_node(node: NodeSpec) -> dict[str, Any]:
    given = {**node.parameters, **HELD.get(node.executable, {})}
    if node.executable == BEHAVIORS:
        names = [*given.get("behaviors", ()), *given.get("standby", ())]
        given |= {f"{name}.start": LATER for name in names if given.get(f"{name}.kind") == "path"}
    return given


def with_gains(scenario: Scenario, factor: float) -> Scenario:
    """Return a scenario with all gains scaled; its stages do not check them on their own."""
    for stage, names in _gains(scenario):
        scenario = _scaled(scenario, stage, names, factor)
    unchecked = (VIBRATION, BENDING)
    nodes = (
        replace(node, parameters={**node.parameters, "check_gains": False}) if node.executable in unchecked else node
        for node in scenario.nodes
    )
    return replace(scenario, nodes=tuple(nodes))


class _Chain:
    """A run of which every sample is answered from outside; late: commands act one sample later."""

    def __init__(self, scenario: Scenario, late: bool) -> None:
        self.run, self.stop = ProcessRun(scenario), ""
        self._late, self._waiting = late, None

    def command(self, row: int) -> Array | None:
        """Return the command for a sample; None: it is missing."""
        try:
            command = self.run.answer(row)
        except FlexarmError as error:
            self.stop = str(error)
            return None
        state, status = self.run.plant.state(), self.run.gate.status
        self.rates: Array = np.concatenate((state.velocity, state.deflection_rate, state.modal_rate))
        if status.stops or (command is None and status.state is GateState.RUNNING):
            self.stop = f"the gate stops the arm, {status.reason}"
        return command

    def advance(self, command: Array | None) -> None:
        """Hold a command for a sample."""
        if self._late:
            command, self._waiting = self._waiting, command
        try:
            self.run.plant.advance(command)
        except FlexarmError as error:
            self.stop = str(error).split(":")[0]


def _growth(response: Sequence[Array]) -> float:
    """Return how many times larger a response is at its end than in its first samples."""
    if len(response) < 2 * FEWEST:
        return 1.0
    return float(np.abs(response[-1]).max() / max(np.abs(response[:FEWEST]).max(), 1e-300))


def _tap(scenario: Scenario, model: ArmModel) -> Array:
    """Return a tap (n,) on the motors that moves every mode."""
    mode = str(scenario.plant.get("command_mode", "effort"))
    limit = {"effort": model.effort_limit, "velocity": model.velocity_limit}.get(mode, np.full(model.n, 0.1))
    size = np.where(np.isfinite(limit) & (limit > 0.0), np.minimum(limit, 1e3), UNLIMITED)
    weights: Array = np.random.default_rng(1).uniform(0.5, 1.0, model.n) * np.resize((1.0, -1.0), model.n)
    return TAP * size * weights


def _gains(scenario: Scenario) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield stage and parameters of all gains that are not zero."""
    for node in scenario.nodes:
        for names in GAINS.get(node.executable, ()):
            values = _values(scenario, node.executable)
            if all(np.any(values[name]) for name in names):
                yield node.executable, names


def _values(scenario: Scenario, stage: str) -> dict[str, Any]:
    """Return the parameters of a stage."""
    node = next(node for node in scenario.nodes if node.executable == stage)
    values = {row.name: row.default for row in parameters_of(stage)} | dict(node.parameters)
    if stage == TORQUES and not values["torque_bandwidth"]:
        loop = record_of(TorqueLoopConfig, values, period=1.0 / scenario.rate)
        values["torque_bandwidth"] = loop.resolved_bandwidth()
    return values


def _scaled(scenario: Scenario, stage: str, names: Sequence[str], factor: float) -> Scenario:
    """Return the scenario with scaled gains of a stage; of two of a servo the first one with the square."""
    values, powers = _values(scenario, stage), ((2.0, 1.0) if len(names) == 2 else (1.0,))
    scaled = {
        name: (np.asarray(values[name], dtype=float) * factor**power).tolist()
        for name, power in zip(names, powers, strict=True)
    }
    nodes = (
        replace(node, parameters={**node.parameters, **scaled}) if node.executable == stage else node
        for node in scenario.nodes
    )
    return replace(scenario, nodes=tuple(nodes))
