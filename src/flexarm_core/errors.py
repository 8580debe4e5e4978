"""Exception types of the suite. Each message states what was wrong, what is valid and what to do.

Attributes contain the data on which a caller may want to branch; messages may change.
"""

from typing import Any

MOST_QUOTED = 120  # characters of a text of others in a message


def quoted(text: str) -> str:
    """Return a text of others for a message: in quotes, on one line, and shortened."""
    text = str(text)
    short = text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 3]}..."
    return f"'{short}'" if short.isprintable() else repr(short)


class FlexarmError(Exception):
    """Base class of all exceptions that flexarm raises deliberately; ``str()`` gives the message."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class RobotDescriptionError(FlexarmError):
    """The robot description is incomplete or inconsistent; the message names the joint or link.

    Attributes:
        joint: name of the faulty joint, as given; empty if the error concerns no joint.
        link: name of the faulty link, as given; empty if the error concerns no link.
    """

    def __init__(self, message: str, *, joint: str = "", link: str = "") -> None:
        super().__init__(message)
        self.joint, self.link = joint, link


class InputError(FlexarmError, ValueError):
    """An input value is not usable: wrong shape, not finite, wrong names, or too old."""


class JointLimitError(InputError):
    """A joint position is beyond the limits of its joint.

    Attributes:
        joint: name of the joint; of the first one, if there are several.
        value: its position [rad | m].
        lower: lowest position that is accepted [rad | m].
        upper: highest position that is accepted [rad | m].
    """

    def __init__(self, message: str, joint: str, value: float, lower: float, upper: float) -> None:
        super().__init__(message, joint, value, lower, upper)
        self.joint, self.value, self.lower, self.upper = joint, value, lower, upper


class ConfigError(FlexarmError, ValueError):
    """A parameter or scenario key is unknown, has the wrong type or is out of bounds.

    Attributes:
        setting: name of the faulty setting; empty if there are several or none.
        value: rejected value; None without ``setting``.
    """

    def __init__(self, message: str, *, setting: str = "", value: Any = None) -> None:
        super().__init__(message)
        self.setting, self.value = setting, value


class GainError(ConfigError):
    """A gain would make the loop unstable.

    Attributes:
        setting: name of the gain.
        value: rejected value, in the unit of the setting.
        largest: largest gain that is accepted, in the unit of the setting.
    """

    def __init__(self, message: str, setting: str, value: float, largest: float) -> None:
        super().__init__(message, setting=setting, value=value)
        self.args = (message, setting, value, largest)  # as the constructor takes them, so that it can be pickled
        self.largest = largest
