"""BehaviorStage: computes tool and joint references from behaviors and the tool wrench."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from flexarm_core.behavior_impedance.behaviors.path import Path
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.measured_map import MeasuredMap
from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.behavior_impedance.wrench.tool_calibration import ToolWeighing
from flexarm_core.compiled import kernel
from flexarm_core.entrance import numbers
from flexarm_core.errors import InputError
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.whole_reference import load_compiled, whole_reference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import ArmState, Array, CartesianReference, FlexibleSample, JointReference, all_finite

ALL_AXES = np.ones(6, dtype=bool)
RESUME = 0.5  # fraction of the tolerance below which a deviation that was reported is cleared


class BehaviorSource(Protocol):
    """Provides the behaviors of a controller, and changes them between two samples."""

    def begin(self) -> None:
        """Create every behavior again, and discard pending changes."""

    def renew(self) -> None:
        """Create every behavior again."""

    def due(self, stamp: int) -> list[str]:
        """Apply the changes that are due at the sample with this stamp [ns]; return why some were rejected."""


class JointDeviation:
    """Detects whether measured joints deviate from the commanded positions, with hysteresis.

    Attributes:
        tolerance: largest allowed deviation of a joint [rad | m].
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Monitor the joints with these names."""
        self._names, self.tolerance = tuple(names), np.inf
        self.reset()

    def reset(self) -> None:
        """Clear the deviation."""
        self._away = False

    def check(self, measured: Array, commanded: Array) -> str:
        """Compare measured (n,) and commanded (n,) joint positions [rad | m].

        Returns:
            Description of the largest deviation if it is out of tolerance, else an empty string.

        Raises:
            InputError: an array has another shape.
        """
        n = len(self._names)
        worst, off = _largest(numbers("measured", measured, n), numbers("commanded", commanded, n))
        self._away = off > (RESUME * self.tolerance if self._away else self.tolerance)
        if not self._away:
            return ""
        return f"joint '{self._names[worst]}' is {off:.3f} from where it should be, tolerance {self.tolerance}"


@kernel
def _largest(measured: Array, commanded: Array) -> tuple[int, float]:
    """Return the place and the size of the largest difference of two vectors (n,)."""
    worst, largest = 0, 0.0
    for i in range(measured.shape[0]):
        if abs(measured[i] - commanded[i]) > largest:
            worst, largest = i, abs(measured[i] - commanded[i])
    return worst, largest


class BehaviorStage(Stage):
    """Computes tool and joint references from behaviors, the tool wrench and a stream of tool references.

    Attributes:
        controller: behavior controller.
        wrenches: readings of the force/torque sensor at the tool.
        leads: whether joint references are given in addition to tool references.
        deviation: check that the joints follow their references.
        map: map at measured joint positions; None: at the commanded ones.
        external: (6,) wrench used for the last sample, None if there was no valid one [N, N*m].
        trouble: why the arm is brought to rest after a fault; empty: no fault.
        defect: traceback of an exception that a behavior raised in the last sample; empty: none.
        answered: stamp of the newest sample [ns], -1 before any.
        state: state of that sample, None before any.
        weighing: weighing of the tool that takes every sample; None: there is none.
    """

    name = "behavior_impedance_controller"

    def __init__(
        self,
        model: ArmModel,
        controller: BehaviorImpedanceController,
        behaviors: BehaviorSource,
        wrenches: ExternalWrench,
        *,
        leads: bool = True,
        state_timeout: float = 0.08,
        measured_map: MeasuredMap | None = None,
    ) -> None:
        """Bind the stage to a controller.

        Args:
            model: arm model.
            controller: behavior controller of the arm's chain.
            behaviors: source of the controller's behaviors.
            wrenches: external wrench at the tool.
            leads: whether joint references are given in addition to tool references.
            state_timeout: gap between samples after which the motion restarts from the measured state [s].
            measured_map: map at measured joint positions; None: at the commanded ones.
        """
        self.controller, self.wrenches, self.map = controller, wrenches, measured_map
        self._behaviors, self.leads, self._gap = behaviors, leads, state_timeout
        self._base, self._undeflected = BaseLink(model), np.zeros(model.m)
        chain = controller.arm.chain
        self._place = np.array([model.joint_names.index(name) for name in chain.joint_names])
        self.weighing: ToolWeighing | None = None
        self.deviation = JointDeviation(chain.joint_names)
        load_compiled()
        self.deviation.check(*np.zeros((2, chain.n)))  # loads the compiled code
        self.reset()

    @property
    def needs(self) -> frozenset[str]:
        """Behaviors move the arm without a reference; those that follow a stream stop without it."""
        return frozenset()

    @property
    def follows(self) -> bool:
        """Whether a behavior follows a stream of tool references."""
        return bool(self._followers())

    def reset(self) -> None:
        """Wait for the first sample; create every behavior again."""
        self.controller.reset()
        self._behaviors.begin()
        self.wrenches.reset()
        self.external: Array | None = None
        self.trouble, self.defect = "", ""
        self.answered = -1
        self.state: ArmState | None = None
        if self.weighing is not None:
            self.weighing.interrupt()

    def update(self, tick: Tick) -> None:
        """Process one sample; pass its wrench on, and the current tool reference to the behaviors that follow a stream.

        Raises:
            InputError: the state is not finite; nothing changes.
        """
        tick.take_joints()
        state = self._state_of(tick.sample)
        stamp, measured = state.stamp, state.position[self._place]
        self.trouble, self.defect = "", ""
        remarks = self._take(tick, state)
        gap = None if self.answered < 0 else (stamp - self.answered) * 1e-9
        fresh = gap is None or gap > self._gap
        if fresh:
            if gap is not None:
                self._behaviors.renew()
                remarks.append(f"no joint state for {gap:.3f} s: set out anew from where the arm is")
            self._begin(state)
        remarks += [f"behavior set refused: {reason}" for reason in self._behaviors.due(stamp)]
        self.external = self.wrenches.external(stamp, measured, state.deflection)
        if not fresh:
            self.trouble = self.deviation.check(measured, self.controller.solver.position)
            self._map(measured, (stamp - self.answered) * 1e-9)
            self._step(stamp, (stamp - self.answered) * 1e-9)
        self.answered, self.state = stamp, state
        if self.weighing is not None:
            fastest = float(np.abs(state.velocity).max())
            self.wrenches.weigh(self.weighing, stamp, measured, state.deflection, fastest)
        if remarks:
            tick.refused[self.name] = "; ".join(remarks)
        tick.give_tool(self.name, self._tool(stamp))
        if self.leads:
            tick.give_joints(self.name, self._joints(stamp))

    def zero(self) -> Array:
        """Tare the sensor: take the present wrench as that of a free tool; return the new bias (6,) [N, N*m].

        Raises:
            InputError: no sample has arrived yet, there is no valid reading, or the arm moves.
        """
        state = self.state
        if state is None:
            raise InputError("no joint state has come yet")
        speed = max(np.abs(state.velocity).max(), np.abs(self.controller.solver.velocity).max())
        return self.wrenches.zero(state.stamp, state.position[self._place], state.deflection, float(speed))

    def _state_of(self, sample: FlexibleSample) -> ArmState:
        """Return the state of a sample; its deflection is 0 if it is not measured, its deflection rate is not used."""
        still = self._undeflected
        deflection = still if sample.deflection is None else sample.deflection
        if not all_finite(sample.position, sample.velocity, deflection):
            raise InputError(f"the state is not finite: {sample.position}, {sample.velocity}, base {deflection}")
        return ArmState(sample.stamp, sample.position, sample.velocity, deflection, still)

    def _take(self, tick: Tick, state: ArmState) -> list[str]:
        """Take the wrench and the tool reference of a sample; return why they were rejected."""
        sensor, sample = self.wrenches.sensor, tick.sample
        refused = []
        try:
            if sensor in sample.wrenches:
                self.wrenches.take(sample.stamp, sample.wrenches[sensor])
            elif sensor in sample.other_wrenches:
                self.wrenches.take(*sample.other_wrenches[sensor])
        except InputError as error:
            refused.append(str(error))
        try:
            if tick.tool is not None and self.follows:
                self._give_reference(tick.tool, state)
        except InputError as error:
            refused.append(str(error))
        return refused

    def _followers(self) -> list[Path]:
        """Return the active path behaviors that follow a stream."""
        followers = []
        for active in self.controller.behaviors:
            if isinstance(active.behavior, Path) and active.spec.settings.get("source") == "stream":
                followers.append(active.behavior)
        return followers

    def _give_reference(self, reference: CartesianReference, state: ArmState) -> None:
        """Pass a tool reference, transformed to the base link frame, to the behaviors that follow a stream.

        Twist and acceleration are rotated into base link axes; the motion of the base link itself is not subtracted.
        The tracked axes are set by the law's parameter, not by the reference. A stamp later than that of the state is
        replaced by it, so that a stream that has stopped still times out if the sender's clock is ahead.

        Raises:
            InputError: the frame is unknown, the pose is not valid, or it jumps; the previous reference is kept.
        """
        position, rotation, _ = self._base.reference(replace(reference, axes=ALL_AXES), state.deflection)
        turn = rotation @ reference.rotation.T
        twist, acceleration = (
            (part.reshape(2, 3) @ turn.T).ravel() for part in (reference.velocity, reference.acceleration)
        )
        for behavior in self._followers():
            behavior.give(min(reference.stamp, state.stamp), position, rotation, twist, acceleration)

    def _begin(self, state: ArmState) -> None:
        """Start the motion from the measured state; joints that are not in the chain hold their positions."""
        self._held = state.position
        self.controller.begin(state.position[self._place], state.velocity[self._place])
        self.deviation.reset()
        if self.map is not None:
            self.map.reset()

    def _map(self, measured: Array, dt: float) -> None:
        """Compare measured joints with the commanded ones of the same moment; a fault keeps the offset."""
        if self.map is None:
            return
        if self.trouble:
            self.map.hold()
        else:
            self.map.update(measured, self.controller.solver.position, dt)

    def _step(self, stamp: int, dt: float) -> None:
        """Run one sample of the controller; a fault brings the arm to rest."""
        solver = self.controller.solver
        before = solver.position, solver.velocity, solver.acceleration
        try:
            self.controller.update(stamp, dt, self.external, self.trouble)
        except Exception as error:  # a behavior of another package may raise anything; the arm must not fall
            self.defect = traceback.format_exc()
            solver.position, solver.velocity, solver.acceleration = before
            self.trouble = f"a sample could not be computed: {type(error).__name__}: {error}"
            self.controller.update(stamp, dt, None, self.trouble)

    def _tool(self, stamp: int) -> CartesianReference:
        controller, out = self.controller, self.controller.output
        frame, axes = controller.arm.chain.base_frame, controller.axes
        return CartesianReference(stamp, frame, out.position, out.rotation, out.twist, out.acceleration, axes)

    def _joints(self, stamp: int) -> JointReference:
        solver = self.controller.solver
        position, velocity = solver.position, solver.velocity
        if self.map is not None:
            position, velocity = position + self.map.offset, velocity + self.map.rate
        return whole_reference(stamp, self._held, self._place, position, velocity, solver.acceleration)
