"""Dry and viscous friction in the joints of the simulated plant, unknown to the controllers."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class JointFriction(Settings):
    """Friction of the actuated joints; each parameter has one value for all joints, one per joint, or none.

    A joint with velocity ``qd`` is braked by ::

        |T| = C + (S - C) exp(-(qd / w)^2) + A sin(2 pi q / p + a) + B |qd|

    against its motion: Coulomb level C, stiction S at least C, Stribeck velocity w, a part with amplitude A at most C,
    period p and phase a over the position, viscous coefficient B. At rest static friction holds against efforts up to
    ``S + A sin(...)``.
    """

    # fmt: off
    coulomb: tuple[float, ...] = setting((),
        "joint friction: Coulomb level; one for all joints or one per joint; empty: none", "N*m | N", 0.0)
    stiction: tuple[float, ...] = setting((),
        "joint friction: break-away (stiction) level, at least the Coulomb level; empty: the Coulomb level",
        "N*m | N", 0.0)
    viscous: tuple[float, ...] = setting((),
        "joint friction: viscous coefficient, effort per velocity; empty: none", "N*m*s/rad | N*s/m", 0.0)
    stribeck_velocity: tuple[float, ...] = setting((),
        "joint friction: Stribeck velocity, over which stiction falls to the Coulomb level; needed with stiction",
        "rad/s | m/s", 0.0)
    position_amplitude: tuple[float, ...] = setting((),
        "joint friction: amplitude of a part that varies sinusoidally with the joint position; empty: none", "N*m | N")
    position_period: tuple[float, ...] = setting((),
        "joint friction: period of the part that varies sinusoidally with the joint position; empty: 2 pi",
        "rad | m", 0.0)
    position_phase: tuple[float, ...] = setting((),
        "joint friction: phase at position 0 of the part that varies sinusoidally with the joint position; empty: 0",
        "rad")
    # fmt: on

    def table(self, joints: int) -> Array:
        """Return all values by joint, after checking them.

        Args:
            joints: number of joints, n.

        Returns:
            (7, n) rows C, S - C, B, 1 / w, A, 2 pi / p, a.

        Raises:
            ConfigError: the number of values is not 0, 1 or n, a value is out of its bounds, or values contradict each
                other.
        """
        zero = np.zeros(joints)
        values = {field.name: self._spread(field.name, joints) for field in fields(self)}
        coulomb = values["coulomb"] if self.coulomb else zero
        stiction = values["stiction"] if self.stiction else coulomb
        amplitude = values["position_amplitude"] if self.position_amplitude else zero
        velocity = values["stribeck_velocity"] if self.stribeck_velocity else zero
        period = values["position_period"] if self.position_period else np.full(joints, 2.0 * math.pi)
        for joint in range(joints):
            where = f"friction of joint {joint + 1}:"
            if stiction[joint] < coulomb[joint]:
                raise ConfigError(
                    f"{where} stiction is {stiction[joint]:g}, expected at least the Coulomb level {coulomb[joint]:g}"
                )
            if stiction[joint] > coulomb[joint] and velocity[joint] == 0.0:
                raise ConfigError(
                    f"{where} stiction lies above the Coulomb level: give a positive stribeck_velocity over which it"
                    " falls [rad/s | m/s]"
                )
            if abs(amplitude[joint]) > coulomb[joint]:
                raise ConfigError(
                    f"{where} position_amplitude is {amplitude[joint]:g}, expected at most the Coulomb level"
                    f" {coulomb[joint]:g} in size: beyond it friction would push"
                )
        slowness = np.divide(1.0, velocity, out=np.zeros(joints), where=velocity > 0.0)
        viscous = values["viscous"] if self.viscous else zero
        phase = values["position_phase"] if self.position_phase else zero
        return np.array((coulomb, stiction - coulomb, viscous, slowness, amplitude, 2.0 * math.pi / period, phase))

    def _spread(self, name: str, joints: int) -> Array:
        given = getattr(self, name)
        if len(given) not in (0, 1, joints):
            raise ConfigError(f"friction {name} has {len(given)} values, expected none, one, or one a joint: {joints}")
        if name == "position_period" and 0.0 in given:
            raise ConfigError(f"friction {name} is 0.0, expected a positive number [rad | m]")
        return np.resize(np.array(given or (0.0,), dtype=np.float64), joints)
