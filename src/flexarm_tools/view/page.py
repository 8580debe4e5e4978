"""ViewPage: the page in the browser, with the parts common to running graphs and recorded runs."""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import viser

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.description import RobotDescription, Shape
from flexarm_core.types import Array
from flexarm_tools.report.solids import link_solids
from flexarm_tools.view.arm_scene import ArmScene
from flexarm_tools.view.door import Door, DoorError, GuardedConnection
from flexarm_tools.view.link_frames import LinkFrames
from flexarm_tools.view.plots import PlotColumn, PlotSpec

START_FACTOR, MOST = 10, 1000  # initial exaggeration, and initial end of the slider
SHOWN_DEFLECTION = 0.25  # largest drawn deflection relative to the size of the arm
PLOTS_WIDTH, CONTROLS_WIDTH = 400.0, 340.0  # [px]
KEPT_MESSAGES = 30
TRAIL_POINTS = 500
LOOKING_ONLY = "To change something, open the address with the token that flexarm view printed."


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep viser's own lines from the terminal: its address lacks the token."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


class ViewPage:
    """Page with controls on the right, plots on the left, the arm between them, and a list of messages.

    Attributes:
        server: web server of the page.
        controls: tab for the controls of a particular view.
        parameters: tab for parameters of nodes.
        arm: the displayed robot, None before there is one.
        messages: latest messages, newest first.
        alarmed: reason why the page is not up to date, empty if it is.
    """

    def __init__(self, host: str, port: int) -> None:
        """Start the server.

        Args:
            host: address to listen on.
            port: port to listen on; 0: any free port.

        Raises:
            InputError: the port is not available.
            DoorError: the page cannot be protected.
        """
        self._door = Door(host)
        try:
            with self._door.hung(), quiet():
                self.server = viser.ViserServer(host=host, port=port, label="flexarm", verbose=False)
        except OSError as error:
            raise InputError(f"cannot listen at {host}:{port}: {error}; another port: --port N") from error
        try:
            self._door.check(host, self.server.get_port())
        except DoorError:
            self.server.stop()
            raise
        self.server.on_client_connect(self._greet)
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(31, 119, 180))
        gui.set_panel_label("flexarm")
        self._empty_scene()
        gui.main_panel.dock_right()
        gui.main_panel.set_width(CONTROLS_WIDTH)
        panel = gui.add_panel()
        panel.dock_left()
        panel.set_width(PLOTS_WIDTH)
        self._plots_tab = panel.add_tab("Plots")
        self._title = gui.add_markdown("")
        self._alarm = gui.add_markdown("", visible=False)
        with gui.add_folder("Drawing"):
            hint = "times that the base's deflection and the bending of links are drawn as large as they are"
            self._factor = gui.add_slider("Exaggeration", 0, MOST, 1, START_FACTOR, hint=hint)
            self._ghost = gui.add_checkbox("Undeflected arm", True)
            hint = "force (red) and torque (violet) of the arm on its base, force of surfaces on the tool (green)"
            self._forces = gui.add_checkbox("Forces", True, hint=hint)
            self._trail = gui.add_checkbox("Trail of the tool", True)
        tabs = gui.add_tab_group()
        self.controls = tabs.add_tab("Run")
        self.parameters = tabs.add_tab("Parameters")
        with tabs.add_tab("Messages"):
            self._log = gui.add_markdown("None so far.")
        self.alarmed = ""
        self.messages: deque[str] = deque(maxlen=KEPT_MESSAGES)
        self._message_times: dict[str, float] = {}
        self._scene: ArmScene | None = None
        self.arm: DeflectedArm | None = None
        self._plots: PlotColumn | None = None

    @property
    def address(self) -> str:
        """URL of the page, with the token that allows changes."""
        host = self.server.get_host()
        name = "localhost" if host in ("127.0.0.1", "0.0.0.0") else f"[{host}]" if ":" in host else host
        return f"http://{name}:{self.server.get_port()}/?token={self._door.token}"

    @property
    def factor(self) -> float:
        """Selected exaggeration."""
        return float(self._factor.value)

    def choose_factor(self, deflection: float, size: float) -> None:
        """Choose the exaggeration such that a deflection [m | rad] is visible on an arm of a size [m]."""
        wanted = min(SHOWN_DEFLECTION * size / deflection, 1e6) if deflection > 0.0 else 1.0
        digit = 10.0 ** np.floor(np.log10(max(wanted, 1.0)))
        factor = int(digit * max(round_one for round_one in (1, 2, 5) if round_one <= max(wanted, 1.0) / digit))
        self._factor.max = max(10, 4 * factor)
        self._factor.value = factor

    def title(self, text: str) -> None:
        """Show a headline in Markdown."""
        if self._title.content != text:
            self._title.content = text

    def alarm(self, text: str) -> None:
        """Show why the page is not up to date; empty: it is up to date."""
        if self.alarmed != text:
            self.alarmed = text
            self._alarm.content, self._alarm.visible = (f"⚠️ **{text}**" if text else ""), bool(text)
            if text:
                self.say(text)

    def say(self, text: str, every: float = 10.0) -> None:
        """Add a message; the same message is added at most once per period ``every`` [s]."""
        now = time.monotonic()
        if now - self._message_times.get(text, -np.inf) < every:
            return
        if len(self._message_times) > 1000:
            self._message_times.clear()
        self._message_times[text] = now
        self.messages.appendleft(f"`{time.strftime('%H:%M:%S')}` {text}")
        self._log.content = "\n\n".join(self.messages)

    def set_robot(self, description: RobotDescription, tool_frame: str) -> None:
        """Show a different robot.

        Raises:
            RobotDescriptionError: the robot cannot be drawn.
        """
        arm = DeflectedArm(description, tool_frame)
        solids = link_solids(description, self.say)
        self._empty_scene()
        self.arm, self._scene = arm, ArmScene(self.server, arm, solids)

    def surround(self, shapes: Mapping[str, Sequence[Shape]]) -> None:
        """Draw these shapes around the robot, by link, and remove the previous ones."""
        if self._scene is not None:
            self._scene.surround(shapes)

    @property
    def frames(self) -> LinkFrames | None:
        """Frames of the displayed links, None before there is a robot."""
        return None if self._scene is None else self._scene.frames

    def set_plots(self, specs: Sequence[PlotSpec], span: tuple[float, float]) -> PlotColumn:
        """Replace the plots; ``span`` gives the ends of their time axis [s]."""
        if self._plots is not None:
            self._plots.remove()
        self._plots = PlotColumn(self.server.gui, specs, self._plots_tab, span)
        return self._plots

    def look(self, sample: ArmSample) -> None:
        """Point the cameras of all viewers at the arm."""
        if self._scene is not None:
            self._scene.look(sample)

    def show(self, sample: ArmSample) -> None:
        """Draw the arm at one instant."""
        if self._scene is None:
            return
        self._scene.show(sample, self.factor, ghost=self._ghost.value, forces=self._forces.value)

    def show_trail(self, samples: Sequence[ArmSample]) -> None:
        """Draw the true trails of tool and reference over these samples, on the base if the reference is."""
        if self._scene is None or self.arm is None:
            return
        chosen = samples if self._trail.value else ()
        frame = (
            self.arm.description.base_frame if chosen and chosen[-1].reference_in_base else self.arm.description.root
        )
        placed = [self.arm.place(sample, 1.0) for sample in chosen]
        actual = [_in_frame(poses[frame], poses[self.arm.tool_frame][:3, 3]) for poses in placed]
        wanted = [
            _in_frame(poses[frame], self.arm.reference(sample, 1.0))
            for sample, poses in zip(chosen, placed, strict=True)
        ]
        self._scene.trail(frame, actual, wanted)

    @property
    def trail_shown(self) -> bool:
        """Whether trails are to be drawn."""
        return bool(self._trail.value)

    def _greet(self, client: viser.ClientHandle) -> None:
        """Notify viewers without the token that they cannot change anything, and revert their attempts."""
        connection = self.server._websock_server._live_connections.get(client.client_id)
        if not isinstance(connection, GuardedConnection) or connection.may_change:
            return

        notified_at = -math.inf

        def refuse(message: dict[str, Any]) -> None:
            nonlocal notified_at
            if time.monotonic() > notified_at + 3.0:  # a dragged slider sends about 30 messages per second
                notified_at = time.monotonic()
                client.add_notification("Nothing was changed", LOOKING_ONLY, auto_close_seconds=8.0, color="red")
            control = self.server.gui._gui_input_handle_from_uuid.get(message.get("uuid", ""))
            if control is not None and not control._impl.is_button:
                back = viser._messages.GuiUpdateMessage(control._impl.uuid, {"value": control.value})
                client.gui._websock_interface.queue_message(back)

        connection.refused = refuse
        client.add_notification("You may look", LOOKING_ONLY, color="blue")

    def _empty_scene(self) -> None:
        """Clear the scene except for lights, without maps and shadows, for machines without a graphics card."""
        scene = self.server.scene
        scene.reset()
        scene.set_up_direction("+z")
        scene.configure_environment_map(None)
        scene.configure_default_lights(False)
        scene.add_light_hemisphere("/light/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 160), intensity=1.6)
        scene.add_light_directional("/light/sun", position=(2.0, -3.0, 4.0), intensity=1.8)

    def close(self) -> None:
        """Stop the server."""
        with quiet():
            self.server.stop()


def _in_frame(pose: Array, point: Array) -> Array:
    """Return a point (3,) in the frame of a pose (4, 4)."""
    moved: Array = pose[:3, :3].T @ (point - pose[:3, 3])
    return moved
