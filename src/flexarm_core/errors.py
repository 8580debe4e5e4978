"""Errors of the suite: each message says what was wrong, what is valid and what to do."""


class FlexarmError(Exception):
    """Root of every error that flexarm raises on purpose."""


class RobotDescriptionError(FlexarmError):
    """The robot description lacks or contradicts something; the message names the joint or link."""


class InputError(FlexarmError, ValueError):
    """A value given to an update is not usable: wrong shape, not finite, wrong names, too old."""


class ConfigError(FlexarmError, ValueError):
    """A parameter or scenario key is unknown, of the wrong type or out of its bounds."""
