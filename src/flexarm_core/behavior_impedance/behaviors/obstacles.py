"""Obstacles: keeps every link away from spheres, boxes and half-spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape
from flexarm_core.behavior_impedance.avoidance.obstacle_guard import ObstacleGuard
from flexarm_core.behavior_impedance.avoidance.obstacles import obstacles_from_lists
from flexarm_core.behavior_impedance.avoidance.proximity import Proximity
from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting
from flexarm_core.types import Array


class Obstacles(Behavior):
    """Repels links from obstacles, first with the redundant joints, then also by moving the tool.

    The force of :mod:`avoidance_force` starts at the distance ``range`` and acts in the redundant space. Below
    ``tool_range`` a second force displaces the tool as well. A motion is rejected if the arm could no longer brake
    before it reaches the margin.
    """

    KIND = "obstacles"
    FORBIDS = True
    SETTINGS = (
        Setting("names", "string[]", [], "names of the obstacles to avoid; empty: none"),
        Setting("kinds", "string[]", [], "shape of each obstacle: sphere, box or half_space"),
        Setting("positions", "double[]", [],
            "position of each obstacle in the frame of the base link, x y z: its center, or a boundary point of a"
            " half-space", "m"),
        Setting("rpys", "double[]", [],
            "orientation of each obstacle as roll, pitch, yaw; empty: not rotated; the free side of a half-space is +z",
            "rad"),
        Setting("sizes", "double[]", [],
            "three sizes of each obstacle: radius 0 0 of a sphere, half side lengths of a box, 0 0 0 of a half-space",
            "m"),
        Setting("range", "double", 0.15,
            "distance of a link from an obstacle at which the redundant joints begin to yield", "m", 1e-3),
        Setting("tool_range", "double", 0.08,
            "distance of a link from an obstacle at which the tool also begins to yield; 0: it never does", "m", 0.0),
        Setting("margin", "double", 0.02,
            "smallest allowed distance from obstacles; motions after which the arm cannot brake in time are rejected",
            "m", 0.0),
        Setting("force", "double", 20.0,
            "repulsive force of an obstacle halfway between the start of repulsion and the margin", "N", 0.0),
        Setting("damping", "double", 20.0, "damping of a link that approaches an obstacle", "N*s/m", 0.0),
        Setting("ignored_links", "string[]", [],
            "links that may touch obstacles, such as a tool that works on one; empty: none"),
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        obstacles = obstacles_from_lists(*(settings[name] for name in ("names", "kinds", "positions", "rpys", "sizes")))
        influence, margin = settings["range"], settings["margin"]
        if not margin < influence or (settings["tool_range"] > 0.0 and not margin < settings["tool_range"]):
            raise ConfigError(f"margin {margin} m must lie below range and tool_range")
        shape = _without(arm.shape, settings["ignored_links"])
        profile = settings["force"], settings["damping"]
        self._near = Proximity(shape, arm.chain, obstacles, influence, margin, *profile)
        self._tool_range = settings["tool_range"]
        self._nearer = (
            Proximity(shape, arm.chain, obstacles, self._tool_range, margin, *profile) if self._tool_range else None
        )
        self._guard = ObstacleGuard(shape, arm.chain, arm.limits, obstacles, margin)
        self._distance, self._influence = np.inf, influence

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the efforts on the joints."""
        frames = self._near.frames_of(sample.position) if self._near.coupled else sample.frames
        self._distance = self._near.avoid(frames, sample.velocity, out.effort, out.effort_stiffness)
        if self._nearer is not None and self._distance < self._tool_range:
            self._nearer.avoid(frames, sample.velocity, out.yielding, out.yielding_stiffness)
        out.measure[0] = min(self._distance, 1e9)

    def admits(self, position: Array, velocity: Array, dt: float) -> bool:
        """Return whether the arm could still brake before it reaches the margin."""
        return self._guard.admits(position, velocity, dt)

    def note(self) -> str:
        """Return the nearest link and obstacle, if any is within range."""
        if not self._distance < self._influence:
            return "nothing near"
        link, obstacle = self._near.nearest
        return f"{link} is {self._distance:.3f} m from {obstacle}"


def _without(shape: ArmShape, ignored: list[str]) -> ArmShape:
    """Return the shape without the given links."""
    for link in ignored:
        if link not in shape.links:
            valid = ", ".join(dict.fromkeys(shape.links))
            raise ConfigError(f"ignored link '{link}' is none of those that move: {valid}")
    keep = [i for i, link in enumerate(shape.links) if link not in ignored]
    return ArmShape(np.ascontiguousarray(shape.capsules[keep]), tuple(shape.links[i] for i in keep))
