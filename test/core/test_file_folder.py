"""Names of files that come from elsewhere lead to files of one folder only, whatever tricks are in them."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.file_folder import FileFolder
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.regular_file import read_regular

SECRET, WAYPOINTS = "hunter2", "segments: [{line: {position: [0.1, 0.2, 0.3]}}]\n"
MOST = 10_000
PIECES = (
    *("a.yaml", "b.yaml", "a.yaml", "b.yaml", "in", "in", "in", "deep", "deep", ".", ".."),
    *("", "out", "out.yaml", "round", "secret.yaml", "secret", "pipe.yaml", "a.yaml", "in"),
    *("%2e%2e", "%2F", "..%2f", "\\", "~", "$HOME", "a.yaml\0", "a.yaml\n", "\u2025", "\ufeffa.yaml", "A.YAML"),
    *("zero.yaml", "folder.yaml", "loop.yaml", "big.yaml", "twice.yaml", ".hidden.yaml", "proc", "kmsg", "self"),
)
HEADS = ("", "/", "//", "file://", "file:", "package://flexarm/", "package://flexarm", "http://", "FILE://", "./", "~/")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with everything in it that leads out of it, and a secret beside it."""
    folder = tmp_path / "shared"
    (folder / "in" / "deep").mkdir(parents=True)
    for place in ("a.yaml", "in/a.yaml", "in/deep/b.yaml", ".hidden.yaml"):
        (folder / place).write_text(f"inside: {place}\n{WAYPOINTS}", encoding="utf-8")
    (tmp_path / "secret.yaml").write_text(SECRET, encoding="utf-8")
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    (tmp_path / "shared_too").mkdir()
    (tmp_path / "shared_too" / "a.yaml").write_text(SECRET, encoding="utf-8")
    (folder / "secret").write_text(SECRET, encoding="utf-8")  # not .yaml
    (folder / "out").symlink_to(tmp_path)
    (folder / "proc").symlink_to("/proc")
    (folder / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "in" / "round").symlink_to(folder)
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    (folder / "twice.yaml").symlink_to("/proc/kmsg")
    (folder / "folder.yaml").mkdir()
    (folder / "big.yaml").write_text("#" * (MOST + 1), encoding="utf-8")
    os.mkfifo(folder / "pipe.yaml")
    try:
        os.mknod(folder / "zero.yaml", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:  # only root may
        (folder / "zero.yaml").symlink_to("/dev/zero")
    return folder


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    def alarm(*_: object) -> None:
        raise TimeoutError("a name has made the reader wait")

    before = signal.signal(signal.SIGALRM, alarm)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def drawn_names(folder: Path, rng: np.random.Generator, count: int) -> Iterator[str]:
    heads = (*HEADS, *HEADS[:1] * 8, f"{folder}/", f"file://{folder}/", f"{folder}", f"{folder}_too/", f"{folder}/../")
    for _ in range(count):
        pieces = rng.choice(np.array(PIECES, dtype=object), rng.integers(1, 4))
        yield str(rng.choice(np.array(heads, dtype=object))) + "/".join(pieces)


def tree(root: Path) -> dict[str, object]:
    """Return what is under a folder: kinds, links and contents of the files."""
    found: dict[str, object] = {}
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(place, name)
            mode = path.lstat().st_mode
            link, file = stat.S_ISLNK(mode), stat.S_ISREG(mode)
            found[str(path)] = os.readlink(path) if link else path.read_bytes() if file else mode
    return found


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_named_only_files_of_the_folder_are_read_and_none_is_replaced(folder, seed):
    files, before = FileFolder(str(folder)), tree(folder.parent)
    inside = {text.decode() for path, text in before.items() if path.endswith(".yaml") and isinstance(text, bytes)
              and path.startswith(f"{folder}/") and len(text) <= MOST}  # fmt: skip
    read, created = 0, set()
    for name in drawn_names(folder, np.random.default_rng(seed), 1500):
        try:
            assert files.read_text(name, "file", MOST) in inside | {"mine"}, name
            read += 1
        except ConfigError as error:
            assert SECRET not in str(error)
        try:
            files.write_new(name, "file", "mine")
        except ConfigError as error:
            assert SECRET not in str(error)
        else:
            created |= set(tree(folder.parent)) - set(before)
    assert read > 30  # the tricks are not all that is drawn
    after = tree(folder.parent)
    assert {path: content for path, content in after.items() if path in before} == before  # nothing was replaced
    assert created and set(after) - set(before) == created  # and no draft is left
    assert all(path.startswith(f"{folder}/") and path.endswith(".yaml") for path in created)


@pytest.mark.parametrize(
    "name, reason",
    (
        ("../secret.yaml", "is not in the file_folder"),
        ("in/../a.yaml", "is not in the file_folder"),
        ("/etc/passwd", "is not in the file_folder"),
        ("package://flexarm/../../../../../../etc/passwd.yaml", "is not in the file_folder"),
        ("package://flexarm/%2e%2e/%2e%2e/secret.yaml", "is not in the file_folder"),
        ("secret", "does not end in .yaml"),
        ("out.yaml", "is a folder, a link or a device, not a file"),
        ("out/secret.yaml", "cannot be opened in the file_folder"),
        ("in/round/a.yaml", "cannot be opened in the file_folder"),
        ("pipe.yaml", "is a folder, a link or a device, not a file"),
        ("zero.yaml", "is a folder, a link or a device, not a file"),
        ("folder.yaml", "is a folder, a link or a device, not a file"),
        ("twice.yaml", "is a folder, a link or a device, not a file"),
        ("big.yaml", f"has {MOST + 1} bytes, at most {MOST} are read"),
        ("none.yaml", "No such file"),
        ("a.yaml\0", "must be printable"),
        ("x" * 2000 + ".yaml", "at most 1000 characters"),
        ("", "is not in the file_folder"),
    ),
)
def test_a_trick_is_refused_with_its_reason(folder, name, reason):
    with pytest.raises(ConfigError) as refused:
        FileFolder(str(folder)).read_text(name, "waypoint file", MOST)
    assert reason in str(refused.value) and SECRET not in str(refused.value)


def test_a_file_is_named_from_the_folder_on_or_in_full(folder):
    files = FileFolder(f"file://{folder}")
    for name in ("in/a.yaml", f"{folder}/in/a.yaml", f"file://{folder}/in/a.yaml", "./in//a.yaml"):
        assert files.read_text(name, "file", MOST).startswith("inside: in/a.yaml")
    with pytest.raises(ConfigError, match="set the parameter file_folder"):
        FileFolder().read_text(str(folder / "a.yaml"), "file", MOST)
    for wrong in ("relative", "/nowhere/at/all", "package://no_such_package/x", str(folder / "a.yaml")):
        with pytest.raises(ConfigError, match="file_folder: "):
            FileFolder(wrong)


def test_what_is_there_is_not_replaced_and_what_is_created_is_whole(folder):
    files = FileFolder(str(folder))
    for name in ("a.yaml", "out.yaml", "pipe.yaml", "loop.yaml"):
        for refused in (files.check_new, lambda *given: files.write_new(*given, "mine")):
            with pytest.raises(ConfigError, match="is there already, and is not replaced"):
                refused(name, "calibration file")
    files.check_new("in/new.yaml", "calibration file")
    files.write_new("in/new.yaml", "calibration file", "mine")
    assert (folder / "in" / "new.yaml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("seed", range(3))
def test_no_error_tells_what_is_in_a_waypoint_file_that_was_named_from_elsewhere(folder, seed):
    rng, refused = np.random.default_rng(seed), 0
    line = "segments: [{{line: {{{}}}}}]".format
    circle = f"segments: [{{circle: {{center: [0, 0, 0], normal: [0, 0, 1], turns: {SECRET}}}}}]"
    wrong = (
        *(SECRET, f"{SECRET}: 1", f"password: {SECRET}", f"- {SECRET}", f"!{SECRET} x", f"*{SECRET}", f"%{SECRET}"),
        *(f"@{SECRET}", f"frame: [{SECRET}]", f"relative: {SECRET}", f"characteristic_length: {SECRET}"),
        *(f"segments: {SECRET}", f"segments: [{SECRET}]", f"segments: [{{{SECRET}: 1}}]", f"'{SECRET}", circle),
        *(line(f"position: {SECRET}"), line(f"position: [1, 2, {SECRET}]"), line(f"rpy: [0, 0, !degrees {SECRET}]")),
        *(f"{{{SECRET}: 1, {SECRET}: 2}}", f"a: b: {SECRET}", f"-----BEGIN KEY-----\n{SECRET}=", f"<<: {SECRET}"),
        *(f"2001-13-45 {SECRET}", f"\t{SECRET}", f"? {SECRET}", f"&{SECRET} a: *{SECRET}", f"|{SECRET}"),
    )
    for number in rng.permutation(len(wrong)):
        lines = [wrong[number], *("#" * rng.integers(0, 3) for _ in range(rng.integers(0, 4)))]
        (folder / "wrong.yaml").write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(FlexarmError) as told:
            load_waypoint_file("wrong.yaml", FileFolder(str(folder)))
        assert SECRET not in str(told.value) and "wrong.yaml" in str(told.value)
        refused += 1
    assert refused == len(wrong)


@pytest.mark.parametrize("path", ("/proc/kmsg", "/proc/self/environ", "/proc/self/mem"))
def test_files_of_the_kernel_are_empty(path):
    assert read_regular(path, MOST, ConfigError) == b""


@pytest.mark.parametrize(
    ("replace", "said"),
    [
        (lambda file, secret: file.symlink_to(secret), "cannot be opened in the file_folder"),
        (lambda file, secret: os.mkfifo(file), "is a folder, a link or a device"),  # its writer never comes
        (lambda file, secret: file.mkdir(), "is a folder, a link or a device"),
    ],
)
def test_what_takes_the_place_of_a_file_meanwhile_is_neither_followed_nor_waited_for(
    folder, monkeypatch, replace, said
):
    looked = os.stat

    def swapped(path: str, **how: object) -> os.stat_result:
        found = looked(path, **how)
        if path == "a.yaml":  # now it has been looked at
            (folder / "a.yaml").unlink()
            replace(folder / "a.yaml", folder.parent / "secret.yaml")
        return found

    monkeypatch.setattr(os, "stat", swapped)
    with pytest.raises(ConfigError, match=said):
        FileFolder(str(folder)).read_text("a.yaml", "file", MOST)
