"""Compile all kernels, those of the core and of the plant, into Numba's cache: ``python -m flexarm_sim.warm``."""

from __future__ import annotations

from flexarm_core.pipeline.warm import PARTS, SENSED, main
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.plant import Plant


def compile_plant() -> None:
    """Run a step of each backend, with friction; one whose physics engine is not installed is left out."""
    description, friction = parse_robot_description(SENSED), JointFriction(coulomb=(1.0,), stribeck_velocity=(0.1,))
    for name in BACKENDS:
        try:
            backend = make_backend(name, description, segments=3, friction=friction)
        except ImportError:
            continue
        plant = Plant(description, backend)
        plant.measure()
        plant.advance(None)


if __name__ == "__main__":
    main({**PARTS, "plant": compile_plant})
