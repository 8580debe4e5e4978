"""Exception types of the suite. Each message states what was wrong, what is valid and what to do."""


class FlexarmError(Exception):
    """Base class of all exceptions that flexarm raises deliberately."""


class RobotDescriptionError(FlexarmError):
    """The robot description is incomplete or inconsistent; the message names the joint or link."""


class InputError(FlexarmError, ValueError):
    """An input value is not usable: wrong shape, not finite, wrong names, or too old."""


class ConfigError(FlexarmError, ValueError):
    """A parameter or scenario key is unknown, has the wrong type or is out of bounds."""
