"""What Gazebo makes of flexarm's robots: read by sdformat, stepped by gz-physics with DART, beside our own models.

Wants Debian 12's packages (the message says which); nothing of ROS or of Gazebo's server is needed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import numpy as np
import table
from gazebo_cases import (
    ARM_START,
    BOOM_START,
    DOWN,
    ROBOTS,
    STEP,
    WEIGHTLESS,
    at_rest_wrench_error,
    beside_the_plant,
    boom_modes,
    boom_sag,
    converted,
    error,
    flexible_modes,
    flexible_sag,
    moving,
)
from gazebo_stepper import GazeboRun, missing

from flexarm_tools.metrics.figures import Figure, parse_goal

SLEW = ("flexible_2r", [0.0, 0.785], [20.0, 0.0], 0.5, WEIGHTLESS)


def robots() -> Iterator[Figure]:
    """All robots, held where they begin."""
    good, drifts, speeds = [], {}, {}
    for name in ROBOTS:
        description, text, start = converted(name)
        with GazeboRun([text], STEP, DOWN) as run:
            if not set(moving(description)) <= set(run.joints) or "rror" in run.said:
                continue
            good.append(name)
            run.set(dict(start.joints))
            run.hold(description.actuated)
            began = time.perf_counter()
            positions, _, _ = run.run(0.5, 10)
            speeds[name] = 0.5 / (time.perf_counter() - began)
        drifts[name] = float(np.abs(positions - positions[0]).max())
    slowest = min(speeds, key=lambda name: speeds[name])
    yield Figure(
        "robots_converted", float(len(good)), "1", parse_goal(f">= {len(ROBOTS)}"),
        f"of {len(ROBOTS)} robots with every joint that moves",
        details={"missing": ", ".join(sorted(set(ROBOTS) - set(good))) or "none"}
        | {f"{name}: moves while it is held [rad or m]": drift for name, drift in drifts.items() if drift > 1e-6}
        | {f"slowest, times real time: {slowest}": speeds[slowest]},
    )  # fmt: skip


def modes() -> Iterator[Figure]:
    """Modes of the boom with its arm held."""
    found, raw = boom_modes(), boom_modes(compensated=False)
    soft, stiff = found[:3], found[3:]
    frequency = max(abs(mode.measured_frequency / mode.frequency - 1.0) for mode in soft)
    damping = max(abs(mode.measured_damping / mode.damping - 1.0) for mode in soft)
    yield Figure(
        "mode_error", max(frequency, damping), "1", parse_goal("<= 0.01"),
        "frequency and damping of the three soft modes of boom_7r",
        details={"frequency": frequency, "damping": damping}
        | {
            f"damping without compensation, mode {i}": mode.measured_damping / mode.damping - 1.0
            for i, mode in enumerate(raw[:3], start=1)
        }
        | {
            f"mode {i}, {mode.frequency / 2 / np.pi:.0f} Hz: frequency": mode.measured_frequency / mode.frequency - 1.0
            for i, mode in enumerate(stiff, start=4)
        }
        | {
            f"mode {i}: damping ratio in place of {mode.damping:.3f}": mode.measured_damping
            for i, mode in enumerate(stiff, start=4)
        },
    )  # fmt: skip


def sag() -> Iterator[Figure]:
    """Static equilibrium."""
    yield Figure(
        "sag_error_mm", 1e3 * boom_sag(), "mm", parse_goal("<= 0.1"),
        "tool of boom_7r, held for 2 s, from the model's static equilibrium",
        details={
            "flexible_3r held by efforts, 6 segments beside the plant's 20 [mm]": 1e3 * flexible_sag(),
            "flexible_3r held by velocity commands of zero [mm]": 1e3 * flexible_sag(held_by_effort=False),
        },
    )  # fmt: skip


def falling() -> Iterator[Figure]:
    """An arm without efforts, until a joint reaches a limit."""
    here, there = beside_the_plant("arm_7r", ARM_START, [0.0] * 7, 0.6)
    boom = beside_the_plant("boom_7r", BOOM_START, [0.0] * 7, 0.6)
    wrenches = {f"arm_7r falls: {name}": error(here, there, name) for name in ("base_ft_sensor", "tool_ft_sensor")}
    wrenches |= at_rest_wrench_error("boom_7r", BOOM_START) | at_rest_wrench_error("arm_7r", ARM_START)
    yield Figure(
        "wrench_error", max(wrenches.values()), "1", parse_goal("<= 0.01"),
        "force and torque of base and tool sensor beside the plant's, as fractions of the largest", details=wrenches,
    )  # fmt: skip
    yield Figure(
        "free_fall_error", max(error(here, there, "position"), error(*boom, "position")), "1", parse_goal("<= 0.005"),
        "positions of arm_7r and boom_7r that fall, as a fraction of the way, until a joint reaches a limit",
        details={"arm_7r until [s]": float(here["time"][-1]), "boom_7r until [s]": float(boom[0]["time"][-1])},
    )  # fmt: skip


def bending() -> Iterator[Figure]:
    """A step of effort at the shoulder of an arm whose links bend."""
    here, there = beside_the_plant(*SLEW)
    rigid, _ = beside_the_plant(*SLEW, rigid=True)
    modes = [("flexible_2r", mode) for mode in flexible_modes("flexible_2r", (0.0, 0.785), 4)]
    modes += [("flexible_3r", mode) for mode in flexible_modes("flexible_3r", (0.0, 0.5, 0.5), 6)]
    said = {
        f"{name}, {mode.frequency / 2.0 / np.pi:.2f} Hz": "frequency"
        f" {mode.measured_frequency / mode.frequency - 1.0:+.2%},"
        f" damping ratio {mode.measured_damping:.4f} in place of {mode.damping:.4f}"
        for name, mode in modes
    }
    slow = [mode for name, mode in modes if mode.frequency < 100.0]
    yield Figure(
        "flexible_mode_error", max(abs(mode.measured_frequency / mode.frequency - 1.0) for mode in slow), "1",
        parse_goal("<= 0.01"), "frequencies below 16 Hz of flexible_2r and flexible_3r with joints held", details=said,
    )  # fmt: skip
    yield Figure(
        "flexible_speed_error", error(here, there, "velocity"), "1", parse_goal("<= 0.03"),
        "speeds of flexible_2r under 20 N*m at the shoulder for 0.5 s, as a fraction of the largest",
        details={"with rigid links": error(rigid, there, "velocity")},
    )  # fmt: skip


if __name__ == "__main__":
    if missing():
        sys.exit(f"nothing measured: {missing()}")
    sys.exit(table.run("gazebo", [robots, modes, sag, falling, bending]))
