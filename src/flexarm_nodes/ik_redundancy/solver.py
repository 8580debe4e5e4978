"""Node ik_redundancy_solver: DECIDE stage, tool poses and paths -> joint references (core: ik_redundancy).

Each joint state results in one joint reference with its stamp. While Cartesian references are streamed, it is the
solution for the Cartesian reference of that stamp; else it is the sample of an action's path, or the joints are brought
to rest and held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from flexarm.action import FollowCartesianPath
from flexarm.msg import CartesianReference, RedundancyState
from flexarm.srv import SolveIk
from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.ik_redundancy.inverse_kinematics import IkConfig, InverseKinematics
from flexarm_core.ik_redundancy.path_planner import PathPlanner
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_nodes.ik_redundancy.output import WORDS, IkOutput
from flexarm_nodes.ik_redundancy.parameters import IK_PARAMETERS, motion_limits, redundancy_config
from flexarm_nodes.ik_redundancy.service import answer_solve_ik
from flexarm_nodes.messages.conversions import (
    JointStateSelector,
    cartesian_reference_from_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.messages.path import check_goal, path_from_goal, path_limits, tolerances
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.references.path_follower import IDLE, PathFollower

WATCH_PERIOD = 0.05  # [s] period at which the age of the newest joint state is checked
REST = 1e-2  # [rad/s | m/s] measured velocity below which a joint counts as at rest, with output 'trajectory'


class IkRedundancySolver(ArmNode):
    """Reads Cartesian references, paths and joint states; publishes joint references that respect all limits."""

    PARAMETERS = IK_PARAMETERS
    MASSLESS = True

    def __init__(self) -> None:
        """Create topics, action and service."""
        super().__init__("ik_redundancy_solver")
        self._output = IkOutput(self)
        self._follower = PathFollower(self, self)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (CartesianReference, topics.CARTESIAN_REFERENCE, self._on_reference),
        ):
            self.hear(message_type, topic, callback)
        self._chain: Chain | None = None
        self.create_service(SolveIk, topics.SOLVE_IK, self._on_solve_ik)
        self.create_timer(WATCH_PERIOD, lambda: self.guarded(self._on_watch)(None))
        self.start()

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the solver from parameters; one short path loads the compiled code before the first real path."""
        chain = build_chain(model.description, model.tool_frame)
        self._limits, config = motion_limits(values, chain), redundancy_config(values)
        self._solver = RedundancySolver(chain, self._limits, config)
        self._chain, self._model, self._base = chain, model, BaseLink(model)
        self._select = JointStateSelector(model.joint_names)
        self._select_elastic = JointStateSelector(model.elastic_joint_names)
        self._place = np.array([model.joint_names.index(name) for name in chain.joint_names])
        self._output.bind(model, chain, values["output"] == "reference")
        self.change(values)
        self._load_compiled(chain)

    def _load_compiled(self, chain: Chain) -> None:
        middle = np.where(np.isfinite(chain.lower + chain.upper), 0.5 * (chain.lower + chain.upper), 0.0)
        tool = chain.pose(middle)
        self._solver.begin(middle)
        self._solver.update(*tool)
        InverseKinematics(chain, chain.lower, chain.upper, IkConfig(restarts=0, nearest_restarts=0)).solve(
            *tool, middle
        )
        path, slow = PosePath(*tool).turn([0.0, 0.0, 1e-3]), PathLimits(0.1, 0.1, 0.1, 0.1)
        PathPlanner(chain, self._limits, self._solver.config).plan(path, middle, slow, allow_dropped=True)

    def start(self) -> None:
        """Wait for the first joint state."""
        self._stamp: int | None = None  # stamp of the newest joint state
        self._streamed = -1  # stamp of the newest reference
        self._waiting: int | None = None  # stamp of the joint state that waits for a plan
        self._pending: CartesianReference | None = None  # reference newer than the joint state
        self._heard = self.get_clock().now()
        self._output.reset()

    def stop(self) -> None:
        """End the goal; the gate stops the arm when references cease."""
        self._follower.end(FollowCartesianPath.Result.DEACTIVATED, "the node was deactivated")

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample; on paths, at the next plan."""
        config, limits = redundancy_config(values), motion_limits(values, self._solver.chain)
        self._solver.set_config(config)
        self._solver.set_limits(limits)
        self._limits = limits
        self._follower.path_tolerance = values["path_tolerance"]
        self._follower.feedback_period = round(1e9 / values["feedback_rate"])
        self._output.complaint = values["reference_timeout"]
        self._values = values

    # Inputs -----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        position, velocity = self._select(message)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        self._heard = self.get_clock().now()
        if self._stamp is not None and stamp <= self._stamp:
            if self._stamp - stamp > 1_000_000_000:
                raise InputError("time went back: activate the node anew after a reset of the clock")
            self._output.repeat(stamp)
            return
        gap = None if self._stamp is None else (stamp - self._stamp) * 1e-9
        self._stamp, self._measured, self._velocity = stamp, position, velocity
        elastic = self._model.elastic_joint_names
        measured = elastic and set(elastic) <= set(message.name)
        self._deflection = self._select_elastic(message)[0] if measured else np.zeros(len(elastic))
        if gap is None or gap > self._values["state_timeout"]:
            self._begin(stamp, gap)
        pending, self._pending = self._pending, None
        if pending is not None:
            self._on_reference(pending)
        if not self._streaming:
            self._answer_state(stamp)

    def _begin(self, stamp: int, gap: float | None) -> None:
        """Start from the measured joint positions."""
        if gap is not None:
            self._follower.end(FollowCartesianPath.Result.STALE_STATE, f"no joint state for {gap:.3f} s")
            self._output.refuse(stamp, f"no joint state for {gap:.3f} s: set out anew from where the arm is")
        self._output.hold(self._measured)
        self._solver.begin(self._measured[self._place], self._velocity[self._place])
        self._time = stamp  # stamp of the solver's state
        self._streamed = stamp if self._values["source"] == "stream" and self._output.leads else -1

    @property
    def _streaming(self) -> bool:
        """Whether the newest joint state is answered by the Cartesian reference of its stamp."""
        if self._stamp is None or self._streamed < 0 or self._follower.activity != IDLE:
            return False
        return (self._stamp - self._streamed) * 1e-9 <= self._values["reference_timeout"]

    def _on_reference(self, message: CartesianReference) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if self._stamp is None or stamp > self._stamp:
            self._pending = message
            return
        streaming, answered = self._streaming, self._output.answered
        if streaming and stamp == answered:
            self._output.repeat(stamp)
            return
        try:
            self._refuse_out_of_turn(stamp, streaming)
            reference = cartesian_reference_from_message(message, self._solver.chain.tool_frame)
            position, rotation, axes = self._base.reference(reference, self._deflection)
        except InputError as error:
            self._output.refuse(self._stamp, str(error))
            if streaming and stamp > answered:
                self._rest(stamp)  # every stamp is answered, if necessary by braking
            return
        self._streamed = stamp
        if stamp > answered:  # else the stream is new, and this stamp has already been answered by holding
            dt = (stamp - self._time) * 1e-9
            status = self._solver.update(position, rotation, axes, dt) if dt > 0.0 else None
            self._time = stamp
            self._output.publish(stamp, self._solver, RedundancyState.STREAMING, status)

    def _refuse_out_of_turn(self, stamp: int, streaming: bool) -> None:
        """Raise InputError for a reference that must not be followed, independent of its content."""
        assert self._stamp is not None
        age = (self._stamp - stamp) * 1e-9
        if not self._output.leads:
            raise InputError("output is 'trajectory': Cartesian references are not followed")
        if self._follower.activity != IDLE:
            raise InputError(f"Cartesian references are not followed while {WORDS[self._follower.activity]}")
        if age > self._values["reference_timeout"]:
            raise InputError(f"Cartesian reference is {age:.3f} s older than the joint state")
        if stamp < self._streamed or (streaming and stamp < self._output.answered):
            raise InputError("stamps of Cartesian references went back")

    def _on_watch(self, _: None) -> None:
        """End the path if joint states have ceased."""
        age = (self.get_clock().now() - self._heard).nanoseconds * 1e-9
        if age > self._values["state_timeout"] and self._follower.activity != IDLE and self._waiting is None:
            self._follower.end(FollowCartesianPath.Result.STALE_STATE, f"no usable joint state for {age:.3f} s")
            self._stamp = None  # restart from the measured joint positions

    # Samples ----------------------------------------------------------------------------------------------------------

    def _answer_state(self, stamp: int) -> None:
        """Process one sample without a stream: follow the path of an action, or bring the joints to rest."""
        if stamp <= self._output.answered:
            return
        if self._follower.planning and self._values["lockstep"]:
            self._waiting = stamp
            return
        sample = self._follower.sample(stamp, self._measured[self._place])
        if sample is None:
            self._rest(stamp)
            self._plan_at_rest()
            return
        if self._follower.activity == IDLE:
            self._solver.begin(sample.position)
        self._time = stamp
        self._output.publish(stamp, sample, sample.activity, sample.status, sample.fraction)

    def _rest(self, stamp: int) -> None:
        """Brake for one sample, or hold if the joints are at rest."""
        dt = (stamp - self._time) * 1e-9
        if dt > 0.0:
            self._solver.stop(dt)
        self._time = stamp
        self._output.publish(stamp, self._solver, self._follower.activity)

    # Paths ------------------------------------------------------------------------------------------------------------

    def check_goal(self, goal: FollowCartesianPath.Goal) -> None:
        """Raise InputError if the goal must be rejected."""
        if not self.active or self._stamp is None:
            raise InputError("no joint state has come yet" if self.active else "the node is not active")
        if self._streaming:
            raise InputError("a stream of Cartesian references is followed")
        check_goal(goal, self._base)

    def goal_rejected(self, reason: str) -> None:
        """Report the reason, since the action client only learns that the goal was rejected."""
        self.get_logger().warning(f"goal rejected: {reason}")
        self._output.refuse(self._stamp or 0, f"goal rejected: {reason}")

    def goal_accepted(self) -> None:
        """Plan at once if the joints are at rest."""
        self._plan_at_rest()

    def _plan_at_rest(self) -> None:
        leads, solver, base, values = self._output.leads, self._solver, self._base, self._values
        speed = np.abs(solver.velocity if leads else self._velocity[self._place]).max()
        if not self._follower.waiting or speed > (0.0 if leads else REST):
            return
        start = (solver.position if leads else self._measured[self._place]).copy()
        planner = PathPlanner(solver.chain, self._limits, solver.config)

        def make(goal: FollowCartesianPath.Goal) -> PlannedPath:
            """Plan in the worker thread; this reads only constant data."""
            path, axes = path_from_goal(goal, base, *solver.chain.pose(start)), np.array(goal.axes, dtype=bool)
            limits, allowed = path_limits(goal, values), tolerances(goal, values)
            return planner.plan(path, start, limits, axes, *allowed, goal.allow_dropped_rows)

        self._follower.plan(self._time, solver.chain, make)

    def path_changed(self, path: PlannedPath, begun: int, start: float) -> None:
        """Publish the trajectory, if trajectories command the arm."""
        self._output.publish_trajectory(path, begun, start, self._values["trajectory_rate"])

    def plan_settled(self) -> None:
        """Process the joint state that waited for the plan."""
        waiting, self._waiting = self._waiting, None
        self._heard = self.get_clock().now()
        if waiting is not None:
            self.guarded(self._answer_state)(waiting)

    # Service ----------------------------------------------------------------------------------------------------------

    def _on_solve_ik(self, request: SolveIk.Request, response: SolveIk.Response) -> SolveIk.Response:
        if self._chain is None:
            response.message = "the node is not configured"
            return response
        present = None if self._stamp is None else self._measured[self._place]
        return answer_solve_ik(request, self._chain, self._base, present, self._values["ik_restarts"])


def main() -> None:
    """Entry point."""
    run(IkRedundancySolver)
