"""What a run has done so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The last epoch that ended."""

    epoch: int
    rows_in: int
    rows_per_second: float
    state_rows: int | None
    """None: they are not counted. Spark's `…rocksdb.trackTotalNumberOfRows` counts them, at a read per write."""
    state_bytes: int
    """In RocksDB's memory and in its files: rows move to files when memory is full or saved."""
    duration_ms: int
    offsets: tuple[str, ...] = ()
    """Up to where each source was read, in the source's own words."""
    watermark: datetime | None = None
    """How far event time had come."""
    held_back_by: str | None = None
    """The source that is furthest behind in time, of those that are not idle."""

    @classmethod
    def read(cls, report: dict[str, Any], counts_rows: bool, held_back_by: str | None) -> Progress:
        operators = report.get("stateOperators") or []
        return cls(
            epoch=int(report["batchId"]),
            rows_in=int(report.get("numInputRows") or 0),
            rows_per_second=float(report.get("processedRowsPerSecond") or 0.0),
            state_rows=sum(int(part.get("numRowsTotal") or 0) for part in operators) if counts_rows else None,
            state_bytes=sum(state_bytes(part) for part in operators),
            duration_ms=int((report.get("durationMs") or {}).get("triggerExecution") or 0),
            offsets=tuple(str(source.get("endOffset")) for source in report.get("sources") or []),
            watermark=moment((report.get("eventTime") or {}).get("watermark")),
            held_back_by=held_back_by,
        )


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def state_bytes(operator: dict[str, Any]) -> int:
    files = (operator.get("customMetrics") or {}).get("rocksdbSstFileSize")
    return int(operator.get("memoryUsedBytes") or 0) + int(files or 0)
