"""DriveTerms: efforts that drives add to their commands by themselves (gravity, Coriolis and friction compensation).

Everywhere in the suite an effort is the whole effort of a motor. Where drives add a part themselves, the gate takes it
off the command as the last step, and a simulated drive adds it as the first one. Terms that measured efforts do not
contain are added where the efforts are read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import DRIVE_TERMS
from flexarm_core.types import ArmState, Array

NO_TERM = "none"  # a setting that adds nothing, whatever the robot description says
CREEPING = 0.01  # [rad/s | m/s] speed at which a drive compensates three quarters of the static friction
HEAVY = 0.05  # weight of a joint that is noticed, relative to its effort limit
NOTHING = 0.02  # measured effort that counts as none, relative to the weight
AT_REST = 0.01  # [rad/s | m/s]
SPAN, SOON = 0.15, 0.02  # [s] after which first efforts are judged; after which a motion that agrees is proof
NEAR, LEFT = 0.35, 0.4  # error of the share of gravity that drives add, and of what it does not explain
UNSAID = {False: ", which drive_adds must say", True: " and do not report it, which efforts_lack must say"}


class DriveTerms:
    """Efforts that drives add to effort commands, for an arm on a base at rest.

    Attributes:
        adds: names of the terms, of ``DRIVE_TERMS``.
    """

    def __init__(self, model: ArmModel, adds: Collection[str]) -> None:
        """Compute the terms ``adds`` of an arm.

        Raises:
            ConfigError: a term is unknown.
        """
        unknown = [name for name in adds if name not in DRIVE_TERMS]
        if unknown:
            raise ConfigError(f"drives cannot add '{unknown[0]}'; they add {', '.join(DRIVE_TERMS)}")
        self.adds = tuple(name for name in DRIVE_TERMS if name in adds)
        self._model, self._base = model, np.zeros(model.m)
        self._friction = np.array([model.description.joints[name].friction for name in model.joint_names])

    def added(self, position: Array, velocity: Array) -> Array:
        """Return the effort (n,) that the drives add at positions and velocities (n,) [N*m | N]."""
        resistance = self._friction * np.tanh(finite("velocity", velocity, self._model.n) / CREEPING)
        return self.commanded(position, velocity, resistance)

    def commanded(self, position: Array, velocity: Array, friction: Array) -> Array:
        """Return the part (n,) of a whole effort that the drives add, so that it must not be commanded.

        Args:
            position: (n,) joint positions [rad | m].
            velocity: (n,) joint velocities [rad/s | m/s].
            friction: (n,) compensation of the static friction in the whole effort [N*m | N]; drives add no more of it
                than the friction in the robot description. The torque loop itself commands the friction that it finds
                beyond that.
        """
        model, total = self._model, np.zeros(self._model.n)
        if not self.adds:
            return total
        state = ArmState(0, position, velocity, self._base, self._base)
        gravity, viscous = model.gravity_effort(state), model.D_m * velocity
        if "gravity" in self.adds:
            total += gravity
        if "coriolis" in self.adds:
            total += model.effort_on_resting_base(state, np.zeros(model.n)) - viscous - gravity
        if "friction" in self.adds:
            total += viscous + np.clip(finite("friction", friction, model.n), -self._friction, self._friction)
        return total

    def doubt(self, position: Array, velocity: Array, effort: Array) -> str:
        """Return why measured efforts (n,) do not fit to an arm at rest that has a weight; empty if they may.

        Without a motor effort the arm is held by its brakes, or by efforts that the drives add and neither describe nor
        measure.
        """
        if not np.isfinite(effort).all() or (np.abs(velocity) > AT_REST).any():
            return ""
        model = self._model
        weight = np.abs(model.gravity_effort(ArmState(0, position, velocity, self._base, self._base)))
        heavy = weight > HEAVY * np.where(np.isfinite(model.effort_limit), model.effort_limit, 0.0)
        heavy &= weight > 0.0
        if not heavy.any() or (np.abs(effort) > NOTHING * np.where(heavy, weight, np.inf)).any():
            return ""
        i = int(np.argmax(weight))
        return (
            f"the arm rests with efforts of 0, though gravity asks for {weight[i]:.3g} N*m of '{model.joint_names[i]}':"
            f" brakes hold it, or its drives add gravity themselves{UNSAID['gravity' in self.adds]}"
        )


class FirstEfforts:
    """Compares the first commands with measured efforts and with the motion, to check the described ``drive_adds``.

    Beyond a command ``u`` drives give ``s g`` with the gravity effort ``g`` and ``s`` = 0 or 1. Measured efforts minus
    ``u`` show ``s``, and so does ``H qdd + c - u``. If both contradict it, this is proof; measured efforts alone are no
    proof, because they may lack the terms that the drives add.

    Attributes:
        doubt: detected contradiction, empty if there is none.
        certain: whether there is proof.
        open: whether more efforts are wanted.
        seen: the terms with gravity if they are described without it, and without gravity if they are described with
            it.
    """

    def __init__(self, drives: DriveTerms, model: ArmModel) -> None:
        """Compare efforts of an arm with what its drives are said to add."""
        others = [name for name in DRIVE_TERMS if (name in drives.adds) != (name == "gravity")]
        self.seen = DriveTerms(model, others)
        limit, self._model, self._told = model.effort_limit, model, float("gravity" in drives.adds)
        self._scale = np.where(np.isfinite(limit) & (limit > 0.0), limit, 1.0)
        self._base = np.zeros(model.m)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.doubt, self.certain, self.open = "", False, True
        self._begin(None)

    def _begin(self, state: ArmState | None) -> None:
        self._before, self._time, self._sums = state, 0.0, np.zeros((3, self._model.n))

    def observe(self, state: ArmState, measured: Array, sent: Array | None) -> None:
        """Process a state, and its measured efforts (n,) under the last command (n,); None: no command was sent."""
        before, resting = self._before, replace(state, deflection=self._base, deflection_rate=self._base)
        dt = 0.0 if before is None else (state.stamp - before.stamp) * 1e-9
        if sent is None or before is None or not (0.0 < dt < SPAN and np.isfinite(measured).all()):
            self._begin(state)
            return
        model, blocks = self._model, self._model.blocks(resting)
        change = blocks.H_m @ (state.velocity - before.velocity)
        moved = change + dt * (blocks.c_m + model.D_m * state.velocity - sent)
        self._sums += np.stack((dt * model.gravity_effort(resting), dt * (measured - sent), moved))
        self._before, self._time = state, self._time + dt
        over = self._time >= SPAN
        if self._time >= SOON:
            shown = [self._contradicts(beyond) for beyond in self._sums[1:]]
            self.certain = all(shown)
            self.open = not (over or self.certain)
            if self.certain or (over and shown[0]):
                self.doubt = self._words()

    def _contradicts(self, beyond: Array) -> bool:
        """Return whether efforts (n,) beyond the commands are those of drives of the other kind."""
        weight = self._sums[0] / self._scale
        if np.abs(weight).max() <= HEAVY * self._time:
            return False
        shown, other = beyond / self._scale, 1.0 - self._told
        share = float(shown @ weight / (weight @ weight))
        left = np.linalg.norm(shown - share * weight) / np.linalg.norm(weight)
        return abs(share - other) < NEAR and bool(left < LEFT)

    def _words(self) -> str:
        i = int(np.argmax(np.abs(self._sums[0] / self._scale)))
        of = f"{abs(self._sums[0][i]) / self._time:.3g} N*m for '{self._model.joint_names[i]}'"
        if not self._told:
            return f"the drives add gravity themselves ({of}), which drive_adds must say"
        perhaps = "" if self.certain else ", or do not report it, which efforts_lack must say"
        return f"the drives do not add gravity ({of}), though drive_adds says so{perhaps}"


def effort_lack(model: ArmModel) -> DriveTerms | None:
    """Return the terms that measured efforts lack according to the description; None: they are complete."""
    lack = model.description.efforts_lack
    return DriveTerms(model, lack) if lack else None


def drive_terms(model: ArmModel, wanted: Sequence[str]) -> DriveTerms:
    """Return the efforts that the drives of an arm add: the given terms; if none are named, those of its description.

    Raises:
        ConfigError: a term is unknown.
    """
    named = [name for name in wanted if name]
    return DriveTerms(model, [name for name in named if name != NO_TERM] if named else model.description.drive_adds)
