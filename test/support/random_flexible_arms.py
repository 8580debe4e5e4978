"""Arms with flexible links drawn at random, as URDF text: planar ones without weight, spatial ones under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.types import Array

WEIGHT = (0.0, 0.0, -9.81)
NO_WEIGHT = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class FlexibleArm:
    """A drawn arm and a slew of it.

    Attributes:
        seed: that it was drawn from.
        gravity: (3,) [m/s^2].
        position: (n,) where it begins [rad].
        displacement: (n,) of the slew [rad].
        duration: of the slew [s].
    """

    seed: int
    gravity: tuple[float, float, float]
    position: Array
    displacement: Array
    duration: float

    def urdf(self, stiffness: float = 1.0, payload: float = 1.0) -> str:
        """The arm with other stiffness of all links, and another payload, than it was drawn with; as factors."""
        return _draw(self.seed, stiffness, payload)[0]


def flexible_arm(seed: int) -> FlexibleArm:
    """The arm of a seed: 1 to 3 links, first clamped frequencies of 2 to 10 Hz each, hubs from light to heavy."""
    return _draw(seed, 1.0, 1.0)[1]


def _draw(seed: int, stiffness: float, payload: float) -> tuple[str, FlexibleArm]:
    rng = np.random.default_rng([seed, 18])
    planar = bool(rng.random() < 0.5)
    links = int(rng.integers(1, 4))
    gravity = NO_WEIGHT if planar else WEIGHT
    length, rho_A = rng.uniform(0.5, 1.3, links), rng.uniform(0.4, 1.5, links)
    motor, load = rng.uniform(0.3, 2.0, links), float(rng.uniform(0.2, 2.0))
    housing = rng.uniform(
        0.1, 0.5, links
    )  # inertia of a motor's housing at the end of a link over that of the next hub
    hub_part = 10.0 ** rng.uniform(-1.5, 0.0, links)  # inertia of the hub over that of what it moves
    frequency = rng.uniform(2.0, 10.0, links)
    modes, gauges = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    damping = float(10.0 ** rng.uniform(-2.5, -1.5))
    torsion = not planar and bool(rng.random() < 0.5)
    position, displacement = rng.uniform(-0.9, 0.9, links), rng.uniform(0.3, 0.7, links) * rng.choice((-1, 1), links)
    duration = float(rng.uniform(0.8, 1.5))
    outboard = np.array([load + motor[i + 1 :].sum() + (rho_A * length)[i + 1 :].sum() for i in range(links)])
    reach = np.array([length[i:].sum() for i in range(links)])
    inertia = outboard * reach**2 + rho_A * length**3 / 3.0
    hubs = hub_part * inertia
    efforts = 12.0 * inertia + (0.0 if planar else 2.0 * 9.81 * (outboard + rho_A * length) * reach)
    parts, bends, parent, x = "", "", "world", 0.0
    for i in range(links):
        L, tip = length[i], outboard[i] + 0.24 * rho_A[i] * length[i]
        EI = float((2.0 * np.pi * frequency[i]) ** 2 * tip * L**3 / 3.0) * stiffness
        axis = "0 0 1" if planar or (i == 0 and links > 1) else "0 1 0"
        hub, mass = float(hubs[i]), rho_A[i] * L + 0.5
        center = rho_A[i] * L**2 / 2.0 / mass
        lateral = rho_A[i] * L**3 / 3.0 + hub - mass * center**2
        rho_Ip = 1e-3
        parts += f"""
  <joint name="joint_{i + 1}" type="revolute">
    <parent link="{parent}"/><child link="link_{i + 1}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/>
    <limit lower="-2" upper="2" effort="{efforts[i]}" velocity="6"/><dynamics damping="0.05"/>
  </joint>
  <link name="link_{i + 1}"><inertial><origin xyz="{center} 0 0"/><mass value="{mass}"/>
    <inertia ixx="{hub + 2.0 * rho_Ip * L}" ixy="0" ixz="0" iyy="{lateral}" iyz="0" izz="{lateral}"/>
  </inertial></link>"""
        if i + 1 < links:
            turn = housing[i] * hubs[i + 1]
            parts += f"""
  <joint name="housing_joint_{i + 1}" type="fixed">
    <parent link="link_{i + 1}"/><child link="housing_{i + 1}"/><origin xyz="{L} 0 0"/>
  </joint>
  <link name="housing_{i + 1}"><inertial><mass value="{motor[i + 1]}"/>
    <inertia ixx="{turn}" ixy="0" ixz="0" iyy="{turn}" iyz="0" izz="{turn}"/></inertial></link>"""
        kinds = f'modes_y="{modes}"' + ("" if planar else f' modes_z="{modes}"')
        if torsion:
            kinds += ' modes_torsion="1"'
        strips = "".join(
            f'<strain_gauge name="g{i}_{axis_name}{j}" x="{(0.05 + 0.45 * j) * L}" {axis_name}="0.02"/>'
            for j in range(gauges)
            for axis_name in (("y",) if planar else ("y", "z"))
        )
        bends += f"""
    <flexible_link name="link_{i + 1}"><beam length="{L}" EIy="{EI}" EIz="{EI}" GJ="{EI}" rho_A="{rho_A[i]}"
      rho_Ip="{rho_Ip}" {kinds} damping_ratio="{damping}"/>{strips}</flexible_link>"""
        parent, x = f"link_{i + 1}", L
    mass = load * payload
    text = f"""<robot name="flexible_{seed}"><link name="world"/>{parts}
  <joint name="tool_joint" type="fixed"><parent link="{parent}"/><child link="tool0"/><origin xyz="{x} 0 0"/></joint>
  <link name="tool0"><inertial><mass value="{mass}"/>
    <inertia ixx="{1e-3 * mass}" ixy="0" ixz="0" iyy="{1e-3 * mass}" iyz="0" izz="{1e-3 * mass}"/></inertial></link>
  <flexibility>{bends}
  </flexibility>
</robot>"""
    return text, FlexibleArm(seed, gravity, position, displacement, duration)
