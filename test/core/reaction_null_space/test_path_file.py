"""Reactionless paths on disk: exact, and only for the arm that they are of."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import elastic_base_model

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reactionless.path_file import load_path, save_path
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel

START = np.array([0.5 * np.pi, 0.0])


@pytest.mark.parametrize("start", [START, np.array([np.pi - 0.2, 0.1])])
def test_what_is_read_is_what_was_written(trep, tmp_path, start):
    path = trace(trep, start)
    save_path(path, tmp_path / "path.npz")
    again = load_path(tmp_path / "path.npz", trep)
    assert (again.closed, again.start, again.end) == (path.closed, path.start, path.end)
    assert (again.backward_end, again.forward_end) == (path.backward_end, path.forward_end)
    assert again.closing_error == path.closing_error and np.array_equal(again.turns, path.turns)
    for s in np.linspace(path.start, path.end, 9):
        assert np.array_equal(again.sample(s, 1.0, 2.0).acceleration, path.sample(s, 1.0, 2.0).acceleration)


def test_a_selection_is_kept(tmp_path):
    model = elastic_base_model(("x", "y", "z", "rx"), 4, 1)
    chosen = ("base_z", "base_x", "base_y")
    save_path(trace(model, np.array([0.3, 0.4, -0.5, 0.2]), chosen, length=1.0), tmp_path / "path.npz")
    assert load_path(tmp_path / "path.npz", model).field.selection == ("base_x", "base_y", "base_z")


def test_the_path_of_another_robot_is_refused(trep, trep_text, planar_3r, tmp_path):
    file = tmp_path / "path.npz"
    save_path(trace(trep, START), file)
    with pytest.raises(ConfigError, match="is of the robot .'trep',., not of .'planar_3r',."):
        load_path(file, planar_3r)
    renamed = ArmModel(trep_text.replace('"joint2"', '"elbow"'), gravity=(0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match=r"is of the joints \('joint1', 'joint2'\), not of \('joint1', 'elbow'\)"):
        load_path(file, renamed)


def test_the_path_of_an_arm_with_other_masses_is_refused(trep, trep_text, tmp_path):
    file = tmp_path / "path.npz"
    save_path(trace(trep, START), file)
    assert '<mass value="0.12"/>' in trep_text
    heavier = ArmModel(trep_text.replace('<mass value="0.12"/>', '<mass value="0.121"/>'), gravity=(0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match="other masses or lengths: trace it again"):
        load_path(file, heavier)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"s": None}, "lacks s"),
        ({"closing_error": None}, "lacks closing_error"),
        ({"s": np.zeros(106)}, "s must increase"),
        ({"tangent": np.zeros((5, 2))}, "tangent must be finite and of shape"),
        ({"curvature": np.full((106, 2), np.nan)}, "curvature is not finite"),
        ({"end_reasons": np.array(["closed", "tired"])}, "ends must be of closed"),
    ],
)
def test_a_damaged_file_is_refused(trep, tmp_path, change, message):
    path, file = trace(trep, START), tmp_path / "path.npz"
    save_path(path, file)
    with np.load(file) as archive:
        arrays = {key: archive[key] for key in archive.files}
    count = len(path.knots.s)
    change = {key: np.resize(value, (count, *value.shape[1:])) if value is not None and len(value) == 106 else value
              for key, value in change.items()}  # fmt: skip
    arrays = {key: value for key, value in (arrays | change).items() if value is not None}
    np.savez(file, **arrays)
    with pytest.raises(ConfigError, match=message):
        load_path(file, trep)


def test_no_file_and_no_archive_are_refused(trep, tmp_path):
    (tmp_path / "text.npz").write_text("s = 1")
    for name in ("none.npz", "text.npz"):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_path(tmp_path / name, trep)
