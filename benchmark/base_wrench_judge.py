"""What is read off a run: errors, stick-slip, and whether it is stable by criteria that it may fail."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from base_wrench_station import COUNT, END, SPEED, START, TURN, Trace

from flexarm_core.types import Array
from flexarm_tools.metrics.friction import stick_slips

REST = 0.5  # [s] at the end of a run over which the final error is taken
LARGEST_ERROR = np.deg2rad(2.0)
GROWTH = 1.5  # of the error from the first to the last cycle, noise allowed
FASTEST = 20.0  # [reference's speed]: a joint that breaks loose may jump, it may not run away
RESTLESS = 0.5  # [reference's speed] of a joint at the end, root mean square


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run showed.

    Attributes:
        rms: error over all joints while the reference moves [rad].
        joints: (n,) the same of each joint [rad].
        final: largest error of any joint at the end [counts].
        slips: stick-slip events of all joints.
        stable: whether all criteria hold.
        why: which one does not.
    """

    rms: float
    joints: Array
    final: float
    slips: int
    stable: bool
    why: str

    def __str__(self) -> str:
        """One row of a table."""
        text = f"rms {1e3 * np.rad2deg(self.rms):7.2f} mdeg, final {self.final:7.1f} counts, stick-slip {self.slips:3d}"
        return f"{text}, {'stable' if self.stable else 'NOT stable: ' + self.why}"


def judge(trace: Trace) -> Verdict:
    """Read a run of the slow fine motion."""
    t, error = trace.time, trace.error
    moving = (t >= START) & (t < END)
    rest = t > t[-1] - REST
    first = (t >= START) & (t < START + 2 * TURN)
    last = (t >= END - 3 * TURN) & (t < END - TURN)
    growth = float((_rms(error[last]) / (_rms(error[first]) + COUNT)).max())
    fastest = float(np.abs(trace.velocity).max() / SPEED)
    restless = float(_rms(trace.velocity[rest]).max() / SPEED)
    largest = float(np.abs(error).max())
    criteria = {
        f"error {np.rad2deg(largest):.3g} deg": largest <= LARGEST_ERROR,
        f"error grows by {growth:.3g}": growth <= GROWTH,
        f"{fastest:.3g} times the reference's speed": fastest <= FASTEST,
        f"moves at rest, {restless:.3g} of the reference's speed": restless <= RESTLESS,
    }
    failed = [text for text, holds in criteria.items() if not holds]
    return Verdict(
        rms=float(np.sqrt(np.square(error[moving]).mean())),
        joints=_rms(error[moving]),
        final=float(np.abs(error[rest]).max() / COUNT),
        slips=count_slips(trace),
        stable=not failed,
        why="; ".join(failed),
    )


def _rms(rows: Array) -> Array:
    return np.sqrt(np.square(rows).mean(axis=0))


def count_slips(trace: Trace) -> int:
    """How often joints come to stand while their reference moves steadily, as the demonstrations count it."""
    recording = SimpleNamespace(
        time=trace.time,
        desired_position=trace.desired,
        velocity=trace.velocity,
        joint_names=range(trace.error.shape[1]),
    )
    counts = stick_slips(recording, np.ones(len(trace.time), dtype=bool))
    return int(counts[counts > 0].sum())
