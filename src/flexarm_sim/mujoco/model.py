"""The MuJoCo model of a RobotDescription: rigid bodies, springs and sensors of the simulated plant.

There is one body per link (``link/NAME``; the root link is MuJoCo's ``world``). Fixed links are welded bodies, so that
a sensor may be on any of them. A link whose center of mass is not at its origin gets a massless welded body
``origin/NAME`` at that origin: MuJoCo applies external wrenches at the center of mass of a body, and for this body that
is the origin of the link in every stage of an integration step. Geometry has neither mass nor contact here and is left
out, except for the tool tip if there are surfaces (see ``contacts``). A flexible link is a chain of bodies;
``link/NAME`` is the inboard one (see ``beam``). The link of an elastic drive has two joints about the same axis: that
of the motor, with its armature, and the spring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError, RobotDescriptionError
from flexarm_core.robot.description import ElasticJoint, Joint, Link, RobotDescription
from flexarm_sim.beam_chain import BeamChain
from flexarm_sim.contacts import add_surfaces
from flexarm_sim.mujoco.beam import HINGE, SLIDE, add_chain, add_dampers
from flexarm_sim.mujoco.follower_rotors import add_follower_rotors, deflection_joint, leaders
from flexarm_sim.mujoco.inertia import MINIMUM_INERTIA, quaternion, set_inertia
from flexarm_sim.surfaces import Surface, check_surfaces
from flexarm_sim.validation import is_number

SITE = mujoco.mjtObj.mjOBJ_SITE
TOOL_SITE = "tool"
SPECK = 1e-9, np.full(3, MINIMUM_INERTIA)  # mass and moments of inertia of a body without any
RIGID = 0.9999  # the most: share of a coupling's force that a joint which follows another one gets at once


def link_body(description: RobotDescription, link: str) -> str:
    """Return the name of the body that moves with a link and has its frame."""
    return "world" if link == description.root else f"link/{link}"


def wrench_body(description: RobotDescription, link: str) -> str:
    """Return the name of the body whose center of mass is the origin of a link: external wrenches act there."""
    return f"origin/{link}" if _needs_origin_body(description, link) else link_body(description, link)


def sensor_site(sensor: str) -> str:
    """Return the name of the site at which a force/torque sensor measures."""
    return f"sensor/{sensor}"


def imu_site(imu: str) -> str:
    """Return the name of the site at which an IMU measures."""
    return f"imu/{imu}"


def build_model(
    description: RobotDescription,
    *,
    tool_frame: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    timestep: float = 0.00025,
    hard_stops: bool = False,
    chains: Mapping[str, BeamChain] | None = None,
    surfaces: Sequence[Surface] = (),
    tip_radius: float = 0.015,
) -> mujoco.MjModel:
    """Build the compiled model of a robot.

    Damping and friction of actuated joints are taken from ``<dynamics>``, together with their armature. Elastic joints
    get the stiffness and damping of their ``<elastic_joint>`` tag, which replaces ``<dynamics damping>`` there. A joint
    that follows another one is held to it by an equality constraint.

    Args:
        description: the robot.
        tool_frame: link of the tool, empty for ``tool0`` or the only tip.
        gravity: (3,) gravity in axes of the root link [m/s^2].
        timestep: integration step [s].
        hard_stops: whether joints stop at the position limits of the description.
        chains: flexible links by name; all others are rigid.
        surfaces: surfaces that the tool tip can touch.
        tip_radius: radius of the sphere around the tool frame's origin that touches them [m].

    Returns:
        The compiled model.

    Raises:
        ConfigError: gravity is not three finite numbers, the timestep is not positive, or two surfaces have one name.
        RobotDescriptionError: unknown tool frame, a sensor on the root link, an inertia that is not physical, or what
            else MuJoCo cannot simulate.
    """
    if len(gravity) != 3 or not all(is_number(component) for component in gravity):
        raise ConfigError(f"gravity is {gravity}, expected three finite numbers [m/s^2] in axes of the root link")
    if not (is_number(timestep) and timestep > 0.0):
        raise ConfigError(f"timestep is {timestep}, expected a positive number [s]")
    check_surfaces(surfaces, tip_radius)
    chains = chains or {}
    spec = mujoco.MjSpec()
    spec.modelname = description.name
    spec.compiler.degree = False
    spec.option.timestep, spec.option.gravity = timestep, gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    # automatic resets would hide a divergence; all contacts belong to one island
    flag = mujoco.mjtDisableBit
    spec.option.disableflags = flag.mjDSBL_AUTORESET | (flag.mjDSBL_ISLAND if surfaces else flag.mjDSBL_CONTACT)
    try:
        bodies = _add_bodies(description, spec.worldbody, hard_stops, chains)
        tool = bodies[description.tool_frame(tool_frame)]
        tool.add_site(name=TOOL_SITE)
        if surfaces:
            add_surfaces(spec, tool, surfaces, tip_radius)
        add_dampers(chains, spec)
        for joint in description.coupled:
            tendon = spec.add_tendon(name=f"follow/{joint.name}")
            tendon.wrap_joint(joint.name, 1.0)
            for leader in leaders(description, joint):
                tendon.wrap_joint(leader, -joint.multiplier)
            spec.add_equality(
                name=joint.name,
                type=mujoco.mjtEq.mjEQ_TENDON,
                objtype=mujoco.mjtObj.mjOBJ_TENDON,
                name1=tendon.name,
                solref=(2.0 * timestep, 1.0),
                solimp=(RIGID, RIGID, 1e-3, 0.5, 2.0),
            )
        for name in description.actuated:
            spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)  # its default is a motor
        _add_sensors(description, spec, bodies)
        model = spec.compile()
    except FlexarmError:
        raise
    except ValueError as error:
        raise RobotDescriptionError(f"MuJoCo cannot simulate robot '{description.name}': {error}") from error
    if description.coupled:
        add_follower_rotors(description, model)
    return model


def _is_massless(link: Link) -> bool:
    return link.mass == 0.0 and not link.inertia.any()


def _needs_origin_body(description: RobotDescription, name: str) -> bool:
    link = description.links[name]
    if name in description.flexible_links:
        return True  # the center of mass of its inboard piece is not that of the link
    return name != description.root and not _is_massless(link) and bool(link.center_of_mass.any())


def _add_bodies(
    description: RobotDescription, world: mujoco.MjsBody, hard_stops: bool, chains: Mapping[str, BeamChain]
) -> dict[str, mujoco.MjsBody]:
    elastic, drives = {joint.name: joint for joint in description.elastic}, description.elastic_drives
    pieces: dict[str, list[mujoco.MjsBody]] = {}
    bodies = {description.root: world}
    for joint in description.joints.values():  # parents come before children
        transform = joint.transform_child_to_parent
        carrier, position = bodies[joint.parent], transform[:3, 3]
        if joint.parent in chains:
            chain = chains[joint.parent]
            piece = chain.piece_at(position)
            carrier, position = pieces[joint.parent][piece], position - chain.start_of(piece)
        body = carrier.add_body(
            name=link_body(description, joint.child), pos=position, quat=quaternion(transform[:3, :3])
        )
        bodies[joint.child] = body
        link = description.links[joint.child]
        if link.name in chains:
            pieces[link.name] = add_chain(chains[link.name], link, body)
        else:
            set_inertia(body, link.name, link.mass, link.center_of_mass, link.inertia)
        if joint.mimic and _is_massless(link):  # MuJoCo demands something of every body that a joint moves
            body.mass, body.inertia = SPECK
        if joint.kind != "fixed":
            _add_joint(joint, elastic.get(joint.name), body, hard_stops)
        if link.name in drives:  # a second joint about the same axis
            drive = drives[link.name]
            body.add_joint(
                name=deflection_joint(link.name),
                type=SLIDE if drive.slides else HINGE,
                axis=drive.axis,
                stiffness=drive.stiffness,
                damping=drive.damping,
            )
        if _needs_origin_body(description, joint.child):
            body.add_body(name=wrench_body(description, joint.child))
    return bodies


def _add_joint(joint: Joint, spring: ElasticJoint | None, body: mujoco.MjsBody, hard_stops: bool) -> None:
    stops = hard_stops and np.isfinite(joint.lower) and np.isfinite(joint.upper)
    body.add_joint(
        name=joint.name,
        type=SLIDE if joint.kind == "prismatic" else HINGE,
        axis=joint.axis,
        stiffness=spring.stiffness if spring else 0.0,
        damping=spring.damping if spring else joint.damping,
        armature=joint.armature,
        frictionloss=joint.friction,
        range=(joint.lower, joint.upper) if stops else (0.0, 0.0),  # zeros: none
    )


def _add_sensors(description: RobotDescription, spec: mujoco.MjSpec, bodies: Mapping[str, mujoco.MjsBody]) -> None:
    kinds = mujoco.mjtSensor
    for sensor in description.force_torque_sensors.values():
        if sensor.frame == description.root:
            raise RobotDescriptionError(
                f"sensor '{sensor.name}' sits on the root link '{sensor.frame}', through which no wrench passes:"
                " name a link that is the child of a joint"
            )
        site = bodies[sensor.frame].add_site(name=sensor_site(sensor.name)).name
        spec.add_sensor(name=f"force/{sensor.name}", type=kinds.mjSENS_FORCE, objtype=SITE, objname=site)
        spec.add_sensor(name=f"torque/{sensor.name}", type=kinds.mjSENS_TORQUE, objtype=SITE, objname=site)
    for imu in description.imus.values():
        site = bodies[imu.frame].add_site(name=imu_site(imu.name)).name
        spec.add_sensor(name=f"accelerometer/{imu.name}", type=kinds.mjSENS_ACCELEROMETER, objtype=SITE, objname=site)
        spec.add_sensor(name=f"gyro/{imu.name}", type=kinds.mjSENS_GYRO, objtype=SITE, objname=site)
