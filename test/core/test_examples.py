"""The programs of docs/examples: each runs, is short, needs one import, and finds what is right."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm_core import ArmState

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def bends(names: dict[str, Any]) -> bool:
    model, x, v = names["model"], names["x"], names["v"]
    work = names["effort"][0] * x[0]  # what the motor has given, less what damping took
    return 0.9 * work < model.energy(x, v) <= work


def swings(names: dict[str, Any]) -> bool:
    model, state, blocks, push = (names[name] for name in ("model", "state", "blocks", "push"))
    efforts = model.inverse_dynamics(blocks, state, push)
    return np.allclose(model.forward_dynamics(state, efforts)[-model.n :], push, atol=1e-9)


def stays(names: dict[str, Any]) -> bool:
    quiet, posture, speed = names["quiet"], names["posture"], names["speed"]
    P, h = quiet.projector(posture), 1e-6
    ahead, behind = (tool(quiet.model, posture + sign * h * speed) for sign in (1.0, -1.0))
    return (
        np.allclose(P @ P, P, atol=1e-10)
        and np.allclose(P @ speed, speed, atol=1e-10)
        and np.allclose(quiet.coupling(posture) @ speed, 0.0, atol=1e-9)
        and np.allclose((ahead - behind) / (2.0 * h), [0.0, 0.1, 0.0], atol=1e-6)
    )


def tool(model: Any, posture: Any) -> Any:
    still, none = np.zeros(model.n), np.zeros(model.m)
    return model.tool_kinematics(ArmState(0, posture, still, none, none), model.world_frame).position


def meets(names: dict[str, Any]) -> bool:
    return names["found"].success and np.allclose(
        names["solver"].chain.pose(names["found"].position)[0], names["position"], atol=1e-6
    )


def follows(names: dict[str, Any]) -> bool:
    solver, start = names["solver"], names["start"]
    return np.allclose(solver.chain.pose(solver.position)[0], start + [0.0, 0.1, 0.0], atol=1e-8)


def plans(names: dict[str, Any]) -> bool:
    planner, plan = names["planner"], names["plan"]
    half = planner.chain.pose(plan.sample(0.5 * plan.duration)[0])[0]
    return np.allclose(half, names["start"] + [0.0, 0.15, -0.05], atol=1e-4) and plan.duration > 0.3162 / 0.25


def gives_way(names: dict[str, Any]) -> bool:
    moved = names["moved"]
    return moved[2] < -0.01 and np.abs(moved[:2]).max() < 1e-6


def rubs(names: dict[str, Any]) -> bool:
    estimate = names["estimate"]
    return estimate.valid and np.allclose(estimate.friction, 2.0 * np.eye(7)[1], atol=0.05)


RIGHT = (bends, swings, stays, meets, follows, plans, gives_way, rubs)


@pytest.mark.parametrize(
    ("path", "right"), list(zip(EXAMPLES, RIGHT, strict=True)), ids=[path.stem for path in EXAMPLES]
)
def test_an_example_is_short_and_finds_what_is_right(path, right, monkeypatch, capsys):
    text = path.read_text(encoding="utf-8")
    assert text.count("from flexarm_core import") == 1 and "from flexarm_core." not in text
    assert len([line for line in text.splitlines() if line.strip()]) <= 22
    monkeypatch.chdir(ROOT)
    names = runpy.run_path(str(path))
    said = capsys.readouterr().out
    assert right(names), said
    assert said and "object at 0x" not in said
