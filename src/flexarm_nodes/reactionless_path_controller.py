"""Node reactionless_path_controller: ACT stage for velocity-driven arms, along a reactionless path or at a posture.

Core: ``reaction_null_space.velocity_law`` and ``path_motion``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseReaction, FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.commanded_reaction import commanded_reaction
from flexarm_core.reaction_null_space.path_motion import PathMotion
from flexarm_core.reaction_null_space.reactionless_path import ReactionlessPath
from flexarm_core.reaction_null_space.velocity_gain_check import check_velocity_gains
from flexarm_core.reaction_null_space.velocity_law import Along, VelocityLaw, VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.arm_state_reader import ArmStateReader
from flexarm_nodes.conversions import base_reaction_to_message, joint_reference_to_message
from flexarm_nodes.diagnostics import OK, WARN
from flexarm_nodes.reactionless_markers import path_markers
from flexarm_nodes.reactionless_parameters import (
    REACTIONLESS_PARAMETERS,
    known_path,
    known_posture,
    law_config,
    motion_config,
    shown_paths,
    traced_path,
)

CHECKED = 16  # postures of a path at which gains are checked


class ReactionlessPathController(ArmNode):
    """Measured state in, joint velocities out that damp the base and keep the arm on its path or posture."""

    PARAMETERS = REACTIONLESS_PARAMETERS

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("reactionless_path_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.CONTROL)
        self._desired = self.create_publisher(JointReference, topics.DESIRED_JOINT_REFERENCE, topics.CONTROL)
        self._base_reaction = self.create_publisher(BaseReaction, topics.BASE_REACTION, topics.CONTROL)
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)
        self.create_subscription(JointState, topics.JOINT_STATES, self.guarded(self._on_joint_state), topics.NEWEST)
        self.create_subscription(
            FlexibleState, topics.FLEXIBLE_STATE, self.guarded(self._on_flexible_state), topics.NEWEST
        )

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> law, and path where it is known already."""
        self._values, self._model = values, model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self._follows = values["task"] == "path"
        self._posture = None if self._follows else known_posture(values, model)
        self._others = shown_paths(values, model)
        self._known = known_path(values, model) if self._follows else None
        if self._known is not None:
            PathMotion(self._known, motion_config(values))  # refuses here what would be refused at the first sample
        self._law = VelocityLaw(model, self._config(values))
        self.start()
        if self._checked:
            self._check(self._law.config)

    def start(self) -> None:
        """Begin anew at the first sample."""
        self._law.reset()
        self._begun: int | None = None
        self._path: ReactionlessPath | None = self._known
        self._motion: PathMotion | None = None
        self._last: tuple[int, Array] | None = None
        held = [] if self._posture is None else [self._posture]
        self._checked: list[Array] = held if self._path is None else _spread(self._path)
        self._show()

    def change(self, values: dict[str, Any]) -> None:
        """Live parameters take effect with the next sample."""
        config = self._config(values)
        self._check(config)
        self._law.config = config

    def _config(self, values: dict[str, Any]) -> VelocityLawConfig:
        config = law_config(values)
        return config if self._known is None else replace(config, selection=self._known.field.selection)

    def _check(self, config: VelocityLawConfig) -> None:
        rate = self._values["rate"]
        check_velocity_gains(
            self._model,
            self._checked,
            config,
            drive_bandwidth=self._values["drive_bandwidth"],
            period=1.0 / rate,
            delay=round(self._values["delay"] * rate),
        )

    def _show(self) -> None:
        self._markers.publish(path_markers(self._path, self._others, self._model.base_frame))

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state(message))

    def _take(self, state: ArmState | None) -> None:
        """One sample: state -> joint reference."""
        if state is None:
            return
        if self._begun is None:
            self._begin(state)
            self._begun = state.stamp
        time = (state.stamp - self._begun) * 1e-9
        along = None if self._motion is None else self._motion.at(time)
        command = self._law.update(state, along)
        names = self._model.joint_names
        self._joint_reference.publish(joint_reference_to_message(command, names))
        self._desired.publish(joint_reference_to_message(self._wanted(command, along), names))
        self._report(state, command, time, along.s if along is not None else None)

    def _wanted(self, command: JointReferenceRecord, along: Along | None) -> JointReferenceRecord:
        """The motion that is to be followed, without what damps the base."""
        if self._path is None or along is None:
            still = np.zeros(self._model.n)
            return JointReferenceRecord(command.stamp, command.position, still, still)
        motion = self._path.read(along.s, along.rate, along.acceleration)
        return JointReferenceRecord(command.stamp, motion.position, motion.velocity, motion.acceleration)

    def _begin(self, state: ArmState) -> None:
        """Lay the motion, or the posture, at the first sample."""
        self._model.check_state(state)
        if not self._follows:
            held = state.position if self._posture is None else self._posture
            self._checked = [held]
            self._check(self._law.config)
            self._law.hold(held)
            return
        if self._path is None:
            self._path = traced_path(self._values, self._model, state.position)
            self._checked = _spread(self._path)
            self._check(self._law.config)
            self._show()
        path = self._path
        motion = PathMotion(path, motion_config(self._values), path.nearest(state.position)[0])
        distance = float(np.linalg.norm(path.field.difference(path.position(motion.begin), state.position)))
        if distance > self._values["start_tolerance"]:
            raise InputError(
                f"the arm is {distance:.3g} from where the path begins, {path.position(motion.begin)}: at most"
                f" {self._values['start_tolerance']:g} are accepted"
            )
        self._law.follow(path)
        self._motion = motion

    def _report(self, state: ArmState, command: JointReferenceRecord, time: float, s: float | None) -> None:
        coupling, velocity = self._law.coupling, command.velocity
        assert coupling is not None and velocity is not None  # of a law that was updated
        acceleration = np.zeros(self._model.n)
        if self._last is not None and state.stamp > self._last[0]:
            acceleration = (velocity - self._last[1]) / ((state.stamp - self._last[0]) * 1e-9)
        self._last = (state.stamp, velocity)
        damps = self._law.config.vibration_gain > 0.0
        reaction = commanded_reaction(self._model, state, acceleration, coupling, damps)
        self._base_reaction.publish(
            base_reaction_to_message(reaction, self._model.base_frame, self._model.elastic_joint_names)
        )
        values = {"sigma_min": f"{coupling.singular_values[-1]:.3g}"} | ({} if s is None else {"s": f"{s:.4f}"})
        if coupling.damping > 0.0:
            self.diagnostics.report(WARN, "near-singular: the inverse is damped", state.stamp, values)
        elif self._motion is not None and self._motion.finished(time):
            self.diagnostics.report(OK, "at the end of the path", state.stamp, values)
        else:
            self.diagnostics.report(OK, "controlling", state.stamp, values)


def _spread(path: ReactionlessPath) -> list[Array]:
    """Postures all along a path."""
    return [path.position(s) for s in np.linspace(path.start, path.end, CHECKED)]


def main() -> None:
    """Entry point."""
    run(ReactionlessPathController)
