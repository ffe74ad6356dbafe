"""Epochs and operations as spans, as a collector receives them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.manager.house import house, until

Spans = list[Any]


@contextmanager
def collector() -> Iterator[tuple[str, Spans]]:
    """Where it listens, and the spans that came."""
    spans: Spans = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            told = ExportTraceServiceRequest.FromString(body)
            for resource in told.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    kinds = {"string_value", "int_value"}
    return {
        one.key: next(getattr(one.value, kind) for kind in kinds if one.value.HasField(kind)) for one in span.attributes
    }


def test_epochs_and_operations_are_sent(tmp_path: Path) -> None:
    with collector() as (url, spans), house(tmp_path, traces=url) as manager:
        manager.submit("steady")
        manager.until("steady", "running")
        manager.http.post("/api/v1/jobs/steady/stop")
        manager.until("steady", "suspended")
        until(lambda: {"epoch", "rows", "submit", "stop"} <= {span.name for span in spans}, "all are sent")

        def parents_came() -> bool:
            """A phase ends before its epoch, and may be sent with the load before."""
            known = {span.span_id for span in spans if span.name == "epoch"}
            return all(span.parent_span_id in known for span in list(spans) if span.name == "rows")

        until(parents_came, "each phase is part of an epoch")
        epochs = {span.span_id: span for span in spans if span.name == "epoch"}
        first = min(epochs.values(), key=lambda span: attributes(span)["millstream.epoch"])
        assert attributes(first)["millstream.job"] == "steady"
        assert first.end_time_unix_nano - first.start_time_unix_nano == 200 * 1_000_000
        numbers = [attributes(span)["millstream.epoch"] for span in epochs.values()]
        assert len(numbers) == len(set(numbers)), "each is sent once"
        manager.bury()
