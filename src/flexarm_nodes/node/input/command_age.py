"""Age of velocity commands: one that is over when it comes moves nothing, and must not be passed over in silence."""

from __future__ import annotations

from flexarm_core.errors import InputError


def check_age(stamp: int, newest: int, timeout: float, parameter: str) -> None:
    """Tell the sender of a command that it is too old to move anything; the arm comes to rest.

    Args:
        stamp: stamp of the command [ns].
        newest: stamp of the newest joint state [ns].
        timeout: age at which a command is over [s].
        parameter: name of the parameter that sets it.

    Raises:
        InputError: the command is over.
    """
    age = (newest - stamp) * 1e-9
    if age > timeout:
        raise InputError(
            f"it is {age:.3f} s older than the newest joint state, and over after {timeout:g} s, so nothing moves:"
            f" set the clocks alike, stamp it with 0, or raise {parameter}"
        )
