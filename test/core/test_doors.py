"""No public callable of the core crashes, hangs, reads beyond an array or lets another library's error out.

The walk of ``test/support/doors.py`` runs in a process of its own: one that dies is a failing test. Entrances of
compiled code and of Pinocchio answer with errors of ours alone, and never take an array of a wrong shape or one that is
not finite. What is pure Python may also end in NumPy's ValueError, as InputError is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.pipeline.warm import ON_A_SPRING
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

# entrance, parameter: what is taken there on purpose
MEANT = {
    ("TorqueLoop.update", "friction"),  # NaN: not known
    ("SmoothMotion.at", "out"),  # written to, whatever it held
    ("Proximity.avoid", "effort"),
    ("Proximity.avoid", "stiffness"),
    ("FlexibleModel.response", "coordinates"),  # none: no columns
    ("null_space.damped_inverse", "matrix"),  # of any shape
    ("Response", "effort_limit"),  # infinite: there is none; NaN: JointLimits refuses it
    ("Response", "velocity_limit"),
    ("TorqueLoop", "effort_limit"),  # infinite: there is none
    ("Response.on_state", "command"),  # finite, as the gate has limited it
    ("Supervisor.on_command", "command"),
    ("Supervisor.on_base", "deflection"),  # NaN: not known
    ("Supervisor.on_base", "rate"),
    ("JointDeviation.check", "measured"),  # finite, as the stage's inputs are
    ("JointDeviation.check", "commanded"),
    *(("is_allowed", name) for name in ("position", "velocity", "acceleration")),  # NaN: it is not
}
# entrances that the walk builds no good arguments for, and who checks what reaches them
NOT_WALKED = (
    *("Dither", "Force", "JointLimits", "Singularity", "Spring", "Teleoperation"),  # the ensemble makes their samples
    *("Proximity", "Correction", "Disturbances", "MotionSensors"),  # between estimator or behavior and kernel
    *("PlannedPath", "RedundancyStep", "linear_law", "VibrationController", "whole_reference"),  # tests of their own
    *("RedundancySolver.update", "RedundancySolver.move"),  # after begin(): tests of their own
    *("BaseWrenchController.update", "BaseWrenchEstimator.update", "PositionLoop.update"),  # the same
    "FlexibleModel.accelerate",  # after articulate(): below
    "carried_over.correct_carried_over",  # after the step before: its controller checks what comes in
    "KinematicChain.motion_of",  # says that it does not check
    "KinematicChain.pose_of",  # the same
    *("StateBelief.doubt", "Stillness.on_state", "VelocityCheck.on_state"),  # what the gate has checked
    *(
        *("held_joints.fixed_joint", "held_joints.moved", "held_joints.read_origin", "held_joints.set_origin"),
        *("held_tags.held_joints", "held_tags.write_held"),
    ),  # what the reader of descriptions has checked
    "Contribution",  # rows of the law's own table
    "PathWatch.take",  # views refuse other shapes; what is not finite, the controller does
)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    doors = Path(__file__).resolve().parents[1] / "support" / "doors.py"
    elsewhere = tmp_path_factory.mktemp("doors")  # some write files of the names that they are given
    done = subprocess.run([sys.executable, doors], cwd=elsewhere, capture_output=True, text=True, timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0, f"died at {lines[-1] if lines else 'the begin'}: {done.stderr[-2000:]}"
    return [line for line in lines if "door" in line]


def test_entrances_of_compiled_code_answer_with_errors_of_ours(walked):
    found = []
    for line in walked:
        if line["strict"] and line["reached"]:
            for name, kind, outcome in line["wrong"]:
                if not any(line["door"].endswith(door) and name == parameter for door, parameter in MEANT):
                    found.append((line["door"], name, kind, outcome))
    assert not found
    assert sum(line["strict"] and line["reached"] for line in walked) > 35


def test_every_entrance_of_compiled_code_is_walked(walked):
    missed = [line for line in walked if line["strict"] and not line["reached"]]
    new = [(line["door"], line["why"]) for line in missed if not any(name in line["door"] for name in NOT_WALKED)]
    assert not new, "give test/support/doors.py good arguments for these"


def test_nothing_else_ends_in_an_error_of_another_library(walked):
    found = []
    for line in walked:
        for name, kind, outcome in line.get("wrong", ()):
            if not outcome.startswith(("ValueError", "accepted")):
                found.append((line["door"], name, kind, outcome))
    assert not found
    assert sum(line.get("calls", 0) for line in walked) > 10_000


@pytest.mark.parametrize("size", [0, 1, 3, 6, 1000])
def test_a_state_too_short_or_too_long_is_not_read_beyond_its_end(size):
    model = FlexibleModel(ON_A_SPRING)
    good, effort = np.zeros(model.size), np.zeros(len(model.hinge_names))
    for x, v in ((np.zeros(size), good), (good, np.zeros(size))):
        for method in (model.articulate, model.energy, lambda x, v: model.forward_dynamics(x, v, effort)):
            with pytest.raises(InputError, match="shape"):
                method(x, v)
    with pytest.raises(InputError, match="shape"):
        model.mass_matrix(np.zeros(size))


def test_a_state_is_checked_by_whichever_method_sees_it_first():
    model = ArmModel(ON_A_SPRING)
    rest = np.zeros(2)
    for bad in (np.zeros(3), np.array([np.nan, 0.0]), np.zeros(2, dtype=np.float32), [0.0, 0.0]):
        state = ArmState(0, bad, rest, np.zeros(1), np.zeros(1))
        for method in (model.blocks, model.weight, model.gravity_effort, model.natural_frequencies):
            with pytest.raises(InputError, match="position"):
                method(state)
