"""Service solve_ik: tool pose -> joint positions (core: ik_redundancy.inverse_kinematics)."""

from __future__ import annotations

import numpy as np

from flexarm.srv import SolveIk
from flexarm_core.errors import FlexarmError, InputError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.inverse_kinematics import IkConfig, InverseKinematics
from flexarm_core.types import Array
from flexarm_nodes.ik_redundancy.resolution import Resolution
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.messages.path import pose_from_message

USUAL = IkConfig()


def answer_solve_ik(request: SolveIk.Request, resolution: Resolution, present: Array | None) -> SolveIk.Response:
    """Return the response of the service; an unusable request is answered with the reason.

    Args:
        request: service request.
        resolution: redundancy resolution of the arm.
        present: (n,) present joint positions of the arm [rad | m], or None if not yet known.
    """
    chain = resolution.chain
    response = SolveIk.Response(names=list(chain.joint_names))
    try:
        stage = resolution.stage
        start = _start(request, chain, None if present is None else stage.as_reported(present[stage.place]))
        position, rotation = resolution.base.pose(request.pose.header.frame_id, *pose_from_message(request.pose.pose))
        config = IkConfig(
            position_tolerance=request.position_tolerance or USUAL.position_tolerance,
            rotation_tolerance=request.orientation_tolerance or USUAL.rotation_tolerance,
            restarts=request.restarts if request.restarts >= 0 else resolution.values["ik_restarts"],
            nearest_restarts=0,
        )
        solver = InverseKinematics(chain, chain.lower, chain.upper, config)
        solution = solver.solve(position, rotation, start, np.array(request.axes, dtype=bool))
    except FlexarmError as error:
        response.message = str(error)
        return response
    response.success, response.message = bool(solution.success), solution.reason
    response.position, response.restarts = doubles(solution.position), int(solution.restarts)
    response.position_error, response.orientation_error = solution.position_error, solution.rotation_error
    return response


def _start(request: SolveIk.Request, chain: Chain, present: Array | None) -> Array:
    """Return the joint positions (n,) at which the search starts."""
    names, given = list(request.names), list(request.position)
    unknown = [name for name in names if name not in chain.joint_names]
    if unknown or len(set(names)) < len(names) or len(names) != len(given):
        raise InputError(
            f"names and position must give joints of {', '.join(chain.joint_names)}, each once at most;"
            f" got {len(given)} positions of {', '.join(names) or 'no joint'}"
        )
    if present is None and len(names) < chain.n:
        raise InputError("no joint state has come yet: give the position of every joint to start from")
    start = np.zeros(chain.n) if present is None else present.copy()
    for name, value in zip(names, given, strict=True):
        start[chain.joint_names.index(name)] = value
    return start
