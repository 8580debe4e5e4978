"""StallWatch: detects that a run makes no more progress, independently of the speed of the machine.

A plain timeout cannot decide this: a node that waits for a CPU core, or computes, may still answer. A run is stalled
if a node process has ended, a node is not active, every node has processed all received messages without progress,
or a process is idle and does not process its messages. To find out whether a node has processed its messages, the
watch repeatedly requests its lifecycle state: the request waits in the same queue as the messages.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from flexarm_tools.process.processes import NodeProcess

QUIET = 1.0  # [s] wall time without a tick before the nodes are queried
BETWEEN_ROUNDS = 1.0  # [s] wall time between the start of two rounds of requests
ROUNDS = 10  # answered rounds before a stall: longer than resending a lost message takes (3 s)
ROUNDS_IF_ABSENT = 2  # answered rounds before a stall if a node has ended or is not active
ASK_AGAIN = 4.0  # [s] wall time until a resend: an answer may be lost during discovery
ASLEEP = 10.0  # [s] wall time for which a process may neither answer nor run nor wait for a core
MOST_WORK = 300.0  # [s] CPU time that a node may take for one tick


class Stall(Enum):
    """Why the run does not progress.

    Attributes:
        ABSENT: a node has ended or is not active; the waiting nodes may continue without it.
        STUCK: all nodes are active, but none of them continues.
    """

    ABSENT = "absent"
    STUCK = "stuck"


@dataclass(slots=True)
class _Asked:
    """A node whose lifecycle state is requested."""

    process: NodeProcess
    client: Client
    future: Future | None = None
    asked_at: float = 0.0
    state: int = State.PRIMARY_STATE_ACTIVE
    label: str = "active"
    work_at_begin: float = 0.0
    work: float = 0.0
    worked_at: float = 0.0


class StallWatch:
    """Call :meth:`moved` on every progress of the run, and :meth:`look` repeatedly."""

    def __init__(self, node: Node, processes: Iterable[NodeProcess]) -> None:
        """Watch these processes; the state requests are sent by ``node``, which the caller spins."""
        self._nodes = [
            _Asked(process, node.create_client(GetState, f"/{process.name}/get_state")) for process in processes
        ]
        self.reason = ""
        self.moved()

    def moved(self) -> None:
        """Restart the watch after progress."""
        self._since, self._rounds, self._next_round = time.monotonic(), 0, 0.0

    def look(self) -> Stall | None:
        """Return the kind of stall, or None while the run may still progress; ``reason`` describes the stall."""
        now = time.monotonic()
        if now - self._since < QUIET:
            return None
        here = [each for each in self._nodes if each.process.alive]
        if self._next_round == 0.0:
            for each in here:
                each.work_at_begin = each.process.work()[1]
            self._begin_round(here, now)
        waited_for = [each for each in here if not self._answered(each, now)]
        if not waited_for and now >= self._next_round:
            self._rounds += 1
            self._begin_round(here, now)
        return self._judge(here, waited_for, now)

    def _begin_round(self, nodes: list[_Asked], now: float) -> None:
        self._next_round = now + BETWEEN_ROUNDS
        for each in nodes:
            each.future, each.worked_at = None, now

    def _answered(self, node: _Asked, now: float) -> bool:
        """Return whether a node has answered in this round; send or resend the request if necessary."""
        if node.future is not None and node.future.done():
            answer = node.future.result()
            if answer is not None:
                node.state, node.label = answer.current_state.id, answer.current_state.label
            return True
        if (node.future is None or now - node.asked_at > ASK_AGAIN) and node.client.service_is_ready():
            node.future, node.asked_at = node.client.call_async(GetState.Request()), now
        runs, work = node.process.work()
        if runs or work != node.work:
            node.work, node.worked_at = work, now
        return False

    def _judge(self, here: list[_Asked], waited_for: list[_Asked], now: float) -> Stall | None:
        absent = [f"'{each.process.name}' has ended" for each in self._nodes if each not in here]
        absent += [
            f"'{each.process.name}' is {each.label}" for each in here if each.state != State.PRIMARY_STATE_ACTIVE
        ]
        if absent and self._rounds >= ROUNDS_IF_ABSENT:
            self.reason = f"node {', node '.join(absent)}"
            return Stall.ABSENT
        if self._rounds >= ROUNDS:
            self.reason = "every node is active, has handled what came, and waits"
            return Stall.STUCK
        for each in waited_for:
            if now - each.worked_at > ASLEEP:
                self.reason = f"node '{each.process.name}' neither answers nor does anything"
                return Stall.STUCK
            if each.work - each.work_at_begin > MOST_WORK:
                self.reason = f"node '{each.process.name}' has been computing for {MOST_WORK:g} s"
                return Stall.STUCK
        return None
