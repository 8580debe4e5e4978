"""Exception types of the suite. Each message states what was wrong, what is valid and what to do."""

MOST_QUOTED = 120  # characters of a text of others in a message


def quoted(text: str) -> str:
    """Return a text of others for a message: in quotes, on one line, and shortened."""
    text = str(text)
    short = text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 3]}..."
    return f"'{short}'" if short.isprintable() else repr(short)


class FlexarmError(Exception):
    """Base class of all exceptions that flexarm raises deliberately."""


class RobotDescriptionError(FlexarmError):
    """The robot description is incomplete or inconsistent; the message names the joint or link."""


class InputError(FlexarmError, ValueError):
    """An input value is not usable: wrong shape, not finite, wrong names, or too old."""


class ConfigError(FlexarmError, ValueError):
    """A parameter or scenario key is unknown, has the wrong type or is out of bounds."""
