"""References: which joint references are usable, and how long none has arrived."""

from __future__ import annotations

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.state_machine import NOT_LED
from flexarm_core.types import JointReference, all_finite

FIELDS = ("position", "velocity", "acceleration", "effort", "friction")  # fields of a joint reference


class References:
    """Check references against their form and their time.

    Attributes:
        led_at: arrival time of the newest used reference [s].
    """

    def __init__(self, n: int, timeout: float) -> None:
        """Check references of ``n`` joints, of which one must come within each ``timeout`` [s]."""
        self._shape, self._timeout = (n,), timeout
        self.reset(0.0)

    def reset(self, now: float) -> None:
        """Begin a new time base at a time [s]."""
        self._newest: int | None = None  # stamp of the newest used reference
        self.wait(now)

    def wait(self, now: float) -> None:
        """Wait for a reference from a time [s], and from the next state on."""
        self.led_at = now
        self._first: int | None = None  # stamp of that state
        self._early: tuple[JointReference, float] | None = None  # whose state is still on its way; arrival time [s]

    def check(self, reference: JointReference, mode: str) -> None:
        """Raise InputError unless a reference has the commanded quantity, the shape (n,), and finite values."""
        given = {name: value for name in FIELDS if (value := getattr(reference, name)) is not None}
        if mode not in given:
            raise InputError(
                f"command mode '{mode}' needs {mode} in the joint reference; given: {', '.join(given) or 'nothing'}"
            )
        values = given.values()
        if all(value.shape == self._shape for value in values) and all_finite(*values):
            return
        for name, value in given.items():
            if value.shape != self._shape:
                raise InputError(f"joint reference {name} has shape {value.shape}, expected ({self._shape[0]},)")
            if not all_finite(value):
                raise InputError(f"joint reference {name} is not finite: {value}")

    def use(self, reference: JointReference, state: int, came: float) -> None:
        """Use a reference that arrived at a time [s] for the state with this stamp [ns]; InputError: it is too old."""
        age = (state - reference.stamp) * 1e-9
        if age > self._timeout:
            raise InputError(f"joint reference is {age:.3f} s older than the newest joint state")
        self._newest, self.led_at = reference.stamp, came

    def missing(self, state: int) -> str:
        """Return why a stop must begin at a state [ns], NOT_LED if no reference has come yet; empty if none must."""
        if self._first is None:
            self._first = state
        age = (state - (self._first if self._newest is None else self._newest)) * 1e-9
        if age <= self._timeout:
            return ""
        return NOT_LED if self._newest is None else f"no joint reference for {age:.3f} s"

    def keep(self, reference: JointReference, state: int | None, now: float) -> None:
        """Keep a reference that is newer than the newest state [ns]: topics are not ordered among each other.

        Raises:
            InputError: it is stamped too far ahead.
        """
        ahead = 0.0 if state is None else (reference.stamp - state) * 1e-9
        if ahead > self._timeout:
            raise InputError(
                f"joint reference is stamped {ahead:.3f} s ahead of the newest joint state: states are lost, or "
                "its stamp is wrong"
            )
        self._early = reference, now

    def take(self, state: int) -> tuple[JointReference, float] | None:
        """Return the kept reference and its arrival time [s] when its state [ns] has come; None: there is none."""
        if self._early is None or self._early[0].stamp > state:
            return None
        early, self._early = self._early, None
        return early if (state - early[0].stamp) * 1e-9 <= self._timeout else None
