"""The table of SROS 2 permissions says what nodes do that run, and who alone may move the arm."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.uri import resolve_uri
from flexarm_nodes.docs.permissions import ARM, BROADCASTERS, OPERATOR, markdown, policy, table
from flexarm_nodes.hardware_gate.controller_switch import AVAILABLE
from flexarm_nodes.node import topics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "permissions.md"
TEXT = load_robot_description(resolve_uri(ARM))
ROWS = table(parse_robot_description(TEXT))
SUITE = [name for name in ROWS if name not in (BROADCASTERS, OPERATOR)]
STATE_MARKERS = "state_markers"


def full(node: str, names) -> set[str]:
    return {f"/{node}/{name.removeprefix('~/')}" if name.startswith("~/") else f"/{name.lstrip('/')}" for name in names}


def test_the_page_is_that_of_the_ports():
    assert PAGE.read_text(encoding="utf-8") == markdown(ROWS)


@pytest.mark.parametrize("node", SUITE)
def test_a_running_node_does_what_the_table_says_and_nothing_else(live, node):
    live.start(node, {"robot_description": TEXT}, transitions=("configure",))
    live.settle()
    graph, own = live.node, (node, "/")
    row = ROWS[node]
    actions = [name.lstrip("/") for name in full(node, row.acts)]
    told = {f"/{action}/_action/{part}" for action in actions for part in ("feedback", "status")}
    asked = {f"/{action}/_action/{part}" for action in actions for part in ("send_goal", "cancel_goal", "get_result")}
    publishes = {name for name, _ in graph.get_publisher_names_and_types_by_node(*own)}
    subscribes = {name for name, _ in graph.get_subscriber_names_and_types_by_node(*own)}
    serves = {name for name, _ in graph.get_service_names_and_types_by_node(*own)}
    calls = {name for name, _ in graph.get_client_names_and_types_by_node(*own)}
    assert publishes <= full(node, row.publishes) | told
    assert subscribes <= full(node, row.subscribes)
    assert serves == full(node, row.serves) | asked
    assert calls <= (full(node, row.calls) if AVAILABLE else set())
    # what a node has in the table it has, too, but for what depends on parameters
    every = {f"/{node}/transition_event", "/diagnostics", "/rosout", "/parameter_events"}
    assert every <= publishes and f"/{topics.ROBOT_DESCRIPTION}" in subscribes
    if node != STATE_MARKERS:
        assert f"/{topics.JOINT_STATES}" in subscribes


def test_who_alone_moves_the_arm():
    commands = {topics.command_topic(mode) for mode in ("effort", "velocity", "position")}
    assert {name for name, row in ROWS.items() if commands & set(row.publishes)} == {"hardware_gate"}
    assert commands <= set(ROWS["hardware_gate"].publishes)
    assert {name for name, row in ROWS.items() if topics.JOINT_STATES in row.publishes} == {BROADCASTERS}
    rights = ("change_state", "set_parameters", "set_parameters_atomically", "reset")
    for name, row in ROWS.items():
        may = [call for call in row.calls if call.rpartition("/")[2] in rights]
        assert bool(may) == (name == OPERATOR)
    operator = set(ROWS[OPERATOR].calls)
    assert {f"{name}/{right}" for name in SUITE for right in rights[:3]} | {"hardware_gate/reset"} <= operator


def test_the_policy_allows_what_the_table_says():
    profiles = {one.get("node"): one for one in ElementTree.fromstring(policy(ROWS)).iter("profile")}
    assert list(profiles) == list(ROWS)
    for name, row in ROWS.items():
        for kind, verb, names in (
            ("topic", "publish", row.publishes),
            ("topic", "subscribe", row.subscribes),
            ("service", "reply", row.serves),
            ("service", "request", row.calls),
            ("action", "execute", row.acts),
            ("action", "call", row.asks),
        ):
            found = [one.text for part in profiles[name].iter(f"{kind}s") if part.get(verb) == "ALLOW" for one in part]
            assert found == list(names)
