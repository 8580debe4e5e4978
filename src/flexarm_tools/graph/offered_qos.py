"""QoS profiles offered by the publishers of a topic, as rosbag2 stores them with each recorded topic."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

import yaml
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from flexarm_core.errors import InputError
from flexarm_core.yaml_bounds import excess

NANOSECONDS = 10**9
DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")


def write_offered_qos(profiles: Iterable[QoSProfile]) -> str:
    """Write the profiles as YAML with numeric policies: all versions of rosbag2 read these, some cannot read names."""
    return yaml.safe_dump([_written(profile) for profile in profiles], sort_keys=False)


def read_offered_qos(text: str) -> tuple[QoSProfile, ...]:
    """Parse profiles from such a YAML text; policies may be numbers or names.

    Raises:
        InputError: the text is not valid.
    """
    if too_much := excess(text):
        raise InputError(f"offered_qos_profiles {too_much}")
    try:
        return tuple(_read(node) for node in yaml.safe_load(text) or ())
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"offered_qos_profiles cannot be read: {reason}") from error


def _written(profile: QoSProfile) -> dict[str, Any]:
    spans = {name: divmod(getattr(profile, name).nanoseconds, NANOSECONDS) for name in DURATIONS}
    times = {name: {"sec": sec, "nsec": nsec} for name, (sec, nsec) in spans.items()}
    return {
        "history": int(profile.history),
        "depth": profile.depth,
        "reliability": int(profile.reliability),
        "durability": int(profile.durability),
        "deadline": times["deadline"],
        "lifespan": times["lifespan"],
        "liveliness": int(profile.liveliness),
        "liveliness_lease_duration": times["liveliness_lease_duration"],
        "avoid_ros_namespace_conventions": profile.avoid_ros_namespace_conventions,
    }


def _read(node: dict[str, Any]) -> QoSProfile:
    spans = {name: _whole(node[name]["sec"]) * NANOSECONDS + _whole(node[name]["nsec"]) for name in DURATIONS}
    return QoSProfile(
        history=_policy(HistoryPolicy, node["history"]),
        depth=_whole(node["depth"]),
        reliability=_policy(ReliabilityPolicy, node["reliability"]),
        durability=_policy(DurabilityPolicy, node["durability"]),
        liveliness=_policy(LivelinessPolicy, node["liveliness"]),
        avoid_ros_namespace_conventions=bool(node["avoid_ros_namespace_conventions"]),
        # Older middlewares wrote larger values for "infinite", which exceed the range of a Duration.
        **{name: Duration(nanoseconds=min(span, 2**63 - 1)) for name, span in spans.items()},
    )


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**64:
        raise ValueError(f"'{str(value)[:40]}' is no whole number >= 0")
    return value


def _policy(kind: type[IntEnum], value: int | str) -> IntEnum:
    return kind(value) if isinstance(value, int) else kind[value.upper()]
