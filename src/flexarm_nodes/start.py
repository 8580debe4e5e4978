"""Entry points of the executables: one function for each node, named as its executable.

Importing a node takes a second or more. Nothing moves yet in that time: whoever interrupts it ends the process at once,
without a traceback.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from functools import partial
from types import FrameType

MODULES = {  # within flexarm_nodes, by executable
    "simulated_plant": "plant.plant",
    "reference_generator": "references.generator",
    "rns_vibration_controller": "reaction_null_space.vibration_controller",
    "reactionless_path_controller": "reaction_null_space.reactionless_path_controller",
    "control_loop": "control_loop.loop",
    "hardware_gate": "hardware_gate.gate",
    "flexible_dynamics_controller": "flexible_dynamics.controller",
    "flexible_dynamics_estimator": "flexible_dynamics.estimator",
    "ik_redundancy_solver": "ik_redundancy.solver",
    "base_wrench_torque_estimator": "base_wrench.torque_estimator",
    "behavior_impedance_controller": "behavior_impedance.controller",
    "state_markers": "markers.state",
}


def __getattr__(name: str) -> Callable[[], int | None]:
    """Return the entry point of an executable."""
    if name not in MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return partial(_start, name)


def _start(name: str) -> int | None:
    """Import a node and run it; from then on it handles signals itself, and leaves the arm safe."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    # Matrices of an arm are too small to be shared between threads, and a thread of BLAS that waits for its next share
    # keeps a core busy. Read at NumPy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code: int | None = importlib.import_module(f"flexarm_nodes.{MODULES[name]}").main()
    return code


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)  # an exception could be caught by what is being imported
