"""The chains of the speed figures: a planar one that falls, the same in Exudyn, and a spatial arm."""

from __future__ import annotations

import time

from exudyn_peer import Peer, build, solver_settings, tip_trajectory

from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

CHAIN_ANGLE = 0.1  # of every joint of the chain at the start [rad]
CHAIN_GRAVITY = (0.0, -9.81, 0.0)


def chain_time_per_ms(
    links: int = 7, modes: int = 4, step: float = 1e-3, duration: float = 1.0, tolerance: float = 1e-4
) -> float:
    """CPU time [s] Exudyn takes for a millisecond of the falling chain: its solver alone, nothing is recorded."""
    peer, settings = _chain(links, modes), solver_settings(duration, step, tolerance)
    settings.solution.sensors.active = False
    start = time.thread_time()
    peer.mbs.SolveDynamic(settings)
    return (time.thread_time() - start) / (1e3 * duration)


def chain_tip_trajectory(
    links: int = 7, modes: int = 4, step: float = 1e-3, duration: float = 1.0, tolerance: float = 1e-4
) -> tuple[Array, Array]:
    """Tip of the chain that falls from rest, ``CHAIN_ANGLE`` in every joint, under ``CHAIN_GRAVITY``.

    The tolerance of the equations is below the error of steps down to 0.5 ms; finer ones need 1e-6.

    Returns:
        Times (T,) [s] and positions of the tip (T, 2) [m].
    """
    return tip_trajectory(_chain(links, modes), solver_settings(duration, step, tolerance))


def chain_urdf(links: int = 7, modes: int = 4) -> str:
    """URDF of the chain: ``link_1`` ... along x, ``joint_1`` ... about z, ``tool0`` at the end."""
    length, rho_A, elements = 0.5, 1.0, 40
    # Of the lumped nodes: with the rod's own, 2 / elements^2 less, links without hubs have an indefinite mass matrix.
    mass, inertia = rho_A * length, rho_A * length**3 * (1.0 / 12.0 + 1.0 / (6.0 * elements**2))
    bodies, bends, parent, x = "", "", "world", 0.0
    for i in range(1, links + 1):
        bodies += f"""
  <joint name="joint_{i}" type="continuous">
    <parent link="{parent}"/><child link="link_{i}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="link_{i}"><inertial><origin xyz="{length / 2.0} 0 0"/><mass value="{mass}"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial></link>"""
        bends += f"""
    <flexible_link name="link_{i}"><beam length="{length}" EIy="100" EIz="100" rho_A="{rho_A}" modes_y="{modes}"
      damping_ratio="0" elements="{elements}" tip_mass="0"/></flexible_link>"""
        parent, x = f"link_{i}", length
    return f"""<robot name="flexible_chain"><link name="world"/>{bodies}
  <joint name="tool0_joint" type="fixed"><parent link="{parent}"/><child link="tool0"/><origin xyz="{x} 0 0"/></joint>
  <link name="tool0"/>
  <flexibility>{bends}
  </flexibility>
</robot>"""


def arm_urdf(links: int, modes: int) -> str:
    """URDF of a spatial arm: hinges about z and y in turn, modes shared out among bending along y and z and torsion."""
    parts, bends, parent, x = "", "", "world", 0.0
    kinds = [(modes + 2 - i) // 3 for i in range(3)]
    for i in range(1, links + 1):
        axis = "0 0 1" if i % 2 else "0 1 0"
        parts += f"""
  <joint name="joint_{i}" type="revolute">
    <parent link="{parent}"/><child link="link_{i}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/>
  </joint>
  <link name="link_{i}"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>"""
        if modes:
            bends += f"""
    <flexible_link name="link_{i}"><beam length="0.4" EIy="100" EIz="100" GJ="80" rho_A="1" rho_Ip="1e-4"
      modes_y="{kinds[0]}" modes_z="{kinds[1]}" modes_torsion="{kinds[2]}" damping_ratio="0.01"/></flexible_link>"""
        parent, x = f"link_{i}", 0.4
    return f"""<robot name="spatial_arm"><link name="world"/>{parts}
  <flexibility>{bends}
  </flexibility>
</robot>"""


def _chain(links: int, modes: int) -> Peer:
    robot = parse_robot_description(chain_urdf(links, modes))
    return build(robot, position=[CHAIN_ANGLE] * links, gravity=CHAIN_GRAVITY)
