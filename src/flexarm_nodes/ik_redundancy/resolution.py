"""Resolution: the redundancy stage built from its parameters, with what its action and service need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexarm.action import FollowCartesianPath
from flexarm_core.file_folder import FileFolder
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.inverse_kinematics import IkConfig, InverseKinematics
from flexarm_core.ik_redundancy.path_planner import PathPlanner
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array
from flexarm_nodes.ik_redundancy.parameters import motion_limits, redundancy_config
from flexarm_nodes.messages.path import path_from_goal, path_limits, tolerances
from flexarm_nodes.node.built_stage import Values


class Resolution:
    """Owns the objects that parameters, samples, goals and requests act on.

    Attributes:
        chain: kinematic chain of the arm.
        base: base link of the arm.
        stage: stage that processes samples.
        values: parameters.
    """

    def __init__(self, values: Values, model: ArmModel) -> None:
        """Build all objects; an update loads the compiled code of the solver before the first sample.

        Raises:
            ConfigError: a parameter is invalid for this arm.
        """
        self.chain, self.base = build_chain(model.description, model.tool_frame), BaseLink(model)
        self._files = FileFolder(values["file_folder"])
        solver = RedundancySolver(self.chain, motion_limits(values, self.chain), redundancy_config(values))
        self.stage = RedundancyStage(
            model,
            solver,
            state_timeout=values["state_timeout"],
            reference_timeout=values["reference_timeout"],
            streamed=values["source"] == "stream",
            leads=values["output"] == "reference",
        )
        self.change(values)
        bounded = np.isfinite(self.chain.lower) & np.isfinite(self.chain.upper)
        self._middle = 0.5 * (np.where(bounded, self.chain.lower, 0.0) + np.where(bounded, self.chain.upper, 0.0))
        solver.begin(self._middle)
        solver.update(*self.chain.pose(self._middle))
        solver.reset()

    def change(self, values: Values) -> None:
        """Apply live parameters at the next sample; on paths, at the next plan.

        Raises:
            ConfigError: a value is invalid; nothing changes.
        """
        config, limits = redundancy_config(values), motion_limits(values, self.chain)
        self.stage.solver.set_config(config)
        self.stage.solver.set_limits(limits)
        self.values, self._limits = values, limits

    def planner(self, start: Array) -> Callable[[FollowCartesianPath.Goal], PlannedPath]:
        """Return what plans the path of a goal from joint positions (n,), with the present parameters, in any thread.

        It raises PathError, or another FlexarmError if the goal is invalid.
        """
        chain, base, files, values = self.chain, self.base, self._files, self.values
        planner = PathPlanner(chain, self._limits, self.stage.solver.path_config)

        def plan(goal: FollowCartesianPath.Goal) -> PlannedPath:
            path, axes = path_from_goal(goal, base, files, *chain.pose(start)), np.array(goal.axes, dtype=bool)
            limits, allowed = path_limits(goal, values), tolerances(goal, values)
            return planner.plan(path, start, limits, axes, *allowed, goal.allow_dropped_rows)

        return plan

    def load_planner(self) -> None:
        """Solve for a pose and plan a short path: loads the compiled code before the first request."""
        chain, middle, solver = self.chain, self._middle, self.stage.solver
        tool = chain.pose(middle)
        ik = InverseKinematics(chain, chain.lower, chain.upper, IkConfig(restarts=0, nearest_restarts=0))
        ik.solve(*tool, middle)
        path, slow = PosePath(*tool).turn([0.0, 0.0, 1e-3]), PathLimits(0.1, 0.1, 0.1, 0.1)
        PathPlanner(chain, self._limits, solver.config).plan(path, middle, slow, allow_dropped=True)
