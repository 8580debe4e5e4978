"""A crane as URDF text: a boom that bends, slewed and luffed at its foot, with a load at its tip."""

from __future__ import annotations

import numpy as np


def crane_urdf(load: float = 200.0, frequency: float = 0.8, *, length: float = 20.0, gauges: int = 2) -> str:
    """A crane whose boom, clamped, swings its load at a frequency [Hz]; 36 kg/m, 250 kg of hub.

    Args:
        load: mass at the tip [kg].
        frequency: of the first mode of the clamped boom with a load of 200 kg [Hz].
        length: of the boom [m].
        gauges: strain gauges of each direction.
    """
    rho_A, hub = 36.0, 60.0
    EI = (2.0 * np.pi * frequency) ** 2 * (200.0 + 0.24 * rho_A * length) * length**3 / 3.0
    mass, lateral = rho_A * length, rho_A * length**3 / 12.0
    weight = 9.81 * (load * length + mass * length / 2.0)
    strips = "".join(
        f'<strain_gauge name="{axis}{j}" x="{(0.05 + 0.45 * j) * length}" {axis}="0.3"/>'
        for j in range(gauges)
        for axis in ("y", "z")
    )
    return f"""<robot name="crane"><link name="world"/>
  <joint name="slew" type="revolute"><parent link="world"/><child link="mast"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="{1.8 * weight}" velocity="0.3"/><dynamics damping="10"/></joint>
  <link name="mast"><inertial><origin xyz="0 0 0.5"/><mass value="500"/>
    <inertia ixx="200" ixy="0" ixz="0" iyy="200" iyz="0" izz="200"/></inertial></link>
  <joint name="luff" type="revolute"><parent link="mast"/><child link="boom"/><origin xyz="0 0 1"/><axis xyz="0 -1 0"/>
    <limit lower="-0.3" upper="1.3" effort="{1.8 * weight}" velocity="0.3"/><dynamics damping="10"/></joint>
  <link name="boom"><inertial><origin xyz="{length / 2.0} 0 0"/><mass value="{mass + 1.0}"/>
    <inertia ixx="{hub}" ixy="0" ixz="0" iyy="{lateral + hub}" iyz="0" izz="{lateral + hub}"/></inertial></link>
  <joint name="hook_joint" type="fixed"><parent link="boom"/><child link="tool0"/><origin xyz="{length} 0 0"/></joint>
  <link name="tool0"><inertial><mass value="{load}"/>
    <inertia ixx="5" ixy="0" ixz="0" iyy="5" iyz="0" izz="5"/></inertial></link>
  <flexibility><flexible_link name="boom"><beam length="{length}" EIy="{EI}" EIz="{EI}" GJ="{EI}" rho_A="{rho_A}"
    rho_Ip="1.0" modes_y="2" modes_z="2" damping_ratio="0.01"/>{strips}</flexible_link></flexibility>
</robot>"""
