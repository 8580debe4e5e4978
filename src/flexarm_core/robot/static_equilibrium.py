"""Static equilibrium: how far springs give way under the weight that they carry, with the arm's joints held.

The equilibrium is followed from the undeflected springs on, while the weight grows from none to all of it:

    K x + s g(x) = 0,    s = 0 ... 1,    K + s dg/dx positive definite

so that what is found is where the robot comes to rest when it is loaded slowly, and not another equilibrium beyond a
buckling. Where the stiffness ``K + s dg/dx`` vanishes on the way, the springs cannot carry the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flexarm_core.errors import InputError, RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

LARGEST_STEP, SMALLEST_STEP = 0.1, 1e-4  # of the share s of the weight
DIFFERENCE = 1e-6  # of a coordinate [m | rad], for the change of the weight
ACCURACY = 1e-11  # of the deflection, in the norm of the springs' energy
NEWTON_STEPS = 12


def static_equilibrium(model: ArmModel, position: Array) -> Array:
    """Deflection at which the elastic base rests under gravity while the joints are held.

    The efforts that hold the joints there are ``model.gravity_effort`` of the state with this deflection.

    Args:
        model: of the arm, with its gravity.
        position: (n,) actuated joints [rad | m].

    Returns:
        (m,) deflection x_b [m | rad].

    Raises:
        InputError: a position of another shape, or not finite.
        RobotDescriptionError: the springs cannot carry the arm; the message says at which share of its weight.
    """
    held = np.asarray(position, dtype=float)
    if held.shape != (model.n,) or not all_finite(held):
        raise InputError(f"position is {position}, expected {model.n} finite numbers")
    none, rest = np.zeros(model.n), np.zeros(model.m)
    return settle(model.K_b, lambda x: model.weight(ArmState(0, held, none, x, rest)), model.elastic_joint_names)


def settle(stiffness: Array, weight: Callable[[Array], Array], names: Sequence[str]) -> Array:
    """Rest ``x`` of springs ``K`` under a weight ``g(x)``.

    Args:
        stiffness: (k, k) K, positive definite.
        weight: ``x`` -> (k,) ``g(x)``, the gradient of the weight's potential energy.
        names: (k,) of the coordinates, for messages.

    Returns:
        (k,) coordinates at rest.

    Raises:
        RobotDescriptionError: no stable equilibrium.
    """
    x, share, step = np.zeros(len(stiffness)), 0.0, LARGEST_STEP
    if not x.size:
        return x
    while share < 1.0:
        wanted = min(1.0, share + step)
        found = _newton(stiffness, weight, x, wanted)
        if found is not None:
            x, share, step = found, wanted, min(LARGEST_STEP, 2.0 * step)
            continue
        step *= 0.5
        if step < SMALLEST_STEP:
            softest = _softest(stiffness, weight, x, share)
            raise RobotDescriptionError(
                f"no static equilibrium: the springs give way under {100.0 * share:.3g} % of the weight that they"
                f" carry, first along '{names[softest]}'; make it stiffer or the load lighter, choose another position,"
                " or begin undeflected"
            )
    return x


def _newton(stiffness: Array, weight: Callable[[Array], Array], start: Array, share: float) -> Array | None:
    """Equilibrium under a share of the weight near ``start``, None where none that is stable is found."""
    x, before = start.copy(), np.inf
    for _ in range(NEWTON_STEPS):
        load = weight(x)
        if not np.isfinite(load).all():
            return None
        try:
            factor = np.linalg.cholesky(stiffness + share * _slope(weight, x, load))
        except np.linalg.LinAlgError:
            return None
        change = np.linalg.solve(factor.T, np.linalg.solve(factor, -(stiffness @ x + share * load)))
        x += change
        length = float(np.sqrt(change @ stiffness @ change))
        if length <= ACCURACY * float(np.sqrt(x @ stiffness @ x)):
            return x
        if length > before:
            return None
        before = length
    return None


def _slope(weight: Callable[[Array], Array], x: Array, load: Array) -> Array:
    """Symmetric (k, k) change of the weight with the coordinates."""
    slope = np.empty((len(x), len(x)))
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += DIFFERENCE
        slope[:, i] = (weight(moved) - load) / DIFFERENCE  # it only guides the search
    return 0.5 * (slope + slope.T)


def _softest(stiffness: Array, weight: Callable[[Array], Array], x: Array, share: float) -> int:
    """The coordinate that takes most of the energy of what gives way first."""
    scale = 1.0 / np.sqrt(np.diag(stiffness))
    total = stiffness + share * _slope(weight, x, weight(x))
    return int(np.abs(np.linalg.eigh(total * np.outer(scale, scale))[1][:, 0]).argmax())
