"""Static equilibrium: deflection of springs under the weight they carry, with fixed joint positions of the arm.

The equilibrium is tracked from the undeflected springs while the weight is increased from zero to its full value:

    K x + s g(x) = 0,    s = 0 ... 1,    K + s dg/dx positive definite

This gives the equilibrium that the robot reaches when it is loaded slowly, and not an equilibrium after buckling. If
the stiffness ``K + s dg/dx`` becomes singular on the way, the springs cannot carry the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flexarm_core.errors import InputError, RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

LARGEST_STEP, SMALLEST_STEP = 0.1, 1e-4  # steps of the fraction s of the weight
DIFFERENCE = 1e-6  # step of a coordinate for finite differences of the weight [m | rad]
ACCURACY = 1e-11  # relative accuracy of the deflection in the energy norm of the springs
LOAD = 1e-9  # [N | N*m] weight that deflects nothing
NEWTON_STEPS = 12


def static_equilibrium(model: ArmModel, position: Array) -> Array:
    """Return the deflection of the elastic base at rest under gravity with fixed joint positions.

    The efforts that hold the joints are ``model.gravity_effort`` of the state with this deflection.

    Args:
        model: arm model with its gravity.
        position: (n,) positions of the actuated joints [rad | m].

    Returns:
        (m,) deflection x_b [m | rad].

    Raises:
        InputError: the position has a wrong shape or is not finite.
        RobotDescriptionError: the springs cannot carry the arm; the message gives the fraction that they can carry.
    """
    held = np.asarray(position, dtype=float)
    if held.shape != (model.n,) or not all_finite(held):
        raise InputError(f"position is {position}, expected {model.n} finite numbers")
    none, rest = np.zeros(model.n), np.zeros(model.m)
    return settle(model.K_b, lambda x: model.weight(ArmState(0, held, none, x, rest)), model.elastic_joint_names)


def settle(stiffness: Array, weight: Callable[[Array], Array], names: Sequence[str]) -> Array:
    """Return the equilibrium ``x`` of springs ``K`` under a weight ``g(x)``.

    Args:
        stiffness: (k, k) stiffness K, positive definite; or semidefinite, without a weight.
        weight: function ``x`` -> (k,) ``g(x)``, the gradient of the gravitational potential energy.
        names: (k,) names of the coordinates, for error messages.

    Returns:
        (k,) coordinates in equilibrium.

    Raises:
        RobotDescriptionError: there is no stable equilibrium.
    """
    x, share, step = np.zeros(len(stiffness)), 0.0, LARGEST_STEP
    if not x.size:
        return x
    if free := [name for name, spring in zip(names, np.diag(stiffness), strict=True) if spring == 0.0]:
        if max(np.abs(weight(at)).max() for at in (x, x + 0.1)) <= LOAD:
            return x
        raise RobotDescriptionError(
            f"no static equilibrium: the stiffness of '{free[0]}' is 0, and there is gravity; a free-flying base is for"
            " gravity [0, 0, 0], or begin undeflected"
        )
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
    """Return the equilibrium near ``start`` under a fraction of the weight; None if no stable one is found."""
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
    """Return the symmetric derivative dg/dx (k, k) of the weight, by finite differences."""
    slope = np.empty((len(x), len(x)))
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += DIFFERENCE
        slope[:, i] = (weight(moved) - load) / DIFFERENCE  # sufficient for the Newton iteration
    return 0.5 * (slope + slope.T)


def _softest(stiffness: Array, weight: Callable[[Array], Array], x: Array, share: float) -> int:
    """Return the index of the coordinate with the largest share in the mode of lowest scaled stiffness."""
    scale = 1.0 / np.sqrt(np.diag(stiffness))
    total = stiffness + share * _slope(weight, x, weight(x))
    return int(np.abs(np.linalg.eigh(total * np.outer(scale, scale))[1][:, 0]).argmax())
