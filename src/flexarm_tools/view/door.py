"""Door: who may look at the page and who may change something on it. viser, which serves the page, asks nobody.

Any page in the user's browser can connect to a port of this machine. The door looks at each request before viser does:
its ``Host`` must be this machine, which keeps out DNS rebinding, and its ``Origin`` must be this page. What changes
something is handed on only from who has opened the address with the token, which leaves it in a cookie.
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

LOOKING = frozenset({"ViewerCameraMessage"})  # types of viser's messages
CHANGING = frozenset({"GuiUpdateMessage"})  # others, such as the wish for a public address of the page, are for nobody
STRANGER = "stranger.invalid"  # a name that no machine has
PROBE_TIMEOUT = 20.0  # [s]


class DoorError(FlexarmError):
    """The page cannot be protected."""


class GuardedConnection(ServerConnection):
    """Connection of a browser; messages that it may not send never reach viser.

    Attributes:
        may_change: whether it came with the token.
        refused: is called with each message that was not handed on.
    """

    may_change = False
    refused: Callable[[dict[str, Any]], None] | None = None

    async def recv(self, decode: bool | None = None) -> Any:
        """Next message that this connection may send."""
        while True:
            raw = await super().recv(decode)
            try:
                message = msgspec.msgpack.decode(raw if isinstance(raw, bytes) else raw.encode())
                kind = message["type"]
            except (msgspec.DecodeError, TypeError, KeyError):
                continue
            if kind in LOOKING or (self.may_change and kind in CHANGING):
                return raw
            if self.refused is not None:
                self.refused(message)


class Door:
    """Guards one page.

    Attributes:
        token: opens it for changes.
    """

    def __init__(self, host: str) -> None:
        """Draw a token for a page that listens at this address."""
        self.token = secrets.token_urlsafe(24)
        self._names = {"localhost", host.lower()}
        if host not in ("localhost", "127.0.0.1", "::1"):
            own = socket.gethostname().lower()
            self._names |= {own, f"{own}.local", socket.getfqdn().lower()}
        self._cookie = f"flexarm_view_{secrets.token_hex(4)}"  # cookies of all ports of a machine lie together
        self._hung = False

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        """Guard the server that is started within: viser has no place for a door, the library under it has."""
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
        """Knock as a stranger.

        Raises:
            DoorError: the stranger is let in.
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
        """Refuse, give the cookie, or let viser answer."""
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
        if response is not None:  # another page must not show this one within itself and lead clicks to it
            response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
            response.headers["X-Frame-Options"] = "DENY"
        return response

    def _refusal(self, headers: Headers) -> str:
        """Why a request is refused, empty where it is not."""
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
        """Whether a ``Host`` header names this machine; who rebinds a name cannot do so with an address in numbers."""
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
        """Give the cookie, and send the browser to the address without the token, which nobody may read off it."""
        response = connection.respond(HTTPStatus.SEE_OTHER, "")
        response.headers["Location"] = place
        response.headers["Set-Cookie"] = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
