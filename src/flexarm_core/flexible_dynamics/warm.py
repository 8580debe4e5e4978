"""Compiles the dynamics into Numba's cache beside the sources: ``python -m flexarm_core.flexible_dynamics.warm``.

Numba renews a cached function when its own file changes, not when a function that it calls does. Whatever is older than
the newest of them is therefore removed first.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from flexarm_core.flexible_dynamics import integration, recursion
from flexarm_core.flexible_dynamics.model import FlexibleModel

TWO_LINKS = """<robot name="two_links"><link name="world"/>
  <joint name="first" type="continuous"><parent link="world"/><child link="inner"/><axis xyz="0 0 1"/></joint>
  <link name="inner"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="second" type="continuous">
    <parent link="inner"/><child link="outer"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="outer"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <flexibility>
    <flexible_link name="inner"><beam length="1" EIz="100" rho_A="1" modes_y="1"/></flexible_link>
    <flexible_link name="outer"><beam length="1" EIz="100" rho_A="1" modes_y="1"/></flexible_link>
  </flexibility>
</robot>"""


def remove_stale(folder: Path) -> int:
    """Remove cached functions older than the newest source that has some; how many files went."""
    cached = [*folder.glob("__pycache__/*.nbi"), *folder.glob("__pycache__/*.nbc")]
    sources = {folder / f"{path.name.split('.')[0]}.py" for path in cached}
    newest = max((path.stat().st_mtime for path in sources if path.is_file()), default=0.0)
    stale = [path for path in cached if path.stat().st_mtime < newest]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def compile_all() -> None:
    """Call every compiled function once, with the types that the model gives it."""
    model = FlexibleModel(TWO_LINKS)
    x, v, effort = np.zeros(model.size), np.zeros(model.size), np.zeros(len(model.hinge_names))
    acceleration = model.forward_dynamics(x, v, effort, {("outer", 1): np.zeros(6)})
    model.response(model.actuated)
    model.inverse_dynamics(x, v, acceleration)
    model.mass_matrix(x)
    model.energy(x, v)
    model.frame_motion("outer", x, v, acceleration)
    recursion.forward_dynamics(*model.arrays, x, v, effort, acceleration)
    for steps in (integration.runge_kutta, integration.implicit_midpoint):
        steps(*model.arrays, x, v, effort, 1e-4, 1, np.empty((6, model.size)))


def main() -> None:
    """Renew the cache and say how long it took."""
    began = time.perf_counter()
    # Not resolved: where sources are linked to, the cache lies beside the links.
    removed = remove_stale(Path(__file__).parent)
    compile_all()
    print(f"dynamics compiled in {time.perf_counter() - began:.1f} s, {removed} stale files removed")


if __name__ == "__main__":
    main()
