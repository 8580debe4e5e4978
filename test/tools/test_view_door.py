"""Who gets onto the page: no other pages, no other names of this machine, and without the token no change."""

from __future__ import annotations

import http.client
import socket as sockets
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason="viser is not installed")

import msgspec
import viser
import websockets.asyncio.server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from flexarm_tools.view.door import Door, DoorError
from flexarm_tools.view.page import ViewPage

CAMERA: dict[str, Any] = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 1.0, 1.0],
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 100,
    "image_width": 100,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}


@pytest.fixture
def page() -> Iterator[ViewPage]:
    page = ViewPage("127.0.0.1", 0)
    yield page
    page.close()


def port(page: ViewPage) -> int:
    return int(page.server.get_port())


def get(page: ViewPage, path: str = "/", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port(page), timeout=20)
    connection.request("GET", path, headers={"Host": f"localhost:{port(page)}"} | headers)
    return connection.getresponse()


def cookie(page: ViewPage) -> str:
    """What the printed address leaves in the browser."""
    address = urlsplit(page.address)
    answer = get(page, f"{address.path}?{address.query}")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    given = answer.headers["Set-Cookie"]
    assert "HttpOnly" in given and "SameSite=Strict" in given
    return str(given.split(";")[0])


def socket(page: ViewPage, host: str = "", origin: str | None = "", cookie: str = "") -> ClientConnection:
    """A browser's connection, with its own Host and Origin unless others are given; None: without Origin."""
    here = f"localhost:{port(page)}"
    headers = {"Cookie": cookie} if cookie else {}
    return connect(
        f"ws://{host or here}/",
        sock=_tcp(page),
        origin=f"http://{here}" if origin == "" else origin,  # type: ignore[arg-type]
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        additional_headers=headers,
        max_size=None,
    )


def _tcp(page: ViewPage) -> Any:
    return sockets.create_connection(("127.0.0.1", port(page)), timeout=20)


def move_slider(page: ViewPage, connection: ClientConnection, value: int, more: tuple[str, ...] = ()) -> None:
    """Do on the wire what a browser does whose exaggeration slider is moved."""
    connection.send(msgspec.msgpack.encode(CAMERA))
    time.sleep(0.1)
    for kind in more:
        connection.send(msgspec.msgpack.encode({"type": kind}))
    uuid = page._factor._impl.uuid
    connection.send(msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}))


def wait_for(page: ViewPage, value: int) -> None:
    deadline = time.monotonic() + 10.0
    while page.factor != value:
        assert time.monotonic() < deadline, f"the slider is at {page.factor}"
        time.sleep(0.02)


def test_the_page_is_served_and_may_not_be_framed(page):
    answer = get(page)
    assert answer.status == 200 and b"<html" in answer.read()
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "localhost.evil.example", "", "[::1"])
def test_other_names_of_this_machine_are_refused(page, host):
    assert get(page, Host=host).status in (400, 403)
    if host:
        with pytest.raises(InvalidStatus, match="403"):
            socket(page, host=host.replace("[::1", "x"), origin=f"http://{host}")


@pytest.mark.parametrize("host", ["127.0.0.1:9000", "[::1]:8080", "LOCALHOST", "10.0.0.7:8080"])
def test_addresses_in_numbers_and_forwarded_ports_are_this_machine(page, host):
    assert get(page, Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:1", "null", "https://localhost", None])
def test_sockets_of_other_pages_are_refused_even_with_the_cookie(page, origin):
    with pytest.raises(InvalidStatus, match="403"):
        socket(page, origin=origin, cookie=cookie(page))
    if origin is not None:
        assert get(page, Origin=origin).status == 403


def test_a_wrong_token_is_refused(page):
    assert get(page, "/?token=abc").status == 403
    assert get(page, "/?token=").status == 403


def test_with_the_token_a_slider_moves_and_without_it_does_not(page):
    before = page.factor
    with socket(page) as looker, socket(page, cookie=f"{cookie(page)}x") as guesser:
        for connection in (looker, guesser):
            assert connection.recv(timeout=10)  # looking is free
            move_slider(page, connection, 77)
        with socket(page, cookie=f"other=1; {cookie(page)}") as owner:
            move_slider(page, owner, 55, more=("ShareUrlRequest", "NoSuchMessage"))
            wait_for(page, 55)
    assert page.factor == 55 != before
    assert page.server._share_tunnel is None  # nobody makes the page public


def test_a_server_without_the_door_is_refused(monkeypatch):
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        with pytest.raises(DoorError, match="strangers"):
            Door("127.0.0.1").check("127.0.0.1", server.get_port())
    finally:
        server.stop()
    assert websockets.asyncio.server.serve.__module__ == "websockets.asyncio.server"  # nothing stays behind
