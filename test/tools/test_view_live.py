"""A running graph in the browser view: what comes, what is missing, what is wrong; parameters, pause and push."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live import LiveGraph, own_domain
from rcl_interfaces.msg import ParameterDescriptor, ParameterValue
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from flexarm_core.errors import FlexarmError
from flexarm_nodes.node import topics

pytest.importorskip("viser", reason="viser is not installed")

from flexarm_nodes.node.parameters import LIVE
from flexarm_tools.view.command import checked_namespace
from flexarm_tools.view.live_parameter import read_parameter
from flexarm_tools.view.live_view import LiveView
from flexarm_tools.view.page import ViewPage
from flexarm_tools.view.parameter_controls import slider_span

PLANT = "simulated_plant"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[LiveGraph]:
    """A graph on a domain of its own."""
    with own_domain():
        graph = LiveGraph(tmp_path)
        yield graph
        graph.close()


@pytest.fixture
def view(graph: LiveGraph) -> Iterator[LiveView]:
    """A page that follows it."""
    page = ViewPage("127.0.0.1", 0)
    view = LiveView(page)
    yield view
    view.close()
    page.close()


def follow(graph: LiveGraph, view: LiveView, condition: Callable[[], bool], what: str, timeout: float = 30.0) -> None:
    """Keep graph and page going until a condition holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen; the page says: {view.page.alarmed}"
        view.step()
        graph.spin(0.02)


def joint_states(*pairs: tuple[str, float], stamp: float = 0.0) -> JointState:
    message = JointState(name=[name for name, _ in pairs], position=[value for _, value in pairs])
    message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), round(stamp % 1.0 * 1e9)
    return message


def test_missing_and_wrong_input_gets_a_message_and_what_is_right_is_drawn(graph, view, planar_3r_text):
    describe = graph.node.create_publisher(String, topics.ROBOT_DESCRIPTION, topics.LATCHED)
    states = graph.node.create_publisher(JointState, topics.JOINT_STATES, topics.CONTROL)
    view.step()
    assert "Waiting for a robot description" in view.page.alarmed
    describe.publish(String(data="<robot"))
    follow(graph, view, lambda: any("robot description:" in text for text in view.page.messages), "a complaint")
    describe.publish(String(data=planar_3r_text))
    follow(graph, view, lambda: "Waiting for the joints" in view.page.alarmed, "the robot")

    def joints(*pairs: tuple[str, float], stamp: float) -> Callable[[], bool]:
        def published() -> bool:
            states.publish(joint_states(*pairs, stamp=stamp))
            return bool(view.sample is not None and view.sample.time == stamp)

        return published

    follow(graph, view, joints(("joint1", 0.5), ("elbow", 1.0), ("joint2", math.nan), stamp=1.0), "a sample")
    assert view.sample is not None and view.sample.position == {"joint1": 0.5}
    assert "lacks joint joint2, joint3" in view.page.alarmed
    good = (("joint1", 0.5), ("joint2", 0.1), ("joint3", 0.2), ("base_x", 0.03))
    follow(graph, view, joints(*good, stamp=2.0), "a good sample")
    view.step()
    assert view.page.alarmed == ""
    assert view.sample.deflection == {"base_x": 0.03}
    follow(graph, view, lambda: "is silent: the arm stands" in view.page.alarmed, "silence")


def test_a_simulation_is_followed_paused_pushed_and_let_go_on(graph, view, planar_3r_text):
    shared = {"robot_description": planar_3r_text, "gravity": [0.0, 0.0, 0.0], "lockstep": False}
    graph.start(PLANT, {**shared, "friction.coulomb": [0.0]})
    graph.graph.advance(PLANT, 500.0)
    follow(graph, view, lambda: view.sample is not None and view.sample.time > 0.05, "the simulation")
    follow(graph, view, lambda: view.graph.has(PLANT), "the plant's parameters")
    starts: list[float] = []
    view.graph.do(lambda: starts.append(view.graph.push("base_link", (60.0, 0.0, 0.0), 0.05)))
    follow(graph, view, lambda: bool(starts) and view.sample.time > starts[0] + 0.1, "the push")
    assert max(abs(sample.deflection["base_x"]) for sample in view.samples) > 1e-3
    view.graph.do(lambda: starts.append(view.graph.push("nose", (1.0, 0.0, 0.0), 0.1)))
    follow(graph, view, lambda: any("'nose' does not exist" in text for text in view.page.messages), "a refusal")
    view.graph.do(view.toggle_pause)
    follow(graph, view, lambda: any("pauses at" in text for text in view.page.messages), "a pause")
    follow(graph, view, lambda: _stands(graph, view), "standing still")
    stood = view.sample.time
    view.graph.do(view.toggle_pause)
    follow(graph, view, lambda: view.sample.time > stood + 0.1, "going on")


def test_of_several_arms_the_one_in_the_namespace_is_followed_and_pushed(graph, planar_3r_text, trep_text):
    shared = {"gravity": [0.0, 0.0, 0.0], "lockstep": False, "friction.coulomb": [0.0]}
    for namespace, text in (("/left", planar_3r_text), ("/right", trep_text)):
        graph.start(PLANT, {**shared, "robot_description": text}, namespace=namespace)
        graph.graph.advance(f"{namespace}/{PLANT}", 500.0)
    page = ViewPage("127.0.0.1", 0)
    view = LiveView(page, checked_namespace("left"))
    try:
        follow(graph, view, lambda: view.sample is not None and view.sample.time > 0.05, "the simulation")
        assert "joint3" in view.sample.position and set(view.graph.nodes) == {f"/left/{PLANT}"}
        starts: list[float] = []
        view.graph.do(lambda: starts.append(view.graph.push("base_link", (60.0, 0.0, 0.0), 0.05)))
        follow(graph, view, lambda: bool(starts) and view.sample.time > starts[0] + 0.1, "the push")
        assert max(abs(sample.deflection["base_x"]) for sample in view.samples) > 1e-3
    finally:
        view.close()
        page.close()
    with pytest.raises(FlexarmError, match="--namespace"):
        checked_namespace("1 2")


def _stands(graph: LiveGraph, view: LiveView) -> bool:
    """Whether simulation time does not move in a third of a second."""
    before = view.sample.time if view.sample is not None else math.nan
    graph.spin(0.3)
    view.step()
    return view.sample is not None and view.sample.time == before


def test_a_live_parameter_gets_a_slider_within_its_bounds_and_others_get_none():
    def said(constraints: str, value: object, **more: object) -> object:
        descriptor = ParameterDescriptor(name="gain", additional_constraints=constraints, **more)
        message: ParameterValue = Parameter("gain", value=value).to_parameter_msg().value
        return read_parameter("/node", descriptor, message)

    assert said("in [0.0, 1.0]", 0.5) is None
    assert said(LIVE, 0.5, read_only=True) is None
    assert slider_span(said(f"in [0.0, 1.0]; {LIVE}", 0.25)) == (0.0, 1.0)
    assert slider_span(said(f"in [0.0, None]; {LIVE}", 20.0)) == (0.0, 80.0)
    assert slider_span(said(f"in [0.0, None]; {LIVE}", 0.0)) == (0.0, 1.0)
    assert slider_span(said(f"in [1, None]; {LIVE}", 3)) == (1, 9)
    assert slider_span(said(LIVE, 3.0)) is None
    assert slider_span(said(LIVE, math.inf)) is None
    assert said(f"one of: left, right; {LIVE}", "left").choices == ("left", "right")
    assert said(LIVE, [1.0, 2.0]).parse("3, 4.5") == [3.0, 4.5]
    with pytest.raises(FlexarmError, match="not a list of numbers"):
        said(LIVE, [1.0, 2.0]).parse("3, x")
