"""Serves a run's figures to Prometheus, on this machine only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer

from millstream.errors import MillstreamError
from millstream.metrics.model import Metrics
from millstream.metrics.prometheus import CONTENT_TYPE, text

HOST = "127.0.0.1"
PATH = "/metrics"


class Server:
    """Holds a port; answers there, from its own thread, from `serve` to `close`."""

    def __init__(self, port: int) -> None:
        try:
            self._server = HTTPServer((HOST, port), BaseHTTPRequestHandler)
        except (OSError, OverflowError) as error:
            raise MillstreamError(
                "MS-METRICS-001",
                f"metrics cannot be served on port {port}.",
                found=str(error),
                hint="choose another one; 0 takes any that is free",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="millstream-metrics", daemon=True)

    def serve(self, read: Callable[[], Metrics]) -> None:
        self._server.RequestHandlerClass = handler(read)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"

    def look(self) -> None:
        """Figures are read on request."""

    def close(self) -> None:
        if self._thread.ident is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def handler(read: Callable[[], Metrics]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.split("?")[0] != PATH:
                self.send_error(404, f"figures are at {PATH}")
                return
            body = text(read()).encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A scrape is no news."""

    return Handler
