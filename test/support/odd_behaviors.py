"""Behaviors that do wrong when they are told to, and what asks for them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from flexarm_core.behavior_impedance import registry
from flexarm_core.behavior_impedance.behavior import Behavior, BehaviorSpec
from flexarm_core.behavior_impedance.registry import known_behaviors
from flexarm_core.errors import InputError
from flexarm_core.settings import Setting


class Odd(Behavior):
    """Does what its settings say, when they say it."""

    KIND = "odd"
    SETTINGS = (
        Setting("what", "string", "nothing", "that it does"),
        Setting("after", "int", 0, "samples"),
        Setting("size", "double", 0.0, "of it", upper=sys.float_info.max),
    )

    def __init__(self, arm, settings):
        self.what, self.after, self.size, self.count = settings["what"], settings["after"], settings["size"], 0
        self.begins = 0

    def begin(self, sample):
        self.begins += 1
        if self.what == "begin":
            raise RuntimeError("no begin")

    def take_over(self, old):
        if self.what == "take_over":
            raise ZeroDivisionError("no heir")
        self.count, self.begins = old.count, old.begins

    def update(self, sample, out):
        self.count += 1
        out.force[0] = 1.0
        if self.count <= self.after:
            return
        if self.what == "raise":
            raise KeyError("broken")
        if self.what == "input":
            raise InputError("not today")
        if self.what in ("force", "stiffness", "effort", "offset", "twist", "measure", "acceleration", "yielding"):
            getattr(out, self.what).flat[-1] = self.size
        if self.what == "lead":
            out.lead[0] = 1.0
            out.lead_position[:], out.lead_rotation[:] = 5.0, np.eye(3)


class Gate(Odd):
    """Forbids."""

    KIND = "gate"
    FORBIDS = True

    def admits(self, position, velocity, dt):
        if self.what == "admits":
            raise ValueError("cannot tell")
        return self.what != "shut"

    def note(self):
        if self.what == "note":
            raise ValueError("speechless")
        return ""


class Lead(Odd):
    """Leads along x, until it fails."""

    KIND = "lead"
    LEADS = True

    def begin(self, sample):
        self.start = sample.tool_position.copy(), sample.tool_rotation.copy()

    def update(self, sample, out):
        self.count += 1
        out.lead[0], out.lead_rotation[:] = 1.0, self.start[1]
        out.lead_position[:] = self.start[0] + [0.1 * self.count * sample.dt, 0.0, 0.0]
        out.lead_twist[0] = 0.1
        if self.count > self.after:
            if self.what == "raise":
                raise KeyError("broken")
            out.lead_position[0] = np.nan


@pytest.fixture(name="odd_kinds")
def odd_kinds_known(monkeypatch):
    known = {**known_behaviors(), "odd": Odd, "gate": Gate, "lead": Lead}
    monkeypatch.setattr(registry, "known_behaviors", lambda: known)


def odd(what="nothing", after=0, size=np.nan, kind="odd", name="odd"):
    return BehaviorSpec(name, kind, {"what": what, "after": after, **({} if np.isnan(size) else {"size": size})})


def spiked(driven, name, value):
    """Makes a behavior that takes part contribute a number that no setting can be."""
    driven.behavior(name).size = value


def steps_of_acceleration(run):
    return np.linalg.norm(np.diff(run.of("acceleration"), axis=0)[:, :3], axis=1)
