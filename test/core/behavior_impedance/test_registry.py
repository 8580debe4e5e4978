"""Kinds of behaviors: those of the suite, and those of packages that are installed beside it."""

from __future__ import annotations

import importlib
import sys

import pytest
from behaviors import arm_of, contribution, sample_at

from flexarm_core.behavior_impedance.behavior import Behavior, BehaviorSpec
from flexarm_core.behavior_impedance.registry import OWN, known_behaviors, make_behavior
from flexarm_core.behavior_impedance.setting import checked_settings
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting

KINDS = {"path", "teleoperation", "force", "spring", "joint_limits", "singularity", "obstacles", "posture", "dither"}
CODE = '''
from flexarm_core.behavior_impedance.behavior import Behavior
from flexarm_core.settings import Setting

class Lift(Behavior):
    """Lifts the tool."""
    KIND = "lift"
    SETTINGS = (Setting("force", "double", 5.0, "upwards", "N", 0.0),)
    def __init__(self, arm, settings):
        self.force = settings["force"]
        if self.force > 100.0:
            raise RuntimeError("not so much")
    def update(self, sample, out):
        out.force[2] = self.force

class Nothing:
    pass
'''


@pytest.fixture(name="package")
def package_beside_the_suite(tmp_path, monkeypatch):
    """Installs modules with entry points, as pip would; afterwards nothing is left of them."""

    def install(name, points, code=CODE):
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        rows = "\n".join(f"{kind} = {target}" for kind, target in points.items())
        (info / "entry_points.txt").write_text(f"[flexarm.behaviors]\n{rows}\n", encoding="utf-8")
        importlib.invalidate_caches()
        known_behaviors.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    for module in [name for name in sys.modules if (tmp_path / f"{name}.py").exists()]:
        del sys.modules[module]
    monkeypatch.undo()
    importlib.invalidate_caches()
    known_behaviors.cache_clear()


def test_the_suite_has_its_nine_kinds_and_each_is_made_from_its_name():
    known_behaviors.cache_clear()
    assert {kind.KIND for kind in OWN} == KINDS <= set(known_behaviors())
    lacking = {"path": {"positions": [0.1, 0.0, 0.0]}, "singularity": {"axes": [True] * 3 + [False] * 3}}
    for kind in KINDS:
        behavior = make_behavior(BehaviorSpec("it", kind, lacking.get(kind, {})), arm_of("planar_4r"))
        assert kind == type(behavior).KIND


@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.KIND)
def test_every_default_is_legal_and_every_setting_says_what_it_does(kind):
    checked_settings(kind.SETTINGS, {})
    for row in kind.SETTINGS:
        assert row.description, row.name
        assert row.unit or "double" not in row.kind or row.name == "axes", row.name
    assert len({row.name for row in kind.SETTINGS}) == len(kind.SETTINGS)


def test_a_behavior_of_another_package_is_found_by_its_entry_point(package):
    package("lifting", {"lift": "lifting:Lift"})
    arm = arm_of("panda")
    behavior = make_behavior(BehaviorSpec("up", "lift", {"force": 7.0}), arm)
    out = contribution(arm)
    behavior.update(sample_at(arm, [0.1] * 7), out)
    assert isinstance(behavior, Behavior) and out.force.tolist() == [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]
    with pytest.raises(ConfigError, match=r"behavior 'up': force must lie in"):
        make_behavior(BehaviorSpec("up", "lift", {"force": -1.0}), arm)


def test_whatever_the_constructor_of_a_foreign_behavior_does_is_a_config_error_that_names_it(package):
    package("lifting", {"lift": "lifting:Lift"})
    with pytest.raises(ConfigError, match="behavior 'up': RuntimeError: not so much"):
        make_behavior(BehaviorSpec("up", "lift", {"force": 101.0}), arm_of("panda"))


@pytest.mark.parametrize(
    ("target", "code", "why"),
    (
        ("broken:Missing", CODE, "cannot be loaded"),
        ("broken:Lift", "raise OSError('no license')", "no license"),
        ("broken:Lift", "def oops(", "cannot be loaded"),
        ("broken:Nothing", CODE, "is no flexarm Behavior class"),
        ("broken:KIND", "KIND = 'word'", "is no flexarm Behavior class"),
    ),
)
def test_a_broken_entry_point_is_named_with_what_is_wrong(package, target, code, why):
    package("broken", {"lift": target}, code)
    for _ in range(2):  # and again, not only the first time
        with pytest.raises(ConfigError, match=f"(?s)behavior 'lift' of {target}.*{why}"):
            known_behaviors()


def test_a_package_cannot_take_the_name_of_a_kind_of_the_suite(package):
    package("lifting", {"path": "lifting:Lift"})
    with pytest.raises(ConfigError, match="behavior 'path' of lifting:Lift has the name of another one"):
        known_behaviors()


def test_two_packages_cannot_have_the_same_name_for_different_classes(package):
    package("lifting", {"lift": "lifting:Lift"})
    package("hoisting", {"lift": "hoisting:Lift"})
    with pytest.raises(ConfigError, match="has the name of another one"):
        known_behaviors()


def test_an_unknown_kind_is_refused_with_those_that_are_known():
    known_behaviors.cache_clear()
    with pytest.raises(ConfigError, match="behavior 'a': kind 'pth' is unknown; valid: .*path.*dither"):
        make_behavior(BehaviorSpec("a", "pth"), arm_of("panda"))


def test_settings_that_are_not_legal_are_refused_with_the_name_of_the_behavior():
    for settings, why in (({"pace": 1.0}, "'pace' is unknown"), ({"frequency": -1.0}, "frequency must lie in")):
        with pytest.raises(ConfigError, match=f"behavior 'shake': {why}"):
            make_behavior(BehaviorSpec("shake", "dither", settings), arm_of("panda"))


def test_a_setting_of_a_kind_that_there_is_not_is_a_config_error_too(monkeypatch):
    monkeypatch.setattr(OWN[-1], "SETTINGS", (Setting("pace", "float", 1.0, ""),))
    with pytest.raises(ConfigError, match="behavior 'shake'"):
        make_behavior(BehaviorSpec("shake", "dither"), arm_of("panda"))
