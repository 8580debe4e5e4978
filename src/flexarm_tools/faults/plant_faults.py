"""Faults of the plant: loads and hands that nobody mentioned to the gate, nor to the source."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_tools.faults.arms import Arm
from flexarm_tools.faults.fault import FOREVER, Fault, log_uniform
from flexarm_tools.faults.source import FIRM, HOLDS, LOOK, Source

BORNE = 0.8  # fraction of the effort limits up to which the motors bear arm and load along the motion
SAGS = 0.5  # fraction of the velocity limits at which the arm may at most sag, driven by its law without a gate
HEAVIEST = 0.5  # largest load relative to the mass of the arm
FARTHEST = 0.15  # [m] largest distance of the load from the tool frame
SIDE = 0.1  # [m] of the load, a cube
LIGHTER = 10.0  # largest ratio of the told to the true inertia of a hand, and of the true to the told


class PlantFault(Fault):
    """The arm carries something else than the model says; its law is a PD with the weight that is told."""

    cause = r"away from its reference|effort|velocity limit|load|payload|slow|believ|move"
    modes = ("effort",)
    rates = (500, 1000)
    pairs = False
    law = FIRM

    def draw(self) -> None:
        self.end = FOREVER
        self.law = FIRM if self.rng.random() < 0.5 else HOLDS
        if self.at_start:
            self.start = 0.0

    def changed(self, text: str, source: Source, arm: Arm) -> str:
        """Return the plant with the unmentioned difference: the largest share of it that arm and law bear, or less."""
        raise NotImplementedError

    def _bearable(self, arm: Arm, source: Source, changed: str) -> float:
        """Return the largest factor on the difference to another robot description that motors and law bear.

        Efforts are linear in masses and inertias: ``tau = tau_told + factor (tau_changed - tau_told)``. The motors bear
        BORNE of their limits along the motion. Without a gate the PD, of bandwidth ``w`` on the told inertia ``H``,
        gives way to a weight ``dg`` with at most ``H^-1 dg / (e w)``, which must be below SAGS of the velocity limits.
        """
        told, other = arm.model, ArmModel(parse_robot_description(changed), gravity=arm.gravity)
        base, most = np.zeros(told.m), np.inf
        for now in LOOK:
            position, velocity, acceleration = source.desired(float(now))
            state = ArmState(0, position, velocity, base, base)
            blocks = told.blocks(state)
            effort = told.inverse_dynamics(blocks, state, acceleration)
            more = other.inverse_dynamics(other.blocks(state), state, acceleration) - effort
            room = BORNE * told.effort_limit - np.sign(more) * effort
            most = min(most, float(np.min(np.maximum(room, 0.0) / np.maximum(np.abs(more), 1e-9))))
            weight = other.gravity_effort(state) - told.gravity_effort(state)
            gives = np.abs(np.linalg.solve(blocks.H_m, weight)) / (np.e * source.bandwidth)
            most = min(most, float(np.min(SAGS * told.velocity_limit / np.maximum(gives, 1e-9))))
        return most


class Payload(PlantFault):
    """The hand carries a load from the beginning."""

    name, what = "payload", "a payload that nobody mentioned, as heavy as motors and law bear, from the start"
    at_start = True

    def draw(self) -> None:
        super().draw()
        direction = self.rng.standard_normal(3)
        self.offset: Array = direction / np.linalg.norm(direction) * self.rng.uniform(0.0, FARTHEST)
        self.size = log_uniform(self.rng, 0.1, 1.0)

    def changed(self, text: str, source: Source, arm: Arm) -> str:
        most = HEAVIEST * sum(link.mass for link in arm.model.description.links.values())
        self.size *= min(most, self._bearable(arm, source, self._loaded(arm.text, arm, 1.0)))
        return self._loaded(text, arm, self.size)

    def _loaded(self, text: str, arm: Arm, mass: float) -> str:
        """Return a robot description with a cube of this mass [kg] at the tool frame."""
        moment, place = mass * SIDE**2 / 6.0, " ".join(repr(float(value)) for value in self.offset)
        body = f'<mass value="{mass!r}"/><inertia {_moments(moment)}/>'
        return text.replace(
            "</robot>",
            f'<link name="unmentioned_load"><inertial>{body}</inertial></link><joint name="unmentioned_grasp"'
            f' type="fixed"><parent link="{arm.model.description.tool_frame()}"/><child link="unmentioned_load"/>'
            f'<origin xyz="{place}"/></joint></robot>',
        )


class PickedUp(Payload):
    """The hand gets a load during the run."""

    name, what = "picked_up", "such a payload picked up during the run"
    at_start = False


class HeavyHand(PlantFault):
    """The last link is up to ten times as heavy as told, with ten times the inertia, as far as motors and law bear."""

    name, what = "heavy_hand", "inertia of the last link up to ten times what is told, its mass as far as motors bear it"
    at_start = True

    def draw(self) -> None:
        super().draw()
        self.size = log_uniform(self.rng, 2.0, LIGHTER)

    def changed(self, text: str, source: Source, arm: Arm) -> str:
        changed = _with_hand(arm.text, arm, self.size, self.size)
        share = min(1.0, 0.99 * self._bearable(arm, source, changed))
        return _with_hand(text, arm, 1.0 + share * (self.size - 1.0), self.size)


class LightHand(HeavyHand):
    """The last link has as little as a tenth of the told mass and inertia."""

    name, what = "light_hand", "inertia and mass of the last link down to a tenth of what is told"

    def draw(self) -> None:
        super().draw()
        self.lightness = self.size
        self.size = 1.0 / self.size


def _with_hand(text: str, arm: Arm, mass: float, inertia: float) -> str:
    """Return a robot description with other factors of mass and inertia of the last link."""
    tree = ElementTree.fromstring(text)
    description = arm.model.description
    name = description.joints[description.actuated[-1]].child
    for link in tree.iter("link"):
        if link.get("name") == name:
            for factor, tag in ((mass, "mass"), (inertia, "inertia")):
                for one in link.iter(tag):
                    for key, value in one.attrib.items():
                        one.set(key, repr(float(value) * factor))
    return ElementTree.tostring(tree, encoding="unicode")


def _moments(moment: float) -> str:
    return " ".join(f'{name}="{moment if name[1] == name[2] else 0.0!r}"' for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))


PLANT_FAULTS = (Payload, PickedUp, HeavyHand, LightHand)
