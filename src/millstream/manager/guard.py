"""Nothing comes in without a token: in front of everything that is served."""

from __future__ import annotations

import hmac
import json
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millstream.manager.bundle import MOST_BYTES
from millstream.manager.tokens import Identity, Role, Tokens

COOKIE = "millstream"
OPEN = ("/health", "/login", "/static/")
"""What anyone may ask for: none of it is about jobs."""
PART = re.compile(rb'name="csrf"\r\n\r\n([0-9a-f]{64})\r\n')
SAFE = ("GET", "HEAD", "OPTIONS")
MOST = MOST_BYTES + 1_000_000
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",
    b"cache-control": b"no-store",
}
NOBODY = Identity("anybody", Role.ADMIN)
"""Where the manager was told to ask for no token."""


class Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


class Guard:
    def __init__(self, app: ASGIApp, tokens: Tokens, wanted: bool) -> None:
        self._app = app
        self._tokens = tokens
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            receive = bounded(headers, receive)
            scope.setdefault("state", {})["who"] = who = self._identity(headers)
            if who is None and not open_to_all(scope["path"]):
                raise Refused(401, "MS-MANAGER-401", "a token is needed.")
            if who is not None:
                receive = await self._permit(who, scope, headers, receive)
        except Refused as refused:
            await refuse(refused, scope, headers, send)
            return
        await self._app(scope, receive, shielded(scope, send))

    def _identity(self, headers: Headers) -> Identity | None:
        if not self._wanted:
            return NOBODY
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._tokens.of(token.strip())
        cookie = session_of(headers)
        return self._tokens.of_session(cookie) if cookie else None

    async def _permit(self, who: Identity, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        if scope["method"] in SAFE:
            return receive
        if who.role < Role.OPERATE and scope["path"] not in ("/login", "/logout"):
            raise Refused(403, "MS-MANAGER-403", f"the token {who.name!r} may read, and nothing else.")
        if who.session is None:
            return receive
        body = await whole(receive)
        sent = headers.get("x-csrf-token") or sent_along(headers, body)
        if not hmac.compare_digest(sent.encode(), self._tokens.csrf(who.session).encode()):
            raise Refused(403, "MS-MANAGER-403", "the form is not one of ours, or too old: load the page again.")
        return replayed(body)


def sent_along(headers: Headers, body: bytes) -> str:
    """The value in the form itself."""
    if headers.get("content-type", "").startswith("multipart/form-data"):
        found = PART.search(body)
        return found[1].decode() if found else ""
    return (parse_qs(body.decode(errors="replace")).get("csrf") or [""])[0]


def open_to_all(path: str) -> bool:
    return path in OPEN[:2] or path.startswith(OPEN[2])


def session_of(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None


def bounded(headers: Headers, receive: Receive) -> Receive:
    """Refuses a body that is too long, whether it says so or not."""
    if headers.get("content-length", "0").isdigit() and int(headers.get("content-length", "0")) > MOST:
        raise Refused(413, "MS-MANAGER-413", f"a request may have {MOST:,} bytes.")
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST:
            raise Refused(413, "MS-MANAGER-413", f"a request may have {MOST:,} bytes.")
        return message

    return counting


async def whole(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def replayed(body: bytes) -> Receive:
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def shielded(scope: Scope, send: Send) -> Send:
    fixed = scope["path"].startswith("/static/")

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = {name: value for name, value in HEADERS.items() if not (fixed and name == b"cache-control")}
            message["headers"] = [*message.get("headers", []), *added.items()]
        await send(message)

    return sending


async def refuse(refused: Refused, scope: Scope, headers: Headers, send: Send) -> None:
    """A browser is shown where to log in; a program is told what is wrong."""
    page = "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/")
    extra: list[tuple[bytes, bytes]] = [(b"content-type", b"application/json")]
    told: dict[str, object] = {"code": refused.code, "message": refused.message}
    if scope["path"].startswith("/v1/"):  # Flink's tools show what stands there
        told = {"errors": [f"{refused.code}: {refused.message}"]}
    body, status = json.dumps(told).encode(), refused.status
    if refused.status == 401 and page and scope["method"] == "GET":
        to = quote(scope["path"], safe="/")
        status, body, extra = 303, b"", [(b"location", f"/login?to={to}".encode())]
    elif refused.status == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*extra, *HEADERS.items()]})
    await send({"type": "http.response.body", "body": body})
