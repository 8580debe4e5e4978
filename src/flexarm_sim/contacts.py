r"""Contacts of the tool tip: geoms, stiffness and damping of the surfaces, step size check, and contact wrenches.

MuJoCo's contact is a soft constraint. Along the normal, with penetration ``p`` and acceleration ``a`` of penetration,
its force is::

    R N = k p + b dp/dt - a,    R = (1 - d) / (d m),    k = s / d,    b = c / d     (N >= 0)

for a constant impedance ``d``, ``solref = (-s, -c)`` and ``1/m = body_invweight0`` of the tip, an estimate of its
inverse mass that does not depend on the pose. Hence ::

    N = K p + B dp/dt - m d/(1 - d) a    with    s = K (1 - d) / m,    c = B (1 - d) / m

This is a spring and a damper with the specified values in every pose, plus a mass that acts only in contact. ``m`` is
set to 1 kg and ``d`` to MuJoCo's minimum, which leaves a mass of 0.1 g. This also keeps the constraint explicit: RK4
integrates the spring like any other. A step in which contact begins or ends has a timing error of a fraction of the
step: a bounce without damping gains or loses up to ``0.055 phase^2`` of its speed, with the phase of the
oscillation in one step; damping of 2 % outweighs this error.

Friction is a constraint on velocity, ``R_t T = -c_t u - du/dt`` with ``R_t = R / FRICTION_RATIO`` and
``c_t = CREEP_RATE``. While the tip sticks, sliding decays at that rate, and a force ``T`` makes the tip creep at
``T R_t / c_t``, 0.1 um/s per newton. While it slides at ``u``, the surface exerts a normal force
``friction CREEP_RATE u / R`` even without penetration: 0.1 N per m/s times the coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_sim.mujoco.inertia import quaternion
from flexarm_sim.surfaces import Surface

TIP = "contact/tip"
ACCURACY = 1e-14  # [m/s^2] accuracy of the accelerations from the solver, in the norm of the inertia
FRICTION_RATIO = 1e8  # ratio of frictional to normal constraint impedance (MuJoCo's impratio)
IMPEDANCE = 1e-4  # d, the minimum in MuJoCo
CREEP_RATE = 1000.0  # [1/s]
LARGEST_RATE = 0.5  # largest CREEP_RATE times step
LARGEST_PHASE = 0.6  # [rad] largest phase of the fastest oscillation of the tip on a surface in one step
SAMPLES = 200  # poses in which the mobility of the tip is evaluated


def add_surfaces(spec: mujoco.MjSpec, tool: mujoco.MjsBody, surfaces: Sequence[Surface], tip_radius: float) -> None:
    """Add tip, surfaces and pairs to a model; ``Contacts`` sets stiffness, damping and friction once it is compiled.

    Geoms have no mass and collide only as listed pairs: the tip with each surface. The tip is a massless body of its
    own, welded to the tool frame, so that MuJoCo's scaling of its contacts can be set.

    Args:
        spec: model to which they are added.
        tool: body whose frame is the tool frame.
        surfaces: surfaces that the tip can touch; at least one.
        tip_radius: radius of the sphere around the origin of the tool frame [m].
    """
    option, kinds = spec.option, mujoco.mjtGeom
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC  # the only cone with isotropic friction
    option.impratio = FRICTION_RATIO
    # Contact forces are measured, so they must be accurate; but with zero tolerance the solver continues within
    # round-off, up to a hundred times as long.
    option.tolerance = ACCURACY**2  # tolerance of the cost, which is quadratic
    option.ls_tolerance = 1.0 / ACCURACY  # times tolerance: of the slope in line searches
    apart = {"mass": 0.0, "contype": 0, "conaffinity": 0}
    tip = tool.add_body(name=TIP, ipos=np.zeros(3))
    tip.add_geom(name=TIP, type=kinds.mjGEOM_SPHERE, size=(tip_radius, 0.0, 0.0), **apart)
    for surface in surfaces:
        name, box = _surface_geom(surface), surface.kind == "box"
        spec.worldbody.add_geom(
            name=name,
            type=kinds.mjGEOM_BOX if box else kinds.mjGEOM_PLANE,
            pos=surface.position,
            quat=quaternion(surface.rotation),
            size=surface.half_extents if box else (0.0, 0.0, 1.0),  # MuJoCo: 0 0 = infinite
            **apart,
        )
        spec.add_pair(name=name, geomname1=name, geomname2=TIP, condim=_contact_dimension(surface))


class Contacts:
    """The surfaces of one model."""

    def __init__(
        self, surfaces: Sequence[Surface], description: RobotDescription, model: mujoco.MjModel, max_step: float
    ) -> None:
        """Set the contact parameters of a compiled model; the model is modified.

        Args:
            surfaces: surfaces that were given to ``add_surfaces``.
            description: the robot, for the range of its joints.
            model: compiled model.
            max_step: longest integration step [s].

        Raises:
            ConfigError: a surface is too stiff for the step.
        """
        self._surfaces = {surface.name: surface for surface in surfaces}
        self._model, self._max_step = model, max_step
        if not surfaces:
            return
        self._tip = int(model.geom(TIP).id)
        self._names = {int(model.geom(_surface_geom(surface)).id): surface.name for surface in surfaces}
        self._force = np.zeros(6)
        self._mobility = _largest_mobility(description, model)
        model.body_invweight0[int(model.body(TIP).id)] = (1.0, 0.0)
        self.change(surfaces)

    def change(self, surfaces: Sequence[Surface]) -> None:
        """Change the stiffness, damping and friction of the surfaces; their poses stay.

        Args:
            surfaces: all surfaces, in the same places.

        Raises:
            ConfigError: other surfaces, or a surface too stiff for the step; nothing is changed then.
        """
        known = [_place(surface) for surface in self._surfaces.values()]
        if [_place(surface) for surface in surfaces] != known:
            raise ConfigError("of a surface only stiffness, damping and friction can change while the plant runs")
        for surface in surfaces:
            self._check_step(surface)
        rate = IMPEDANCE * min(CREEP_RATE, LARGEST_RATE / self._max_step)
        for surface in surfaces:
            pair = int(self._model.pair(_surface_geom(surface)).id)
            self._model.pair_dim[pair] = _contact_dimension(surface)
            self._model.pair_friction[pair, :2] = surface.friction
            self._model.pair_solimp[pair] = (IMPEDANCE, IMPEDANCE, 1.0, 0.5, 1.0)
            self._model.pair_solref[pair] = -(1.0 - IMPEDANCE) * np.array((surface.stiffness, surface.damping))
            self._model.pair_solreffriction[pair] = (0.0, -rate)
        self._surfaces = {surface.name: surface for surface in surfaces}

    def read(self, data: mujoco.MjData) -> dict[str, Array]:
        """Return the wrench (6,) ``[f; n]`` of each surface on the tool, at the tool frame origin, axes of the root.

        Args:
            data: simulation data with up-to-date forces.
        """
        wrenches = {name: np.zeros(6) for name in self._surfaces}
        for index in range(data.ncon if wrenches else 0):
            contact = data.contact[index]
            first, second = contact.geom.tolist()
            mujoco.mj_contactForce(self._model, data, index, self._force)
            force = contact.frame.reshape(3, 3).T @ self._force[:3]  # force of the first geom on the second
            if first == self._tip:
                force, first = -force, second
            wrench = wrenches[self._names[first]]
            wrench[:3] += force
            (x, y, z), (fx, fy, fz) = (contact.pos - data.geom_xpos[self._tip]).tolist(), force.tolist()
            wrench[3:] += (y * fz - z * fy, z * fx - x * fz, x * fy - y * fx)
        return wrenches

    def _check_step(self, surface: Surface) -> None:
        """Check the step: it also leaves the robot's own springs stable, ``hypot(2.5, 0.6) < 2.83``."""
        mobility = self._mobility
        # s^2 + mobility (damping s + stiffness) = 0 where the effective mass of the tip is smallest
        fastest = float(np.abs(np.roots((1.0, mobility * surface.damping, mobility * surface.stiffness))).max())
        if fastest * self._max_step > LARGEST_PHASE:
            raise ConfigError(
                f"max_step {self._max_step} s is too long for surface '{surface.name}' of {surface.stiffness:g} N/m and"
                f" {surface.damping:g} N*s/m under a tip that weighs as little as {1.0 / mobility:.2g} kg: give at most"
                f" {0.99 * LARGEST_PHASE / fastest:.2g} s, or a softer surface"
            )


def _surface_geom(surface: Surface) -> str:
    """Return the name of the geom of a surface, and of its pair with the tip."""
    return f"surface/{surface.name}"


def _contact_dimension(surface: Surface) -> int:
    """Return the number of contact force components: 3 with friction, else 1, as coefficients must be positive."""
    return 3 if surface.friction > 0.0 else 1


def _place(surface: Surface) -> tuple[object, ...]:
    """Return the properties that cannot change."""
    return surface.name, surface.kind, surface.position, surface.rpy, surface.half_extents


def _largest_mobility(description: RobotDescription, model: mujoco.MjModel) -> float:
    """Return the largest eigenvalue of ``J M^-1 J^T`` of the tip, sampled over the joint ranges [1/kg]."""
    data, draw = mujoco.MjData(model), np.random.default_rng(0)
    body, largest = int(model.body(TIP).id), 0.0
    jacobian, solved = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    joints = [(model.joint(name).qposadr[0], description.joints[name]) for name in description.actuated]
    for _ in range(SAMPLES):
        for address, joint in joints:
            bounded = np.isfinite(joint.lower) and np.isfinite(joint.upper)
            data.qpos[address] = draw.uniform(*((joint.lower, joint.upper) if bounded else (-math.pi, math.pi)))
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_jacBody(model, data, jacobian, None, body)
        mujoco.mj_solveM(model, data, solved, jacobian)
        largest = max(largest, float(np.linalg.eigvalsh(jacobian @ solved.T)[-1]))
    return largest
