"""Epochs and operations as OpenTelemetry spans, for a collector: `millstream manager --traces URL`.

Drivers know nothing of it: whoever leads reads what they report, and sends what has ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.manager.home import Home
from millstream.manager.records import JobRecord, Operation
from millstream.manager.registry import Registry
from millstream.reports.folder import newest

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

LOG = logging.getLogger("millstream.manager")
EVERY = 2.0
MOST = 500
"""Epochs of a job that are sent at once; of more, the newest."""
NANOS = 1_000_000


class Traces:
    def __init__(self, registry: Registry, home: Home, url: str, leads: Callable[[], bool]) -> None:
        self._registry = registry
        self._home = home
        self._leads = leads
        self._provider = provider(url)
        self._tracer: Tracer = self._provider.get_tracer("millstream")
        self._begun = round(time.time() * 1000)
        self._sent: dict[tuple[str, int], int] = {}
        """By job and run, the last epoch that was sent."""
        self._operations: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-traces", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._provider.shutdown()

    def _run(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                if self._leads():
                    self.send()
            except Exception:  # a collector of traces must not disturb jobs
                LOG.exception("traces could not be sent; the next ones are tried again")

    def send(self) -> None:
        """All that has ended since the last time, and since this manager is there."""
        jobs = self._registry.jobs()
        runs = {(job.name, job.number) for job in jobs}
        self._sent = {key: last for key, last in self._sent.items() if key in runs}
        for job in jobs:
            self._epochs(job)
            for operation in job.operations:
                if operation.ended_at is not None and operation.ended_at >= self._begun:
                    self._operation(job, operation)

    def _epochs(self, job: JobRecord) -> None:
        key = (job.name, job.number)
        last = self._sent.get(key, -1)
        found = newest(self._home.run(*key).epochs, MOST)
        new = [each for each in found if each["epoch"] > last and each["started"] >= self._begun]
        for each in reversed(new):
            self._epoch(job, each)
        if found:
            self._sent[key] = max(last, found[0]["epoch"])

    def _epoch(self, job: JobRecord, told: dict[str, Any]) -> None:
        start = told["started"] * NANOS
        about = {"millstream.job": job.name, "millstream.run": job.number, "millstream.epoch": told["epoch"]}
        span = self._tracer.start_span("epoch", start_time=start, attributes={**about, "millstream.rows": told["rows"]})
        at = start
        from opentelemetry.trace import set_span_in_context

        for phase, ms in told["phases_ms"].items():
            part = self._tracer.start_span(phase, set_span_in_context(span), start_time=at)
            at += ms * NANOS
            part.end(at)
        span.end(start + told["duration_ms"] * NANOS)

    def _operation(self, job: JobRecord, operation: Operation) -> None:
        from opentelemetry.trace import StatusCode

        if operation.id in self._operations or operation.ended_at is None:
            return
        self._operations.add(operation.id)
        about = {"millstream.job": job.name, "millstream.operation": operation.id, "millstream.by": operation.by}
        span = self._tracer.start_span(operation.kind, start_time=operation.begun_at * NANOS, attributes=about)
        if operation.state == "failed":
            span.set_status(StatusCode.ERROR, operation.detail)
        span.set_attribute("millstream.detail", operation.detail)
        span.end(operation.ended_at * NANOS)


def provider(url: str) -> Any:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MillstreamError(
            "MS-MANAGER-023",
            "the packages for traces are not installed.",
            found=str(error),
            hint="pip install 'millstream[manager,traces]'",
        ) from error
    made = TracerProvider(resource=Resource.create({"service.name": "millstream"}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    return made
