"""What a node says of itself: changes at once, but no flood of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flexarm_nodes.node import diagnostics
from flexarm_nodes.node.diagnostics import AGAIN, BURST, BURST_TIME, ERROR, OK, REPEAT_AFTER, WARN, Diagnostics


class Listener:
    """Stands for a node: keeps what goes to its log and its publisher."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.published: list[tuple[bytes, str]] = []

    def create_publisher(self, *_: object) -> SimpleNamespace:
        return SimpleNamespace(
            publish=lambda array: self.published.append((array.status[0].level, array.status[0].message))
        )

    def create_timer(self, _: float, callback, clock: object) -> None:
        self.second_passes = callback

    def get_logger(self) -> SimpleNamespace:
        return SimpleNamespace(error=self.logged.append, warning=self.logged.append, info=self.logged.append)

    def get_name(self) -> str:
        return "node"

    get_namespace = get_name


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(diagnostics, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_a_status_that_changes_to_and_fro_is_published_a_few_times_a_second_and_the_newest_each_second(clock):
    node = Listener()
    said = Diagnostics(node)
    for tick in range(1000):  # two seconds
        clock.now += 0.002
        said.report(*((WARN, "left out") if tick % 2 else (OK, "estimating")), tick)
    assert BURST <= len(node.published) <= 2 * (BURST + 1)
    said.report(OK, "well", 1000)
    node.second_passes()
    assert node.published[-1] == (OK, "well")


def told(node: Listener, clock: SimpleNamespace, said: Diagnostics, seconds: float, **periods: float) -> None:
    """A status at 250 Hz that is a warning for `warning` and well for `well` seconds in turn."""
    begun = clock.now
    for tick in range(round(seconds * 250)):
        clock.now = begun + (tick + 1) * 0.004
        warns = (tick * 0.004) % (periods["warning"] + periods["well"]) < periods["warning"]
        said.report(*((WARN, "limited elbow") if warns else (OK, "running")), tick)
        if tick % 250 == 249:
            node.second_passes()


def test_a_limit_that_is_met_for_a_moment_is_published_and_not_logged(clock):
    node = Listener()
    told(node, clock, Diagnostics(node), 60.0, warning=0.2, well=1.8)
    assert node.published.count((WARN, "limited elbow")) >= 30 and node.logged == []


@pytest.mark.parametrize(("warning", "well"), [(0.004, 0.004), (0.1, 0.3), (1.0, 1.0), (3.0, 0.1)])
def test_a_warning_that_comes_and_goes_for_a_minute_is_logged_every_ten_seconds(clock, warning, well):
    node = Listener()
    told(node, clock, Diagnostics(node), 60.0, warning=warning, well=well)
    warned = [line for line in node.logged if line != "running"]
    assert 1 <= len(warned) <= 60.0 / AGAIN and len(node.logged) <= 2 * len(warned)
    assert all(line.startswith("limited elbow") for line in warned)
    if warning < 0.1:
        assert warned[-1].endswith("changes of the status since the last warning)")


def test_the_end_of_a_warning_and_of_an_error_is_logged(clock):
    node = Listener()
    said = Diagnostics(node)
    told(node, clock, said, 2.0, warning=10.0, well=0.0)
    told(node, clock, said, 2.0, warning=0.0, well=10.0)
    said.report(ERROR, "stopped", 0)
    said.report(OK, "running", 0)
    assert node.logged == ["limited elbow", "running", "stopped", "running"]


def test_a_failure_is_published_at_once_whatever_was_said_before(clock):
    node = Listener()
    said = Diagnostics(node)
    for tick in range(40):
        clock.now += 0.002
        said.report(*((WARN, "left out") if tick % 2 else (OK, "estimating")), tick)
    said.report(ERROR, "stopped", 40)
    assert node.published[-1] == (ERROR, "stopped") and node.logged[-1] == "stopped"
    clock.now += BURST_TIME
    said.report(OK, "running", 41)
    said.announce(OK, "inactive")
    assert [message for _, message in node.published[-2:]] == ["running", "inactive"]


def test_a_warning_whose_numbers_change_is_repeated_no_more_than_so_often(clock):
    node = Listener()
    said = Diagnostics(node)
    for tick in range(500):  # one second
        clock.now += 0.002
        said.report(WARN, f"{tick} lost", tick)
    assert len(node.published) == 1 + int((1.0 - 0.002) / REPEAT_AFTER) and len(node.logged) == 1


def test_errors_that_come_and_go_are_logged_a_few_times_a_second(clock):
    node = Listener()
    said = Diagnostics(node)
    for tick in range(1000):  # two seconds
        clock.now += 0.002
        said.report(*((ERROR, "stopped") if tick % 2 else (OK, "running")), tick)
    assert BURST <= node.logged.count("stopped") <= 2 * (BURST + 1)


def test_what_others_act_on_is_published_at_once_and_logged_when_it_may_be(clock):
    node = Listener()
    said = Diagnostics(node)
    said.report(ERROR, "stopped", 0, {"fallback": "no"})
    clock.now += 0.2
    said.report(ERROR, "tripped", 0, {"fallback": "yes"}, at_once=True)
    assert node.published[-1] == (ERROR, "tripped") and node.logged == ["stopped"]
    clock.now += REPEAT_AFTER
    said.report(ERROR, "tripped", 0)
    assert node.logged == ["stopped", "tripped"]


def test_a_run_that_begins_says_nothing_of_the_one_before_and_one_that_ends_keeps_its_values(clock):
    listener, shown = Listener(), []
    listener.create_publisher = lambda *_: SimpleNamespace(publish=lambda array: shown.append(array.status[0]))
    told = Diagnostics(listener)
    told.report(ERROR, "tripped: x", 0, {"state": "tripped", "trips": "1"})
    told.announce(OK, "inactive")
    told.announce(OK, "active", anew=True)
    assert [[pair.key for pair in status.values] for status in shown] == [["state", "trips"], ["state", "trips"], []]


def test_values_that_a_function_finds_are_found_when_they_are_published(clock):
    listener, shown, asked = Listener(), [], []
    listener.create_publisher = lambda *_: SimpleNamespace(publish=lambda array: shown.append(array.status[0]))
    told = Diagnostics(listener)
    for tick in range(100):
        told.report(OK, "estimating", tick, lambda tick=tick: asked.append(tick) or {"newest": str(tick)})
    listener.second_passes()
    assert [(pair.key, pair.value) for pair in shown[-1].values] == [("newest", "99")]
    assert asked == [0, 99]
