"""BaseLink: what is said of the tool in the root link's frame, said in the base link's, which elastic joints carry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import finite
from flexarm_core.errors import InputError
from flexarm_core.path.pose_path import PosePath
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, CartesianReference, all_finite


class BaseLink:
    """Where the base link is, seen from the root link: ``p_root = p_b + R_b p``, ``R_root = R_b R``.

    Poses and paths are taken with the elastic joints undeflected, references with the deflection of their sample.
    """

    def __init__(self, model: ArmModel) -> None:
        """Read where the undeflected base link is."""
        self._model = model
        self._rest = model.base_pose(np.zeros(model.m))
        self._aligned = bool(np.allclose(self._rest[1], np.eye(3), atol=1e-6))

    def is_base(self, frame: str) -> bool:
        """Whether a frame is the base link's (also where empty), not the root link's.

        Raises:
            InputError: it is neither.
        """
        if frame in ("", self._model.base_frame):
            return True
        if frame == self._model.world_frame:
            return False
        raise InputError(
            f"frame '{frame}' is not usable; valid: '{self._model.base_frame}', '{self._model.world_frame}'"
        )

    def pose(self, frame: str, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) in the base link's frame, of those in another one.

        Raises:
            InputError: a frame that is neither the base link's nor the root link's; so too for what follows.
        """
        position, rotation = finite("position", position, 3), finite("rotation", rotation, 3, 3)
        return (position, rotation) if self.is_base(frame) else _into(*self._rest, position, rotation)

    def pose_in(self, frame: str, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) in a frame, of those in the base link's."""
        position, rotation = finite("position", position, 3), finite("rotation", rotation, 3, 3)
        if self.is_base(frame):
            return position, rotation
        p, R = self._rest
        return p + R @ position, R @ rotation

    def path(self, frame: str, path: PosePath) -> PosePath:
        """Path in the base link's frame, of one in another frame."""
        if self.is_base(frame):
            return path
        p, R = self._rest
        return path.moved(R.T, -R.T @ p)

    def reference(self, reference: CartesianReference, deflection: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Position (3,), rotation (3, 3) and axes (6,) of a reference in the base link's frame.

        Args:
            reference: in the base link's or the root link's frame.
            deflection: (m,) of the elastic joints [m | rad].

        Raises:
            InputError: another frame, numbers that are not finite, free axes that are not axes of the base link.
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
        """Vector (3,) in axes of the base link, of one in axes of the root link; ``deflection`` as above."""
        in_base: Array = vector @ self._placed(deflection)[1]
        return in_base

    def _placed(self, deflection: Array) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of the base link, root link's frame."""
        return self._model.base_pose(deflection) if self._model.m else self._rest


def _into(p: Array, R: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Pose seen from a link with the position ``p`` (3,) and the rotation ``R`` (3, 3)."""
    return R.T @ (position - p), R.T @ rotation
