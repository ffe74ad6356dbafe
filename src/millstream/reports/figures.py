"""A run's figures as plain JSON."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any

from millstream.errors import MillstreamError
from millstream.metrics import view
from millstream.metrics.model import EpochMetrics, Metrics
from millstream.metrics.rates import Rates


def plain(value: Any) -> Any:
    """Dataclasses as objects, moments in milliseconds since 1970."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return millis(value) if isinstance(value, datetime) else value


def millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def epoch(told: EpochMetrics) -> dict[str, Any]:
    return {"type": "epoch", **plain(told)}


def sample(now: Metrics) -> dict[str, Any]:
    """One point of the charts."""
    lags = [part.lag for part in now.sources if part.lag is not None]
    return {
        "at": millis(now.at),
        "rows_in": sum(part.rows for part in now.sources),
        "rows_out": sum(part.rows for part in now.sinks),
        "lag": sum(lags) if lags else None,
        "behind_ms": behind_ms(now),
        "epoch": now.last_epoch.epoch if now.last_epoch else None,
        "epoch_ms": now.last_epoch.duration_ms if now.last_epoch else None,
        # Before its first epoch, a run does not know how much there is.
        "state_bytes": now.state_bytes if now.last_epoch else None,
    }


def behind_ms(now: Metrics) -> int | None:
    """How old the oldest row may be that readers of committed rows do not see yet; None: no epoch has ended.

    What came before the last epoch began is published. Where nothing waits, that epoch's own time is all there is.
    """
    last = now.last_epoch
    if last is None:
        return None
    waits = any(part.lag for part in now.sources) or any(part.lag is None for part in now.sources)
    if not waits or last.rows == 0:
        return last.duration_ms
    return max(last.duration_ms, millis(now.at) - millis(last.started))


def failure(error: MillstreamError, transient: bool) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "at": None if error.at is None else str(error.at),
        "found": error.found,
        "hint": error.hint,
        "transient": transient,
    }


def rates(now: Metrics, grown: Rates) -> dict[str, dict[str, float]]:
    """By box of the job's graph: rows per second, and which share of the time an operator works."""
    found: dict[str, dict[str, float]] = {}
    for source in now.sources:
        found[f"source:{source.name}"] = {"in": grown.of(view.rows_of(source))}
    for operator in now.operators:
        found[f"operator:{operator.name}"] = {
            "in": grown.of(view.in_of(operator)),
            "out": grown.of(view.out_of(operator)),
            "busy": grown.of(view.seconds_of(operator)),
        }
    for sink in now.sinks:
        found[f"sink:{sink.name}"] = {"in": grown.of(view.written_of(sink))}
    return {name: {way: round(rate, 3) for way, rate in each.items()} for name, each in found.items()}
