"""Faults of the plant: loads and hands that neither the gate nor the source of references knows."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from abc import ABC, abstractmethod

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_tools.faults.arms import LIGHT_WRIST, RANDOM, Arm
from flexarm_tools.faults.fault import FOREVER, Fault, log_uniform
from flexarm_tools.faults.outcome import SAG
from flexarm_tools.faults.source import FIRM, HOLDS, LOOK, Source

BORNE = 0.8  # fraction of the effort limits up to which motors bear arm and load, along the motion and in its swing
SWING = 0.1  # [rad | m] how far each joint may swing from the motion
SIDES = np.random.default_rng(0).choice([-1.0, 1.0], (16, 32))  # corners of the swing that are tried, for n <= 32
SAGS = 0.5  # fraction of the velocity limits at which the arm may at most sag, driven by its law without a gate
GIVES = 0.5 * SAG  # [s] at the velocity limits: how far the law alone gives way to the weight in the end
HEAVIEST = 0.5  # largest load relative to the mass of the arm
FARTHEST = 0.15  # [m] largest distance of the load from the tool frame
SIDE = 0.1  # [m] of the load, a cube
MOST = 10.0  # largest ratio of the true to the told inertia of a hand, or of the told to the true
LATEST, UNAVOIDABLE = 2.0, 0.3  # periods before a command can answer a change; fraction of the limits reached by then
LESS, TRIES = 0.7, 30  # factor on a difference that is too large, and how often it is tried


class PlantFault(Fault, ABC):
    """The arm carries another load than the model; its law is a PD with the described weight.

    Its gains are those of the true arm, as found by trying, so that without the gate the arm holds or hardly sags. A
    ``weak`` law need not support a load that is picked up or lost during the run.
    """

    cause = r"away from its reference|effort|velocity limit|load|payload|slow|believ|move"
    modes = ("effort",)
    rates = (500, 1000)
    random_arms = (RANDOM, LIGHT_WRIST, LIGHT_WRIST)
    pairs = False
    law = FIRM
    at_start = True  # whether the plant differs from the beginning on
    stays = True  # whether it differs in the end
    weak = False

    @property
    def changes(self) -> bool:
        """Whether the plant changes during the run."""
        return not (self.at_start and self.stays)

    def draw(self) -> None:
        self.end, self.share = FOREVER, 1.0
        self.law = FIRM if self.rng.random() < 0.5 else HOLDS
        if self.at_start:
            self.start = 0.0

    @abstractmethod
    def with_difference(self, text: str, arm: Arm, share: float) -> str:
        """Return a robot description with a share of the undescribed difference."""

    def plants(self, text: str, source: Source, arm: Arm) -> tuple[str, str]:
        changed = self._changed(text, source, arm)
        return changed if self.at_start else text, changed if self.stays else text

    def _changed(self, text: str, source: Source, arm: Arm) -> str:
        """Return the plant with as much of the difference as motors and law bear; the law is tuned for it.

        The motors bear BORNE of their limits along the motion, and at rest in each posture within SWING of it: a load
        beyond that is beyond the rating of the arm, and nothing would be left to brake it with. Without a gate a PD of
        bandwidth ``w`` on the true inertia ``H`` gives way to a weight ``dg`` with at most ``H^-1 dg / (e w)``, which
        must be below SAGS of the velocity limits, and by ``H^-1 dg / w^2`` in the end, below GIVES. A law that must be
        stable before and after the change is slower by the ratio of the inertias. Whatever the law, a change must not
        make a joint faster than UNAVOIDABLE within LATEST periods, before a command can answer it.
        """
        share = 1.0
        for _ in range(TRIES):
            true = ArmModel(parse_robot_description(self.with_difference(arm.text, arm, share)), gravity=arm.gravity)
            slower = self._ratio(arm, source, true) if self.changes else 1.0
            if slower <= MOST and self._is_borne(arm, source, true, source.bandwidth / slower):
                break
            share *= LESS
        source.tune(true, slower)
        self.share = share
        return self.with_difference(text, arm, share)

    def _ratio(self, arm: Arm, source: Source, true: ArmModel) -> float:
        """Return how many times larger than told the inertia is, in the joints' worst direction."""
        base = np.zeros(true.m)
        state = ArmState(0, source.start, np.zeros(true.n), base, base)
        told, changed = arm.model.blocks(state).H_m, true.blocks(state).H_m
        return float(np.abs(np.linalg.eigvals(np.linalg.solve(told, changed))).max())

    def _is_borne(self, arm: Arm, source: Source, true: ArmModel, bandwidth: float) -> bool:
        told, base, still = arm.model, np.zeros(arm.model.m), np.zeros(arm.model.n)
        after = true if self.stays else told
        swing = SWING * SIDES[:, : told.n]
        for now in LOOK:
            position, velocity, acceleration = source.desired(float(now))
            for around in np.clip(position + swing, told.lower, told.upper):
                weight = true.gravity_effort(ArmState(0, around, still, base, base))
                if (np.abs(weight) > BORNE * told.effort_limit).any():
                    return False
            state = ArmState(0, position, velocity, base, base)
            needed = true.inverse_dynamics(true.blocks(state), state, acceleration)
            if (np.abs(needed) > BORNE * told.effort_limit).any():
                return False
            inertia = after.blocks(state).H_m
            change = needed - told.inverse_dynamics(told.blocks(state), state, acceleration)
            fast = np.abs(np.linalg.solve(inertia, change)) * LATEST * source.period
            if self.changes and (fast > UNAVOIDABLE * told.velocity_limit).any():
                return False
            if self.weak:
                continue
            weight = true.gravity_effort(state) - told.gravity_effort(state)
            gives = np.abs(np.linalg.solve(inertia, weight)) / bandwidth
            if (gives / np.e > SAGS * told.velocity_limit).any():
                return False
            if (gives / bandwidth > GIVES * told.velocity_limit).any():
                return False
        return True


class Payload(PlantFault):
    """The hand carries a load from the beginning."""

    name, what = "payload", "an undescribed payload up to the capacity of motors and controller, from the start"
    at_start = True

    def draw(self) -> None:
        super().draw()
        direction = self.rng.standard_normal(3)
        self.offset: Array = direction / np.linalg.norm(direction) * self.rng.uniform(0.0, FARTHEST)
        self.size = log_uniform(self.rng, 0.05, 1.0)
        self._mass = 0.0  # [kg]

    def _changed(self, text: str, source: Source, arm: Arm) -> str:
        self._mass = HEAVIEST * self.size * sum(link.mass for link in arm.model.description.links.values())
        changed = super()._changed(text, source, arm)
        self.size = self._mass * self.share
        return changed

    def with_difference(self, text: str, arm: Arm, share: float) -> str:
        mass, place = share * self._mass, " ".join(repr(float(value)) for value in self.offset)
        body = f'<mass value="{mass!r}"/><inertia {_moments(mass * SIDE**2 / 6.0)}/>'
        return text.replace(
            "</robot>",
            f'<link name="unmentioned_load"><inertial>{body}</inertial></link><joint name="unmentioned_grasp"'
            f' type="fixed"><parent link="{arm.model.description.tool_frame()}"/><child link="unmentioned_load"/>'
            f'<origin xyz="{place}"/></joint></robot>',
        )


class PickedUp(Payload):
    """The hand gets a load during the run, or loses it."""

    name, what = "picked_up", "an undescribed payload picked up, put down or lost during the run"
    at_start = False

    def draw(self) -> None:
        super().draw()
        self.weak, self.at_start = (bool(dice < 0.5) for dice in self.rng.random(2))
        self.stays = not self.at_start
        self.law = FIRM if self.weak else self.law

    def describe(self) -> str:
        """Describe the fault for the list of cases."""
        return super().describe() + ", lost" * self.at_start + ", whatever the law bears" * self.weak


class HeavyHand(PlantFault):
    """The last link has up to ten times the described inertia, and as much more mass as motors and law can support."""

    name, what = (
        "heavy_hand",
        "inertia of the last link up to ten times that described, mass as far as motors allow",
    )
    at_start = True

    def draw(self) -> None:
        super().draw()
        self.size = log_uniform(self.rng, 2.0, MOST)

    def with_difference(self, text: str, arm: Arm, share: float) -> str:
        tree, description = ElementTree.fromstring(text), arm.model.description
        last = description.joints[description.actuated[-1]].child
        factors = {"mass": 1.0 + share * (self._factor - 1.0), "inertia": self._factor}
        for link in tree.iter("link"):
            for one in link.iter() if link.get("name") == last else ():
                for key, value in one.attrib.items() if one.tag in factors else ():
                    one.set(key, repr(float(value) * factors[one.tag]))
        return ElementTree.tostring(tree, encoding="unicode")

    @property
    def _factor(self) -> float:
        return self.size


class LightHand(HeavyHand):
    """The last link has down to a tenth of the described mass and inertia."""

    name, what = "light_hand", "inertia and mass of the last link down to a tenth of the described ones"
    bends = False  # the mass of a link that bends is that of its nodes

    @property
    def _factor(self) -> float:
        return 1.0 / self.size


def _moments(moment: float) -> str:
    return f'ixx="{moment!r}" iyy="{moment!r}" izz="{moment!r}" ixy="0" ixz="0" iyz="0"'


PLANT_FAULTS = (Payload, PickedUp, HeavyHand, LightHand)
