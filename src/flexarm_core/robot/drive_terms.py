"""DriveTerms: efforts that drives add to their commands by themselves (gravity, Coriolis and friction compensation).

Everywhere in the suite an effort is the whole effort of a motor. Where drives add a part themselves, the gate takes it
off the command as the last step, and a simulated drive adds it as the first one. What measured efforts do not contain
is added where they are read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
UNSAID = {False: ", which drive_adds must say", True: " and do not report it, which efforts_lack must say"}


class DriveTerms:
    """What drives add to effort commands; they know the arm on a base that stands still.

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
                than the friction in the robot description. What a torque loop finds beyond that, it commands.
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

        Without a motor effort it is held by its brakes, or by what the drives add without saying or measuring so.
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


def effort_lack(model: ArmModel) -> DriveTerms | None:
    """Return what the measured efforts of an arm do not contain, by its description; None: they are whole."""
    lack = model.description.efforts_lack
    return DriveTerms(model, lack) if lack else None


def drive_terms(model: ArmModel, wanted: Sequence[str]) -> DriveTerms:
    """Return what the drives of an arm add: the terms that are wanted; if none are named, those of its description.

    Raises:
        ConfigError: a term is unknown.
    """
    named = [name for name in wanted if name]
    return DriveTerms(model, [name for name in named if name != NO_TERM] if named else model.description.drive_adds)
