r"""Modal coordinates and strain of a chain simulated by MuJoCo, and its hinge coordinates from modal coordinates.

Bending is computed from the lateral displacement and velocity of the nodes in the link frame ``L``::

    d_j = R_L^T (p_j - p_L) - r_j           dd_j = R_L^T (v_j - v_L - w_L x (p_j - p_L))

Torsion and stretch are the sums of the hinge coordinates: a bent chain also shortens along the beam, by the square of
its slopes, which would mask the stretch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import mujoco
import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.flexible_links import DEFLECTION
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_sim.beam_chain import BeamChain
from flexarm_sim.friction.kernel import Index
from flexarm_sim.mujoco.beam import hinge_joint, piece_body
from flexarm_sim.mujoco.follower_rotors import deflection_joint

LARGEST_PHASE = 2.5  # [rad] largest phase of the fastest oscillation in one step; RK4 is stable below 2.83


@kernel
def project_chain(
    state: tuple[Array, ...], places: tuple[int, int, Index, Index], shape: tuple[Array, ...], modes: Array
) -> None:
    """Compute modal position and rate of one chain.

    Args:
        state: MuJoCo's position (b, 3) and axes (b, 9) of the bodies in the world, center of mass (b, 3) of the subtree
            of each body, ``[w; v]`` (b, 6) of each body at the center of mass of its root, and generalized coordinates
            and rates.
        places: indices of the link's body, the root of its tree, the body of each of N nodes, and (c,) coordinates of
            the chain.
        shape: (N, 3) position of each node in its body, rotation (3, 3) of the beam in its link, (N, 2) lateral
            positions of undeformed nodes, (k, 4 N) projection, and (k, c) its part that is linear in the coordinates.
        modes: (2, k) modal position and rate, overwritten.
    """
    xpos, xmat, centers, cvel, qpos, qvel = state
    link, root, bodies, coordinates = places
    offsets, turn, rest, projection, summed = shape
    nodes, center, drift = len(bodies), centers[root], cvel[link]
    for k in range(len(summed)):
        modes[0, k] = modes[1, k] = 0.0
        for c in range(len(coordinates)):
            modes[0, k] += summed[k, c] * qpos[coordinates[c]]
            modes[1, k] += summed[k, c] * qvel[coordinates[c]]
    for n in range(nodes):
        body = bodies[n]
        axes, moving, offset = xmat[body], cvel[body], offsets[n]
        px = xpos[body, 0] + axes[0] * offset[0] + axes[1] * offset[1] + axes[2] * offset[2]
        py = xpos[body, 1] + axes[3] * offset[0] + axes[4] * offset[1] + axes[5] * offset[2]
        pz = xpos[body, 2] + axes[6] * offset[0] + axes[7] * offset[1] + axes[8] * offset[2]
        # velocity of the node relative to the link
        x, y, z = px - center[0], py - center[1], pz - center[2]
        wx, wy, wz = moving[0] - drift[0], moving[1] - drift[1], moving[2] - drift[2]
        vx = moving[3] - drift[3] + wy * z - wz * y
        vy = moving[4] - drift[4] + wz * x - wx * z
        vz = moving[5] - drift[5] + wx * y - wy * x
        x, y, z = px - xpos[link, 0], py - xpos[link, 1], pz - xpos[link, 2]
        for side in range(2):
            # y and z axes of the beam in the world; the undeformed nodes lie on its x axis
            ax = ay = az = 0.0
            for i in range(3):
                ax += xmat[link, i] * turn[i, side + 1]
                ay += xmat[link, 3 + i] * turn[i, side + 1]
                az += xmat[link, 6 + i] * turn[i, side + 1]
            displacement = x * ax + y * ay + z * az - rest[n, side]
            rate = vx * ax + vy * ay + vz * az
            for k in range(len(summed)):
                modes[0, k] += projection[k, side * nodes + n] * displacement
                modes[1, k] += projection[k, side * nodes + n] * rate


class ChainReader:
    """One chain in a compiled model."""

    def __init__(self, chain: BeamChain, model: mujoco.MjModel) -> None:
        """Find the bodies and joints of a chain by their names from ``mujoco.beam``."""
        self._chain = chain
        self._link = int(model.body(piece_body(chain, 0)).id)
        bodies = np.array([model.body(piece_body(chain, i)).id for i in range(len(chain.pieces))])
        self._bodies = bodies[chain.node_piece]
        self._root = int(model.body_rootid[self._link])  # MuJoCo gives velocities at the center of mass of its subtree
        self._offsets = chain.nodes - np.array([chain.start_of(piece) for piece in chain.node_piece])
        self.coordinates = np.array(
            [
                model.joint(hinge_joint(chain, direction, i)).dofadr[0]
                for direction in chain.directions
                for i in range(len(chain.pieces) - 1)
            ],
            dtype=np.intp,
        )
        linear = chain.node_map.copy()
        linear[: 2 * len(chain.nodes)] = 0.0  # bending is computed from the nodes, not summed
        self._summed = chain.projection @ linear
        self._rest = chain.nodes @ chain.turn[:, 1:]
        self._modes = np.zeros((2, len(chain.modes)))

    def modes(self, data: mujoco.MjData) -> Array:
        """Return modal position and rate (2, k) of a state with up-to-date kinematics; valid until the next call."""
        chain = self._chain
        project_chain(
            (data.xpos, data.xmat, data.subtree_com, data.cvel, data.qpos, data.qvel),
            (self._link, self._root, self._bodies, self.coordinates),
            (self._offsets, chain.turn, self._rest, chain.projection, self._summed),
            self._modes,
        )
        return self._modes

    def strain(self, data: mujoco.MjData) -> Array:
        """Return the strain of each gauge on this chain."""
        strain: Array = self._chain.strain_map @ data.qpos[self.coordinates]
        return strain

    def set_modes(self, data: mujoco.MjData, position: Array, rate: Array) -> None:
        """Set the coordinates and rates of the chain from modal position and rate (k,)."""
        data.qpos[self.coordinates] = self._chain.mode_map @ position
        data.qvel[self.coordinates] = self._chain.mode_map @ rate


class DriveReader:
    """The deflection of one elastic drive in a compiled model: a joint."""

    def __init__(self, link: str, gauges: tuple[str, ...], model: mujoco.MjModel) -> None:
        """Find the joint of the deflection; ``gauges`` are the encoders of the link side, which read it."""
        self.coordinates = np.array([model.joint(deflection_joint(link)).dofadr[0]], dtype=np.intp)
        self._ones = np.ones(len(gauges))

    def modes(self, data: mujoco.MjData) -> Array:
        """Return deflection and rate (2, 1)."""
        return np.array((data.qpos[self.coordinates], data.qvel[self.coordinates]))

    def strain(self, data: mujoco.MjData) -> Array:
        """Return the deflection, once for each encoder."""
        strain: Array = self._ones * data.qpos[self.coordinates]
        return strain

    def set_modes(self, data: mujoco.MjData, position: Array, rate: Array) -> None:
        """Set deflection and rate, both (1,)."""
        data.qpos[self.coordinates], data.qvel[self.coordinates] = position, rate


class ChainReaders:
    """All chains and elastic drives of a model, with their modes concatenated."""

    def __init__(self, description: RobotDescription, chains: Mapping[str, BeamChain], model: mujoco.MjModel) -> None:
        """Find chains and drives.

        Args:
            description: the robot.
            chains: chains by link.
            model: compiled model.
        """
        self.strain_gauges = gauges = tuple(description.strain_gauges)
        self._readers: list[ChainReader | DriveReader] = []
        self._gauges, modes = [], []
        for link in (joint.child for joint in description.joints.values()):  # in the order of the modes
            if link not in description.flexible_links:
                continue
            own = tuple(name for name, gauge in description.strain_gauges.items() if gauge.link == link)
            if link in chains:
                self._readers.append(ChainReader(chains[link], model))
                modes.append([f"{link}/{mode}" for mode in chains[link].modes])
            else:
                self._readers.append(DriveReader(link, own, model))
                modes.append([f"{link}/{DEFLECTION}"])
            self._gauges.append(np.array([gauges.index(name) for name in own], dtype=np.intp))
        self.modes = tuple(itertools.chain.from_iterable(modes))
        none = np.zeros(0, dtype=np.intp)
        self.coordinates = np.concatenate([none, *(reader.coordinates for reader in self._readers)])
        self._ends = np.cumsum([len(names) for names in modes])[:-1]

    def read(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Return modal position and rate (k,) of a state with up-to-date kinematics."""
        if not self._readers:
            return np.zeros(0), np.zeros(0)
        position, rate = np.concatenate([reader.modes(data) for reader in self._readers], axis=1)
        return position, rate

    def strain(self, data: mujoco.MjData) -> Array:
        """Return the strain (g,)."""
        strain = np.empty(len(self.strain_gauges))
        for reader, gauges in zip(self._readers, self._gauges, strict=True):
            strain[gauges] = reader.strain(data)
        return strain

    def set_modes(self, data: mujoco.MjData, position: Array, rate: Array) -> None:
        """Set every chain from modal position and rate (k,)."""
        if not self._readers:
            return
        parts = zip(self._readers, np.split(position, self._ends), np.split(rate, self._ends), strict=True)
        for reader, value, speed in parts:
            reader.set_modes(data, value, speed)


def highest_frequency(model: mujoco.MjModel) -> float:
    """Return the highest natural frequency [rad/s] of the undamped model at zero: ``K phi = omega^2 M phi``."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inverse, root = np.empty((model.nv, model.nv)), np.sqrt(model.jnt_stiffness)
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    return float(np.sqrt(np.linalg.eigvalsh(root[:, None] * inverse * root)[-1]))


def check_step(model: mujoco.MjModel, max_step: float, segments: int) -> None:
    """Reject a step that is too long for the chains of ``segments`` pieces, 0 for elastic drives alone.

    Raises:
        ConfigError: the step is too long; the message names the largest stable step.
    """
    largest = LARGEST_PHASE / highest_frequency(model)
    if max_step > largest:
        what = f"flexible links of {segments} segments" if segments else "the elastic drives"
        other = ", or fewer segments (their number squared counts)" if segments else ""
        raise ConfigError(
            f"max_step {max_step} s is too long for {what}: give at most"
            f" {math.floor(largest * 1e7) * 1e-7:.3g} s{other}"
        )
