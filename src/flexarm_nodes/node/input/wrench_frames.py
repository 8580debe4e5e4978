"""WrenchFrames: wrenches that are given in any frame of the robot, transformed to that of the sensor.

A driver may report its wrench in another frame than the one in which the sensor measures: in a flange, in the base, or
in one of its own (``tool0_controller``). With the pose ``R, p`` of that frame in the sensor's, ``f_s = R f`` and
``n_s = R n + p x f_s``. If joints lie between the two, their positions are those of the joint state of the same stamp.
The pose of a frame that moves relative to every link is that of /tf at the stamp of the wrench, or nearest to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.kinematic_chain import KinematicChain, joints_inboard, kinematic_chain
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array
from flexarm_nodes.node.input.frame_tree import Chain, FrameTree

MOST_NAMED = 30  # frames in a message
OLDEST = 100_000_000  # [ns] largest difference of stamps between a wrench and the transform of its frame
SIGNS = re.compile(r"[+-]{6}")  # of force and moment


class NamedFrame(NamedTuple):
    """A frame that is named: its link, its pose (4, 4) in it, and the signs (6,) of wrenches that are given in it."""

    link: str
    pose: Array
    signs: Array


@dataclass(frozen=True, slots=True)
class MovingFrame:
    """A frame that joints move relative to the sensor.

    Attributes:
        to_sensor, to_frame: chains from the root link to both.
        pose: (4, 4) of the frame in the link at the end of its chain.
        elastic: number of elastic joints.
    """

    to_sensor: KinematicChain
    to_frame: KinematicChain
    pose: Array
    elastic: int

    def at(self, position: Array, deflection: Array | None) -> Array:
        """Return the pose (4, 4) in the sensor's frame at joint positions (n,); an unknown deflection (m,) is 0."""
        bent = np.zeros(self.elastic) if deflection is None else np.where(np.isfinite(deflection), deflection, 0.0)
        q = np.concatenate((position, bent))
        sensor, link = (_pose(chain, q) for chain in (self.to_sensor, self.to_frame))
        return np.linalg.solve(sensor, link @ self.pose).astype(np.float64, copy=False)


class Carried(NamedTuple):
    """A frame that moves relative to the nearest link: its name, the chain from that link, and that link."""

    frame: str
    chain: Chain
    on: MovingFrame


@dataclass(frozen=True, slots=True)
class WrenchElsewhere:
    """A wrench (6,) ``[f; n]`` in a frame that moves relative to the sensor."""

    frame: MovingFrame
    wrench: Array

    def in_sensor(self, position: Array, deflection: Array | None) -> Array:
        """Return it in the sensor's frame at joint positions (n,) and deflections (m,)."""
        return transformed(self.frame.at(position, deflection), self.wrench)


class WrenchFrames:
    """Frames in which wrenches of the sensors of an arm may be given.

    Attributes:
        wants_moving: whether a wrench has arrived in a frame that only /tf contains.
    """

    def __init__(self, model: ArmModel, named: Sequence[str] = (), prefix: str = "") -> None:
        """Know the links of an arm, and frames that are named.

        Args:
            model: the arm.
            named: further frames, see :func:`named_frames`.
            prefix: text in front of the names of links in TF.

        Raises:
            ConfigError: a frame is not written so, is a link, is named twice, or its link does not exist.
        """
        self._model, self._description = model, model.description
        self._sensors = {name: sensor.frame for name, sensor in self._description.force_torque_sensors.items()}
        self._named = named_frames(self._description.links, named)
        self._tree, self.wants_moving = FrameTree(prefix), False
        self._forget()

    def _forget(self) -> None:
        self._known = self._tree.changes
        self._placed: dict[tuple[str, str], Array | MovingFrame | Carried | None] = {
            (name, frame): None for name, frame in self._sensors.items() if frame not in self._named
        }

    def take_frames(self, message: Any, *, fixed: bool) -> None:
        """Take frames from /tf_static (``fixed``) or /tf (tf2_msgs/TFMessage).

        Raises:
            InputError: as of :meth:`FrameTree.take`.
        """
        try:
            self._tree.take(message, fixed=fixed)
        finally:
            if fixed or self._tree.changes != self._known:
                self._forget()

    def seen(self, sensor: str, frame: str, stamp: int, wrench: Array) -> Array | WrenchElsewhere:
        """Return a wrench (6,) of a stamp [ns] in the frame of a sensor, or with the frame that joints move.

        Raises:
            InputError: the frame is not known, a link that bends lies between it and the sensor, or /tf has no
                transform of the frame at the stamp.
        """
        key = sensor, frame
        if frame in self._named:
            wrench = self._named[frame].signs * wrench
        if key not in self._placed:
            self._placed[key] = self._place(sensor, frame)
        placed = self._placed[key]
        if placed is None:
            return wrench
        if isinstance(placed, Carried):
            return WrenchElsewhere(replace(placed.on, pose=self._told(placed, stamp)), wrench)
        return WrenchElsewhere(placed, wrench) if isinstance(placed, MovingFrame) else transformed(placed, wrench)

    def _told(self, carried: Carried, stamp: int) -> Array:
        """Return the pose (4, 4) of a frame in its link as /tf tells it at a stamp [ns], or nearest to it."""
        tree, chain = self._tree, carried.chain
        at = tree.common(chain, stamp)
        if abs(stamp - at) > OLDEST:
            raise InputError(
                f"wrench is in frame '{carried.frame}', and {tree.slowest(chain)} on /tf is"
                f" {abs(stamp - at) * 1e-9:.3f} s {'older' if at < stamp else 'newer'}, at most {OLDEST * 1e-9:g} s are"
                " accepted: publish it more often, with the clock of the wrench"
            )
        return tree.pose(chain, at)

    def _place(self, sensor: str, frame: str) -> Array | MovingFrame | Carried:
        description, home, tree = self._description, self._sensors[sensor], self._tree
        said = f"wrench is in frame '{frame}', sensor '{sensor}' measures in '{home}'"
        link, pose, _ = self._named.get(frame, (frame, np.eye(4), None))
        chain = None
        if link not in description.links and (found := tree.nearest(frame, description.links)) is not None:
            link, chain = found, tree.chain(found, frame)
            pose = np.eye(4) if tree.moving(chain) else tree.pose(chain, 0)
        if link not in description.links:
            self.wants_moving = True
            known = [*self._named, *description.links]
            more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
            raise InputError(
                f"{said}; known frames: {', '.join(known[:MOST_NAMED])}{more}; others are named in wrench_frames,"
                " fixed to a link on /tf_static, or moved on /tf"
            )
        paths = [joints_inboard(description, end, description.root) for end in (home, link)]
        between = {joint.name: joint for path in paths for joint in path}
        for name in {joint.name for joint in paths[0]} & {joint.name for joint in paths[1]}:
            del between[name]
        bends = [joint.parent for joint in between.values() if joint.parent in description.flexible_links]
        if bends:
            raise InputError(f"{said}, and link '{bends[0]}' bends between them: give the wrench in '{home}'")
        coordinates = (*self._model.joint_names, *self._model.elastic_joint_names)
        to_sensor, to_frame = (kinematic_chain(description, end, coordinates) for end in (home, link))
        moving = MovingFrame(to_sensor, to_frame, pose, self._model.m)
        if chain is not None and tree.moving(chain):
            return Carried(frame, chain, moving)
        if any(joint.kind != "fixed" for joint in between.values()):
            return moving
        return moving.at(np.zeros(self._model.n), None)


def named_frames(links: Collection[str], named: Sequence[str]) -> dict[str, NamedFrame]:
    """Return every frame that is named.

    Args:
        links: those of the arm.
        named: frames as ``NAME=LINK``, or ``NAME=LINK x y z roll pitch yaw`` with the pose of the frame in the link
            [m, rad]. Six signs may follow, such as ``++-++-``, with which the components of the wrench are multiplied:
            for sensors with left-handed axes, or with moments of another sense. With signs, NAME may be a link.

    Raises:
        ConfigError: a frame is not written so, is a link, is named twice, or its link does not exist.
    """
    frames: dict[str, NamedFrame] = {}
    for text in named:
        name, link, pose, signs = _read(text)
        if (name in links and signs is None) or name in frames:
            raise ConfigError(f"wrench_frames: '{name}' is a link, or named twice")
        if link not in links:
            raise ConfigError(f"wrench_frames: '{text}' names no link; links: {', '.join(links)}")
        frames[name] = NamedFrame(link, pose, np.ones(6) if signs is None else signs)
    return frames


def transformed(pose: Array, wrench: Array) -> Array:
    """Return a wrench (6,) ``[f; n]`` in the frame in which its own has this pose (4, 4)."""
    force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
    x, y, z = pose[:3, 3]
    moment += (y * force[2] - z * force[1], z * force[0] - x * force[2], x * force[1] - y * force[0])
    return np.concatenate((force, moment))


def _pose(chain: KinematicChain, q: Array) -> Array:
    pose: Array = np.eye(4)
    pose[:3, 3], pose[:3, :3], *_ = chain.motion(q, np.zeros(len(q)))
    return pose


def _read(text: str) -> tuple[str, str, Array, Array | None]:
    """Return name, link, pose (4, 4) and signs (6,) of a frame that is named."""
    name, _, rest = text.partition("=")
    words, pose, signs = rest.split(), np.eye(4), None
    if words and SIGNS.fullmatch(words[-1]):
        signs = np.array([1.0 if sign == "+" else -1.0 for sign in words.pop()])
    try:
        numbers = [float(word) for word in words[1:]]
    except ValueError:
        numbers = [np.nan]
    if not name.strip() or len(numbers) not in (0, 6) or not words or not np.isfinite(numbers).all():
        raise ConfigError(
            f"wrench_frames: '{text}', expected NAME=LINK or NAME=LINK x y z roll pitch yaw [m, rad], and perhaps the"
            " signs of the six components, such as ++-++-"
        )
    if numbers:
        pose[:3, :3], pose[:3, 3] = roll_pitch_yaw_to_rotation(*numbers[3:]), numbers[:3]
    return name.strip().lstrip("/"), words[0], pose, signs
