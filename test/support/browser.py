"""A real browser for tests of pages: headless Chromium, led by its debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
from websockets.sync.client import connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = """--headless --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic
--no-first-run --disable-background-networking --disable-component-update --disable-sync --window-size=1200,700
--remote-debugging-port=0"""


class Browser:
    """One page of a headless Chromium, led by its debugging protocol."""

    def __init__(self, profile: Path, address: str) -> None:
        self._process = subprocess.Popen(
            [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.DEVNULL
        )
        self.errors: list[str] = []
        self._count = 0
        try:
            port = self._port(profile / "DevToolsActivePort")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30) as answer:
                page = next(target for target in json.load(answer) if target["type"] == "page")
            self._socket = connect(page["webSocketDebuggerUrl"], max_size=None)
            self._ask("Runtime.enable")
            self.go(address)
        except BaseException:
            self._process.kill()
            raise

    def go(self, address: str) -> None:
        self._ask("Page.navigate", url=address)

    def resize(self, width: int, height: int) -> None:
        """Give the page a size [pixel]."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def darken(self) -> None:
        """Show pages as somebody sees them who prefers dark ones."""
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)

    def value(self, script: str) -> Any:
        """Value of an expression on the page."""
        return self._ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait(self, condition: Callable[[], bool], what: str, timeout: float = 60.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"{what}: the page says {self.value('document.body.innerText')}"
            time.sleep(0.05)

    def picture(self) -> np.ndarray:
        """(height, width, 3) what is seen, 0 to 1."""
        data = base64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"])
        image: np.ndarray = matplotlib.image.imread(BytesIO(data), format="png")[:, :, :3]
        return image

    def _port(self, file: Path) -> str:
        deadline = time.monotonic() + 60.0
        while not file.is_file() or "\n" not in file.read_text():
            assert time.monotonic() < deadline, "Chromium does not start"
            time.sleep(0.1)
        return file.read_text().split()[0]

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(message["params"]["exceptionDetails"]))
            if message.get("id") == self._count:
                return message.get("result", message)
