"""A system of Gazebo in Python, loaded by its PythonSystemLoader: sets joints to the model's start before any step.

gz_ros2_control does so for joints that it commands; springs of a base are not among them in version 1.2.7.
"""

from __future__ import annotations

import importlib
import json
from typing import Any

BINDINGS = ("gz.sim8", "gz.sim", "gz.sim9")  # Python bindings of Gazebo, that of Harmonic first


class StartSystem:
    """Resets the positions of joints once."""

    def configure(self, entity: Any, sdf: Any, ecm: Any, events: Any) -> None:
        """Read ``<start>``, a JSON mapping of joints to positions [rad | m], and reset these joints of the model."""
        sim = _bindings()
        model = sim.Model(entity)
        for name, position in json.loads(sdf.get_string("start")).items():
            joint = sim.Joint(model.joint_by_name(ecm, name))
            if joint.valid(ecm):
                joint.reset_position(ecm, [float(position)])
            else:
                print(f"flexarm: no joint '{name}' in Gazebo's model: it begins at zero", flush=True)


def get_system() -> StartSystem:
    """What Gazebo asks for."""
    return StartSystem()


def _bindings() -> Any:
    for name in BINDINGS:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of Gazebo's Python bindings {', '.join(BINDINGS)} is there")
