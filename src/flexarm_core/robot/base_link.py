"""BaseLink: transforms poses, paths and references between the root link frame and the base link frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import finite
from flexarm_core.errors import InputError
from flexarm_core.path.pose_path import PosePath
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, CartesianReference, all_finite


class BaseLink:
    """Pose of the base link in the root link frame: ``p_root = p_b + R_b p``, ``R_root = R_b R``.

    Poses and paths are transformed with undeflected elastic joints, references with the deflection of their sample.
    """

    def __init__(self, model: ArmModel) -> None:
        """Compute the pose of the undeflected base link."""
        self._model = model
        self._rest = model.base_pose(np.zeros(model.m))
        self._aligned = bool(np.allclose(self._rest[1], np.eye(3), atol=1e-6))

    def is_base(self, frame: str) -> bool:
        """Return whether a frame is the base link (name or empty string) and not the root link.

        Raises:
            InputError: the frame is neither the base link nor the root link.
        """
        if frame in ("", self._model.base_frame):
            return True
        if frame == self._model.world_frame:
            return False
        raise InputError(
            f"frame '{frame}' is not usable; valid: '{self._model.base_frame}', '{self._model.world_frame}'"
        )

    def pose(self, frame: str, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Transform a position (3,) [m] and a rotation (3, 3) from ``frame`` to the base link frame.

        Raises:
            InputError: ``frame`` is neither the base link nor the root link. :meth:`pose_in` and :meth:`path` raise it
                too.
        """
        position, rotation = finite("position", position, 3), finite("rotation", rotation, 3, 3)
        return (position, rotation) if self.is_base(frame) else _into(*self._rest, position, rotation)

    def pose_in(self, frame: str, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Transform a position (3,) [m] and a rotation (3, 3) from the base link frame to ``frame``."""
        position, rotation = finite("position", position, 3), finite("rotation", rotation, 3, 3)
        if self.is_base(frame):
            return position, rotation
        p, R = self._rest
        return p + R @ position, R @ rotation

    def path(self, frame: str, path: PosePath) -> PosePath:
        """Transform a path from ``frame`` to the base link frame."""
        if self.is_base(frame):
            return path
        p, R = self._rest
        return path.moved(R.T, -R.T @ p)

    def reference(self, reference: CartesianReference, deflection: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return position (3,) [m], rotation (3, 3) and tracked axes (6,) of a reference in the base link frame.

        Args:
            reference: reference in the frame of the base link or the root link.
            deflection: (m,) positions of the elastic joints [m | rad].

        Raises:
            InputError: another frame, a position that is not finite, or free axes that are not axes of the base link.
        """
        position, rotation, axes = reference.position, reference.rotation, reference.axes
        if not all_finite(position):
            raise InputError(f"Cartesian reference: position {position} is not finite")
        if self.is_base(reference.frame):
            return position, rotation, axes
        if not self._aligned and any(part.any() and not part.all() for part in (axes[:3], axes[3:])):
            raise InputError(
                f"base link '{self._model.base_frame}' is turned against '{reference.frame}': give references with"
                f" free axes in the frame '{self._model.base_frame}'"
            )
        return *_into(*self._placed(deflection), position, rotation), axes

    def turned(self, vector: Array, deflection: Array) -> Array:
        """Rotate a vector (3,) from the root link frame to the base link frame, for a deflection (m,) [m | rad]."""
        in_base: Array = vector @ self._placed(deflection)[1]
        return in_base

    def _placed(self, deflection: Array) -> tuple[Array, Array]:
        """Return position (3,) [m] and rotation (3, 3) of the base link in the root link frame."""
        return self._model.base_pose(deflection) if self._model.m else self._rest


def _into(p: Array, R: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Express a pose in the frame with position ``p`` (3,) and rotation ``R`` (3, 3)."""
    return R.T @ (position - p), R.T @ rotation
