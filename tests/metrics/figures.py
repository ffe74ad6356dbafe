"""A run's figures, made up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from millstream.metrics import (
    EpochMetrics,
    FunctionMetrics,
    Metrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StageMetrics,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

METRICS = Metrics(
    job="alerts",
    state="running",
    at=NOON,
    epochs=12,
    restarts=1,
    last_epoch=EpochMetrics(11, NOON, 5000, 5200, {"offsets": 0, "plan": 90, "log": 10, "rows": 5020, "commit": 80}),
    phases_ms={"offsets": 5, "plan": 1000, "log": 120, "rows": 60_000, "commit": 960},
    watermark=NOON - timedelta(seconds=4),
    held_back_by="lamps",
    sources=(
        SourceMetrics("doors", 60_000, 6_000_000, 2, 0, NOON, False),
        SourceMetrics("lamps", 10, None, 0, None, NOON - timedelta(seconds=4), False),
    ),
    operators=(
        OperatorMetrics("per_minute", 1, 60_010, 700, 3, 0, 40, 38, 1.5, NOON - timedelta(seconds=4), None, None),
        OperatorMetrics("rooms", 1, 10, 10, 0, 0, 0, 0, 0.02, None, None, None),
        OperatorMetrics('say "hi"\\', 2, 710, 700, 0, 1, 0, 0, 0.25, None, 12, 4096),
    ),
    functions=(FunctionMetrics("parse", 7),),
    stages=(
        StageMetrics(1, ("per_minute", "rooms"), 650, 1_234_567, 20),
        StageMetrics(2, ('say "hi"\\',), 12, 4096, 4),
    ),
    sinks=(SinkMetrics("alerts", 700, 70_000, 12, 11), SinkMetrics("nowhere", 5)),
)


def later(seconds: float) -> Metrics:
    """With 1,000 rows a second from the doors, and a tenth of a second of work in each."""
    doors, lamps = METRICS.sources
    first, *rest = METRICS.operators
    more = round(1000 * seconds)
    return replace(
        METRICS,
        at=NOON + timedelta(seconds=seconds),
        sources=(replace(doors, rows=doors.rows + more, bytes=6_000_000 + 100 * more), lamps),
        operators=(replace(first, rows_in=first.rows_in + more, seconds=first.seconds + seconds / 10), *rest),
    )


def house(seconds: int) -> Metrics:
    """What docs/metrics.md shows: a house of many doors, an hour after the job has begun."""
    passed = NOON + timedelta(seconds=seconds)
    ahead, behind = passed - timedelta(seconds=1), passed - timedelta(seconds=56)
    steps = (
        OperatorMetrics("per_minute", 1, 3_600_000 + 1010 * seconds, 6000 + 2 * seconds, 3, seconds=0.11 * seconds),
        OperatorMetrics("rooms", 1, 12, 12, seconds=0.1),
    )
    return Metrics(
        job="house",
        state="running",
        at=passed,
        epochs=720,
        last_epoch=EpochMetrics(719, passed, 5000, 5180, {"plan": 90, "log": 10, "rows": 5000, "commit": 80}),
        watermark=behind,
        held_back_by="lamps",
        sources=(
            SourceMetrics("doors", 3_599_000 + 1000 * seconds, 100_000 * seconds, 0, 1200, ahead),
            SourceMetrics("lamps", 1000 + 10 * seconds, 700 * seconds, 0, 0, behind),
        ),
        operators=steps,
        stages=(StageMetrics(1, ("per_minute", "rooms"), None, 1_234_567, 20),),
        sinks=(SinkMetrics("closed", 6000 + 2 * seconds, 180 * seconds, 719, 719),),
    )
