"""Arms of others hold or move a posture by effort behind the gate, with loads and hands that nobody mentioned.

Each case draws one of twelve public descriptions (from the package example-robot-data), a mounting (upright, hanging,
on a wall), a load at the tool up to the rating of the arm, or a hand whose last link has 0.1 to 10 times the told
inertia, a posture around which the motors can hold it (see RATED) and where the told weight alone does not throw the
arm before anything can react (see SPENT), a law of weak to usual gains computed from the told model, sensor noise and
the delay of commands. The plant is Pinocchio, with the real masses. Without a gate the same law drives the same arm.

With ``--contact wall`` the tool meets an elastic wall at right angles to its motion, without or with losses, and with
``--contact stop`` one joint meets its stop, a stiff spring with losses. The law knows of neither and follows positions.

    setup/run python benchmark/unknown_load.py [--count 300] [--seed 1] [--contact none|wall|stop] [--json]

Printed: ``cases``, ``worst_speed_ratio`` (fastest joint over its velocity limit, over all cases behind the gate),
``worse_than_without_gate`` (cases beyond 1.1 of a limit, and faster than without a gate), ``not_at_rest`` (the arm
still moves half a second after a stop was asked for at the end), and the worst cases.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference

BAR, REST = 1.1, 0.1  # fractions of the velocity limit
HELD = 0.6  # largest fraction of a motor's effort limit that the load and the arm may need at rest, at the start
RATED = 0.8  # the same in every posture of the motion and its swing: what is more is beyond the rating of the arm
SWING = 0.1  # [rad] how far each joint may swing from the motion
LESS, TRIES = 0.7, 10  # factor on a load that no posture is found for, and how often it is tried
SIDES = np.random.default_rng(0).choice([-1.0, 1.0], (16, 32))  # corners of the swing that are tried
SPENT = 0.5  # fraction of the velocity limits that the told weight may reach before a first reaction acts
STEP = 2.5e-4  # [s] longest step of the plant
WILD = 20.0  # times the velocity limit: the case is ended
DURATION, STOPPING = 0.8, 0.5  # [s] of control, and of the stop at its end
CONTACTS = ("none", "wall", "stop")
TOUCHING = 0.1  # amplitude of a motion that ends in a contact
STIFFNESS = (1e4, 1e5)  # [N/m] of walls
ABSORBED = 1.0  # [sqrt(kg)] damping of a wall with losses, over the square root of its stiffness
STIFF, LOSSES = (100.0, 400.0), 0.3  # [rad/s] natural frequency of a joint on its stop, and damping ratio
GAP, TURN = (0.0, 0.01), (0.05, 0.15)  # [m], [rad | m] how far a wall and a stop are away
NONE = np.zeros(0)
ROBOTS = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
ARMS = {  # description, tool link, rated payload [kg]
    "ur3": ("ur_description/urdf/ur3_robot.urdf", "tool0", 3.0),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "tool0", 5.0),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", "tool0", 10.0),
    "ur3_limited": ("ur_description/urdf/ur3_joint_limited_robot.urdf", "tool0", 3.0),
    "ur5_gripper": ("ur_description/urdf/ur5_gripper.urdf", "tool0", 4.0),
    "ur10_limited": ("ur_description/urdf/ur10_joint_limited_robot.urdf", "tool0", 10.0),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "link7", 3.5),
    "kinova": ("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector", 2.0),
    "z1": ("z1_description/urdf/z1.urdf", "link06", 2.0),
    "so100": ("so_arm_description/urdf/so100.urdf", "jaw", 0.3),
    "talos_arm": ("talos_data/robots/talos_left_arm.urdf", "", 1.0),
    "panda": ("panda_description/urdf/panda.urdf", "panda_link8", 3.0),
}
MOUNTINGS = {"upright": (0.0, 0.0, -9.81), "hanging": (0.0, 0.0, 9.81), "wall": (9.81, 0.0, 0.0)}


@dataclass(frozen=True, slots=True)
class Case:
    """One draw."""

    seed: int
    arm: str
    mounting: str
    rate: int  # [Hz]
    kp: float  # [1/s^2]
    kd: float  # [1/s]
    load: float  # [kg]
    offset: tuple[float, ...]  # (3,) [m]
    hand: float  # real over told inertia of the last link
    amplitude: float  # of the motion, as a fraction of the range of the joints
    noise: float  # standard deviation of velocities, as a fraction of their limits
    delay: int  # periods
    stiffness: float = 0.0  # [N/m] of a wall before the tool; 0: none
    damping: float = 0.0  # [N s/m] of it
    gap: float = 0.0  # [m] distance of the wall
    stop: float = 0.0  # [rad | m] distance of the stop of one joint; 0: none
    stiff: float = 0.0  # [rad/s] natural frequency of the joint on it


def draw(seed: int, contact: str = "none") -> Case:
    """Return the case of a seed, with one of CONTACTS."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(3)
    arm = list(ARMS)[seed % len(ARMS)]
    hand = rng.random() < 0.25
    case = Case(
        seed, arm, list(MOUNTINGS)[rng.integers(len(MOUNTINGS))], int(rng.choice((250, 500, 500, 1000))),
        float(rng.choice((100.0, 400.0, 900.0))), float(rng.uniform(0.8, 1.2)),
        0.0 if hand else float(rng.uniform(0.05, 1.0)) * ARMS[arm][2],
        tuple(direction / np.linalg.norm(direction) * rng.uniform(0.02, 0.12)),
        float(np.exp(rng.uniform(-np.log(10.0), np.log(10.0)))) if hand else 1.0,
        float(rng.choice((0.0, 0.0, 0.1))), float(rng.choice((0.0, 0.0005))), int(rng.choice((0, 0, 1))),
    )  # fmt: skip
    if contact == "none":
        return case
    case = replace(case, amplitude=TOUCHING)
    if contact == "stop":
        return replace(case, stop=float(rng.uniform(*TURN)), stiff=float(np.exp(rng.uniform(*np.log(STIFF)))))
    stiffness = float(np.exp(rng.uniform(*np.log(STIFFNESS))))
    damping = float(rng.choice((0.0, ABSORBED))) * np.sqrt(stiffness)
    return replace(case, stiffness=stiffness, damping=damping, gap=float(rng.uniform(*GAP)))


class Arm:
    """Told model and real plant of a case."""

    def __init__(self, case: Case) -> None:
        """Build both; a posture is drawn until the motors could hold the load in it, or else LESS of the load."""
        file, tool, _ = ARMS[case.arm]
        text = (ROBOTS / file).read_text()
        text = re.sub(r"<mimic[^>]*/>", "", text)
        text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)
        gravity = np.array(MOUNTINGS[case.mounting])
        self.real = pin.buildModelFromXML(text)
        if not tool:
            last = self.real.njoints - 1
            tool = next(f.name for f in self.real.frames if f.parentJoint == last and f.type == pin.BODY)
        self.told = ArmModel(text, tool, gravity)
        self.real.gravity.linear = gravity
        self.index = np.array([self.real.joints[self.real.getJointId(n)].idx_v for n in self.told.joint_names])
        lower, upper = np.clip(self.told.lower, -2.0, 2.0), np.clip(self.told.upper, -2.0, 2.0)
        self.range = upper - lower
        self.tool, self.stiffness, self.damping = self.real.getFrameId(tool), case.stiffness, case.damping
        self.stiff = case.stiff
        self.normal, self.face, self.joint, self.end = np.zeros(3), np.inf, 0, np.inf
        frame = self.real.frames[self.tool]
        hand = self.real.inertias[frame.parentJoint].copy()
        for share in LESS ** np.arange(TRIES):
            more = 1.0 + share * (case.hand - 1.0)
            self.real.inertias[frame.parentJoint] = pin.Inertia(more * hand.mass, hand.lever, more * hand.inertia)
            load = share * case.load
            if load:
                size = 0.4 * load * 0.05**2
                place = frame.placement * pin.SE3(np.eye(3), np.array(case.offset))
                body = pin.Inertia(load, np.zeros(3), size * np.eye(3))
                self.real.appendBodyToJoint(frame.parentJoint, body, place)
            self.data = self.real.createData()
            rng = np.random.default_rng([case.seed, 1])
            for _ in range(200):
                self.posture = lower + self.range * rng.uniform(0.2, 0.8, self.told.n)
                if self.needs(self.posture) < HELD and self.is_rated(case) and not self.is_lost(case):
                    self.touch(case)
                    self.put(self.posture)
                    return
        raise ValueError(f"seed {case.seed}: no posture in which the motors hold arm and load, and a gate can react")

    def touch(self, case: Case) -> None:
        """Place the wall, or the stop of a joint, before the motion."""
        ends = []
        for t in (0.0, 0.5):
            self.put(self.wanted(case, t))
            ends.append(self.tool_position())
        motion = ends[1] - ends[0]
        self.normal = motion / max(float(np.linalg.norm(motion)), 1e-9)
        if case.stiffness:
            self.face = float(ends[0] @ self.normal) + case.gap
        if case.stop:
            self.joint = int(np.random.default_rng([case.seed, 3]).integers(self.told.n))
            self.end = self.posture[self.joint] + case.stop

    def tool_position(self) -> Array:
        """Position (3,) of the tool [m]."""
        pin.framesForwardKinematics(self.real, self.data, self.q)
        position: Array = self.data.oMf[self.tool].translation.copy()
        return position

    def wanted(self, case: Case, t: float) -> Array:
        """Position (n,) that the law wants at a time [s]."""
        return self.posture + case.amplitude * self.range * (1.0 - np.cos(3.0 * t)) * 0.5

    def needs(self, position: Array) -> float:
        """Return the largest effort that holds arm and load at rest, as a fraction of a motor's limit."""
        self.put(position)
        weight = pin.rnea(self.real, self.data, self.q, self.v, self.v)[self.index]
        return float((np.abs(weight) / self.told.effort_limit).max())

    def is_rated(self, case: Case) -> bool:
        """Return whether the motors hold the load all along the motion, and where the arm swings around it."""
        swing = SWING * SIDES[:, : self.told.n]
        for t in np.linspace(0.0, DURATION, 9 if case.amplitude else 1):
            wanted = self.wanted(case, float(t))
            around = np.clip(wanted + swing, self.told.lower, self.told.upper)
            if any(self.needs(position) > RATED for position in (wanted, *around)):
                return False
        return True

    def put(self, position: Array) -> None:
        """Rest at a position (n,)."""
        self.v = np.zeros(self.real.nv)
        self.v[self.index] = position
        self.q = pin.integrate(self.real, pin.neutral(self.real), self.v)
        self.v = np.zeros(self.real.nv)
        self.position = position.copy()

    def is_lost(self, case: Case) -> bool:
        """Return whether the told weight alone throws the arm before the first command that answers a motion acts."""
        self.put(self.posture)
        rest = ArmState(0, self.posture, np.zeros(self.told.n), NONE, NONE)
        self.advance(self.told.gravity_effort(rest), (1 + case.delay) / case.rate)
        return self.speed > SPENT

    def advance(self, effort: Array, duration: float) -> None:
        """Move under an effort (n,) for a time [s]."""
        steps = int(np.ceil(duration / STEP))
        h, tau = duration / steps, np.zeros(self.real.nv)
        tau[self.index] = np.clip(effort, -self.told.effort_limit, self.told.effort_limit)
        for _ in range(steps):
            pushed = self.pushed(tau) if min(self.face, self.end) < np.inf else tau
            self.v = self.v + h * pin.aba(self.real, self.data, self.q, self.v, pushed)
            self.q = pin.integrate(self.real, self.q, h * self.v)
            self.position += h * self.v[self.index]

    def pushed(self, effort: Array) -> Array:
        """Return the efforts (nv,) with what a wall or a stop adds to them."""
        beyond, along = self.position[self.joint] - self.end, np.zeros(effort.size)
        if beyond > 0.0:
            i = self.index[self.joint]
            inertia = pin.crba(self.real, self.data, self.q)[i, i]
            along[i] = inertia * max(self.stiff * (self.stiff * beyond + 2.0 * LOSSES * self.v[i]), 0.0)
        depth = float(self.tool_position() @ self.normal) - self.face
        if depth > 0.0:
            frame = pin.LOCAL_WORLD_ALIGNED
            along = pin.computeFrameJacobian(self.real, self.data, self.q, self.tool, frame)[:3].T @ self.normal
            along *= max(self.stiffness * depth + self.damping * float(along @ self.v), 0.0)
        return effort - along

    @property
    def speed(self) -> float:
        """Fastest joint as a fraction of its limit."""
        return float((np.abs(self.v[self.index]) / self.told.velocity_limit).max())


def run(case: Case, *, gated: bool) -> tuple[float, float, str]:
    """Return the largest speed, the speed at the end of the stop, both over the limits, and the gate's reason."""
    arm = Arm(case)
    told, dt = arm.told, 1.0 / case.rate
    now, rng = [0.0], np.random.default_rng([case.seed, 2])
    acceleration = np.minimum(10.0 * told.velocity_limit, 20.0)
    anything = np.full(told.n, np.inf)
    limits = JointLimits(told.lower, told.upper, told.velocity_limit, acceleration, told.effort_limit, anything)
    gate = HardwareGate(told, limits, HardwareGateConfig(period=dt), lambda: now[0])
    rest = ArmState(0, arm.position, np.zeros(told.n), NONE, NONE)
    sent = [told.gravity_effort(rest)] * (case.delay + 1)
    led, worst, kd = False, 0.0, 2.0 * case.kd * np.sqrt(case.kp)
    for k in range(int((DURATION + STOPPING) * case.rate)):
        now[0] = t = k * dt
        noise = case.noise * told.velocity_limit * rng.standard_normal(told.n)
        state = ArmState(round(t * 1e9), arm.position.copy(), arm.v[arm.index] + noise, NONE, NONE)
        wanted = arm.wanted(case, t)
        asked = case.kp * (wanted - state.position) - kd * state.velocity
        effort = told.blocks(state).H_m @ asked + told.gravity_effort(state)
        ends = t >= DURATION
        if ends and not gated:
            break
        if gated:
            if ends:
                gate.end("the case ends")
            command = None
            try:
                command = gate.on_state(state)
                answer = gate.on_reference(JointReference(state.stamp, effort=effort))
                command = command if answer is None else answer
            except InputError as error:
                command = gate.on_unusable_state(state.stamp, str(error))
            if command is None and not led:
                continue  # whoever had the drives holds the arm until the gate takes them
            effort, led = sent[-1] if command is None else command, True
        sent.append(effort)
        arm.advance(sent[-1 - case.delay], dt)
        worst = max(worst, arm.speed)
        if not worst < WILD:
            break
    return worst, arm.speed, gate.status.reason


def judge(seed: int, contact: str = "none") -> dict[str, Any]:
    """Run a case behind the gate and without it."""
    case = draw(seed, contact)
    worst, end, reason = run(case, gated=True)
    free, _, _ = run(case, gated=False)
    return {"case": case, "worst": worst, "end": end, "free": free, "reason": reason}


def main() -> None:
    """Run all cases and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--contact", choices=CONTACTS, default="none")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    seeds = range(1000 * args.seed, 1000 * args.seed + args.count)
    with multiprocessing.Pool(args.jobs) as pool:
        found = pool.starmap(judge, [(seed, args.contact) for seed in seeds], chunksize=4)
    worst = np.array([one["worst"] for one in found])
    figures = {
        "cases": len(found),
        "worst_speed_ratio": float(worst.max()),
        "cases_beyond_1.1": int((worst > BAR).sum()),
        "cases_beyond_1.1_without_gate": sum(one["free"] > BAR for one in found),
        "worse_than_without_gate": sum(one["worst"] > max(BAR, one["free"]) for one in found),
        "not_at_rest": sum(one["end"] > REST for one in found),
    }
    if args.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:32s} {value:g}")
    for one in sorted(found, key=lambda one: -one["worst"])[:25]:
        speeds = f"{one['worst']:.2f} (without {one['free']:.2f}, end {one['end']:.2f})"
        print(f"  {speeds} {one['case']} {one['reason'][:70]}")


if __name__ == "__main__":
    main()
