"""Endless joints whose encoders report modulo a turn: every stage does what it does with encoders that count.

They share a process, or run as separate nodes do: each with a door of its own, from a turn of its own, and with the
messages of the others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from endless_arm import Encoders, endless, endless_scenario, run
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import JointReference
from flexarm_core.turns import TURN
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node import topics

ERROR = 2
CONFIG = Path(__file__).resolve().parents[2] / "config"
SCENARIOS = {  # ticks: enough to move; with friction that sticks rounding errors decide later on
    "arm_7r/scenarios/position.yaml": 700,  # redundancy resolution, position mode
    "arm_7r/scenarios/behaviors.yaml": 200,
    "planar_3r/scenarios/combined.yaml": 400,  # vibration, effort mode
    "trep/scenarios/fig11_fast.yaml": 400,  # reactionless path, velocity mode
    "flexible_2r/scenarios/damped.yaml": 100,  # estimator and control of flexible links
    "arm_7r/scenarios/friction_position_loop.yaml": 280,  # base wrench
    "boom_7r/scenarios/inspect_and_wipe.yaml": 40,  # all together
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_stages_command_the_same_whatever_the_turns_of_their_encoders(name):
    rng = np.random.default_rng([*name.encode()])
    scenario, ticks = endless_scenario(CONFIG / name), SCENARIOS[name]
    known = scenario.robot.description
    turning = np.array([known.joints[joint].endless for joint in known.actuated])
    assert turning.any()
    plain = run(scenario, ticks)
    way = plain["position"]
    seams = rng.uniform(way.min(axis=0), way.max(axis=0))  # where encoders jump: within the motion
    assert (np.diff(np.floor((way - seams) / TURN), axis=0) != 0.0).any()
    assert not plain["refused"].size
    for apart in (None, rng):
        turned = run(scenario, ticks, Encoders(turning, rng.integers(-3, 4, turning.size), seams), apart)
        assert not turned["refused"].size
        largest = np.nanmax(np.abs(plain["command"]))
        assert np.allclose(turned["command"], plain["command"], rtol=0.0, atol=1e-6 * largest, equal_nan=True)


def test_the_node_of_the_gate_leads_a_drive_across_the_jump_of_its_encoder(live, shared):
    names, commands = ("joint1", "joint2", "joint3"), topics.command_topic("position")
    text = endless(shared["robot_description"], names)
    more = {"command_mode": "position", "lockstep": True, "use_sim_time": True, "robot_description": text}
    live.start("hardware_gate", {**shared, **more})
    live.listen(commands, Float64MultiArray)
    states = live.publisher(topics.JOINT_STATES, JointState)
    references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.until(lambda: live.node.count_publishers(commands) > 0, "commands")
    live.settle()
    seam, speed, position, leads = START + 0.005, 0.4, START.copy(), []
    for tick in range(1, 61):
        reported = position - TURN * (position > seam)
        goal = START + speed * 1e-3 * tick + TURN * (tick // 7 % 4)
        message = JointReference(names=list(names), position=doubles(goal), velocity=doubles(np.full(3, speed)))
        message.header.stamp = joint_state(tick).header.stamp
        count = len(live.received[commands])
        references.publish(message)
        states.publish(joint_state(tick, reported, np.full(3, speed) if leads else np.zeros(3)))
        live.until(lambda count=count: len(live.received[commands]) > count, "a command")
        leads.append(np.array(live.received[commands][-1].data) - reported)
        position = position + leads[-1]
    assert (position > seam + 0.005).all()
    assert np.abs(leads).max() < 2e-3
    assert all(level < ERROR for level, _ in live.said("hardware_gate"))
