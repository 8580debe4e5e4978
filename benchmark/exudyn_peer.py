"""The same flexible arms in Exudyn, an independent engine: the peer of the accuracy and speed figures.

Two formulations, neither of which shares an equation with ours:

``ffrf``
    floating frame of reference with modal reduction: absolute coordinates of every link's frame and its modal ones,
    tied by joint constraints with Lagrange multipliers. Nodes, lumped masses, modes, ``K`` and ``C`` are those of our
    ``ModalData``; the inertia integrals are Exudyn's. Any tree of revolute and fixed joints, in space.
``cable``
    absolute nodal coordinates (ANCF, Bernoulli-Euler), planar serial chains of beams along x whose joints turn about z:
    no modes and no small angles, hence with geometric stiffening and foreshortening.

As with us, a flexible link's ``<inertial>`` is that of the whole undeformed link: a hub is rigid at the clamped end.
"""

# ruff: noqa: E402
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

sys.exudynFast = True  # type: ignore[attr-defined]  # the build without range checks, if asked for before the import

import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813
import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from exudyn.rigidBodyUtilities import GetRigidBodyNode
from scipy.sparse import diags
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.description import Beam, Joint, Link, RobotDescription
from flexarm_core.types import Array

Torque = Callable[[float], Sequence[float]]  # time [s] -> (n,) [N*m], in the order of the actuated joints

CABLE_ELEMENTS = 20  # a link
CABLE_EA = 1e7  # where the beam has no axial stiffness: stretches by 1e-6 under 10 N [N]
# A node of a flexible link, and massless points beside it that show Exudyn its rotation, however far away they are [m].
SECTION = 0.01 * np.array([[0.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])


class Peer(NamedTuple):
    """An arm in Exudyn, assembled."""

    container: Any  # owns the system
    mbs: Any  # the system
    tip: int  # sensor of the tool frame's position


def slew_tip_trajectory(
    robot: RobotDescription, torque: Torque, duration: float, step: float, formulation: str = "ffrf"
) -> tuple[Array, Array]:
    """Motion of the tool frame under given joint torques, from rest at zero joint angles, without gravity.

    Returns:
        Times (T,) [s] and positions of the tool frame (T, 2) [m], one a step, the start included.
    """
    return tip_trajectory(build(robot, formulation, torque=torque), solver_settings(duration, step, 1e-6))


def build(
    robot: RobotDescription,
    formulation: str = "ffrf",
    position: Sequence[float] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, 0.0),
    torque: Torque | None = None,
    locked: bool = False,
) -> Peer:
    """Build an arm, undeformed and at rest, its joints at ``position`` (n,) [rad], under ``gravity`` (3,) [m/s^2].

    Raises:
        InputError: an unknown formulation, a joint that neither turns nor is fixed, a link the formulation cannot have.
    """
    formulations: dict[str, type[_Arm]] = {"ffrf": _FloatingFrames, "cable": _Cables}
    if formulation not in formulations:
        raise InputError(f"formulation '{formulation}' does not exist; formulations: {', '.join(formulations)}")
    for joint in robot.joints.values():
        if joint.kind == "prismatic" or (joint.kind != "fixed" and joint.name not in robot.actuated):
            raise InputError(f"joint '{joint.name}' is prismatic or elastic: the peer's joints are revolute or fixed")
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    angles = np.zeros(len(robot.actuated)) if position is None else position
    arm = formulations[formulation](mbs, robot, dict(zip(robot.actuated, angles, strict=True)), gravity)
    for joint in robot.joints.values():
        if joint.child in arm.bodies:
            arm.connect(joint, turns=joint.name in robot.actuated and not locked)
    if torque is not None:
        for index, name in enumerate(robot.actuated):
            arm.drive(robot.joints[name], torque, index)
    tool, kind = arm.marker(robot.tool_frame(), np.eye(4)), exu.OutputVariableType.Position
    sensor = items.SensorMarker(markerNumber=tool, outputVariableType=kind, storeInternal=True, writeToFile=False)
    tip = mbs.AddSensor(sensor)
    mbs.Assemble()
    return Peer(container, mbs, tip)


class _Arm:
    """Bodies and joints of an arm. A link without mass that is fixed to another one is a frame of that one."""

    out_of_plane = (1, 1, 1)  # whether joints constrain z and the rotations about x and y

    def __init__(self, mbs: Any, robot: RobotDescription, angles: dict[str, float], gravity: Sequence[float]) -> None:
        self.mbs, self.robot, self.gravity = mbs, robot, list(gravity)
        self.data = load_flexible_links(robot)
        self.pose, self.carrier = {robot.root: np.eye(4)}, {robot.root: (robot.root, np.eye(4))}
        for joint in robot.joints.values():
            turn = np.eye(4)
            turn[:3, :3] = Rotation.from_rotvec(joint.axis * angles.get(joint.name, 0.0)).as_matrix()
            self.pose[joint.child] = self.pose[joint.parent] @ joint.transform_child_to_parent @ turn
            body, frame = self.carrier[joint.parent]
            own = joint.kind != "fixed" or joint.child in self.data or robot.links[joint.child].mass > 0.0
            mounted = (body, frame @ joint.transform_child_to_parent)
            self.carrier[joint.child] = (joint.child, np.eye(4)) if own else mounted
        # Three angles need no constraint, but are singular where a link turns by 90 degrees about y.
        self.planar = all(abs(pose[2, 2] - 1.0) < 1e-9 for pose in self.pose.values()) and all(
            abs(robot.joints[name].axis[2]) > 1.0 - 1e-9 for name in angles
        )
        self.rotation = exu.NodeType.RotationRxyz if self.planar else exu.NodeType.RotationEulerParameters
        self.ground = mbs.AddObject(items.ObjectGround())
        origin = mbs.AddNode(items.NodePointGround())
        self.fixed = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=origin, coordinate=0))
        self.bodies: dict[str, int] = {}
        self.frames: dict[str, int] = {}  # ffrf: rigid-body node of a flexible link
        self.points: dict[str, list[int]] = {}  # ffrf: nodes of a flexible link that carry something
        self.elements: dict[str, list[int]] = {}  # cable: of a flexible link
        for link, (body, _) in self.carrier.items():
            if link == body and link != robot.root:
                self.bodies[link] = self.beam(link) if link in self.data else self.rigid(link)

    def beam(self, link: str) -> int:
        """Add a flexible link."""
        raise NotImplementedError

    def beam_marker(self, link: str, frame: Array) -> Any:
        """Marker at a frame (4, 4) of a flexible link."""
        raise NotImplementedError

    def connect(self, joint: Joint, turns: bool) -> None:
        """Add a joint."""
        axes = [1, 1, *self.out_of_plane, not turns]
        self.mbs.AddObject(items.ObjectJointGeneric(markerNumbers=self.joint_markers(joint), constrainedAxes=axes))

    def rigid(self, link: str) -> int:
        """Add a rigid link."""
        body, pose = self.robot.links[link], self.pose[link]
        c, J = body.center_of_mass, _about_origin(body)
        frame = GetRigidBodyNode(nodeType=self.rotation, position=pose[:3, 3], rotationMatrix=pose[:3, :3])
        node = self.mbs.AddNode(frame)
        six = [J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]]
        return self.weigh(items.ObjectRigidBody(mass=body.mass, inertia=six, centerOfMass=c, nodeNumber=node))

    def weigh(self, item: Any) -> int:
        """Add a body on which gravity acts."""
        body: int = self.mbs.AddObject(item)
        if any(self.gravity):
            mass = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
            self.mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=self.gravity))
        return body

    def marker(self, link: str, transform: Array) -> int:
        """Marker at a frame (4, 4) of a link."""
        body, offset = self.carrier[link]
        frame = offset @ transform
        rigid = self.bodies.get(body, self.ground)
        bends = body in self.data
        item = self.beam_marker(body, frame) if bends else items.MarkerBodyRigid(bodyNumber=rigid, localHT=frame)
        marker: int = self.mbs.AddMarker(item)
        return marker

    def place(self, joint: Joint) -> Array:
        """Where (3,) a joint is on its inboard body."""
        return np.asarray((self.carrier[joint.parent][1] @ joint.transform_child_to_parent)[:3, 3])

    def joint_markers(self, joint: Joint) -> list[int]:
        """Inboard and outboard marker of a joint, z along its axis."""
        frame = np.eye(4)
        frame[:3, :3] = Rotation.align_vectors([joint.axis], [[0.0, 0.0, 1.0]])[0].as_matrix()
        return [self.marker(joint.parent, joint.transform_child_to_parent @ frame), self.marker(joint.child, frame)]

    def drive(self, joint: Joint, torque: Torque, index: int) -> None:
        """Torque of a joint, and its reaction."""
        for marker, sign in zip(self.joint_markers(joint), (-1.0, 1.0), strict=True):
            load = items.LoadTorqueVector(markerNumber=marker, bodyFixed=True)
            load.loadVectorUserFunction = cast(Any, lambda mbs, t, _, sign=sign: [0.0, 0.0, sign * torque(t)[index]])
            self.mbs.AddLoad(load)


class _FloatingFrames(_Arm):
    def beam(self, link: str) -> int:
        data, pose = self.data[link], self.pose[link]
        if data.inertia.any():
            raise InputError(f"flexible link '{link}': its nodes have rotary inertia, the peer's are mass points")
        mesh = FEMinterface()
        mesh.nodes = {"Position": data.position}
        mesh.massMatrix = diags(np.repeat(data.mass, 3)).tocsr()
        mesh.stiffnessMatrix = 0.0 * mesh.massMatrix
        mesh.modeBasis = {"matrix": data.translation.reshape(-1, len(data.modes)), "type": "NormalModes"}
        body = ObjectFFRFreducedOrderInterface(mesh, rigidBodyNodeType=self.rotation)
        whole = self.robot.links[link]
        body.totalMass, body.chiU, body.inertiaLocal = whole.mass, whole.center_of_mass, _about_origin(whole)
        # The inertia integrals are done: from here on only the points where something is mounted are needed.
        mounted = [self.place(joint) for joint in self.robot.joints.values() if self.carrier[joint.parent][0] == link]
        nodes = self.points[link] = sorted({data.nearest_node(place) for place in mounted})
        turned = np.cross(data.rotation[nodes][:, None], SECTION[None, :, :, None], axisa=2, axisb=2, axisc=2)
        sections = (data.translation[nodes][:, None] + turned).reshape(-1, len(data.modes))
        body.xRef = np.concatenate([(data.position[nodes][:, None] + SECTION).ravel(), body.chiU])
        body.modeBasis = np.concatenate([sections, body.mPhitTPsi / body.totalMass])
        body.stiffnessMatrixReduced = data.stiffness
        added = body.AddObjectFFRFreducedOrder(self.mbs, positionRef=pose[:3, 3], rotationMatrixRef=pose[:3, :3])
        self.frames[link] = added["nRigidBody"]
        number: int = added["oFFRFreducedOrder"]
        if data.damping.any():
            damping = exu.MatrixContainer()
            damping.SetWithDenseMatrix(data.damping, useDenseMatrix=False)
            self.mbs.SetObjectParameter(number, "dampingMatrixReduced", damping)
        if any(self.gravity):
            # At the center of mass, a last point that moves as the body bends: the engine's own gravity load leaves out
            # the moment of the deformation about the link's origin, and energy is not conserved.
            center = self.mbs.AddMarker(_point(number, len(SECTION) * len(nodes)))
            force = [body.totalMass * component for component in self.gravity]
            self.mbs.AddLoad(items.LoadForceVector(markerNumber=center, loadVector=force))
        return number

    def beam_marker(self, link: str, frame: Array) -> Any:
        node = self.data[link].nearest_node(frame[:3, 3])
        if node == 0:
            return items.MarkerNodeRigid(nodeNumber=self.frames[link], localHT=frame)
        offset = frame.copy()
        offset[:3, 3] -= self.data[link].position[node]
        _, *beside = self.section(link, node)
        return items.MarkerSuperElementRigid(
            bodyNumber=self.bodies[link], localHT=offset, meshNodeNumbers=beside, weightingFactors=[0.25] * 4
        )

    def section(self, link: str, node: int) -> list[int]:
        """Exudyn's mesh nodes of a node: ``SECTION``."""
        first = len(SECTION) * self.points[link].index(node)
        return list(range(first, first + len(SECTION)))

    def connect(self, joint: Joint, turns: bool) -> None:
        """In the plane, a hinge of flexible links need not know rotations: a step takes 0.6 of the time."""
        body, place = self.carrier[joint.parent][0], self.place(joint)
        node = self.data[body].nearest_node(place) if body in self.data else 0
        hinged = self.planar and turns and node > 0 and joint.child in self.data
        if not hinged or np.abs(self.data[body].position[node] - place).max() > 1e-9:
            return super().connect(joint, turns)
        add, frame = self.mbs.AddMarker, self.frames[joint.child]
        inboard = add(_point(self.bodies[body], self.section(body, node)[0]))
        outboard = add(items.MarkerNodePosition(nodeNumber=frame))
        self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[inboard, outboard], constrainedAxes=[1, 1, 0]))
        for coordinate in (2, 3, 4):  # z, and the angles about x and y
            outboard = add(items.MarkerNodeCoordinate(nodeNumber=frame, coordinate=coordinate))
            self.mbs.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[self.fixed, outboard]))


def _about_origin(link: Link) -> Array:
    """(3, 3) moments of inertia of an undeformed link about its origin."""
    c = link.center_of_mass
    return np.asarray(link.inertia + link.mass * (c @ c * np.eye(3) - np.outer(c, c)))


def _point(body: int, mesh_node: int) -> Any:
    return items.MarkerSuperElementPosition(bodyNumber=body, meshNodeNumbers=[mesh_node], weightingFactors=[1.0])


class _Cables(_Arm):
    out_of_plane = (0, 0, 0)

    def beam(self, link: str) -> int:
        beam, pose = self.robot.flexible_links[link].beam, self.pose[link]
        if beam is None or not self.planar or np.abs(beam.transform_beam_to_link - np.eye(4)).max() > 1e-9:
            raise InputError(f"flexible link '{link}' is no beam along x in the x-y plane, which cables need")
        h, along = beam.length / CABLE_ELEMENTS, pose[:2, 0]
        nodes = [
            self.mbs.AddNode(items.NodePoint2DSlope1(referenceCoordinates=[*(pose[:2, 3] + i * h * along), *along]))
            for i in range(CABLE_ELEMENTS + 1)
        ]
        # Kelvin-Voigt: the wanted damping ratio in the link's first mode, more above.
        damping = 2.0 * beam.damping_ratio / np.sqrt(self.data[link].stiffness[0, 0]) * beam.EIz
        section: dict[str, Any] = {
            "massPerLength": beam.rho_A,
            "bendingStiffness": beam.EIz,
            "bendingDamping": damping,
            "axialStiffness": beam.EA or CABLE_EA,
            "useReducedOrderIntegration": 1,
        }
        elements = [items.ObjectANCFCable2D(length=h, nodeNumbers=list(pair), **section) for pair in pairwise(nodes)]
        self.elements[link] = [self.weigh(element) for element in elements]
        self.hub(link, beam)
        return self.elements[link][0]

    def hub(self, link: str, beam: Beam) -> None:
        """Fix to the clamped end what a link has beyond its beam: a disc about the joint."""
        whole, pose = self.robot.links[link], self.pose[link]
        mass = whole.mass - beam.rho_A * beam.length
        if mass > 1e-6 * whole.mass:
            inertia = _about_origin(whole)[2, 2] - beam.rho_A * beam.length**3 / 3.0
            place = [*pose[:2, 3], np.arctan2(pose[1, 0], pose[0, 0])]
            node = self.mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=place))
            body = self.weigh(items.ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node))
            ends = [(body, [0.0, 0.0, 0.0]), (self.elements[link][0], [0.0, 0.0, 0.0])]
            pair = [self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=b, localPosition=x)) for b, x in ends]
            self.mbs.AddObject(items.ObjectJointGeneric(markerNumbers=pair, constrainedAxes=[1, 1, 0, 0, 0, 1]))

    def beam_marker(self, link: str, frame: Array) -> Any:
        length, x = self.data[link].position[-1, 0], frame[0, 3]
        tip = abs(x - length) < 1e-9
        if np.abs(frame[1:3, 3]).max() > 1e-9 or not (tip or abs(x) < 1e-9):
            raise InputError(f"flexible link '{link}': a cable carries something at its ends only, not at x = {x} m")
        element = self.elements[link][-1 if tip else 0]
        local = [length / CABLE_ELEMENTS if tip else 0.0, 0.0, 0.0]
        return items.MarkerBodyRigid(bodyNumber=element, localPosition=local)

    def rigid(self, link: str) -> int:
        body, pose = self.robot.links[link], self.pose[link]
        c, place = body.center_of_mass, [*pose[:2, 3], np.arctan2(pose[1, 0], pose[0, 0])]
        node = self.mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=place))
        J = body.inertia[2, 2] + body.mass * c[:2] @ c[:2]
        return self.weigh(items.ObjectRigidBody2D(mass=body.mass, inertia=J, centerOfMass=c[:2], nodeNumber=node))


def solver_settings(duration: float, step: float, tolerance: float) -> Any:
    """The quickest that were found: generalized alpha, modified Newton, sparse solver, one thread, no file."""
    settings = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.endTime = duration
    integration.numberOfSteps = round(duration / step)
    integration.verboseMode = 0
    integration.generalizedAlpha.spectralRadius = 0.9
    integration.newton.useModifiedNewton = True
    integration.newton.modifiedNewtonContractivity = 0.3
    integration.newton.relativeTolerance = integration.newton.absoluteTolerance = tolerance
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = step
    return settings


def tip_trajectory(peer: Peer, settings: Any) -> tuple[Array, Array]:
    """Times (T,) [s] and positions (T, 2) [m] of the tip while the system is solved."""
    peer.mbs.SolveDynamic(settings)
    table = np.asarray(peer.mbs.GetSensorStoredData(peer.tip))
    return table[:, 0], table[:, 1:3]
