"""The kinds of behaviours that can be asked for: those of the suite, and those that other packages add.

A package adds one by an entry point of the group ``flexarm.behaviors`` whose name is the kind and whose object is the
class, in setup.py or setup.cfg::

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
    """Classes by kind.

    Raises:
        ConfigError: a package's entry point cannot be loaded, is no Behavior, or takes the name of another.
    """
    found: dict[str, type[Behavior]] = {kind.KIND: kind for kind in OWN}
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # whatever a foreign module does when it is imported
            raise ConfigError(f"behaviour '{point.name}' of {point.value} cannot be loaded: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Behavior)):
            raise ConfigError(f"behaviour '{point.name}' of {point.value} is no flexarm Behavior class")
        if found.setdefault(point.name, loaded) is not loaded:
            raise ConfigError(f"behaviour '{point.name}' of {point.value} has the name of another one")
    return found


def make_behavior(spec: BehaviorSpec, arm: Arm) -> Behavior:
    """The behaviour that a spec asks for.

    Raises:
        ConfigError: an unknown kind, or settings that are not legal; the message names the behaviour.
    """
    kinds = known_behaviors()
    if spec.kind not in kinds:
        raise ConfigError(f"behaviour '{spec.name}': kind '{spec.kind}' is unknown; valid: {', '.join(kinds)}")
    kind = kinds[spec.kind]
    try:
        return kind(arm, checked_settings(kind.SETTINGS, spec.settings))
    except FlexarmError as error:
        raise ConfigError(f"behaviour '{spec.name}': {error}") from error
    except Exception as error:  # whatever a foreign constructor does
        raise ConfigError(f"behaviour '{spec.name}': {type(error).__name__}: {error}") from error
