"""A way to an S3 server that counts requests, slows them down, holds some back, and answers some with an error."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

OWN_HEADERS = {"connection", "transfer-encoding", "content-length", "expect", "keep-alive"}
"""Headers of one connection, not of the request."""


@dataclass(frozen=True)
class Request:
    """`kind`: the method, or LIST, COPY, and DELETES for several at once. `path`: /bucket/key, or the prefix of a LIST.

    `new`: whether it must not be there yet.
    """

    kind: str
    path: str
    new: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


@dataclass
class Rule:
    """What happens to requests that match, the next `times` of them; None: all."""

    pattern: re.Pattern[str]
    times: int | None = None
    status: int | None = None
    """The answer instead of the server's; None: the request is handed on."""
    lost: bool = False
    """Handed on, and the answer is lost: the connection breaks off."""
    met: threading.Event = field(default_factory=threading.Event)
    """A request has come."""
    open: threading.Event = field(default_factory=threading.Event)
    """Requests go on only then."""

    def release(self) -> None:
        self.open.set()


class S3Proxy:
    """Listens on its own port, and hands on what comes to `to`, the port of a server on this machine."""

    def __init__(self, to: int) -> None:
        self.to = to
        self.delay = 0.0
        """Seconds that each request waits."""
        self._requests: list[Request] = []
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._server = Listener(("127.0.0.1", 0), Handler)
        self._server.proxy = self
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, name="s3-proxy", daemon=True).start()

    def hold(self, pattern: str, times: int | None = None) -> Rule:
        """Holds requests like `PUT /bucket/job/commits/3` back until the rule is released."""
        return self._add(Rule(re.compile(pattern), times))

    def answer(self, status: int, pattern: str = "", times: int | None = None) -> Rule:
        """Answers by itself; the server does not get the request. 503 tells clients to slow down."""
        return self._add(self._at_once(Rule(re.compile(pattern), times, status)))

    def lose(self, pattern: str, times: int | None = 1) -> Rule:
        """The server does what it is asked to do, and its answer is lost."""
        return self._add(self._at_once(Rule(re.compile(pattern), times, lost=True)))

    @staticmethod
    def _at_once(rule: Rule) -> Rule:
        rule.open.set()
        return rule

    def _add(self, rule: Rule) -> Rule:
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Removes all rules, releases what is held, and starts counting again."""
        with self._lock:
            rules, self._rules, self._requests, self.delay = self._rules, [], [], 0.0
        for rule in rules:
            rule.release()

    def requests(self, pattern: str = "") -> list[Request]:
        with self._lock:
            return [request for request in self._requests if re.search(pattern, str(request))]

    def kinds(self, pattern: str = "") -> Counter[str]:
        """How many requests of each kind there were."""
        return Counter(request.kind for request in self.requests(pattern))

    def meet(self, request: Request) -> Rule | None:
        """Counts a request; the first rule that it matches, after it was held."""
        with self._lock:
            self._requests.append(request)
            rule = next((rule for rule in self._rules if rule.times != 0 and rule.pattern.search(str(request))), None)
            if rule is not None and rule.times is not None:
                rule.times -= 1
        time.sleep(self.delay)
        if rule is not None:
            rule.met.set()
            rule.open.wait()
        return rule

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._server.shutdown()
        self._server.server_close()


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    proxy: S3Proxy


class Handler(BaseHTTPRequestHandler):
    """One connection of a client, with one to the server behind it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener

    def setup(self) -> None:
        super().setup()
        self._behind: HTTPConnection | None = None

    def finish(self) -> None:
        if self._behind is not None:
            self._behind.close()
        super().finish()

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        rule = self.server.proxy.meet(described(self.command, self.path, dict(self.headers.items())))
        if rule is not None and rule.status is not None:
            self._answer(rule.status, [], b"")
            return
        answer, content = self._ask(body)
        if rule is not None and rule.lost:
            self.close_connection = True
            return
        self._answer(answer.status, answer.getheaders(), content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle

    def _ask(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        """A new connection each: the server may have closed one that waited."""
        if self._behind is not None:
            self._behind.close()
        self._behind = HTTPConnection("127.0.0.1", self.server.proxy.to)
        self._behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in OWN_HEADERS:
                self._behind.putheader(name, value)
        self._behind.putheader("Content-Length", str(len(body)))
        self._behind.endheaders(body)
        answer = self._behind.getresponse()
        return answer, answer.read()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in OWN_HEADERS or (self.command == "HEAD" and name.lower() == "content-length"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: `requests` has them."""


def described(method: str, target: str, headers: dict[str, str]) -> Request:
    lower = {name.lower() for name in headers}
    url = urlsplit(target)
    query = parse_qs(url.query, keep_blank_values=True)
    path = unquote(url.path)
    if method == "GET" and ("list-type" in query or "prefix" in query):
        return Request("LIST", f"{path.rstrip('/')}/{query.get('prefix', [''])[0]}", False)
    if method == "POST" and "delete" in query:
        return Request("DELETES", path, False)
    return Request("COPY" if "x-amz-copy-source" in lower else method, path, "if-none-match" in lower)
