r"""Modes and strain of a chain that MuJoCo moves, and its coordinates from modes.

Bending is what the nodes really move across the beam, in the link's frame ``L``, and how fast::

    d_j = R_L^T (p_j - p_L) - r_j           dd_j = R_L^T (v_j - v_L - w_L x (p_j - p_L))

Torsion and stretch are the sums of the hinges' own: a bent chain also shortens along the beam, by the square of its
slopes, which would drown the stretch.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from flexarm_core.types import Array
from flexarm_sim.beam_chain import BeamChain
from flexarm_sim.mjcf_beam import hinge_joint, piece_body


class ChainReader:
    """One chain in a compiled model."""

    def __init__(self, chain: BeamChain, model: mujoco.MjModel) -> None:
        """Find the bodies and joints of a chain; they have its names of ``mjcf_beam``."""
        self._chain = chain
        self._link = int(model.body(piece_body(chain, 0)).id)
        bodies = np.array([model.body(piece_body(chain, i)).id for i in range(len(chain.pieces))])
        self._bodies = bodies[chain.node_piece]
        self._root = int(model.body_rootid[self._link])  # MuJoCo gives velocities at the centre of mass of its subtree
        self._offsets = chain.nodes - np.array([chain.start_of(piece) for piece in chain.node_piece])
        self.coordinates = np.array(
            [
                model.joint(hinge_joint(chain, direction, i)).dofadr[0]
                for direction in chain.directions
                for i in range(len(chain.pieces) - 1)
            ],
            dtype=np.intp,
        )
        self._linear = chain.node_map.copy()
        self._linear[: 2 * len(chain.nodes)] = 0.0  # bending is measured, not summed

    def modes(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Modal position and rate (k,) of a state whose kinematics are up to date."""
        link, bodies = self._link, self._bodies
        axes, origin = data.xmat[link].reshape(3, 3), data.xpos[link]
        arms = np.einsum("nab,nb->na", data.xmat[bodies].reshape(-1, 3, 3), self._offsets)
        points = data.xpos[bodies] + arms
        center = data.subtree_com[self._root]
        turning, moving = data.cvel[bodies, :3], data.cvel[bodies, 3:]
        spin, drift = data.cvel[link, :3], data.cvel[link, 3:]
        velocity = moving + np.cross(turning, points - center)
        carried = drift + np.cross(spin, points - center)
        # axes @ turn are the beam's axes in the world; the undeformed nodes lie on its x axis
        across = (axes @ self._chain.turn)[:, 1:]
        displacement = ((points - origin) @ across - self._chain.nodes @ self._chain.turn[:, 1:]).T.ravel()
        rate = ((velocity - carried) @ across).T.ravel()
        position = self._linear @ data.qpos[self.coordinates]
        speed = self._linear @ data.qvel[self.coordinates]
        position[: len(displacement)], speed[: len(rate)] = displacement, rate
        return self._chain.projection @ position, self._chain.projection @ speed

    def strain(self, data: mujoco.MjData) -> dict[str, float]:
        """Strain of each gauge."""
        values = self._chain.strain_map @ data.qpos[self.coordinates]
        return dict(zip(self._chain.gauges, values.tolist(), strict=True))

    def set_modes(self, data: mujoco.MjData, position: Array, rate: Array) -> None:
        """Bend the chain: coordinates and their rates from modal ones (k,)."""
        data.qpos[self.coordinates] = self._chain.mode_map @ position
        data.qvel[self.coordinates] = self._chain.mode_map @ rate


class ChainReaders:
    """All chains of a model, their modes one after the other."""

    def __init__(self, chains: Mapping[str, BeamChain], gauges: tuple[str, ...], model: mujoco.MjModel) -> None:
        """Find the chains.

        Args:
            chains: by link, in the order of the modes.
            gauges: all strain gauges, in the order in which they are read.
            model: compiled model.
        """
        self.modes = tuple(f"{link}/{mode}" for link, chain in chains.items() for mode in chain.modes)
        self.strain_gauges = gauges
        self._readers = [ChainReader(chain, model) for chain in chains.values()]
        sizes = [len(chain.modes) for chain in chains.values()]
        self._ends = np.cumsum(sizes)[:-1]

    def read(self, data: mujoco.MjData) -> tuple[Array, Array, Array]:
        """Modal position (k,), modal rate (k,) and strain (g,)."""
        if not self._readers:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        positions, rates = zip(*(reader.modes(data) for reader in self._readers), strict=True)
        strain: dict[str, float] = {}
        for reader in self._readers:
            strain |= reader.strain(data)
        return np.concatenate(positions), np.concatenate(rates), np.array([strain[name] for name in self.strain_gauges])

    def set_modes(self, data: mujoco.MjData, position: Array, rate: Array) -> None:
        """Bend every chain; modal position and rate are (k,)."""
        if not self._readers:
            return
        parts = zip(self._readers, np.split(position, self._ends), np.split(rate, self._ends), strict=True)
        for reader, value, speed in parts:
            reader.set_modes(data, value, speed)


def highest_frequency(model: mujoco.MjModel) -> float:
    """Highest natural frequency [rad/s] of the undamped springs at zero configuration: ``K phi = omega^2 M phi``."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inverse, root = np.empty((model.nv, model.nv)), np.sqrt(model.jnt_stiffness)
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    return float(np.sqrt(np.linalg.eigvalsh(root[:, None] * inverse * root)[-1]))
