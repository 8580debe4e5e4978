"""Joint states without velocities, as many drivers send them: positions are differentiated, or nothing is believed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from endless_arm import endless
from planar_messages import joint_state
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.slope import GAP_PERIODS, GAP_WINDOWS
from flexarm_nodes.messages.conversions import JointStateSelector, doubles
from flexarm_nodes.messages.differentiated import Differentiated
from flexarm_nodes.messages.joint_state_parts import JointStateParts
from flexarm_nodes.node import topics

MS = 1_000_000
WINDOW = 0.004


def state(stamp: int, names, position, velocity=()) -> bytes:
    message = JointState(name=list(names), position=np.asarray(position, dtype=float).tolist())
    message.velocity, message.effort = list(map(float, velocity)), [1.0] * len(message.name)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    return bytes(serialize_message(message))


def rates(raw: bytes | None, names) -> np.ndarray | None:
    """Velocities of the named joints; None: there are none."""
    if raw is None:
        return None
    message = deserialize_message(raw, JointState)
    if not message.velocity:
        return None
    return np.array([message.velocity[message.name.index(name)] for name in names])


def made(model, window=WINDOW):
    told: list[float] = []
    return Differentiated(model, window, lambda one: told.append(one.delay)), told


@pytest.fixture
def model(planar_3r_text) -> ArmModel:
    """The planar arm, whose second joint turns without limits."""
    return ArmModel(endless(planar_3r_text, ("joint2",)))


def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of the joints and of the base at a time [s]."""
    speed, size = np.array([5.0, 0.5, 3.0, 30.0]), np.array([0.5, 5.0, 0.3, 0.01])
    return size * np.sin(speed * t), size * speed * np.cos(speed * t)


def names_of(model: ArmModel) -> tuple[str, ...]:
    return (*model.joint_names, *model.elastic_joint_names)


@pytest.mark.parametrize("rate", [10, 40, 125, 250, 500, 1000, 4000])
def test_a_constant_velocity_is_found_at_any_rate_and_its_delay_is_told_once(model, rate):
    give, told = made(model)
    names, speed, found = names_of(model), np.array([0.3, 2.0, -0.1, 0.05]), []
    for tick in range(50):
        stamp = round(1e9 * tick / rate)
        wrapped = speed * stamp * 1e-9 + [0.0, 3.0, 0.0, 0.0]
        wrapped[1] = math.remainder(wrapped[1], math.tau)  # as an encoder reports it
        found.append(rates(give(state(stamp, ("finger", "finger", *names), [0.0, 1.0, *wrapped])), names))
    first = next(i for i, one in enumerate(found) if one is not None)
    assert first == max(1, math.ceil(0.0005 * rate)) and all(np.allclose(one, speed) for one in found[first:])
    assert told == [pytest.approx(0.5 * max(WINDOW, 1.0 / rate))]


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_a_velocity_lies_among_those_of_its_window_whatever_is_lost_repeated_or_uneven(model, seed):
    rng, (give, _), names = np.random.default_rng(seed), made(model), names_of(model)
    period, stamp, given, last = rng.choice([0.001, 0.002, 0.008, 0.03]), 0, 0, None
    for _ in range(1500):
        stamp += round(1e9 * period * rng.uniform(0.6, 1.4)) * int(rng.choice([1, 1, 1, 1, 2, 3, 40]))
        t, faulty = stamp * 1e-9, rng.random() < 0.02
        position = motion(t)[0]
        position[1] = math.remainder(position[1], math.tau)
        if faulty:
            position[rng.integers(4)] = rng.choice([np.nan, np.inf])
        velocity = () if rng.random() < 0.5 else np.full(4, np.nan)
        raw = state(stamp, names, position, velocity)
        found = rates(give(raw), names)
        again = rates(give(raw), names)  # repeated
        if faulty:
            assert found is None or np.isnan(found).all()
            continue
        if found is None or np.isnan(found).all():
            continue
        given += 1
        assert np.array_equal(found, again)
        span = max(GAP_WINDOWS * WINDOW, GAP_PERIODS * 1.4 * period) + WINDOW
        among = np.array([motion(one)[1] for one in np.linspace(t - span, t, 200)])
        inside = (among.min(axis=0) - 1e-3 <= found) & (found <= among.max(axis=0) + 1e-3)
        assert given < 4 or inside.all()  # the period is known by then
        last = found
    assert given > 700 and last is not None


def test_what_gives_no_velocity_is_refused_by_its_reader(model):
    give, _ = made(model)
    names, still = names_of(model), np.zeros(4)
    read = JointStateSelector(names)

    def refused(stamp: int, velocity=(), position=still) -> str:
        raw = give(state(stamp * MS, names, position, velocity))
        assert raw is not None
        with pytest.raises(InputError) as caught:
            read(deserialize_message(raw, JointState))
        return str(caught.value)

    assert give(state(100 * MS, names, still)) is None  # it begins
    assert "has no velocity" in refused(100)  # a driver that sets no stamps
    assert rates(give(state(101 * MS, names, still)), names) is not None
    assert "has no velocity" in refused(500)  # behind a gap
    assert rates(give(state(501 * MS, names, still)), names) is not None
    assert "has no velocity" in refused(490)  # out of order
    assert rates(give(state(502 * MS, names, still)), names) is not None
    assert "has no velocity" in refused(300)  # the clock was set back
    assert rates(give(state(301 * MS, names, still)), names) is not None
    assert "velocity of joint2 is not finite" in refused(302, [0.0, np.nan, 0.0, 0.0])
    assert "position of joint1 is not finite" in refused(303, [np.nan] * 4, [np.nan, 0.0, 0.0, 0.0])
    assert "3 velocity values" in refused(304, [0.0] * 3)


def test_velocities_that_end_are_not_replaced_before_there_are_two_positions(model):
    give, told = made(model)
    names = names_of(model)
    whole = state(0, names, np.zeros(4), np.ones(4))
    assert give(whole) is whole and not told
    raw = state(MS, names, np.zeros(4))
    assert give(raw) is raw  # refused: a gate stops
    assert np.allclose(rates(give(state(2 * MS, names, np.full(4, 0.001))), names), 1.0)
    assert give(whole) is whole


def test_the_rate_of_a_deflection_alone_may_be_missing(model):
    give, _ = made(model)
    names = names_of(model)
    for tick in range(3):
        found = rates(give(state(tick * MS, names, [0.0, 0.0, 0.0, 0.002 * tick], [1.0, 2.0, 3.0, np.nan])), names)
    assert np.allclose(found, [1.0, 2.0, 3.0, 2.0])


def test_parts_of_several_publishers_are_differentiated_each_by_itself(model):
    give, _ = made(model)
    join, found = JointStateParts(model.joint_names, model.elastic_joint_names), None
    for tick in range(0, 40, 4):
        for late, part in enumerate((("joint1",), ("joint3", "joint2", "base_x"))):
            raw = give(state((tick + late) * MS, part, [0.002 * (tick + late)] * len(part)))
            found = (None if raw is None else join(raw)) or found
    assert np.allclose(rates(found, names_of(model)), 2.0)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_raise_nothing(model, seed):
    rng, (give, _), names = np.random.default_rng(seed), made(model), names_of(model)
    for tick in range(2000):
        raw = bytearray(state(tick * MS, names, np.zeros(4)))
        for place in rng.integers(2, len(raw), rng.integers(0, 4)):
            raw[place] = rng.integers(0, 256)
        give(bytes(raw[: rng.integers(0, len(raw) + 1)]))


COMMANDS = topics.command_topic("effort")


def test_a_gate_moves_an_arm_whose_driver_reports_no_velocity_and_stops_where_velocities_end(live, shared):
    live.start("hardware_gate", {**shared, "lockstep": True, "use_sim_time": True})
    live.listen(COMMANDS, Float64MultiArray)
    states, references = (
        live.publisher(topics.JOINT_STATES, JointState),
        live.publisher(topics.JOINT_REFERENCE, JointReference),
    )
    live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
    live.settle()

    def tick(number: int, velocity: bool) -> list[float]:
        message, wanted = joint_state(number), JointReference(names=["joint1", "joint2", "joint3"])
        wanted.header.stamp, wanted.effort = message.header.stamp, doubles(np.array([1.0, 2.0, 3.0]))
        if not velocity:
            message.velocity = []
        count = len(live.received[COMMANDS])
        references.publish(wanted)
        states.publish(message)
        if number > 1:  # one position gives no velocity
            live.until(lambda: len(live.received[COMMANDS]) > count, "a command")
        return [] if number == 1 else list(live.received[COMMANDS][-1].data)

    assert [tick(number, velocity=False) for number in range(1, 4)] == [[], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert tick(4, velocity=True) == [1.0, 2.0, 3.0]
    live.wait_for_diagnostic("hardware_gate", "running")
    for number in range(60, 63):  # behind a gap
        tick(number, velocity=False)
    live.wait_for_diagnostic("hardware_gate", "joint state has no velocity")


def test_a_window_of_zero_refuses_joint_states_without_velocities(live, shared):
    live.start("hardware_gate", {**shared, "velocity_window": 0.0})
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.settle()
    message = joint_state(1)
    message.velocity = []
    states.publish(message)
    live.wait_for_diagnostic("hardware_gate", "velocity_window is 0")
