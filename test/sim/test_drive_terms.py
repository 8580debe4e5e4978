"""Drives that add gravity, Coriolis and friction efforts by themselves, and the gate that takes them off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from gated_arm import Arm, effort_for, make_gate

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.drive_terms import DriveTerms, drive_terms, effort_lack
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig

BODY = """<inertial><origin xyz="0.05 0.02 0.2"/><mass value="3"/>
  <inertia ixx="0.05" iyy="0.06" izz="0.02" ixy="0.001" ixz="0" iyz="0.002"/></inertial>"""
AXES = ("0 0 1", "0 1 0", "0.6 0.8 0")
ALL = ("gravity", "coriolis", "friction")


def text(hardware: str = "", damping: float = 1.5, friction: float = 0.8) -> str:
    """Three joints in space, with friction and perhaps a hardware that says what its drives add."""
    parts = ['<link name="base"/>']
    for i, axis in enumerate(AXES, start=1):
        parent = f"l{i - 1}" if i > 1 else "base"
        parts.append(
            f'<link name="l{i}">{BODY}</link><joint name="j{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{i}"/><origin xyz="0 0 0.4" rpy="0.1 0 0.2"/><axis xyz="{axis}"/>'
            f'<limit lower="-3" upper="3" velocity="5" effort="200"/>'
            f'<dynamics damping="{damping}" friction="{friction}"/></joint>'
        )
    return f'<robot name="r">{"".join(parts)}{hardware}</robot>'


def control(adds: str, joints: tuple[str, ...] = ("j1", "j2", "j3"), lack: str = "") -> str:
    inside = "".join(f'<joint name="{name}"><command_interface name="effort"/></joint>' for name in joints)
    hardware = f'<hardware><plugin>maker/Arm</plugin><param name="drive_adds">{adds}</param>{{}}</hardware>'.format(
        f'<param name="efforts_lack">{lack}</param>' if lack else ""
    )
    return f'<ros2_control name="c{joints[0]}" type="system">{hardware}{inside}</ros2_control>'


def test_the_terms_are_those_of_pinocchio():
    model = ArmModel(text())
    theirs = pin.buildModelFromXML(text())
    data, rng = theirs.createData(), np.random.default_rng(4)
    for _ in range(20):
        q, v = rng.uniform(-2.0, 2.0, 3), rng.uniform(-3.0, 3.0, 3)
        gravity = pin.computeGeneralizedGravity(theirs, data, q).copy()
        coriolis = pin.computeCoriolisMatrix(theirs, data, q, v) @ v
        friction = rng.uniform(-1.0, 1.0, 3)
        for adds, wanted in (
            ((), np.zeros(3)),
            (("gravity",), gravity),
            (("coriolis",), coriolis),
            (("friction",), 1.5 * v + np.clip(friction, -0.8, 0.8)),  # what a torque loop found beyond is commanded
            (ALL, gravity + coriolis + 1.5 * v + np.clip(friction, -0.8, 0.8)),
        ):
            assert DriveTerms(model, adds).commanded(q, v, friction) == pytest.approx(wanted, abs=1e-11)
    fast = DriveTerms(model, ALL[2:]).added(np.zeros(3), np.array([2.0, -2.0, 0.0]))
    assert fast == pytest.approx([3.8, -3.8, 0.0])


def simulated(adds: tuple[str, ...], velocity: tuple[float, ...], period_ns: int = 1_000_000) -> Plant:
    """The arm in MuJoCo, which computes its own gravity and Coriolis efforts."""
    description = parse_robot_description(text(friction=0.0))
    config = PlantConfig(
        period_ns, drive=DriveConfig("effort"), initial_position=(0.3, 0.8, -0.6), initial_velocity=velocity
    )
    return Plant(description, MujocoBackend(description), config, DriveTerms(ArmModel(description), adds))


def test_with_all_terms_the_arm_floats_and_keeps_its_velocity_without_a_command():
    changes = []
    for adds, ticks in ((ALL, 300), (ALL, 1200), (ALL[:1], 300)):
        plant = simulated(adds, (0.5, -1.0, 1.5), 300_000_000 // ticks)
        for _ in range(ticks):
            plant.advance(np.zeros(3))
        changes.append(np.abs(plant.state().velocity - [0.5, -1.0, 1.5]).max())
    # an effort is held for a period: the error is in proportion to it
    assert changes[0] < 0.03 and changes[1] < 0.27 * changes[0]
    assert changes[2] > 0.5  # gravity alone leaves friction and Coriolis efforts
    floats, falls = simulated(("gravity",), (0.0, 0.0, 0.0)), simulated((), (0.0, 0.0, 0.0))
    for plant in (floats, falls):
        for _ in range(300):
            plant.advance(np.zeros(3))
    assert np.abs(floats.state().velocity).max() < 1e-9 and np.abs(falls.state().velocity).max() > 0.5
    held = ArmModel(text()).gravity_effort(ArmState(0, floats.state().position, np.zeros(3), np.zeros(0), np.zeros(0)))
    assert floats.state().effort == pytest.approx(held, abs=1e-9)  # measured is the whole effort


def test_the_limit_of_a_drive_is_that_of_its_whole_effort():
    description = parse_robot_description(text().replace('effort="200"', 'effort="4"'))
    config = PlantConfig(drive=DriveConfig("effort", clip_effort=True), initial_position=(0.3, 1.2, 0.4))
    plant = Plant(description, MujocoBackend(description), config, DriveTerms(ArmModel(description), ("gravity",)))
    plant.advance(np.array([0.0, 3.0, 0.0]))
    assert np.abs(plant.state().effort).max() == 4.0


def gates(adds: tuple[str, ...]) -> tuple[HardwareGate, HardwareGate, ArmModel]:
    model = ArmModel(text())
    plain = make_gate(model)
    return plain, HardwareGate(model, plain.limits, plain.config, drives=DriveTerms(model, adds)), model


@pytest.mark.parametrize("adds", [("gravity",), ("gravity", "friction"), ALL])
def test_the_gate_commands_what_the_drives_do_not_add(adds):
    """In motion, in a stop and at the end: with what the drives add, every command is that of the plain gate."""
    plain, gate, model = gates(adds)
    arm, terms = Arm(model), DriveTerms(model, adds)
    for tick in range(120):
        taken = np.array([0.2, -0.3, 0.1])
        wanted = replace(effort_for(model, arm.state, [2.0, -3.0, 1.0]), friction=taken)
        commands = []
        for one in (plain, gate):
            first = one.on_state(arm.state)
            led = tick < 60
            given = one.on_reference(wanted) if led else one.on_unusable_reference("lost")
            commands.append(first if given is None else given)
        assert (commands[0] is None) == (commands[1] is None)
        if commands[0] is not None:
            friction = gate._commands.law.friction
            part = terms.commanded(arm.state.position, arm.state.velocity, friction)
            assert commands[1] + part == pytest.approx(commands[0], abs=1e-9)
            assert np.abs(part).max() > 1.0
            arm.step(commands[0])
    assert gate.status.state is GateState.STOPPING
    rest = terms.commanded(arm.state.position, np.zeros(3), np.zeros(3))
    assert gate.rest_command() + rest == pytest.approx(plain.rest_command(), abs=0.2)
    assert np.abs(gate.rest_command()).max() < 0.2 < np.abs(plain.rest_command()).max()


def test_what_drives_add_is_read_from_the_description_and_may_be_overruled():
    assert parse_robot_description(text()).drive_adds == ()
    description = parse_robot_description(text(control("friction, gravity")))
    assert description.drive_adds == ("gravity", "friction")
    model = ArmModel(description)
    assert drive_terms(model, [""]).adds == ("gravity", "friction")
    assert drive_terms(model, ["none"]).adds == () and drive_terms(model, ["coriolis"]).adds == ("coriolis",)
    assert make_gate(model).drives.adds == ("gravity", "friction")
    with pytest.raises(ConfigError, match="cannot add 'wind'; they add gravity, coriolis, friction"):
        drive_terms(model, ["wind"])
    with pytest.raises(RobotDescriptionError, match="drive_adds has 'weight'; drives add gravity"):
        parse_robot_description(text(control("weight")))
    with pytest.raises(RobotDescriptionError, match="must be the same for all joints of the arm"):
        parse_robot_description(text(control("gravity", ("j1", "j2")) + control("", ("j3",))))


def test_efforts_that_lack_terms_are_told_so_by_the_plant_and_the_description_says_it():
    description = parse_robot_description(text(control("gravity", lack="gravity friction"), friction=0.8))
    assert description.efforts_lack == ("gravity", "friction") and effort_lack(ArmModel(text())) is None
    model, config = ArmModel(description), PlantConfig(initial_position=(0.3, 0.8, -0.6))
    lack = effort_lack(model)
    plant = Plant(description, MujocoBackend(description), config, DriveTerms(model, ("gravity",)), lack)
    for _ in range(200):
        told = plant.advance(np.array([1.0, -1.0, 0.5])).joints
    state = plant.state()
    assert np.abs(state.velocity).max() > 0.05
    gravity = model.gravity_effort(ArmState(0, state.position, np.zeros(3), np.zeros(0), np.zeros(0)))
    rubbed = 1.5 * state.velocity + 0.8 * np.tanh(state.velocity / 0.01)
    assert told.effort == pytest.approx(state.effort - gravity - rubbed, abs=1e-9)
    with pytest.raises(RobotDescriptionError, match="efforts_lack has 'weight'; drives add gravity"):
        parse_robot_description(text(control("gravity", lack="weight")))


def test_an_arm_that_rests_with_efforts_of_zero_is_noticed_before_it_moves():
    _, _, model = gates(())
    hanging, lying = np.zeros(3), np.array([0.3, 1.2, 0.4])
    still, nothing = np.zeros(3), np.zeros(3)
    plain = DriveTerms(model, ())
    weight = model.gravity_effort(ArmState(0, lying, still, np.zeros(0), np.zeros(0)))
    heaviest = model.joint_names[int(np.argmax(np.abs(weight)))]
    said = plain.doubt(lying, still, nothing)
    assert f"of '{heaviest}'" in said and "drive_adds" in said and f"{np.abs(weight).max():.3g} N*m" in said
    assert plain.doubt(lying, still, weight) == "" and plain.doubt(lying, still, 0.05 * weight) == ""
    assert plain.doubt(hanging, still, nothing) == plain.doubt(lying, still, np.full(3, np.nan)) == ""
    assert plain.doubt(lying, np.array([0.0, 0.5, 0.0]), nothing) == ""
    assert "do not report it, which efforts_lack must say" in DriveTerms(model, ("gravity",)).doubt(
        lying, still, nothing
    )
    weightless = ArmModel(text(), gravity=(0.0, 0.0, 0.0))
    assert DriveTerms(weightless, ()).doubt(lying, still, nothing) == ""
    gate, arm = make_gate(model), Arm(model)
    arm.state = replace(arm.state, position=lying)
    gate.on_state(arm.state)
    gate.on_effort(arm.state, nothing)
    assert "drive_adds" in gate.doubt and gate.status.state is GateState.WAITING
    gate.on_effort(arm.state, weight)
    assert gate.doubt == ""
    gate.on_effort(arm.state, nothing)
    gate.on_reference(effort_for(model, arm.state, [0.0, 0.0, 0.0]))
    gate.on_effort(arm.state, nothing)
    assert gate.doubt == "" and gate.status.state is GateState.RUNNING


@pytest.mark.parametrize("lacks", [False, True])
@pytest.mark.parametrize(("said", "true"), [((), ()), (ALL, ALL), (ALL, ()), ((), ALL), (ALL[:1], ()), ((), ALL[:1])])
def test_drives_that_add_otherwise_than_said_are_noticed_at_the_first_commands(said, true, lacks):
    """MuJoCo moves the arm; efforts are whole, or those of the commands alone."""
    description = parse_robot_description(text(friction=0.0))
    start = (0.3, 0.8, -0.6)
    _, gate, model = gates(said)
    plant = Plant(
        description,
        MujocoBackend(description),
        PlantConfig(initial_position=start),
        DriveTerms(ArmModel(description), true),
    )
    sent, worst = None, 0.0
    for tick in range(400):
        plant.advance(sent)
        now = plant.state()
        state = ArmState(tick * 1_000_000, now.position, now.velocity, np.zeros(0), np.zeros(0))
        gate.on_effort(state, now.effort if sent is None or not lacks else sent)
        first = gate.on_state(state)
        given = gate.on_reference(effort_for(model, state, [0.2 * np.cos(0.02 * tick), -0.3, 0.1]))
        sent = first if given is None else given
        worst = max(worst, np.abs(now.position - start).max())
    status = gate.status
    if said == true and not (lacks and said):
        assert gate.doubt == "" and status.state is GateState.RUNNING and status.trips == 0
    elif lacks and said == true:  # efforts without what drives add look like those of plain drives; the motion does not
        assert "or do not report it, which efforts_lack must say" in gate.doubt and status.trips == 0
    elif lacks and not said:  # the measured efforts are the commands
        assert gate.doubt == "" and status.trips == 0
    else:
        wrong = "do not add gravity" if said else "add gravity themselves"
        assert status.state is GateState.TRIPPED and wrong in status.reason and wrong in gate.doubt
        assert worst < 0.2
