"""ArmModel: rigid-body dynamics of an arm on elastic joints, computed by Pinocchio, and tool kinematics.

Notation (Nenchev et al. 1999, equation 1), for ``n`` actuated joints ``q`` and ``m`` elastic joints ``x_b``::

    [H_b    H_bm] [xdd_b]   [D_b xd_b + K_b x_b]   [c_b]   [ 0 ]
    [H_bm^T H_m ] [qdd  ] + [D_m qd            ] + [c_m] = [tau]

The base consists of passive joints of the URDF. Therefore all blocks are rows and columns of the results of CRBA and
RNEA for a single model. Joints that follow others are coordinates of that model only (:mod:`coupled_joints`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from flexarm_core.compiled import allocate
from flexarm_core.entrance import FLOAT, expect, finite
from flexarm_core.errors import InputError, RobotDescriptionError
from flexarm_core.robot.arm_arrays import split_matrix, split_vector, take_off
from flexarm_core.robot.articulated_bodies import accelerate, pack_constants, view_sweep
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.kinematic_chain import kinematic_chain
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.turns import Turns
from flexarm_core.types import ArmState, Array, all_finite


@dataclass(frozen=True, slots=True)
class DynamicsBlocks:
    """Blocks of the equation of motion at one state.

    Attributes:
        H_b: (m, m) base inertia.
        H_bm: (m, n) inertia coupling matrix.
        H_m: (n, n) arm inertia.
        c_b: (m,) velocity and gravity terms of the base rows, from ``RNEA(q, v, 0)``.
        c_m: (n,) velocity and gravity terms of the arm rows, from ``RNEA(q, v, 0)``.
        dH_bm_qd: (m,) product ``dH_bm/dt qd`` for a base at rest, from RNEA without gravity.
    """

    H_b: Array
    H_bm: Array
    H_m: Array
    c_b: Array
    c_m: Array
    dH_bm_qd: Array


@dataclass(frozen=True, slots=True)
class ToolKinematics:
    """Kinematics of the tool frame, expressed in the inertial frame or in the frame of the base link.

    Attributes:
        position: (3,) position of the tool frame [m].
        rotation: (3, 3) rotation of the tool frame.
        velocity: (6,) twist ``[v; w]`` of the origin of the tool frame [m/s, rad/s].
        J_m: (6, n) Jacobian of the actuated joints.
        J_b: (6, m) Jacobian of the elastic joints; zero in the base link frame.
        dJ_v: (6,) product ``dJ/dt v``: classical acceleration of the tool frame for zero joint accelerations.
    """

    position: Array
    rotation: Array
    velocity: Array
    J_m: Array
    J_b: Array
    dJ_v: Array


class ArmModel:
    """Dynamics and kinematics of an arm, built from its robot description.

    Attributes:
        description: content of the robot description.
        joint_names: actuated joints, in the order of every (n,) vector.
        elastic_joint_names: elastic joints, in the order of every (m,) vector.
        tool_frame: link whose frame is the tool frame.
        world_frame: fixed root link.
        base_frame: base link, which carries the arm and is supported by the elastic joints.
        K_b: (m, m) stiffness of the elastic joints [N/m | N*m/rad].
        D_b: (m, m) damping of the elastic joints [N*s/m | N*m*s/rad].
        D_m: (n,) viscous joint damping of the URDF.
        armature: (n,) reflected rotor inertia [kg*m^2 | kg]. It is added to the diagonal of ``H_m`` and so is part of
            forward and inverse dynamics. The reaction of a rotor on the link that carries it is neglected: ``H_b``,
            ``H_bm`` and :meth:`wrench_on_base` do not contain the armature.
        mass: mass of all that the actuated joints move [kg].
        turns: differences of positions of the actuated joints.
        lower, upper, velocity_limit, effort_limit, acceleration_limit, jerk_limit: (n,) joint limits, infinite if there
            are none.
        fastest: (n,) velocities that the drives may reach: the limits of the URDF, which ``joint_limits`` may narrow.
        gravity: (3,) gravity vector in the root link frame [m/s^2].
        weighs: whether there is gravity.
        hand: (6, 6) spatial inertia of all links outboard of the last joint, in the tool frame [kg, kg*m, kg*m^2].
        spread: (k, n) matrix ``G`` from motions of the actuated joints to those of all joints of the arm: them, then
            the ones that follow them; None if no joint follows another.
        base_to_tool: chain from the base link to the tool, for joint positions (n,).
        world_to_tool: chain from the root link to the tool, for joint positions and base deflection (n + m,).
    """

    def __init__(
        self,
        description: RobotDescription | str,
        tool_frame: str = "",
        gravity: tuple[float, float, float] | Array = (0.0, 0.0, -9.81),
    ) -> None:
        """Build the model.

        Args:
            description: parsed description, or URDF text.
            tool_frame: link to use as tool; empty: ``tool0`` or the only tip link.
            gravity: (3,) gravity vector in the root link frame [m/s^2].

        Raises:
            RobotDescriptionError: the description is invalid or not supported; the message names the joint or link.
            InputError: gravity is not three finite numbers. All methods raise it for arguments of wrong shape or not
                finite.
        """
        if isinstance(description, str):
            description = parse_robot_description(description)
        self.description = expect("description", description, RobotDescription)
        self.gravity = finite("gravity", gravity, 3)
        self._seen: ArmState | None = None
        self.joint_names = description.actuated
        self.elastic_joint_names = tuple(joint.name for joint in description.elastic)
        self.n, self.m = len(self.joint_names), len(self.elastic_joint_names)
        self._shapes = ((self.n,), (self.n,), (self.m,), (self.m,))
        self.tool_frame = description.tool_frame(tool_frame)
        self.world_frame, self.base_frame = description.root, description.base_frame
        self.K_b = np.diag([joint.stiffness for joint in description.elastic]).reshape(self.m, self.m)
        self.D_b = np.diag([joint.damping for joint in description.elastic]).reshape(self.m, self.m)
        actuated = [description.joints[name] for name in self.joint_names]
        self.turns = Turns([joint.endless for joint in actuated])
        self.lower = np.array([joint.lower for joint in actuated])
        self.upper = np.array([joint.upper for joint in actuated])
        self.velocity_limit = np.array([joint.velocity_limit for joint in actuated])
        self.effort_limit = np.array([joint.effort_limit for joint in actuated])
        self.acceleration_limit = np.array([joint.acceleration_limit for joint in actuated])
        self.jerk_limit = np.array([joint.jerk_limit for joint in actuated])
        self.fastest = np.array([joint.fastest for joint in actuated])
        self.D_m = np.array([joint.damping for joint in actuated])
        self.armature = np.array([joint.armature for joint in actuated])
        self._build(self.gravity)

    def __repr__(self) -> str:
        name, g = self.description.name, ", ".join(f"{value:g}" for value in self.gravity)
        return f"ArmModel('{name}', tool '{self.tool_frame}', {self.n} joints, {self.m} elastic, gravity ({g}) m/s^2)"

    def _build(self, gravity: Array) -> None:
        try:
            model = pin.buildModelFromXML(self.description.text)
        except Exception as error:  # Boost.Python can translate any C++ exception
            raise RobotDescriptionError(f"Pinocchio cannot read the robot description: {error}") from error
        model.gravity.linear = gravity
        self._model = model
        following = self.description.coupled
        moving = (*self.joint_names, *[joint.name for joint in following])
        ids = {name: model.getJointId(name) for name in (*moving, *self.elastic_joint_names)}
        unknown = next((name for name, number in ids.items() if number >= model.njoints), None)
        if unknown is not None:
            raise RobotDescriptionError(f"Pinocchio finds no joint {unknown!r} in the robot description")
        self._actuated_v = np.array([model.joints[ids[name]].idx_v for name in self.joint_names])
        self._add_armature()
        self._moved_v = np.array([model.joints[ids[name]].idx_v for name in moving])
        self.spread: Array | None = None
        if following:
            self.spread = np.vstack((np.eye(self.n), np.zeros((len(following), self.n))))
            for row, joint in enumerate(following, self.n):
                self.spread[row, self.joint_names.index(joint.mimic)] = joint.multiplier
        self._weightless = model.copy()
        self._weightless.gravity.linear = np.zeros(3)
        self._data = model.createData()
        self._weightless_data = self._weightless.createData()
        self._elastic_v = np.array([model.joints[ids[name]].idx_v for name in self.elastic_joint_names], dtype=int)
        self.weighs = bool(gravity.any())
        self._rest, self._none = np.zeros(model.nv), np.zeros(self.m)
        # A continuous joint is (cos, sin) in Pinocchio's configuration, but a single coordinate in this class.
        names = (*moving, *self.elastic_joint_names)
        linear = [i for i, name in enumerate(names) if model.joints[ids[name]].nq == 1]
        circular = [i for i, name in enumerate(names) if model.joints[ids[name]].nq == 2]
        first_q = np.array([model.joints[ids[name]].idx_q for name in names])
        self._linear, self._linear_q = np.array(linear, dtype=int), first_q[linear]
        self._circular, self._circular_q = np.array(circular, dtype=int), first_q[circular]
        self._order = np.argsort(first_q)  # of [actuated; elastic] positions, used if no joint is circular
        self._order_v = np.argsort(np.concatenate((self._moved_v, self._elastic_v)))
        self._elastic_first = not circular and np.array_equal(self._order, np.roll(np.arange(len(names)), self.m))
        self._walk(ids)
        if not following:  # the articulated-body algorithm takes a coordinate for each joint
            axes = [self.description.joints[name].axis for name in names]
            self._tree = pack_constants(model, [ids[name] for name in names], axes, self.D_m, self.K_b, self.D_b)
            self._sweep, _ = allocate(view_sweep, len(names))

    def _walk(self, ids: dict[str, int]) -> None:
        """Build the kinematic chains of tool and base link, and find the first joint of every arm.

        Args:
            ids: Pinocchio's joint index of each joint name.
        """
        description = self.description
        self._world_to_base = kinematic_chain(description, self.base_frame, self.elastic_joint_names)
        seen: Array = np.eye(4)  # pose of the root link in the undeflected base link frame
        position, rotation = self.base_pose(self._none)
        seen[:3, :3], seen[:3, 3] = rotation.T, -rotation.T @ position
        self.base_to_tool = kinematic_chain(description, self.tool_frame, self.joint_names, seen)
        coordinates = (*self.joint_names, *self.elastic_joint_names)
        self.world_to_tool = kinematic_chain(description, self.tool_frame, coordinates)
        movable = set(self._moved_v)
        moved = (j for j in range(1, self._model.njoints) if self._is_moved(j, movable))
        self.mass = float(sum(self._model.inertias[j].mass for j in moved))
        frame = self._model.frames[self._model.getFrameId(self.tool_frame)]
        self.hand: Array = frame.placement.actInv(self._model.inertias[frame.parentJoint]).matrix()
        self._arms = [
            (
                ids[name],
                self.joint_names.index(joint.driver),
                joint.multiplier,
                kinematic_chain(description, joint.child, (joint.driver,), seen).links,
            )
            for name, joint in description.joints.items()
            if joint.driver in self.joint_names and not self._has_actuated_ancestor(ids[name], movable)
        ]

    def _add_armature(self) -> None:
        if not self.armature.any():
            return
        if not hasattr(self._model, "armature"):  # otherwise setting it would silently have no effect
            raise RobotDescriptionError(
                f"joint '{self.joint_names[int(self.armature.argmax())]}' has an armature, which Pinocchio"
                f" {pin.__version__} does not know: it takes version 3 or later"
            )
        armature = np.zeros(self._model.nv)
        armature[self._actuated_v] = self.armature
        self._model.armature = armature

    def _is_moved(self, joint: int, actuated_v: set[int]) -> bool:
        return self._model.joints[joint].idx_v in actuated_v or self._has_actuated_ancestor(joint, actuated_v)

    def _has_actuated_ancestor(self, joint: int, actuated_v: set[int]) -> bool:
        parent = self._model.parents[joint]
        while parent:
            if self._model.joints[parent].idx_v in actuated_v:
                return True
            parent = self._model.parents[parent]
        return False

    def configuration(self, position: Array, deflection: Array) -> Array:
        """Return Pinocchio's configuration vector for joint positions (n,) and base deflection (m,)."""
        return self._configuration(finite("position", position, self.n), finite("deflection", deflection, self.m))

    def _configuration(self, position: Array, deflection: Array) -> Array:
        if self.spread is not None:
            position = self.spread @ position
        if self._elastic_first:
            return np.concatenate((deflection, position))
        angles = np.concatenate((position, deflection))
        if not self._circular.size:
            ordered: Array = angles[self._order]
            return ordered
        q = np.empty(self._model.nq)
        q[self._linear_q] = angles[self._linear]
        q[self._circular_q] = np.cos(angles[self._circular])
        q[self._circular_q + 1] = np.sin(angles[self._circular])
        return q

    def velocity(self, velocity: Array, rate: Array) -> Array:
        """Return Pinocchio's velocity (or acceleration) vector for joint (n,) and base (m,) velocities."""
        return self._velocity(finite("velocity", velocity, self.n), finite("rate", rate, self.m))

    def _velocity(self, velocity: Array, rate: Array) -> Array:
        if self.spread is not None:
            velocity = self.spread @ velocity
        if self._elastic_first:
            return np.concatenate((rate, velocity))
        v: Array = np.concatenate((velocity, rate))[self._order_v]
        return v

    def _driven(self, force: Array) -> Array:
        """Return the part (n, ...) of Pinocchio's forces, or of rows of them, that acts on the driven joints."""
        found: Array = force[self._moved_v]
        return found if self.spread is None else self.spread.T @ found

    def check_state(self, state: ArmState) -> None:
        """Raise InputError unless the state has the shapes of this arm and finite numbers.

        If the same object was checked by the previous call, the check is skipped.
        """
        if state is self._seen:
            return
        expect("state", state, ArmState)
        q, v, x, rate = state.position, state.velocity, state.deflection, state.deflection_rate
        usual = type(q) is type(v) is type(x) is type(rate) is np.ndarray and q.dtype is v.dtype is x.dtype is FLOAT
        usual = usual and rate.dtype is FLOAT and (q.shape, v.shape, x.shape, rate.shape) == self._shapes
        if usual and all_finite(q, v, x, rate):
            self._seen = state
            return
        for name, size in (("position", self.n), ("velocity", self.n)):
            self._check_part(name, getattr(state, name), size)
        for name, size in (("deflection", self.m), ("deflection_rate", self.m)):
            self._check_part(name, getattr(state, name), size)
        self._seen = state

    @staticmethod
    def _check_part(name: str, value: Array, size: int) -> None:
        finite(name, value, size)
        if type(value) is not np.ndarray or value.dtype != FLOAT:
            raise InputError(f"{name} of a state must be a float64 array of shape ({size},), no {type(value).__name__}")

    def blocks(self, state: ArmState, out: DynamicsBlocks | None = None) -> DynamicsBlocks:
        """Return the blocks of the equation of motion, from ``H = CRBA(q)`` and ``c = RNEA(q, v, 0)``.

        Args:
            state: state of arm and base.
            out: blocks to be overwritten and returned; None: new ones.
        """
        self.check_state(state)
        q = self._configuration(state.position, state.deflection)
        v = self._velocity(state.velocity, state.deflection_rate)
        if out is None:
            n, m = self.n, self.m
            matrices = np.empty((m, m)), np.empty((m, n)), np.empty((n, n))
            out = DynamicsBlocks(*matrices, np.empty(m), np.empty(n), np.empty(m))
        H, c = pin.crba(self._model, self._data, q), pin.rnea(self._model, self._data, q, v, self._rest)
        if self.spread is None:
            split_matrix(H, self._elastic_v, self._actuated_v, out.H_b, out.H_bm, out.H_m)
            split_vector(c, self._elastic_v, self._actuated_v, out.c_b, out.c_m)
        else:
            G, k = self.spread, len(self.spread)
            H_bm, H_m, c_m = np.empty((self.m, k)), np.empty((k, k)), np.empty(k)
            split_matrix(H, self._elastic_v, self._moved_v, out.H_b, H_bm, H_m)
            split_vector(c, self._elastic_v, self._moved_v, out.c_b, c_m)
            out.H_bm[:], out.H_m[:], out.c_m[:] = H_bm @ G, G.T @ H_m @ G, G.T @ c_m
        out.dH_bm_qd[:] = out.c_b
        if self.weighs or state.deflection_rate.dot(state.deflection_rate) > 0.0:
            v[self._elastic_v] = 0.0
            out.dH_bm_qd[:] = pin.rnea(self._weightless, self._weightless_data, q, v, self._rest)[self._elastic_v]
        return out

    def weight(self, state: ArmState) -> Array:
        """Return the gravity terms (m,) of the base rows, ``RNEA(q, 0, 0)`` [N | N*m]."""
        self.check_state(state)
        if not self.weighs:
            return self._none
        q = self._configuration(state.position, state.deflection)
        gravity: Array = pin.computeGeneralizedGravity(self._model, self._data, q)[self._elastic_v]
        return gravity

    def tool_kinematics(self, state: ArmState, frame: str) -> ToolKinematics:
        """Return pose, twist, Jacobians and bias acceleration of the tool.

        Args:
            state: state of arm and base.
            frame: ``world_frame`` (includes the motion of the base) or ``base_frame`` (relative to the base link).

        Raises:
            InputError: the frame is neither of the two.
        """
        if self._in_world(state, frame):
            q = np.concatenate((state.position, state.deflection))
            v = np.concatenate((state.velocity, state.deflection_rate))
            position, rotation, twist, J, bias = self.world_to_tool.motion_of(q, v)
            J_m, J_b = J[:, : self.n].copy(), J[:, self.n :].copy()
        else:  # relative to the base link, the base does not move
            position, rotation, twist, J_m, bias = self.base_to_tool.motion_of(state.position, state.velocity)
            J_b = np.zeros((6, self.m))
        return ToolKinematics(position, rotation, twist, J_m, J_b, bias)

    def tool_pose(self, state: ArmState, frame: str) -> tuple[Array, Array]:
        """Return position (3,) [m] and rotation (3, 3) of the tool; arguments and errors of :meth:`tool_kinematics`."""
        if self._in_world(state, frame):
            return self.world_to_tool.pose_of(np.concatenate((state.position, state.deflection)))
        return self.base_to_tool.pose_of(state.position)

    def _in_world(self, state: ArmState, frame: str) -> bool:
        """Check a state, and return whether a frame of the tool is the world; raise InputError if it is none."""
        self.check_state(state)
        if frame not in (self.world_frame, self.base_frame):
            raise InputError(f"frame '{frame}' is not usable; valid: '{self.world_frame}', '{self.base_frame}'")
        return frame == self.world_frame

    def base_pose(self, deflection: Array) -> tuple[Array, Array]:
        """Return position (3,) [m] and rotation (3, 3) of the base link in the root link frame for a deflection."""
        deflection = finite("deflection", deflection, self.m)
        return self._world_to_base.pose_of(deflection)

    def base_acceleration(self, blocks: DynamicsBlocks, state: ArmState, acceleration: Array) -> Array:
        """Return the base acceleration (m,) for joint accelerations (n,), from the base rows of the dynamics."""
        self.check_state(state)
        acceleration = finite("acceleration", acceleration, self.n)
        expect("blocks", blocks, DynamicsBlocks)
        load = self.D_b @ state.deflection_rate + self.K_b @ state.deflection + blocks.c_b + blocks.H_bm @ acceleration
        return -np.linalg.solve(blocks.H_b, load).astype(np.float64, copy=False)

    def inverse_dynamics(self, blocks: DynamicsBlocks, state: ArmState, acceleration: Array) -> Array:
        """Return the efforts (n,) that cause the joint accelerations (n,) on the elastic base.

        ``tau = H_m qdd + H_bm^T xdd_b + c_m + D_m qd`` with ``xdd_b`` from :meth:`base_acceleration`.
        """
        acceleration = finite("acceleration", acceleration, self.n)
        base = self.base_acceleration(blocks, state, acceleration)
        return blocks.H_m @ acceleration + blocks.H_bm.T @ base + blocks.c_m + self.D_m * state.velocity

    def effort_on_resting_base(self, state: ArmState, acceleration: Array) -> Array:
        """Return the efforts (n,) for joint accelerations (n,) while the base does not accelerate.

        ``tau = H_m qdd + c_m + D_m qd``: the joint rows of ``RNEA(q, v, [qdd; 0])``.
        """
        self.check_state(state)
        acceleration = finite("acceleration", acceleration, self.n)
        q = self._configuration(state.position, state.deflection)
        v = self._velocity(state.velocity, state.deflection_rate)
        load = pin.rnea(self._model, self._data, q, v, self._velocity(acceleration, self._none))
        return self._driven(load) + self.D_m * state.velocity

    def forward_dynamics(self, state: ArmState, effort: Array) -> Array:
        """Return the joint accelerations that efforts, (n,) or rows of (k, n), cause on the elastic base.

        This is the inverse of :meth:`inverse_dynamics`, by the articulated-body algorithm, or with joints that follow
        others by the equation of motion of the driven ones. Spring and damper forces are applied as efforts of the
        elastic joints.
        """
        self.check_state(state)
        several = type(effort) is np.ndarray and effort.ndim == 2
        rows = len(effort) if several else 1
        effort = finite("effort", effort, rows, self.n) if several else finite("effort", effort, self.n)
        if self.spread is not None:
            return self._solved(state, effort)
        parts = (state.position, state.deflection, state.velocity, state.deflection_rate, effort.ravel())
        found: Array = np.empty((rows, self.n))
        accelerate(self._tree, self._sweep, np.concatenate(parts), found)
        return found if several else found[0]

    def _solved(self, state: ArmState, effort: Array) -> Array:
        """Return the joint accelerations that efforts, (n,) or rows of (k, n), cause."""
        blocks = self.blocks(state)
        base = self.D_b @ state.deflection_rate + self.K_b @ state.deflection + blocks.c_b
        joints = effort - blocks.c_m - self.D_m * state.velocity
        forces = np.concatenate((np.broadcast_to(-base, (*effort.shape[:-1], self.m)), joints), axis=-1)
        H = np.block([[blocks.H_b, blocks.H_bm], [blocks.H_bm.T, blocks.H_m]])
        return np.ascontiguousarray(np.linalg.solve(H, forces.T).T[..., self.m :])

    def gravity_effort(self, state: ArmState) -> Array:
        """Return the efforts (n,) that compensate gravity at rest."""
        self.check_state(state)
        q = self._configuration(state.position, state.deflection)
        return self._driven(pin.computeGeneralizedGravity(self._model, self._data, q))

    def wrench_on_base(self, state: ArmState, acceleration: Array, base_acceleration: Array) -> Array:
        """Return the wrench (6,) ``[f; n]`` that the arm exerts on the base link, at its origin and in its axes.

        It is the sum of the wrenches through the first actuated joint of every arm, from RNEA with the given joint (n,)
        and base (m,) accelerations, including gravity.
        """
        self.check_state(state)
        acceleration = finite("acceleration", acceleration, self.n)
        base_acceleration = finite("base_acceleration", base_acceleration, self.m)
        q = self._configuration(state.position, state.deflection)
        v = self._velocity(state.velocity, state.deflection_rate)
        pin.rnea(self._model, self._data, q, v, self._velocity(acceleration, base_acceleration))
        total = np.zeros(6)
        forces = self._data.f
        for joint, place, ratio, links in self._arms:
            # the joint exerts this wrench on its child link, expressed in the child frame
            take_off(links, ratio * state.position[place], forces[joint].vector, total)
        return total

    def natural_frequencies(self, state: ArmState) -> Array:
        """Return the natural frequencies w (m,) of the base with locked joints, ascending [rad/s].

        They solve ``(K_b + dg_b/dx) v = w^2 H_b v`` with the weight ``g_b`` at the given deflection ``x``: a mast that
        carries a load is softer, one that hangs is stiffer. Where the base falls over, ``w`` is 0.
        """
        blocks, stiffness = self.blocks(state), self.K_b
        if self.weighs:
            q = self._configuration(state.position, state.deflection)
            slopes = pin.computeGeneralizedGravityDerivatives(self._model, self._data, q)
            stiffness = stiffness + slopes[np.ix_(self._elastic_v, self._elastic_v)]
        squares = np.linalg.eigvals(np.linalg.solve(blocks.H_b, stiffness)).real
        return np.sqrt(np.maximum(np.sort(squares), 0.0))

    def longest_period(self, state: ArmState) -> float:
        """Return the longest period of the base with locked joints, infinite where it falls over [s]."""
        slowest = float(self.natural_frequencies(state)[0])
        return 2.0 * math.pi / slowest if slowest > 0.0 else math.inf
