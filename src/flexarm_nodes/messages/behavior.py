"""Conversion between behavior messages and core records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Vector3, Wrench
from rcl_interfaces.msg import Parameter as ParameterMessage
from rclpy.parameter import parameter_value_to_python

from flexarm.msg import Behavior as BehaviorMessage
from flexarm.msg import BehaviorContribution, BehaviorSet, BehaviorStatus
from flexarm_core.behavior_impedance.behavior import ActiveBehavior, BehaviorSpec
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp, stamp_to_nanoseconds


@dataclass(frozen=True, slots=True)
class BehaviorChange:
    """A requested change of the behavior set.

    Attributes:
        stamp: stamp of the first sample to which the change applies [ns]; 0: the next sample.
        replaces: whether ``specs`` replace all active behaviors.
        specs: behaviors that are added or whose settings change.
        removed: names of the behaviors that are removed.
    """

    stamp: int
    replaces: bool
    specs: tuple[BehaviorSpec, ...]
    removed: tuple[str, ...] = ()


def change_from_message(message: BehaviorSet) -> BehaviorChange:
    """Convert a BehaviorSet message; setting names and values are checked later, when the behaviors are created.

    Raises:
        ConfigError: the mode is unknown, a name is empty or given twice, or ``removed`` is used with REPLACE.
    """
    if message.mode not in (BehaviorSet.REPLACE, BehaviorSet.UPDATE):
        raise ConfigError(f"behavior set: mode {message.mode} is unknown; valid: 0 (REPLACE), 1 (UPDATE)")
    replaces, removed = message.mode == BehaviorSet.REPLACE, tuple(message.removed)
    if replaces and removed:
        raise ConfigError(f"behavior set: 'removed' is for UPDATE; REPLACE keeps nothing of {', '.join(removed)}")
    names = [*(behavior.name for behavior in message.behaviors), *removed]
    for name in names:
        if not name or names.count(name) > 1:
            raise ConfigError(f"behavior set: each name must be there once and not empty, got '{', '.join(names)}'")
    specs = tuple(spec_from_message(behavior) for behavior in message.behaviors)
    return BehaviorChange(stamp_to_nanoseconds(message.header.stamp), replaces, specs, removed)


def spec_from_message(message: BehaviorMessage) -> BehaviorSpec:
    """Convert a Behavior message to a record.

    Raises:
        ConfigError: a setting is given twice.
    """
    names = [setting.name for setting in message.settings]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"behavior '{message.name}': given twice: {', '.join(twice)}")
    return BehaviorSpec(message.name, message.kind, {setting.name: _value(setting) for setting in message.settings})


def _value(setting: ParameterMessage) -> object:
    value = parameter_value_to_python(setting.value)
    if value is None:
        raise ConfigError(f"setting '{setting.name}' has no value")
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def vector(values: Array) -> Vector3:
    """Convert an array (3,) to a Vector3."""
    x, y, z = (float(value) for value in values)
    return Vector3(x=x, y=y, z=z)


def behavior_status_to_message(
    stamp: int, controller: BehaviorImpedanceController, wrench: Array | None
) -> BehaviorStatus:
    """Return the controller's status after a sample.

    Args:
        stamp: stamp of the sample [ns].
        controller: controller after it processed the sample.
        wrench: (6,) external wrench on the tool at its origin, base link's axes [N, N*m]; None: no valid reading.
    """
    output, chain = controller.output, controller.arm.chain
    message = BehaviorStatus(joint_names=list(chain.joint_names), wrench_valid=wrench is not None)
    message.header.stamp, message.header.frame_id = nanoseconds_to_stamp(stamp), chain.base_frame
    message.behaviors = [_contribution(active) for active in controller.behaviors]
    message.wrench = _wrench(np.zeros(6) if wrench is None else wrench)
    message.position_error, message.orientation_error = vector(output.error[:3]), vector(output.error[3:])
    message.acceleration.linear, message.acceleration.angular = (
        vector(output.acceleration[:3]),
        vector(output.acceleration[3:]),
    )
    message.transition = controller.transition
    message.held, message.stalled, message.hindered_by = output.held, bool(output.stalled), list(output.hindered_by)
    return message


def _contribution(active: ActiveBehavior) -> BehaviorContribution:
    out, failed = active.out, bool(active.failure)
    takes_part = active.joined and not failed
    message = BehaviorContribution(name=active.spec.name, kind=active.spec.kind, active=takes_part)
    message.failure, message.note = active.failure, "" if failed else note(active)
    message.force = _wrench(out.force)
    message.twist.linear, message.twist.angular = vector(out.twist[:3]), vector(out.twist[3:])
    message.offset_position, message.offset_rotation = vector(out.offset[:3]), vector(out.offset[3:])
    message.effort = doubles(out.effort + out.yielding)
    message.measure = float(out.measure[0])
    return message


def note(active: ActiveBehavior) -> str:
    """Return the behavior's own description of its state; a behavior of another package may raise here."""
    try:
        return str(active.behavior.note())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _wrench(spatial: Array) -> Wrench:
    return Wrench(force=vector(spatial[:3]), torque=vector(spatial[3:]))
