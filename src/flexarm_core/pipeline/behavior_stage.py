"""BehaviorStage: behaviours and the tool wrench -> tool and joint references."""

from __future__ import annotations

import traceback
from typing import Protocol

import numpy as np

from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.joint_deviation import JointDeviation
from flexarm_core.behavior_impedance.path_stream import give_reference, stream_followers
from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.errors import InputError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.whole_reference import load_compiled, whole_reference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import ArmState, Array, CartesianReference, JointReference, all_finite


class BehaviorSource(Protocol):
    """Where a controller's behaviours come from, between two samples."""

    def begin(self) -> None:
        """Make every behaviour anew, and forget changes that wait."""

    def renew(self) -> None:
        """Make every behaviour anew."""

    def due(self, stamp: int) -> list[str]:
        """Carry out the changes that waited for a sample of this stamp [ns]; why some were refused."""


class BehaviorStage:
    """Behaviours, the wrench at the tool and a stream of tool references -> tool reference, joint reference.

    Attributes:
        controller: that is asked.
        wrenches: readings of the sensor at the tool.
        leads: whether joint references go out, not the tool's alone.
        deviation: tells whether the joints are where they were sent.
        external: (6,) wrench that the last sample used, None where there was no valid one [N, N*m].
        trouble: why the arm is held for something that is wrong; empty: it is not.
        remarks: what the last sample was refused, or what else is to be said of it.
        defect: traceback of what a behaviour raised in the last sample; empty: nothing.
        answered: stamp of the newest sample [ns], -1 before any.
        state: that sample, None before any.
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
    ) -> None:
        """Bind the stage to a controller.

        Args:
            model: of the arm.
            controller: of its chain.
            behaviors: where the controller's come from.
            wrenches: of its tool.
            leads: whether joint references go out, not the tool's alone.
            state_timeout: gap of samples after which it sets out anew from where the arm is [s].
        """
        self.controller, self.wrenches = controller, wrenches
        self._behaviors, self.leads, self._gap = behaviors, leads, state_timeout
        self._base, self._undeflected = BaseLink(model), np.zeros(model.m)
        chain = controller.arm.chain
        self._place = np.array([model.joint_names.index(name) for name in chain.joint_names])
        self.deviation = JointDeviation(chain.joint_names)
        load_compiled()
        self.reset()

    def reset(self) -> None:
        """Wait for the first sample; behaviours begin anew."""
        self.controller.reset()
        self._behaviors.begin()
        self.wrenches.reset()
        self.external: Array | None = None
        self.trouble, self.defect = "", ""
        self.remarks: list[str] = []
        self.answered = -1
        self.state: ArmState | None = None

    def update(self, tick: Tick) -> None:
        """One sample; a tool reference on its way goes to the behaviours that follow a stream.

        Raises:
            InputError: the sample is not usable.
        """
        tick.take_joints()
        sample = tick.sample
        still = self._undeflected
        deflection = still if sample.deflection is None else sample.deflection
        state = ArmState(sample.stamp, sample.position, sample.velocity, deflection, still)
        refused: list[str] = []
        reading = sample.wrenches.get(self.wrenches.sensor)
        try:
            if reading is not None:
                self.wrenches.take(sample.stamp, reading)
        except InputError as error:
            refused.append(str(error))
        try:
            if tick.tool is not None and any(True for _ in stream_followers(self.controller)):
                self.follow(tick.tool, state)
        except InputError as error:
            refused.append(str(error))
        tool, joints = self.answer(state)
        if refused or self.remarks:
            tick.refused[self.name] = "; ".join((*refused, *self.remarks))
        tick.give_tool(self.name, tool)
        if joints is not None:
            tick.give_joints(self.name, joints)

    def follow(self, reference: CartesianReference, state: ArmState) -> None:
        """Give a reference of a stream to the behaviours that follow one.

        Raises:
            InputError: nobody follows a stream, or the reference is not usable; nothing changes.
        """
        give_reference(reference, self.controller, self._base, state.deflection, state.stamp)

    def zero(self) -> Array:
        """Take the present wrench as that of a free tool; the sensor's new bias (6,) [N, N*m].

        Raises:
            InputError: no sample yet, no valid reading, or the arm moves.
        """
        state = self.state
        if state is None:
            raise InputError("no joint state has come yet")
        speed = max(np.abs(state.velocity).max(), np.abs(self.controller.solver.velocity).max())
        return self.wrenches.zero(state.stamp, state.position[self._place], state.deflection, float(speed))

    def answer(self, state: ArmState) -> tuple[CartesianReference, JointReference | None]:
        """References for a sample, with the wrench that has come for it.

        Args:
            state: of later stamp than those before; deflection 0 where it is not measured, its rate does not count.

        Raises:
            InputError: it is not finite; nothing changes.
        """
        if not all_finite(state.position, state.velocity, state.deflection):
            raise InputError(f"the state is not finite: {state.position}, {state.velocity}, base {state.deflection}")
        stamp, measured = state.stamp, state.position[self._place]
        self.remarks, self.trouble, self.defect = [], "", ""
        gap = None if self.answered < 0 else (stamp - self.answered) * 1e-9
        fresh = gap is None or gap > self._gap
        if fresh:
            self._begin(state, gap)
        self.remarks += [f"behaviour set refused: {reason}" for reason in self._behaviors.due(stamp)]
        self.external = self.wrenches.external(stamp, measured, state.deflection)
        if not fresh:
            self.trouble = self.deviation.check(measured, self.controller.solver.position)
            self._step(stamp, (stamp - self.answered) * 1e-9)
        self.answered, self.state = stamp, state
        return self._tool(stamp), self._joints(stamp) if self.leads else None

    def _begin(self, state: ArmState, gap: float | None) -> None:
        """Set out from where the arm is; joints off the chain stay there."""
        if gap is not None:
            self._behaviors.renew()
            self.remarks.append(f"no joint state for {gap:.3f} s: set out anew from where the arm is")
        self._held = state.position
        self.controller.begin(state.position[self._place], state.velocity[self._place])
        self.deviation.reset()

    def _step(self, stamp: int, dt: float) -> None:
        """One sample of the law, or of coming to rest for the trouble that there is."""
        solver = self.controller.solver
        before = solver.position, solver.velocity, solver.acceleration
        try:
            self.controller.update(stamp, dt, self.external, self.trouble)
        except Exception as error:  # whatever a behaviour of another package does, the arm must not fall
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
        return whole_reference(stamp, self._held, self._place, solver.position, solver.velocity, solver.acceleration)
