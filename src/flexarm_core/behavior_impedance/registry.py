"""Registry of all available kinds of behaviors: the built-in ones and those that other packages add.

A package adds a kind with an entry point of the group ``flexarm.behaviors`` in setup.py or setup.cfg. The name of the
entry point is the kind, and its object is the class::

    [options.entry_points]
    flexarm.behaviors =
        follow_wall = my_package.follow_wall:FollowWall
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, BehaviorSpec
from flexarm_core.behavior_impedance.behaviors.dither import Dither
from flexarm_core.behavior_impedance.behaviors.force import Force
from flexarm_core.behavior_impedance.behaviors.joint_limits import JointLimits
from flexarm_core.behavior_impedance.behaviors.obstacles import Obstacles
from flexarm_core.behavior_impedance.behaviors.path import Path
from flexarm_core.behavior_impedance.behaviors.posture import Posture
from flexarm_core.behavior_impedance.behaviors.singularity import Singularity
from flexarm_core.behavior_impedance.behaviors.spring import Spring
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.behavior_impedance.setting import checked_settings
from flexarm_core.errors import ConfigError, FlexarmError

GROUP = "flexarm.behaviors"
OWN: tuple[type[Behavior], ...] = (
    Path, Teleoperation, Force, Spring, JointLimits, Singularity, Obstacles, Posture, Dither,
)  # fmt: skip


@cache
def known_behaviors() -> dict[str, type[Behavior]]:
    """Return the behavior classes by kind.

    Raises:
        ConfigError: an entry point cannot be loaded, is not a Behavior class, or has the name of another kind.
    """
    found: dict[str, type[Behavior]] = {kind.KIND: kind for kind in OWN}
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # importing an external module may raise anything
            raise ConfigError(f"behavior '{point.name}' of {point.value} cannot be loaded: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Behavior)):
            raise ConfigError(f"behavior '{point.name}' of {point.value} is no flexarm Behavior class")
        if found.setdefault(point.name, loaded) is not loaded:
            raise ConfigError(f"behavior '{point.name}' of {point.value} has the name of another one")
    return found


def make_behavior(spec: BehaviorSpec, arm: Arm) -> Behavior:
    """Create the behavior that a spec requests.

    Raises:
        ConfigError: the kind is unknown, or the settings are not valid; the message names the behavior.
    """
    kinds = known_behaviors()
    if spec.kind not in kinds:
        raise ConfigError(f"behavior '{spec.name}': kind '{spec.kind}' is unknown; valid: {', '.join(kinds)}")
    kind = kinds[spec.kind]
    try:
        return kind(arm, checked_settings(kind.SETTINGS, spec.settings))
    except FlexarmError as error:
        raise ConfigError(f"behavior '{spec.name}': {error}") from error
    except Exception as error:  # an external constructor may raise anything
        raise ConfigError(f"behavior '{spec.name}': {type(error).__name__}: {error}") from error
