"""Random arms some of whose joints follow others (``<mimic>``), and Pinocchio's dynamics with all joints free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class CoupledArm:
    """An arm as it is described.

    Attributes:
        text: URDF text.
        driven: names of the joints that lead, in tree order.
        elastic: names of the elastic joints, in tree order.
        ways: joint: (the joint that it follows in the end, multiplier, offset).
    """

    text: str
    driven: tuple[str, ...]
    elastic: tuple[str, ...]
    ways: dict[str, tuple[str, float, float]]


def coupled_arm(seed: int, joints: int = 6, followers: int = 3, base: bool = True) -> CoupledArm:
    """A chain from an elastic base to ``tool0`` with a joint on a branch; some joints follow others, also followers."""
    rng = np.random.default_rng(seed)
    names = [f"j{i}" for i in range(joints)]
    order = [*rng.permutation(names).tolist(), "branch"] if seed % 2 else rng.permutation([*names, "branch"]).tolist()
    leaders, rest = order[: joints + 1 - followers], order[joints + 1 - followers :]
    ways: dict[str, tuple[str, float, float]] = {name: (name, 1.0, 0.0) for name in leaders}
    said: dict[str, str] = {}
    for name in rest:
        other = str(rng.choice([*ways]))
        a, b = float(rng.uniform(0.3, 1.5) * rng.choice((-1, 1))), float(rng.uniform(-1, 1))
        said[name] = f'<mimic joint="{other}" multiplier="{a!r}" offset="{b!r}"/>'
        leader, c, d = ways[other]
        ways[name] = leader, a * c, a * d + b
    parts, springs, parent = ['<robot name="coupled"><link name="world"/>'], "", "world"
    if base:
        parts += [_link("mount", rng), _joint("spring_x", "prismatic", parent, "mount", rng)]
        parts += [_link("base", rng), _joint("spring_r", "revolute", "mount", "base", rng)]
        springs, parent = (
            (
                '<elastic_joint name="spring_x" stiffness="9000" damping="20"/>'
                '<elastic_joint name="spring_r" stiffness="4000" damping="10"/>'
            ),
            "base",
        )
    parts += [
        _link("foot", rng),
        f'<joint name="stand" type="fixed"><parent link="{parent}"/><child link="foot"/></joint>',
    ]
    parent, holder = "foot", f"l{rng.integers(joints)}"
    for i, name in enumerate(names):
        kind = "prismatic" if rng.random() < 0.2 else "revolute"
        parts += [_link(f"l{i}", rng), _joint(name, kind, parent, f"l{i}", rng, said.get(name, ""))]
        parent = f"l{i}"
    parts += [_link("aside", rng), _joint("branch", "revolute", holder, "aside", rng, said.get("branch", ""))]
    parts.append(
        f'<link name="tool0"/><joint name="flange" type="fixed"><parent link="{parent}"/><child link="tool0"/>'
        '<origin xyz="0.05 0 0.1" rpy="0.3 0.2 0.1"/></joint>'
    )
    motors = "".join(
        f'<joint name="{name}"><command_interface name="effort"/><param name="armature">{rng.uniform(0.1, 0.5)}</param>'
        "</joint>"
        for name in leaders
    )
    sensor = (
        '<sensor name="base_ft_sensor"><state_interface name="force.x"/><param name="frame_id">foot</param></sensor>'
        '<sensor name="tool_ft_sensor"><state_interface name="force.x"/><param name="frame_id">tool0</param></sensor>'
    )
    parts.append(f'<ros2_control name="all" type="system">{motors}{sensor}</ros2_control>')
    parts.append(f"<flexibility>{springs}</flexibility></robot>" if base else "</robot>")
    tree = [name for name in _tree_order(names, holder) if name in leaders]
    return CoupledArm("".join(parts), tuple(tree), ("spring_x", "spring_r") if base else (), ways)


class FreeJoints:
    """Pinocchio's model of the description in which every joint is free, and the map ``q = G q_r + b`` into it."""

    def __init__(self, arm: CoupledArm, gravity: Array) -> None:
        self.model = pinocchio.buildModelFromXML(arm.text)
        self.model.gravity.linear = gravity
        self.data = self.model.createData()
        names = (*arm.driven, *arm.elastic)
        self.G, self.b = np.zeros((self.model.nv, len(names))), np.zeros(self.model.nv)
        for name in self.model.names[1:]:
            at = self.model.joints[self.model.getJointId(name)].idx_v
            leader, a, b = arm.ways.get(name, (name, 1.0, 0.0))
            self.G[at, names.index(leader)], self.b[at] = a, b

    def equation(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Mass matrix and bias forces of the driven, then of the elastic coordinates."""
        full, G = self.G @ q + self.b, self.G
        H = pinocchio.crba(self.model, self.data, full)
        H = np.triu(H) + np.triu(H, 1).T
        c = pinocchio.rnea(self.model, self.data, full, G @ v, np.zeros(self.model.nv))
        return G.T @ H @ G, G.T @ c

    def pose(self, q: Array, link: str) -> tuple[Array, Array]:
        """Position and rotation of a link in the root link."""
        pinocchio.framesForwardKinematics(self.model, self.data, self.G @ q + self.b)
        placed = self.data.oMf[self.model.getFrameId(link)]
        return placed.translation.copy(), placed.rotation.copy()

    def jacobian(self, q: Array, link: str) -> Array:
        """Jacobian ``[v; w]`` of a link for the driven, then the elastic coordinates, in axes of the root link."""
        J = pinocchio.computeFrameJacobian(
            self.model,
            self.data,
            self.G @ q + self.b,
            self.model.getFrameId(link),
            pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )
        return np.asarray(J @ self.G)


def _tree_order(names: list[str], holder: str) -> list[str]:
    at = int(holder[1:])
    return [*names[: at + 1], "branch", *names[at + 1 :]]


def _link(name: str, rng: np.random.Generator) -> str:
    a, b, c = rng.uniform(0.01, 0.02, 3)
    return (
        f'<link name="{name}"><inertial><origin xyz="{_words(rng.uniform(-0.1, 0.1, 3))}"/>'
        f'<mass value="{rng.uniform(0.5, 3.0)}"/><inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )


def _joint(name: str, kind: str, parent: str, child: str, rng: np.random.Generator, more: str = "") -> str:
    axis = rng.standard_normal(3)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{_words(rng.uniform(-0.3, 0.3, 3))}" rpy="{_words(rng.uniform(-1, 1, 3))}"/>'
        f'<axis xyz="{_words(axis / np.linalg.norm(axis))}"/><limit lower="-9" upper="9" velocity="3" effort="90"/>'
        f'<dynamics damping="{rng.uniform(0.1, 1.0)}"/>{more}</joint>'
    )


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
