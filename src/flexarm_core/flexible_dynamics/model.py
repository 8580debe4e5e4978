"""FlexibleModel: dynamics of an arm with flexible links on an elastic base, computed by the O(N) recursion.

The coordinates are ``x = [hinges (h); modes (K)]``: actuated and elastic hinges in tree order, then the modes grouped
by link. Efforts, rates and accelerations have the same order. ``actuated``, ``elastic`` and ``modal`` are the indices
of each kind. Hinges that follow others (``<mimic>``) have no coordinate here, but the kernels' tree has one for them:
``x_tree = G x`` (:mod:`coupled_hinges`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import ANY, expect, finite, integers, number, output
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics import dense, integration, kinematics, recursion
from flexarm_core.flexible_dynamics.bodies import make_bodies, node_place
from flexarm_core.flexible_dynamics.external_wrenches import add_wrench, body_pose
from flexarm_core.flexible_dynamics.flexible_links import drive_modes, load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.flexible_dynamics.tree import Index, Mount, Workspace, build_tree, view_tree, view_workspace
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

MOST_STEPS = 10_000_000  # of the simulation in one call
PHASE = 0.06  # [rad] of the fastest motion in one step of the simulation


@dataclass(frozen=True, slots=True)
class BodyWrench:
    """An external wrench on one body, applied at the body's origin and expressed in its axes: it rotates with the body.

    Attributes:
        body: index of the body.
        wrench: (6,) ``[f; n]`` [N, N*m].
    """

    body: int
    wrench: Array


# external wrenches (6,) [f; n] in axes of the inertial frame, keyed by link or by (link, node)
Wrenches = Mapping[str | tuple[str, int], Array] | BodyWrench


@dataclass(frozen=True, slots=True)
class FrameMotion:
    """Pose and motion of a link's frame, including the deformation, in axes of the inertial frame.

    Attributes:
        position: (3,) position of the origin [m].
        rotation: (3, 3) rotation matrix of the frame.
        velocity: (6,) twist ``[v; w]`` at the origin.
        acceleration: (6,) classical acceleration ``[a; alpha]`` at the origin, without gravity.
    """

    position: Array
    rotation: Array
    velocity: Array
    acceleration: Array


class FlexibleModel:
    """Forward and inverse dynamics over rigid and flexible bodies.

    Attributes:
        description: the robot.
        modal_data: modal data of the flexible links, by link name.
        hinge_names: (h) names of the movable joints in tree order.
        mode_names: (K) mode names ``<link>/<mode>``.
        actuated: (n,) coordinate indices of the actuated joints, in the description's order.
        elastic: (m,) coordinate indices of the elastic joints.
        modal: (K,) coordinate indices of the modes.
        tool_frame: link whose frame is the tool frame.
        strain_map: (g, K) strain of each gauge per unit of each mode.
        place: (h + K,) indices of the coordinates in the tree, in which hinges that follow others have their own.
    """

    def __init__(
        self,
        description: RobotDescription | str,
        tool_frame: str = "",
        gravity: tuple[float, float, float] | Array = (0.0, 0.0, -9.81),
        rigid: bool = False,
    ) -> None:
        """Build the model.

        Args:
            description: parsed description, or URDF text.
            tool_frame: link to use as tool frame; empty: ``tool0`` or the only tip link.
            gravity: (3,) gravity vector in the root link's frame [m/s^2].
            rigid: treat every link as rigid, i.e. leave out all modes.

        Raises:
            RobotDescriptionError: the robot is not usable; the message names the joint, link or file.
            InputError: gravity is not three finite numbers. Every method raises it for arguments of the wrong shape or
                with values that are not finite.
        """
        if isinstance(description, str):
            description = parse_robot_description(description)
        self.description = expect("description", description, RobotDescription)
        gravity = finite("gravity", gravity, 3)
        self.tool_frame = description.tool_frame(tool_frame)
        self.modal_data: dict[str, ModalData] = {} if rigid else load_flexible_links(description)
        bodies, self._places = make_bodies(description, self.modal_data)
        hinges = tuple(body.joint for body in bodies if body.joint)
        self.mode_names = tuple(mode for body in bodies for mode in body.modes)
        followers, whole = self._followers(hinges), len(hinges) + len(self.mode_names)
        trees = build_tree(bodies, -gravity, followers)
        self.tree = view_tree(*trees)
        sizes = self.tree.bodies, self.tree.width, len(hinges), len(self.mode_names), whole if followers else 0
        memory = np.zeros(view_workspace.size(*sizes))
        memory[: len(sizes)] = sizes
        self.arrays = *trees, memory
        self._ws: Workspace = view_workspace(memory)
        self._articulated = False
        self.hinge_names = tuple(name for name in hinges if not description.joints[name].mimic)
        self.size = len(self.hinge_names) + len(self.mode_names)
        place = {name: i for i, name in enumerate(self.hinge_names)}
        self.actuated = np.array([place[name] for name in description.actuated], dtype=int)
        self.elastic = np.array([place[joint.name] for joint in description.elastic], dtype=int)
        self.modal = np.arange(len(self.hinge_names), self.size)
        self.unmeasured = np.concatenate((self.elastic, self.modal))
        self.strain_map = np.zeros((len(description.strain_gauges), len(self.modal)))
        for row, gauge in enumerate(description.strain_gauges.values()):
            if gauge.link in self.modal_data:
                names = [f"{gauge.link}/{mode}" for mode in self.modal_data[gauge.link].modes]
                columns = [self.mode_names.index(name) for name in names]
                self.strain_map[row, columns] = self.modal_data[gauge.link].strain[gauge.name]
        self.place = np.delete(np.arange(whole), [follower[0] for follower in followers])
        G = np.eye(whole)[:, self.place]
        for row, one, other, *ratio in followers:
            G[row] = np.array(ratio) @ G[[one, other]]
        self._spread = G if followers else None
        self._body_index = {body.name: i for i, body in enumerate(bodies)}

    def _followers(self, hinges: tuple[str, ...]) -> list[tuple[int, int, int, float, float]]:
        """Return the hinges that follow, as :func:`tree.build_tree` takes them.

        A hinge follows what its driver's elastic drive carries, if there is one: ``a (q_m + delta)``.
        """
        drives, found = drive_modes(self.description), []
        for joint in self.description.coupled:
            leader, mode = hinges.index(joint.mimic), drives.get(joint.mimic)
            other = len(hinges) + self.mode_names.index(mode) if mode in self.mode_names else leader
            ratio = joint.multiplier
            found.append((hinges.index(joint.name), leader, other, ratio, ratio if mode in self.mode_names else 0.0))
        return found

    def __repr__(self) -> str:
        parts = f"{len(self.actuated)} joints", f"{len(self.elastic)} elastic", f"{len(self.modal)} modes"
        return f"FlexibleModel('{self.description.name}', tool '{self.tool_frame}', {', '.join(parts)})"

    # Forward dynamics -------------------------------------------------------------------------------------------------

    def forward_dynamics(self, x: Array, v: Array, effort: Array, wrenches: Wrenches | None = None) -> Array:
        """Compute the accelerations (h + K,) of hinges and modes.

        Args:
            x: (h + K,) coordinates.
            v: (h + K,) rates.
            effort: (h,) hinge efforts; the forces of springs, dampers and friction are added to them.
            wrenches: external wrenches (6,) ``[f; n]`` in axes of the inertial frame, keyed by link (applied at its
                origin) or by ``(link, node)`` of a flexible link; or one wrench that rotates with its body.

        Raises:
            InputError: a wrench acts on a link or node that does not exist.
        """
        self.articulate(x, v, wrenches)
        return self.accelerate(effort)

    def articulate(self, x: Array, v: Array, wrenches: Wrenches | None = None, step: float = 0.0) -> None:
        """Compute the articulated-body quantities at a state; :meth:`accelerate` and :meth:`response` use them.

        Args:
            x: (h + K,) coordinates.
            v: (h + K,) rates.
            wrenches: external wrenches.
            step: 0: accelerations are instantaneous values at this state. > 0: they are mean values over the next
                ``step`` [s], with springs and dampers integrated by the trapezoidal rule, stable for any stiffness:
                ``(M + t/2 C + t^2/4 K) a = T - bias - K (x + t/2 v) - C v``.
        """
        x, v = self._state(x, v)
        step = number("step", step, 0.0)
        self._set_wrenches(x, v, wrenches, step)
        recursion.articulate_at(*self.arrays, x, v)
        self._articulated = True

    def accelerate(self, effort: Array) -> Array:
        """Compute the accelerations (h + K,) that efforts (h,) cause at the state of the last :meth:`articulate`."""
        self._check_articulated()
        recursion.accelerate(*self.arrays, self.of_hinges(effort))
        return self._ws.acceleration[self.place]

    def step(
        self, x: Array, v: Array, effort: Array, duration: float, wrenches: Wrenches | None = None
    ) -> tuple[Array, Array]:
        """Compute coordinates and rates (h + K,) after a time, with constant efforts, as a simulation does.

        Classical Runge-Kutta steps (order 4), as many as the fastest natural motion at ``x`` and the joint speeds need.

        Args:
            x: (h + K,) coordinates.
            v: (h + K,) rates.
            effort: (h,) hinge efforts.
            duration: length of the step [s].
            wrenches: external wrenches, which stay constant in axes of their bodies.
        """
        x, v = finite("x", x, self.size).copy(), finite("v", v, self.size).copy()
        effort = finite("effort", effort, len(self.hinge_names))
        duration = number("duration", duration, 0.0)
        rate = self.fastest_rate(x) + float(np.abs(v[: len(self.hinge_names)]).sum())
        steps = max(1, math.ceil(duration * rate / PHASE))
        self.set_wrenches(x, v, wrenches)
        self.integrate(x, v, effort, duration / steps, steps)
        return x, v

    def integrate(self, x: Array, v: Array, effort: Array, h: float, steps: int) -> None:
        """Advance coordinates and rates (h + K,) in place by Runge-Kutta steps of order 4, with constant efforts (h,).

        Args:
            x: coordinates.
            v: rates.
            effort: hinge efforts.
            h: length of a step [s].
            steps: number of steps. External wrenches are those of :meth:`set_wrenches`, in axes of their bodies.
        """
        x, v, h = output("x", x, self.size), output("v", v, self.size), number("h", h)
        finite("x", x, self.size), finite("v", v, self.size)
        effort = self.of_hinges(effort)
        (steps,) = integers("steps", [steps], MOST_STEPS, 1)
        self._ws.x[:], self._ws.v[:] = self._state(x, v)
        integration.runge_kutta(*self.arrays, effort, h, steps)
        x[:], v[:] = self._ws.x[self.place], self._ws.v[self.place]

    def fastest_rate(self, x: Array) -> float:
        """Compute the largest rate, frequency or decay, of the motions about ``x`` with free joints [1/s]."""
        inverse = np.linalg.inv(self.mass_matrix(x))
        n = self.size
        restoring, losing = inverse @ self.stiffness_matrix(), inverse @ self.damping_matrix()
        system = np.block([[np.zeros((n, n)), np.eye(n)], [-restoring, -losing]])
        return float(np.abs(np.linalg.eigvals(system)).max())

    def response(self, coordinates: Index) -> Array:
        """Compute the accelerations (h + K, c) per unit force on each of ``c`` coordinates.

        These are columns of the inverse mass matrix. Requires a call of :meth:`articulate`; each column costs one sweep
        for the residual forces.
        """
        self._check_articulated()
        coordinates = integers("coordinates", coordinates, self.size, ANY)
        columns = np.empty((len(self._ws.x), len(coordinates)))
        recursion.respond_to_each(*self.arrays, self.place[coordinates], columns)
        return columns[self.place]

    def hinge_inertia(self) -> Array:
        """Return the articulated inertia ``D`` (h,) of each hinge; requires :meth:`articulate` [kg*m^2 | kg].

        All joints outboard of the hinge are free, and the others are held: a pivot of the elimination from tip to base.
        """
        if self._spread is None:
            return self._ws.D[self.tree.hinge >= 0].copy()
        body, first = self.tree.hinge.tolist(), self.tree.first_mode.tolist()
        inward = [
            j for i in range(len(body) - 1, -1, -1) for j in (*range(first[i], first[i] + self.tree.modes[i]), body[i])
        ]
        order = [at for j in inward for at in np.flatnonzero(self.place == j)]
        M = np.linalg.inv(self.response(np.arange(self.size)))[np.ix_(order, order)]
        pivots = np.empty(self.size)
        pivots[order] = np.diag(np.linalg.cholesky(0.5 * (M + M.T))) ** 2
        return pivots[: len(self.hinge_names)]

    # Inverse dynamics -------------------------------------------------------------------------------------------------

    def inverse_dynamics(self, x: Array, v: Array, acceleration: Array, wrenches: Wrenches | None = None) -> Array:
        """Compute the forces (h + K,) that cause given accelerations: hinge efforts and modal forces.

        The hinge efforts exclude the forces of springs, dampers and friction. The modal forces are zero exactly if the
        modal accelerations are those of the unforced deformation.
        """
        x, v = self._state(x, v)
        effort = self._newton_euler(x, v, acceleration, wrenches).effort.copy()
        recursion.hinge_forces(self.tree, x, v, np.zeros(self.tree.hinges), 0.0, self._ws.total)
        effort -= self._ws.total
        return effort if self._spread is None else self._spread.T @ effort

    def body_of(self, link: str) -> int:
        """Return the body index of a link that is a separate body.

        Raises:
            InputError: the link is not a separate body.
        """
        if link not in self._body_index:
            raise InputError(f"link '{link}' is no body of its own; bodies: {', '.join(self._body_index)}")
        return self._body_index[link]

    def sensor_wrenches(
        self, x: Array, v: Array, acceleration: Array, wrenches: Wrenches | None = None
    ) -> dict[str, Array]:
        """Compute the force/torque sensor readings (6,) ``[f; n]``, by sensor.

        A reading is the wrench of the outboard side on the inboard side, in the sensor frame.
        """
        through = self.hinge_wrenches(x, v, acceleration, wrenches)
        return {
            name: -through[self._body_index[sensor.frame]]
            for name, sensor in self.description.force_torque_sensors.items()
        }

    def hinge_wrenches(self, x: Array, v: Array, acceleration: Array, wrenches: Wrenches | None = None) -> Array:
        """Compute the wrenches (bodies, 6) ``[f; n]`` of the parent on each body, at its origin and in its axes."""
        return self._newton_euler(*self._state(x, v), acceleration, wrenches).through.copy()

    def _newton_euler(self, x: Array, v: Array, acceleration: Array, wrenches: Wrenches | None) -> Workspace:
        """Compute total forces ``effort``, hinge springs and dampers not deducted, and hinge wrenches ``through``."""
        acceleration = self.of_tree(finite("acceleration", acceleration, self.size))
        self._set_wrenches(x, v, wrenches)
        dense.inverse_dynamics(*self.arrays, x, v, acceleration)
        return self._ws

    def mass_matrix(self, x: Array) -> Array:
        """Compute the dense mass matrix (h + K, h + K)."""
        x = self.of_tree(finite("x", x, self.size))
        size, self._ws.step[0] = len(x), 0.0
        M = np.empty((size, size))
        dense.mass_matrix(*self.arrays, x, np.zeros(size), M)
        return self._of_coordinates(M)

    def energy(self, x: Array, v: Array) -> float:
        """Compute the sum of kinetic energy, strain energy of modes and springs, and gravitational energy [J]."""
        x, v = self._state(x, v)
        self._ws.step[0] = 0.0
        dense.load_at(*self.arrays, x, v)
        eta = x[self.tree.hinges :]
        total = dense.kinetic_energy(*self.arrays, v) + 0.5 * float(self.tree.stiffness @ x[: self.tree.hinges] ** 2)
        for i in range(len(self.tree.parent)):
            k, e = self.tree.modes[i], self.tree.first_mode[i] - self.tree.hinges
            own = eta[e : e + k]
            position, rotation = self._body_pose(i)
            moment = self.tree.s0[i] + self.tree.S1[i, :, :k] @ own
            total += 0.5 * float(own @ self.tree.K[i, :k, :k] @ own)
            total += float(self.tree.root @ (self.tree.mass[i] * position + rotation @ moment))
        return total

    def stiffness_matrix(self) -> Array:
        """Return the stiffness matrix (h + K, h + K) of hinge springs and modes."""
        return self._of_coordinates(self._on_diagonal(self.tree.stiffness, self.tree.K))

    def damping_matrix(self) -> Array:
        """Return the damping matrix (h + K, h + K) of hinge dampers and modes."""
        return self._of_coordinates(self._on_diagonal(self.tree.damping, self.tree.C))

    def natural_frequencies(self, x: Array) -> Array:
        """Compute the natural frequencies (m + K,) at ``x`` with the actuated joints locked, lowest first [rad/s]."""
        free = np.ix_(self.unmeasured, self.unmeasured)
        squares = np.linalg.eigvals(np.linalg.solve(self.mass_matrix(x)[free], self.stiffness_matrix()[free]))
        return np.sqrt(np.sort(squares.real))

    # Frames -----------------------------------------------------------------------------------------------------------

    def frame_motion(self, link: str, x: Array, v: Array, acceleration: Array | None = None) -> FrameMotion:
        """Compute the pose and motion of a link's frame.

        Raises:
            InputError: no such link.
        """
        mount, (x, v) = self._place(link), self._state(x, v)
        self._ws.step[0] = 0.0
        dense.load_at(*self.arrays, x, v)
        if acceleration is not None:
            self._newton_euler(x, v, acceleration, None)
            acceleration = self.of_tree(acceleration)
        return self._motion(mount, x, v, acceleration)

    def _motion(self, mount: Mount, x: Array, v: Array, acceleration: Array | None) -> FrameMotion:
        if mount.body < 0:
            return FrameMotion(mount.node + mount.offset, mount.turn, np.zeros(6), np.zeros(6))
        i = mount.body
        k, e = self.tree.modes[i], self.tree.first_mode[i]
        position, rotation = self._body_pose(i)
        E, Jl = np.eye(3), np.eye(3)
        rate = mount.rotation @ v[e : e + k]
        phi = mount.rotation @ x[e : e + k]
        third, db, dc = kinematics.exponential(phi, E, Jl)
        c = E @ mount.offset
        rho = mount.node + mount.translation @ x[e : e + k] + c
        sigma = Jl @ rate
        speed = mount.translation @ v[e : e + k] + _cross(sigma, c)
        linear, w = self._ws.velocity[i, :3], self._ws.velocity[i, 3:]
        twist = np.concatenate((linear + _cross(w, rho) + speed, w + sigma))
        classical = np.zeros(6)
        if acceleration is not None:
            etadd = acceleration[e : e + k]
            part = _cross(phi, rate)
            sigmad = Jl @ (mount.rotation @ etadd) + third * _cross(rate, part)
            sigmad += (phi @ rate) * (db * part + dc * _cross(phi, part))
            a, alpha = self._ws.a[i, :3] - rotation.T @ self.tree.root, self._ws.a[i, 3:]
            seen = mount.translation @ etadd + _cross(sigmad, c) + _cross(sigma, _cross(sigma, c))
            classical[:3] = a + _cross(alpha, rho) + _cross(w, _cross(w, rho)) + 2.0 * _cross(w, speed) + seen
            classical[3:] = alpha + sigmad + _cross(w, sigma)
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = rotation
        return FrameMotion(position + rotation @ rho, rotation @ E @ mount.turn, turn @ twist, turn @ classical)

    def _body_pose(self, body: int) -> tuple[Array, Array]:
        position, rotation = np.empty(3), np.empty((3, 3))
        body_pose(*self.arrays, body, position, rotation)
        return position, rotation

    # ------------------------------------------------------------------------------------------------------------------

    def _place(self, where: str | tuple[str, int]) -> Mount:
        node = None
        if isinstance(where, tuple) and len(where) == 2:
            where, node = where
        if not isinstance(where, str) or where not in self._places:
            raise InputError(f"link '{where}' does not exist; links: {', '.join(self._places)}")
        if node is None:
            return self._places[where]
        data = self.modal_data.get(where)
        if data is None or not isinstance(node, (int, np.integer)) or not 0 <= node < len(data.mass):
            raise InputError(f"link '{where}' has no node {node}")
        return node_place(self._places[where], data, int(node))

    def set_wrenches(self, x: Array, v: Array, wrenches: Wrenches | None, step: float = 0.0) -> None:
        """Write external wrenches, converted to body axes at this state, and the step to the memory of the kernels."""
        self._set_wrenches(*self._state(x, v), wrenches, number("step", step, 0.0))

    def _state(self, x: Array, v: Array) -> tuple[Array, Array]:
        """Return coordinates and rates of the tree, in which hinges that follow others have their own."""
        return self.of_tree(finite("x", x, self.size)), self.of_tree(finite("v", v, self.size))

    def of_hinges(self, effort: Array) -> Array:
        """Return efforts (h,) as those on the hinges of the tree: 0 on those that follow."""
        effort = finite("effort", effort, len(self.hinge_names))
        if self._spread is None:
            return effort
        forces = np.zeros(self.tree.hinges)
        forces[self.place[: len(effort)]] = effort
        return forces

    def of_tree(self, values: Array) -> Array:
        """Return coordinates, rates or accelerations (h + K,) as those of the tree: ``G x``."""
        spread: Array = values if self._spread is None else self._spread @ values
        return spread

    def _of_coordinates(self, matrix: Array) -> Array:
        reduced: Array = matrix if self._spread is None else self._spread.T @ matrix @ self._spread
        return reduced

    def _check_articulated(self) -> None:
        if not self._articulated and self.size:
            raise InputError("call articulate() first: it sets the state that this is about")

    def _set_wrenches(self, x: Array, v: Array, wrenches: Wrenches | None, step: float = 0.0) -> None:
        self._ws.wrench[:], self._ws.force[:], self._ws.step[0] = 0.0, 0.0, 0.0
        if isinstance(wrenches, BodyWrench):
            if not 0 <= wrenches.body < len(self._ws.wrench):
                raise InputError(f"body {wrenches.body} does not exist: there are {len(self._ws.wrench)}")
            self._ws.wrench[wrenches.body] = finite("wrench", wrenches.wrench, 6)
        elif wrenches is not None:
            if not isinstance(wrenches, Mapping):
                raise InputError("wrenches must be a mapping of links to wrenches (6,), or a BodyWrench")
            places = [(self._place(where), finite("wrench", wrench, 6)) for where, wrench in wrenches.items()]
            dense.load_at(*self.arrays, x, v)
            for mount, wrench in places:
                self._add_wrench(mount, wrench)
        self._ws.step[0] = step

    def _add_wrench(self, mount: Mount, wrench: Array) -> None:
        """Add an external wrench at a mount as a wrench at the body's origin and modal forces ``B^T w``."""
        if mount.body < 0:
            return
        applied = np.vstack((mount.node, mount.offset, wrench[:3], wrench[3:]))
        add_wrench(*self.arrays, mount.body, applied, np.vstack((mount.translation, mount.rotation)))

    def _on_diagonal(self, hinges: Array, modes: Array) -> Array:
        total = np.zeros((len(hinges) + len(self.mode_names),) * 2)
        total[: len(hinges), : len(hinges)] = np.diag(hinges)
        for i in range(len(self.tree.parent)):
            k, e = self.tree.modes[i], self.tree.first_mode[i]
            total[e : e + k, e : e + k] = modes[i, :k, :k]
        return total


def _cross(a: Array, b: Array) -> Array:
    """Return the cross product of two vectors (3,): that of numpy, made for arrays of vectors, takes much longer."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))
