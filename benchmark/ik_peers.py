"""Inverse kinematics as users of Pinocchio and of pink write it, each with a fair chance: time, restarts, limits.

Steps and damping of those with restarts are what served each best on Panda, UR5 and arm_6r. Every solver answers
``solve(position, rotation, start, deadline)`` with joints within the limits, or None.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pink
import pinocchio
from robots import find, pinocchio_chain

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.types import Array

CLOSE = 1e-5  # [m, rad] norm of log6 at which a pose counts as reached
STEPS = 1000  # of the documented loop


class PinocchioLoop:
    """The loop of Pinocchio's documentation: ``v = -J^T (J J^T + d 1)^-1 log6``, ``q = q + v dt``; one attempt."""

    def __init__(self, name: str, chain: Chain, dt: float = 0.1, damping: float = 1e-12) -> None:
        self.kinematics = pinocchio_chain(name)
        self.model, self.data = self.kinematics.model, self.kinematics.data
        self.lower, self.upper = chain.lower, chain.upper
        self.columns = [joint.idx_v for joint in self.kinematics.joints]
        self.dt, self.damping = dt, damping
        self.rng = np.random.default_rng(0)

    def target(self, position: Array, rotation: Array) -> pinocchio.SE3:
        """Wanted pose in the world: the chain's poses are in the base link's frame."""
        pinocchio.framesForwardKinematics(self.model, self.data, pinocchio.neutral(self.model))
        return self.data.oMf[self.kinematics.base] * pinocchio.SE3(rotation, position)

    def solve(self, position: Array, rotation: Array, start: Array, deadline: float) -> Array | None:
        """One attempt, as documented; limits are looked at when it has converged."""
        found = self.descend(self.target(position, rotation), start, STEPS, deadline, clip=False)
        return found if found is not None and self.within(found) else None

    def descend(self, target: pinocchio.SE3, start: Array, steps: int, deadline: float, clip: bool) -> Array | None:
        """Joints at which ``log6`` is small, or None."""
        q = self.kinematics.configuration(start)
        for _ in range(steps):
            pinocchio.forwardKinematics(self.model, self.data, q)
            away = pinocchio.updateFramePlacement(self.model, self.data, self.kinematics.tool).actInv(target)
            error = pinocchio.log6(away).vector
            if np.linalg.norm(error) < CLOSE:
                return self.wrapped(q)
            if time.perf_counter() > deadline:
                return None
            J = pinocchio.computeFrameJacobian(self.model, self.data, q, self.kinematics.tool)
            J = -pinocchio.Jlog6(away.inverse()) @ J
            v = -J.T @ np.linalg.solve(J @ J.T + self.damping * np.eye(6), error)
            q = pinocchio.integrate(self.model, q, v * self.dt)
            if clip:
                q = np.clip(q, self.model.lowerPositionLimit, self.model.upperPositionLimit)
        return None

    def wrapped(self, q: Array) -> Array:
        """Joints in the order of the chain, turned by whole turns to within their limits where that can be."""
        q = q[self.columns]
        turned = self.lower + np.mod(q - self.lower, 2.0 * math.pi)
        return np.where((q < self.lower) | (q > self.upper), turned, q)

    def within(self, q: Array) -> bool:
        """Whether all joints are within their limits."""
        return bool(np.all(q >= self.lower) and np.all(q <= self.upper))


class PinocchioRestarts(PinocchioLoop):
    """The same with half steps, joints clipped to their limits, and random restarts until the deadline."""

    def __init__(self, name: str, chain: Chain) -> None:
        super().__init__(name, chain, dt=0.5, damping=1e-6)

    def solve(self, position: Array, rotation: Array, start: Array, deadline: float) -> Array | None:
        """Attempts of 50 steps, from the start first."""
        target = self.target(position, rotation)
        while time.perf_counter() < deadline:
            found = self.descend(target, start, 50, deadline, clip=True)
            if found is not None and self.within(found):
                return found
            start = self.rng.uniform(self.lower, self.upper)
        return None


class Pink(PinocchioLoop):
    """pink: FrameTask and ``solve_ik`` with quadprog inside joint limits, random restarts until the deadline."""

    def __init__(self, name: str, chain: Chain) -> None:
        super().__init__(name, chain)
        self.task = pink.FrameTask(chain.tool_frame, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)
        self.limits = [pink.limits.ConfigurationLimit(self.model, config_limit_gain=1.0)]

    def solve(self, position: Array, rotation: Array, start: Array, deadline: float) -> Array | None:
        """Attempts of at most 50 steps, left when three steps do not halve the error."""
        self.task.set_target(self.target(position, rotation))
        while True:
            q = np.clip(self.kinematics.configuration(start), self.lower, self.upper)
            configuration, mark = pink.Configuration(self.model, self.data, q), math.inf
            for step in range(50):
                error = float(np.linalg.norm(self.task.compute_error(configuration)))
                if error < CLOSE:
                    return self.wrapped(configuration.q)
                if time.perf_counter() > deadline:
                    return None
                if step % 3 == 0:
                    if error > 0.5 * mark:
                        break
                    mark = error
                try:
                    v = pink.solve_ik(configuration, [self.task], 1.0, "quadprog", limits=self.limits)
                except pink.exceptions.PinkError:
                    break
                q = np.clip(configuration.integrate(v, 1.0), self.lower, self.upper)
                configuration.update(q)
            start = self.rng.uniform(self.lower, self.upper)


PEERS = {"pinocchio_loop": PinocchioLoop, "pinocchio_restarts": PinocchioRestarts, "pink": Pink}


def available(name: str) -> bool:
    """Whether the robot's package is installed."""
    try:
        find(name)
    except FileNotFoundError:
        return False
    return True
