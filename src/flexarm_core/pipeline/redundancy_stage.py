"""RedundancyStage: tool references, or the paths of a lead, to joint references with the redundancy solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.solver import RedundancySolver, RedundancyStatus
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.whole_reference import load_compiled, whole_reference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, CartesianReference, FlexibleSample, all_finite

HOLDING, STREAMING = "holding", "following references"
PLANNING, FOLLOWING, STOPPING = "planning a path", "following a path", "leaving a path"
REST = 1e-2  # [rad/s | m/s] measured velocity below which a joint that this stage does not lead counts as at rest


@dataclass(frozen=True, slots=True)
class PathSample:
    """Reference of the chain's joints at one stamp of a path.

    Attributes:
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        acceleration: (n,) joint accelerations [rad/s^2 | m/s^2].
        status: status of the redundancy resolution.
        fraction: completed fraction of the path, 0 to 1.
        activity: FOLLOWING or STOPPING.
    """

    position: Array
    velocity: Array
    acceleration: Array
    status: RedundancyStatus
    fraction: float
    activity: str


class Lead(Protocol):
    """Moves the joints along paths; tool references are not followed meanwhile.

    Attributes:
        activity: HOLDING: there is no path; PLANNING: there will be one; FOLLOWING or STOPPING.
    """

    activity: str

    def sample(self, stamp: int, measured: Array) -> PathSample | None:
        """Return the reference at a stamp [ns], None without a path; ``measured`` (n,) are joint positions."""

    def rest(self, stamp: int, position: Array | None) -> None:
        """Take note that the joints rest at ``position`` (n,) at a stamp without a path; None: they move."""

    def interrupt(self, reason: str) -> None:
        """Abandon the path: the motion restarts from the measured position."""


class RedundancyStage(Stage):
    """Follows a path of the lead, else the stream of tool references; else brakes and holds.

    Attributes:
        solver: redundancy solver of the arm's chain.
        place: (c,) indices of the chain's joints in the arm.
        lead: may move the joints along paths; None: there is none.
        leads: whether joint references command the arm; else only paths are followed, by another controller.
        activity: activity in the last sample: HOLDING, STREAMING, PLANNING, FOLLOWING or STOPPING.
        fraction: completed fraction of the path.
        measured: positions of all joints in the newest sample, None before any.
    """

    name = "ik_redundancy_solver"

    def __init__(
        self,
        model: ArmModel,
        solver: RedundancySolver,
        *,
        state_timeout: float = 0.08,
        reference_timeout: float = 0.08,
        streamed: bool = True,
        leads: bool = True,
    ) -> None:
        """Bind the stage to a solver.

        Args:
            model: arm model.
            solver: redundancy solver of the arm's chain.
            state_timeout: gap between samples after which the motion restarts from the measured state [s].
            reference_timeout: age of the newest tool reference at which a stream has ended [s].
            streamed: whether a stream of tool references is expected from the first sample on.
            leads: whether joint references command the arm.
        """
        self.solver, self.leads = solver, leads
        self.lead: Lead | None = None
        self._base, self._gap, self._elastic = BaseLink(model), state_timeout, model.m
        self._timeout, self._expects = reference_timeout, streamed
        self.place = np.array([model.joint_names.index(name) for name in solver.chain.joint_names])
        load_compiled()
        self.reset()

    def reset(self) -> None:
        """Wait for the first sample; a path ends."""
        self.solver.reset()
        if self.lead is not None:
            self.lead.interrupt("the motion begins anew")
        self.activity, self.fraction = HOLDING, 0.0
        self._status: RedundancyStatus | None = None
        self._solved = False  # whether the last sample followed a pose
        self._led: PathSample | None = None  # reference of the last sample, if the path goes on
        self._time: int | None = None  # stamp of the solver's state [ns]
        self._streamed = -1  # stamp of the newest tool reference that was followed [ns]
        self._expected: int | None = None  # stamp since which a stream is expected [ns]
        self._held: Array | None = None  # positions of joints that are not in the chain
        self.measured: Array | None = None
        self._turned: Array | None = None  # whole turns by which encoders report otherwise

    @property
    def needs(self) -> frozenset[str]:
        """The tool reference, while references are streamed: see :meth:`streams`."""
        return frozenset({"tool"})

    @property
    def status(self) -> RedundancyStatus | None:
        """Status of the redundancy resolution for the last sample; None: there was no pose, or it was unusable."""
        if self._status is None and self._solved:
            self._status = self.solver.status()
        return self._status

    @property
    def refusal(self) -> str:
        """Why tool references are not followed at present; empty: they are."""
        if not self.leads:
            return "output is 'trajectory': Cartesian references are not followed"
        activity = HOLDING if self.lead is None else self.lead.activity
        return "" if activity == HOLDING else f"Cartesian references are not followed while {activity}"

    @property
    def hindrance(self) -> str:
        """Why no path may begin at present; empty: one may."""
        if self._time is None:
            return "no joint state has come yet"
        return "a stream of Cartesian references is followed" if self.streams(self._time) else ""

    def as_reported(self, position: Array) -> Array:
        """Return positions (n,) of the chain in the turns in which the encoders report [rad | m]."""
        return position if self._turned is None else position + self._turned[self.place]

    def streams(self, stamp: int, newest: int = -1) -> bool:
        """Return whether tool references are streamed: then a sample waits for its own.

        Args:
            stamp: stamp of the sample [ns].
            newest: stamp of the newest tool reference, if one has arrived that no sample has used [ns].
        """
        newest = max(newest, self._streamed)
        if self._expects and self._pauses(stamp):
            self._expected = stamp if self._expected is None else self._expected
            newest = max(newest, self._expected)
        return newest >= 0 and abs(stamp - newest) * 1e-9 <= self._timeout and not self.refusal

    def update(self, tick: Tick) -> None:
        """Process one sample.

        Raises:
            InputError: a joint position or velocity is not finite.
        """
        tick.take_joints()
        sample, solver, lead, refusal = tick.sample, self.solver, self.lead, self.refusal
        self.measured, self._turned = sample.position, sample.turned
        measured = sample.position[self.place]
        if self._pauses(tick.stamp):
            self._begin(tick, measured)
        assert self._time is not None and self._held is not None
        dt, self._time, self._expected = (tick.stamp - self._time) * 1e-9, tick.stamp, None
        if tick.tool is not None and refusal:
            tick.remarks[self.name] = refusal
        led = None if lead is None else lead.sample(tick.stamp, measured)
        activity = HOLDING if lead is None else lead.activity
        self._status, self._solved = None, False
        if led is None:
            followed = self._step(tick, dt, None if refusal else tick.tool)
            self.activity, self.fraction = STREAMING if followed else activity, 0.0
        else:
            self._status, self.activity, self.fraction = led.status, led.activity, led.fraction
            if activity == HOLDING:  # the end of the path
                solver.begin(led.position)
        self._led = None if activity == HOLDING else led
        if lead is not None and self._led is None:
            lead.rest(tick.stamp, self._resting(sample, measured))
        joints = solver if led is None else led
        parts = joints.position, joints.velocity, joints.acceleration
        if self.leads:
            tick.give_joints(self.name, whole_reference(tick.stamp, self._held, self.place, *parts))

    def _pauses(self, stamp: int) -> bool:
        """Return whether the motion begins anew at this stamp [ns]."""
        return self._time is None or (stamp - self._time) * 1e-9 > self._gap

    def _begin(self, tick: Tick, measured: Array) -> None:
        """Start from the measured joint positions."""
        sample = tick.sample
        self.solver.begin(measured, sample.velocity[self.place])
        if self._time is not None:
            reason = f"no joint state for {(tick.stamp - self._time) * 1e-9:.3f} s"
            tick.remarks[self.name] = f"{reason}: set out anew from where the arm is"
            if self.lead is not None:
                self.lead.interrupt(reason)
        self._held, self._time, self._streamed, self._led = sample.position, tick.stamp, -1, None

    def _step(self, tick: Tick, dt: float, tool: CartesianReference | None) -> bool:
        """Follow a tool reference, or brake; return whether it was followed."""
        if self._led is not None:  # the path was given up
            self.solver.begin(self._led.position, self._led.velocity)
        if tool is not None:
            measured = tick.sample.deflection
            known = measured is not None and all_finite(measured)
            deflection = measured if measured is not None and known else np.zeros(self._elastic)
            try:
                pose = self._base.reference(tool, deflection)
                if dt > 0.0:
                    self.solver.follow(*pose, dt)
                self._streamed, self._solved = tool.stamp, dt > 0.0
                return True
            except InputError as error:
                tick.refused[self.name] = str(error)
        if dt > 0.0:
            self.solver.stop(dt)
        return False

    def _resting(self, sample: FlexibleSample, measured: Array) -> Array | None:
        """Return where the joints of the chain (n,) rest, None while they move."""
        if self.leads:
            return None if self.solver.velocity.any() else self.solver.position
        return measured if np.abs(sample.velocity[self.place]).max() <= REST else None
