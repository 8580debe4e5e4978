"""Functions of the MuJoCo library for kernels, where the way through its Python binding takes as long as they do.

Model and data are passed as their addresses. Other than in the binding, an error that MuJoCo cannot go on from, as for
want of memory, ends the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import llvmlite.binding
import mujoco
from numba import types

llvmlite.binding.load_library_permanently(str(next(Path(mujoco.__file__).parent.glob("libmujoco.*"))))


def _function(name: str, *more: Any) -> Any:
    """Return the function ``void name(model, data, ...)``."""
    return types.ExternalFunction(name, types.void(types.intp, types.intp, *more))


forward_skip = _function("mj_forwardSkip", types.int32, types.int32)
runge_kutta = _function("mj_RungeKutta", types.int32)
sensor_velocity = _function("mj_sensorVel")
solve_inertia = _function("mj_solveM", types.intp, types.intp, types.int32)  # (out, forces, rows)


def address(structure: mujoco.MjModel | mujoco.MjData) -> int:
    """Return the address of a model or of data, which must outlive its use."""
    place: int = structure._address
    return place
