"""Turns what the kernels and Spark report into typed figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from millstream.metrics.model import (
    EpochMetrics,
    FunctionMetrics,
    Metrics,
    OperatorMetrics,
    ReceptionMetrics,
    SinkMetrics,
    SourceMetrics,
    StageMetrics,
)
from millstream.plan.connectors import WHOLE_ROWS, TellsLag
from millstream.plan.node import Stateful, walk
from millstream.plan.nodes import Sink, Source
from millstream.plan.python import Call
from millstream.plan.received import ReceptionFigures
from millstream.planner.stages import JobPlan

PHASES = {
    "latestOffset": "offsets",
    "getBatch": "plan",
    "queryPlanning": "plan",
    "walCommit": "log",
    "addBatch": "rows",
    "commitOffsets": "commit",
    "commitBatch": "commit",
}
"""Spark's name of each part of an epoch, and ours."""

BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class SourceTime:
    """A source with a time: how far it is, in milliseconds, 0 if it has had no row; and whether it is idle."""

    watermark: int
    idle: bool


@dataclass(frozen=True)
class Reading:
    """A run as its parts report it.

    `figures`: Meters.java. `functions`: for each Python function, the rows that it skipped. `carried`: for each sink
    that Python carries rows to, the last epoch that arrived. `received`: for each source that is received, its figures.
    """

    figures: dict[str, Any]
    functions: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, SourceTime] = field(default_factory=dict)
    held_back_by: str | None = None
    published: int = -1
    counts_state: bool = False
    carried: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, ReceptionFigures] = field(default_factory=dict)

    @property
    def last(self) -> dict[str, Any]:
        """What Spark says about the last epoch; empty: there is none."""
        text = self.figures["epochs"]["last"]
        return json.loads(text) if text else {}


def metrics(job: str, state: str, restarts: int, plan: JobPlan, reading: Reading) -> Metrics:
    last, epochs = reading.last, reading.figures["epochs"]
    stages = read_stages(plan, last.get("stateOperators") or [], reading.counts_state)
    return Metrics(
        job=job,
        state=state,
        at=datetime.now(UTC),
        epochs=int(epochs["ended"]),
        restarts=restarts,
        last_epoch=read_epoch(last) if last else None,
        phases_ms=phases(epochs["millis"]),
        watermark=watermark_of(last),
        held_back_by=reading.held_back_by,
        sources=tuple(read_source(i, source, last, reading) for i, source in enumerate(plan.sources)),
        operators=read_operators(plan, stages, reading),
        functions=tuple(
            FunctionMetrics(node.name, skipped(node.name, reading))
            for node in walk(plan.flow)
            if isinstance(node, Call)
        ),
        stages=stages,
        sinks=tuple(read_sink(sink, reading) for sink in plan.sinks),
    )


def skipped(function: str, reading: Reading) -> int:
    """In real time a kernel counts."""
    return reading.functions.get(function, 0) + int(reading.figures["operators"].get(function, {}).get("skipped", 0))


def read_epoch(last: dict[str, Any]) -> EpochMetrics:
    durations = last.get("durationMs") or {}
    return EpochMetrics(
        epoch=int(last["batchId"]),
        started=datetime.fromisoformat(last["timestamp"]),
        rows=int(last.get("numInputRows") or 0),
        duration_ms=int(durations.get("triggerExecution") or 0),
        phases_ms=phases(durations),
    )


def phases(durations: Mapping[str, int]) -> dict[str, int]:
    found = dict.fromkeys(PHASES.values(), 0)
    for name, millis in durations.items():
        if name in PHASES:
            found[PHASES[name]] += int(millis)
    return found


def watermark_of(last: dict[str, Any]) -> datetime | None:
    text = (last.get("eventTime") or {}).get("watermark")
    found = None if text is None else datetime.fromisoformat(text)
    return None if found == BEGIN else found


def moment(millis: int | None) -> datetime | None:
    """0 is what Spark says before the first row."""
    return BEGIN + timedelta(milliseconds=millis) if millis and millis > 0 else None


def read_source(number: int, source: Source, last: dict[str, Any], reading: Reading) -> SourceMetrics:
    counted = reading.figures["sources"].get(source.name)
    read = int(reading.figures["epochs"]["rows"].get(str(number), 0))
    reports = last.get("sources") or []
    report = reports[number] if number < len(reports) else {}
    time = reading.times.get(source.name)
    return SourceMetrics(
        name=source.name,
        rows=counted["rowsIn"] if counted else read,
        bytes=counted["bytes"] if counted else None,
        skipped=counted["skipped"] if counted else 0,
        lag=lag(source, report),
        watermark=moment(time.watermark) if time else None,
        idle=time.idle if time else False,
        reception=read_reception(reading.received.get(source.name)),
    )


def read_reception(counted: ReceptionFigures | None) -> ReceptionMetrics | None:
    return None if counted is None else ReceptionMetrics(**asdict(counted))


def lag(source: Source, report: dict[str, Any]) -> int | None:
    told, read = report.get("metrics"), report.get("endOffset")
    if not told or not read or not isinstance(source.options, TellsLag):
        return None
    return source.options.lag(told, json.dumps(read) if isinstance(read, dict) else str(read))


def read_stages(plan: JobPlan, reports: list[dict[str, Any]], counts_rows: bool) -> tuple[StageMetrics, ...]:
    """Spark lists stores from the sinks to the sources."""
    found = []
    for number, stage in enumerate(plan.stages, 1):
        at = len(plan.stages) - number
        report = reports[at] if len(reports) == len(plan.stages) else {}
        found.append(
            StageMetrics(
                number=number,
                operators=tuple(part.name for part in stage.operators if isinstance(part, Stateful)),
                state_rows=int(report.get("numRowsTotal") or 0) if counts_rows else None,
                state_bytes=state_bytes(report),
                commit_ms=int(report.get("commitTimeMs") or 0),
            )
        )
    return tuple(found)


def state_bytes(report: dict[str, Any]) -> int:
    files = (report.get("customMetrics") or {}).get("rocksdbSstFileSize")
    return int(report.get("memoryUsedBytes") or 0) + int(files or 0)


def read_operators(plan: JobPlan, stages: tuple[StageMetrics, ...], reading: Reading) -> tuple[OperatorMetrics, ...]:
    return tuple(read_operator(name, stage, reading) for stage in stages for name in stage.operators)


def read_operator(name: str, stage: StageMetrics, reading: Reading) -> OperatorMetrics:
    counted = reading.figures["operators"].get(name) or {}
    alone = len(stage.operators) == 1
    return OperatorMetrics(
        name=name,
        stage=stage.number,
        rows_in=counted.get("rowsIn", 0),
        rows_out=counted.get("rowsOut", 0),
        late=counted.get("late", 0),
        skipped=counted.get("skipped", 0),
        timers_set=counted.get("timersSet", 0),
        timers_rung=counted.get("timersRung", 0),
        seconds=counted.get("nanos", 0) / 1e9,
        watermark=moment(reading.figures["watermarks"].get(name)),
        state_rows=stage.state_rows if alone else None,
        state_bytes=stage.state_bytes if alone else None,
    )


def read_sink(sink: Sink, reading: Reading) -> SinkMetrics:
    counted = reading.figures["sinks"].get(sink.name)
    if counted is None:
        return SinkMetrics(sink.name, rows=int(reading.figures["epochs"]["written"]))
    published = reading.carried.get(sink.name, reading.published)
    return SinkMetrics(
        name=sink.name,
        rows=counted["rowsOut"],
        bytes=None if sink.options.format in WHOLE_ROWS else counted["bytes"],
        prepared=number(reading.figures["prepared"]),
        published=number(published),
    )


def number(epoch: int) -> int | None:
    return None if epoch < 0 else int(epoch)
