"""Node rns_vibration_controller: ACT stage that leaves the base quiet, or damps it (core: reaction_null_space).

Task ``tool_path`` answers references on ``cartesian_reference``, task ``joint_path`` those on
``desired_joint_reference``; the others answer every state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseReaction, CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.conditioning_map import ConditioningMapConfig, map_conditioning
from flexarm_core.reaction_null_space.linear_law import ToolTask
from flexarm_core.reaction_null_space.sampling import DRIVES, Sampling
from flexarm_core.reaction_null_space.stability import Margin, check_gains, postures_after_hits
from flexarm_core.reaction_null_space.vibration_controller import (
    LAWS,
    REALISATIONS,
    TASKS,
    VibrationController,
    VibrationControllerConfig,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.arm_state_reader import BASE_STATE_SOURCES, ArmStateReader
from flexarm_nodes.conversions import (
    base_reaction_to_message,
    cartesian_reference_from_message,
    joint_reference_from_message,
    joint_reference_to_message,
)
from flexarm_nodes.diagnostics import OK, WARN
from flexarm_nodes.parameters import Parameter
from flexarm_nodes.reactionless_markers import map_markers
from flexarm_nodes.stage_parameters import vibration_config

FOLLOWING = ("tool_path", "joint_path")  # tasks that need a reference
MAP_ROOM = 1.5  # by which postures of the map are better conditioned than where damping begins


class RnsVibrationController(ArmNode):
    """Measured state and tool reference in, joint reference (acceleration, effort) and base reaction out."""

    PARAMETERS = (
        Parameter("law", "string", "reactionless", "acceleration or torque law", choices=LAWS, live=True),
        Parameter("task", "string", "tool_path", "what the arm does beside", choices=TASKS, live=True),
        Parameter(
            "realisation", "string", "computed_torque", "how accelerations are made to happen", choices=REALISATIONS
        ),
        Parameter(
            "selection", "string[]", ["all"], "what is kept quiet: all, auto (soft modes), or names of elastic joints"
        ),
        Parameter("position_gain", "double", 400.0, "gain G_p of tool or joints", "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", 200.0, "gain G_d of tool or joints", "1/s", 0.0, live=True),
        Parameter("servo_position_gain", "double", 900.0, "joint_servo: of each joint", "1/s^2", 0.0, live=True),
        Parameter("servo_velocity_gain", "double", 60.0, "joint_servo: of each joint", "1/s", 0.0, live=True),
        Parameter("vibration_damping", "bool", True, "base feedback G_b in force", live=True),
        Parameter(
            "damping_ratio", "double", 0.7, "damping ratio of the base from which G_b is chosen", "", 0.0, live=True
        ),
        Parameter("vibration_gain", "double", 0.0, "literal g_b; 0 = by damping_ratio", "1/s", 0.0, live=True),
        Parameter("joint_damping", "double", 1.0, "joint damping G_m", "1/s", 0.0, live=True),
        Parameter(
            "coupling_threshold",
            "double",
            0.01,
            "sigma(H_bm) / sqrt(tr H_b tr H_m) below which it is damped",
            "",
            1e-6,
            0.999,
            live=True,
        ),
        Parameter(
            "tool_threshold", "double", 0.02, "sigma(Jbar) / |J| below which it is damped", "", 1e-6, 0.999, live=True
        ),
        Parameter("base_state_source", "string", "joint_states", "where x_b comes from", choices=BASE_STATE_SOURCES),
        Parameter("check_gains", "bool", True, "refuse gains that are unstable where the arm is first seen"),
        Parameter("rate", "double", 1000.0, "check_gains: nominal rate of samples", "Hz", 10.0, 1e5),
        Parameter("delay", "double", 0.0, "check_gains: from the sensors to the motors", "s", 0.0, 1.0),
        Parameter("drive", "string", "effort", "check_gains: what the motors take", choices=DRIVES),
        Parameter("drive_bandwidth", "double", 200.0, "check_gains: of velocity and position drives", "rad/s", 1e-3),
        Parameter(
            "reference_timeout", "double", 0.08, "age at which the tool reference is refused", "s", 1e-4, live=True
        ),
        Parameter(
            "map_postures",
            "int",
            0,
            "postures tried for the map of the workspace on ~/markers when configured (some 0.1 ms each); 0: none",
            "",
            0,
            20_000,
        ),
    )

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("rns_vibration_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.CONTROL)
        self._base_reaction = self.create_publisher(BaseReaction, topics.BASE_REACTION, topics.CONTROL)
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (FlexibleState, topics.FLEXIBLE_STATE, self._on_flexible_state),
            (CartesianReference, topics.CARTESIAN_REFERENCE, self._on_cartesian_reference),
            (JointReference, topics.DESIRED_JOINT_REFERENCE, self._on_desired),
        ):
            self.create_subscription(message_type, topic, self.guarded(callback), topics.NEWEST)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> controller."""
        self._model = model
        selection = BaseSelection(model, tuple(values["selection"])) if model.m else None
        self._controller = VibrationController(model, vibration_config(values), selection)
        self._checks = values["check_gains"]
        self._sampling = Sampling(
            1.0 / values["rate"],
            values["delay"],
            drive=values["drive"],
            drive_bandwidth=values["drive_bandwidth"],
        )
        self._reader = ArmStateReader(model, values["base_state_source"])
        self._timeout = values["reference_timeout"]
        self._show(values["map_postures"], values["coupling_threshold"])
        self.start()

    def _show(self, postures: int, threshold: float) -> None:
        """Publish where the tool can move without shaking the base."""
        found = None
        if postures:
            config = ConditioningMapConfig(postures, least_conditioning=MAP_ROOM * threshold)
            found = map_conditioning(self._model, self._controller.selection, config)
        self._markers.publish(map_markers(found, self._model.base_frame))

    def start(self) -> None:
        """Forget earlier samples."""
        self._controller.reset()
        self._refused: str | None = None  # why the gains are, empty: they are not, None: not looked at yet
        self._state: ArmState | None = None
        self._reference: CartesianReferenceRecord | JointReferenceRecord | None = None

    def change(self, values: dict[str, Any]) -> None:
        """Live parameters take effect with the next sample; unstable gains are refused."""
        config = vibration_config(values)
        if config != self._controller.config and self._state is not None and self._checks:
            self._check(config, self._state)
            self._refused = ""
        self._controller.config = config
        self._timeout = values["reference_timeout"]

    def _check(self, config: VibrationControllerConfig, state: ArmState) -> None:
        """Raise ConfigError for gains that are not safely stable where the arm is, or where a hit moves it to.

        Takes some 0.5 s.
        """
        frame, axes = "", np.ones(6, dtype=bool)
        if isinstance(self._reference, CartesianReferenceRecord):
            frame, axes = self._reference.frame, self._reference.axes
        tool = ToolTask(frame, tuple(bool(axis) for axis in axes))
        model = self._model
        # computed torque stands and falls with the model: it is judged on just that
        margin = Margin() if config.realisation == "joint_servo" else Margin(effort=1.0, stiffness=1.0)
        selection, sampling = self._controller.selection, self._sampling
        postures = postures_after_hits(model, state.position, config, selection, sampling, tool)
        check_gains(model, postures, config, selection, sampling, tool, margin)

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state(message))

    def _on_cartesian_reference(self, message: CartesianReference) -> None:
        if self._controller.config.task == "tool_path":
            self._take_reference(cartesian_reference_from_message(message, self._model.tool_frame))

    def _on_desired(self, message: JointReference) -> None:
        if self._controller.config.task == "joint_path":
            self._take_reference(joint_reference_from_message(message, self._model.joint_names))

    def _take_reference(self, reference: CartesianReferenceRecord | JointReferenceRecord) -> None:
        self._reference = reference
        if self._state is not None and reference.stamp <= self._state.stamp:
            self._answer(self._state)

    def _take(self, state: ArmState | None) -> None:
        if state is None:
            return
        self._state = state
        waits = self._controller.config.task in FOLLOWING
        if not waits or (self._reference is not None and self._reference.stamp >= state.stamp):
            self._answer(state)

    def _answer(self, state: ArmState) -> None:
        """One sample: state and reference -> joint reference."""
        # a reference of an earlier task is none
        reference = self._reference if self._controller.config.task in FOLLOWING else None
        tool = reference if isinstance(reference, CartesianReferenceRecord) else None
        wanted = reference if isinstance(reference, JointReferenceRecord) else None
        if reference is not None and (state.stamp - reference.stamp) * 1e-9 > self._timeout:
            age = (state.stamp - reference.stamp) * 1e-9
            raise InputError(f"tool reference is {age:.3f} s old, at most {self._timeout} s are accepted")
        if self._refused is None:
            self._refused = ""
            if self._checks:
                try:
                    self._check(self._controller.config, state)
                except ConfigError as error:
                    self._refused = str(error)
        if self._refused:
            raise InputError(self._refused)
        joints, reaction = self._controller.update(state, tool, wanted)
        self._joint_reference.publish(joint_reference_to_message(joints, self._model.joint_names))
        self._base_reaction.publish(
            base_reaction_to_message(reaction, self._model.base_frame, self._model.elastic_joint_names)
        )
        if reaction.damping > 0.0:
            self.diagnostics.report(WARN, "near-singular: the inverse is damped", state.stamp)
        else:
            self.diagnostics.report(OK, "controlling", state.stamp)


def main() -> None:
    """Entry point."""
    run(RnsVibrationController)
