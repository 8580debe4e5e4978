"""Behaviors added, removed and retuned, and matrices changed, at random samples of a running motion."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from behavior_arms import DT, STEP_NS
from behavior_station import ARM, CONFIG, Station, begin_controller, eight_behaviors

from flexarm_core.behavior_impedance.behavior import BehaviorSpec, Contribution
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

CHANGES = 200
GAP = (10, 90)  # samples between two changes
BOUNDS = np.array(CONFIG.transition_acceleration)  # [m/s^2, rad/s^2, rad/s^2]


@dataclass(slots=True)
class Steps:
    """Largest steps of the commanded acceleration.

    Attributes:
        largest: (3,) of the tool [m/s^2], of its turning [rad/s^2], of a redundant joint [rad/s^2].
        held: samples at which the law was held.
        failed: behaviors that were left out.
        done: changes by kind.
    """

    largest: Array = field(default_factory=lambda: np.zeros(3))
    held: int = 0
    failed: int = 0
    done: dict[str, int] = field(default_factory=dict)

    @property
    def excess(self) -> float:
        """Of the worst of the three over its bound, by the bound."""
        return float((self.largest / BOUNDS).max() - 1.0)


def changes() -> Iterator[Figure]:
    """In free motion every step counts; while wiping, those that a copy without the change does not make."""
    free, wiping = _in_free_motion(), _while_wiping()
    names = ("tool_m_s2", "turning_rad_s2", "redundant_joint_rad_s2")
    details = {
        f"{where}_{name}": float(value)
        for where, steps in (("free", free), ("wiping", wiping))
        for name, value in zip(names, steps.largest, strict=True)
    }
    yield Figure(
        "transition_acceleration_excess", max(free.excess, wiping.excess), "1", parse_goal("<= 0"),
        f"largest step of acceleration by its bound {CONFIG.transition_acceleration}, less 1; {CHANGES} changes each",
        details=details | {f"changes_{kind}": float(count) for kind, count in wiping.done.items()},
    )  # fmt: skip
    stops = free.held + wiping.held + free.failed + wiping.failed
    yield Figure("transition_stops", float(stops), "1", parse_goal("== 0"), "samples held and behaviors that failed")


def _in_free_motion() -> Steps:
    random, steps = np.random.default_rng(0), Steps()
    spring = BehaviorSpec("spring", "spring", {"stiffness": [200.0] * 3 + [5.0] * 3, "damping": [20.0] * 3 + [0.5] * 3})
    # a twist that begins is a step of its own, as large as the acceleration with which it is followed
    gentle = BehaviorSpec(
        "teleoperation", "teleoperation", {"max_linear_acceleration": 0.1, "max_angular_acceleration": 0.4}
    )
    others = {"force": spring, "teleoperation": gentle}
    specs = [others.get(spec.kind, spec) for spec in eight_behaviors(start=0.0, repeats=True)]
    controller, changer = begin_controller(specs), _Changer(random, specs, steps)
    last = np.zeros(13)
    for sample in range(CHANGES * sum(GAP) // 2 + 500):
        changer.change(controller, sample)
        changer.teleoperate(controller, sample)
        controller.update((sample + 1) * STEP_NS, DT, np.zeros(6))
        now = _acceleration(controller)
        _note(steps, controller, now - last)
        last = now
    return steps


def _while_wiping() -> Steps:
    random, steps = np.random.default_rng(1), Steps()
    specs = eight_behaviors(start=0.0, repeats=True)
    station, controller, changer = Station(), begin_controller(specs), _Changer(random, specs, steps)
    for sample in range(CHANGES * sum(GAP) // 2 + 1000):
        reading = station.read()
        changer.teleoperate(controller, sample)
        unchanged = _twin(controller) if changer.is_due(sample) else None
        changer.change(controller, sample)
        output = controller.update((sample + 1) * STEP_NS, DT, reading.wrench)
        if unchanged is not None:
            unchanged.update((sample + 1) * STEP_NS, DT, reading.wrench)
            _note(steps, controller, _acceleration(controller) - _acceleration(unchanged))
        steps.held += bool(output.held)
        station.advance(controller.solver.position)
    return steps


def _twin(controller: BehaviorImpedanceController) -> BehaviorImpedanceController:
    """One that would go on in the same way; what are views into tables there are so here."""
    n = ARM.chain.n
    twin = copy.deepcopy(controller, {id(controller.arm): controller.arm})
    twin._look_into()
    for active, row in zip(twin.behaviors, twin._ensemble._table, strict=True):
        active.out = Contribution(row, n)
    return twin


def _acceleration(controller: BehaviorImpedanceController) -> Array:
    """Commanded acceleration (13,) of the tool and of the redundant joints."""
    solver = controller.solver
    J = ARM.chain.kinematics(solver.position)[2]
    redundant = solver.acceleration - np.linalg.pinv(J) @ (J @ solver.acceleration)
    return np.concatenate((controller.output.acceleration, redundant))


def _note(steps: Steps, controller: BehaviorImpedanceController, step: Array) -> None:
    sizes = np.linalg.norm(step[:3]), np.linalg.norm(step[3:6]), np.abs(step[6:]).max()
    steps.largest = np.maximum(steps.largest, sizes)
    steps.held += bool(controller.output.held)
    steps.failed += sum(bool(active.failure) for active in controller.behaviors)


class _Changer:
    """Makes the changes."""

    def __init__(self, random: np.random.Generator, specs: list[BehaviorSpec], steps: Steps) -> None:
        self._random, self._all, self._now, self._steps = random, specs, list(specs), steps
        self._left, self._next, self._config = CHANGES, 500, CONFIG

    def is_due(self, sample: int) -> bool:
        """Whether there is a change before this sample."""
        return self._left > 0 and sample == self._next

    def change(self, controller: BehaviorImpedanceController, sample: int) -> None:
        """One change, where it is due."""
        if not self.is_due(sample):
            return
        random = self._random
        self._next, self._left = sample + int(random.integers(*GAP)), self._left - 1
        away = [spec for spec in self._all if spec.name not in {now.name for now in self._now}]
        kind = str(random.choice(["add", "remove", "retune", "matrices"]))
        if (kind == "add" and not away) or (kind == "remove" and len(away) > 3):
            kind = "retune"
        if kind == "add":
            self._now.append(away[int(random.integers(len(away)))])
        elif kind == "remove":
            del self._now[int(random.integers(len(self._now)))]
        elif kind == "retune":
            at = int(random.integers(len(self._now)))
            self._now[at] = _retuned(random, self._now[at])
        else:
            self._config = _other_matrices(random)
            controller.set_config(self._config)
        if kind != "matrices":
            controller.set_behaviors(self._now)
        self._steps.done[kind] = self._steps.done.get(kind, 0) + 1

    def teleoperate(self, controller: BehaviorImpedanceController, sample: int) -> None:
        """Small twists in x, now and then none."""
        if (sample // 1000) % 2 == 0:
            for active in controller.behaviors:
                if isinstance(active.behavior, Teleoperation):
                    active.behavior.give(sample * STEP_NS, np.array([0.0, 0.005, 0.0, 0.0, 0.0, 0.01]))


def _retuned(random: np.random.Generator, spec: BehaviorSpec) -> BehaviorSpec:
    share = float(random.uniform(0.5, 1.5))
    new: dict[str, dict] = {
        "path": {"max_linear_velocity": 0.05 * share},
        "force": {"wrench": [0.0, 0.0, 20.0 * share, 0.0, 0.0, 0.0], "damping": [2500.0 * (0.8 + 0.4 * share), 50.0]},
        "spring": {"stiffness": [200.0 * share] * 3 + [5.0] * 3},
        "posture": {"stiffness": [10.0 * share]},
        "joint_limits": {"range": 0.3 * share, "effort": 10.0 * share},
        "singularity": {"range": 0.1 * share, "force": 30.0 * share},
        "obstacles": {"range": 0.15 * share, "force": 20.0 * share},
        "dither": {"frequency": 5.0 * share},
        "teleoperation": {"max_lag": 0.05 * share},
    }
    return replace(spec, settings={**spec.settings, **new[spec.kind]})


def _other_matrices(random: np.random.Generator):
    """Matrices of half to double the size, coupled with each other a little."""
    parts = {}
    for name in ("inertia", "damping", "stiffness"):
        diagonal = np.array(getattr(CONFIG, name)) * random.uniform(0.5, 2.0, 6)
        root, A = np.sqrt(diagonal), random.normal(size=(6, 6))
        coupling = 0.2 * (A + A.T) / np.abs(np.linalg.eigvalsh(A + A.T)).max()
        parts[name] = tuple((np.diag(diagonal) + np.outer(root, root) * coupling).ravel())
    return replace(CONFIG, joint_damping=(float(random.uniform(5.0, 20.0)),), **parts)
