"""Conversion between behavior messages and core records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Accel, Twist, Vector3, Wrench
from rcl_interfaces.msg import Parameter as ParameterMessage
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import Header

from flexarm.msg import Behavior as BehaviorMessage
from flexarm.msg import BehaviorContribution, BehaviorSet, BehaviorStatus
from flexarm_core.behavior_impedance.behavior import ActiveBehavior, BehaviorSpec
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_nodes.messages.cdr import unchecked
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp, stamp_to_nanoseconds

PAIRS = {Wrench: ("force", "torque"), Twist: ("linear", "angular"), Accel: ("linear", "angular")}


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
    return unchecked(
        BehaviorStatus,
        header=Header(stamp=nanoseconds_to_stamp(stamp), frame_id=chain.base_frame),
        joint_names=list(chain.joint_names),
        behaviors=[_contribution(active) for active in controller.behaviors],
        wrench=_pair(Wrench, np.zeros(6) if wrench is None else wrench),
        wrench_valid=wrench is not None,
        position_error=_vector(output.error[:3]),
        orientation_error=_vector(output.error[3:]),
        acceleration=_pair(Accel, output.acceleration),
        transition=controller.transition,
        held=output.held,
        stalled=bool(output.stalled),
        hindered_by=list(output.hindered_by),
    )


def brief_behavior_status(controller: BehaviorImpedanceController) -> BehaviorStatus:
    """Return the part of the status that a recording takes; other fields are not there."""
    behaviors = [
        unchecked(BehaviorContribution, kind=one.spec.kind, active=_takes_part(one), measure=float(one.out.measure[0]))
        for one in controller.behaviors
    ]
    return unchecked(BehaviorStatus, behaviors=behaviors, held=controller.output.held)


def _takes_part(active: ActiveBehavior) -> bool:
    return active.joined and not active.failure


def _contribution(active: ActiveBehavior) -> BehaviorContribution:
    out, failed = active.out, bool(active.failure)
    return unchecked(
        BehaviorContribution,
        name=active.spec.name,
        kind=active.spec.kind,
        active=_takes_part(active),
        failure=active.failure,
        note="" if failed else note(active),
        force=_pair(Wrench, out.force),
        twist=_pair(Twist, out.twist),
        offset_position=_vector(out.offset[:3]),
        offset_rotation=_vector(out.offset[3:]),
        effort=doubles(out.effort + out.yielding),
        measure=float(out.measure[0]),
    )


def note(active: ActiveBehavior) -> str:
    """Return the behavior's own description of its state; a behavior of another package may raise here."""
    try:
        return str(active.behavior.note())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _vector(values: Array) -> Vector3:
    x, y, z = values.tolist()
    return unchecked(Vector3, x=x, y=y, z=z)


def _pair(kind: Any, spatial: Array) -> Any:
    """Return the message of a spatial vector (6,): a wrench, a twist or an acceleration."""
    return unchecked(kind, **dict(zip(PAIRS[kind], (_vector(spatial[:3]), _vector(spatial[3:])), strict=True)))
