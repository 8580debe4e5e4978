"""Door: access control of the page for viewing and changing, since viser, which serves the page, has none.

Any page in the user's browser can connect to a port of this machine. The door checks each request before viser: its
``Host`` must be this machine, which prevents DNS rebinding, and its ``Origin`` must be this page. Messages that change
something are passed on only from clients that have opened the URL with the token, which is stored in a cookie.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from flexarm_core.errors import FlexarmError

LOOKING = frozenset({"ViewerCameraMessage"})  # types of viser's messages, allowed for all clients
CHANGING = frozenset({"GuiUpdateMessage"})  # others, such as a request for a public URL, are never passed on
STRANGER = "stranger.invalid"  # a reserved name that no machine has
PROBE_TIMEOUT = 20.0  # [s]


class DoorError(FlexarmError):
    """The page cannot be protected."""


class GuardedConnection(ServerConnection):
    """Connection of a browser; messages that are not permitted do not reach viser.

    Attributes:
        may_change: whether the client has the token.
        refused: called with each message that was not passed on.
    """

    may_change = False
    refused: Callable[[dict[str, Any]], None] | None = None

    async def recv(self, decode: bool | None = None) -> Any:
        """Return the next permitted message of this connection."""
        while True:
            raw = await super().recv(decode)
            message = read_message(raw)
            if message is None:
                continue
            if message["type"] in LOOKING or (self.may_change and message["type"] in CHANGING):
                return raw
            if self.refused is not None:
                self.refused(message)


def read_message(raw: bytes | str) -> dict[str, Any] | None:
    """Return a browser's message, which has a ``type``; None: it is none, or nested too deeply."""
    try:
        message = msgspec.msgpack.decode(raw if isinstance(raw, bytes) else raw.encode())
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError, MemoryError):  # TypeError: a key that is a list
        return None
    return message if isinstance(message, dict) and isinstance(message.get("type"), str) else None


class Door:
    """Guards one page.

    Attributes:
        token: token that permits changes.
    """

    def __init__(self, host: str) -> None:
        """Create a token for a page that is served at this address."""
        self.token = secrets.token_urlsafe(24)
        self._names = {"localhost", host.lower()}
        if host not in ("localhost", "127.0.0.1", "::1"):
            own = socket.gethostname().lower()
            self._names |= {own, f"{own}.local", socket.getfqdn().lower()}
        self._cookie = f"flexarm_view_{secrets.token_hex(4)}"  # all ports of a machine share their cookies
        self._hung = False

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        """Guard the server that is started in this context, by means of websockets, since viser has no hook for it."""
        serve = websockets.asyncio.server.serve

        def guarded(handler: Any, *places: Any, process_request: Any, **options: Any) -> Any:
            def answer(connection: GuardedConnection, request: Request) -> Response | None:
                return self._answer(connection, request, process_request)

            self._hung = True
            options |= {"process_request": answer, "create_connection": GuardedConnection}
            return serve(handler, *places, **options)

        websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            websockets.asyncio.server.serve = serve  # type: ignore[misc]

    def check(self, host: str, port: int) -> None:
        """Verify that foreign requests are rejected.

        Raises:
            DoorError: a foreign request was accepted, or the page does not answer.
        """
        place = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host
        statuses = []
        for name, origin in ((STRANGER, None), (f"localhost:{port}", f"http://{STRANGER}")):
            connection = http.client.HTTPConnection(place, port, timeout=PROBE_TIMEOUT)
            try:
                connection.request("GET", "/", headers={"Host": name} | ({"Origin": origin} if origin else {}))
                statuses.append(connection.getresponse().status)
            except (OSError, http.client.HTTPException) as error:
                raise DoorError(f"the page does not answer: {error}") from error
            finally:
                connection.close()
        if not self._hung or statuses != [HTTPStatus.FORBIDDEN] * 2:
            raise DoorError("this version of viser or websockets lets strangers in: install those of requirements")

    def _answer(self, connection: GuardedConnection, request: Request, serve_page: Any) -> Response | None:
        """Reject the request, set the cookie, or let viser answer."""
        refusal = self._refusal(request.headers)
        if refusal:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{refusal}\n")
        address = urlsplit(request.path)
        query = parse_qsl(address.query, keep_blank_values=True)
        given = [value for key, value in query if key == "token"]
        if given:
            if not self._fits(given[0]):
                text = "this token is not that of the page: open the address that `flexarm view` printed\n"
                return connection.respond(HTTPStatus.FORBIDDEN, text)
            rest = urlencode([(key, value) for key, value in query if key != "token"])
            return self._with_cookie(connection, f"/?{rest}" if rest else "/")
        connection.may_change = self._fits(self._cookie_of(request.headers))
        response: Response | None = serve_page(connection, request)
        if response is not None:  # prevents clickjacking: other pages must not embed this page
            response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
            response.headers["X-Frame-Options"] = "DENY"
        return response

    def _refusal(self, headers: Headers) -> str:
        """Return why a request is rejected, empty if it is not."""
        try:
            host, origin = headers.get("Host", ""), headers.get("Origin")
        except MultipleValuesError:
            return "a request must have one Host and one Origin at most"
        if not self._is_this_machine(host):
            return f"'{host[:80]}' is not the address of this page: open it by the address that `flexarm view` printed"
        if origin is None:
            wants_socket = "websocket" in ",".join(headers.get_all("Upgrade")).lower()
            return "a browser's connection must name its Origin" if wants_socket else ""
        if origin.lower() != f"http://{host.lower()}":
            return f"a page of '{origin[:80]}' may not use this one"
        return ""

    def _is_this_machine(self, host: str) -> bool:
        """Return whether a ``Host`` header names this machine; numeric addresses are safe from DNS rebinding."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return False

    def _fits(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self.token.encode())

    def _cookie_of(self, headers: Headers) -> str:
        pairs = (part.strip().partition("=") for line in headers.get_all("Cookie") for part in line.split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    def _with_cookie(self, connection: GuardedConnection, place: str) -> Response:
        """Set the cookie, and redirect the browser to the URL without the token, which hides the token."""
        response = connection.respond(HTTPStatus.SEE_OTHER, "")
        response.headers["Location"] = place
        response.headers["Set-Cookie"] = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
