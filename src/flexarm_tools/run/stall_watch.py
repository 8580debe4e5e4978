"""StallWatch: finds that a run stands still because nobody will go on, however fast or slow the machine is.

No time says so: a node that waits for a core, or computes, may still answer. What says so is that its process has
ended, that it is not active, that it has handled everything that came and yet nothing moved, or that it sleeps and
handles nothing. To see whether a node has handled what came it is asked for its state, again and again: such a question
waits in the same queue as the messages.
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

QUIET = 1.0  # [s] wall time without a tick before anybody is asked
BETWEEN_ROUNDS = 1.0  # [s] wall time from all answers to the next questions
ROUNDS = 10  # all have answered so often: longer than the middleware takes to send a lost message again (3 s)
ROUNDS_IF_ABSENT = 2  # likewise, where somebody cannot take part any more
ASK_AGAIN = 4.0  # [s] wall time: an answer may be lost while its reader is being discovered
ASLEEP = 10.0  # [s] wall time in which a process neither answers, nor runs, nor waits for a core
MOST_WORK = 300.0  # [s] CPU time that a node may take for one tick


class Stall(Enum):
    """Why nothing moves.

    Attributes:
        ABSENT: somebody ended or is not active: whoever waits may go on without.
        STUCK: everybody is there, and none will go on.
    """

    ABSENT = "absent"
    STUCK = "stuck"


@dataclass(slots=True)
class _Asked:
    """A node that is asked for its state."""

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
    """Call :meth:`moved` when the run has moved, and :meth:`look` again and again."""

    def __init__(self, node: Node, processes: Iterable[NodeProcess]) -> None:
        """Watch these processes, asking by this node, which somebody spins."""
        self._nodes = [
            _Asked(process, node.create_client(GetState, f"/{process.name}/get_state")) for process in processes
        ]
        self.reason = ""
        self.moved()

    def moved(self) -> None:
        """Begin anew."""
        self._since, self._rounds, self._next_round = time.monotonic(), 0, 0.0

    def look(self) -> Stall | None:
        """What keeps the run, if that is certain by now; ``reason`` says it in words."""
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
        """Whether a node has answered in this round; asks it, again too where an answer may have been lost."""
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
