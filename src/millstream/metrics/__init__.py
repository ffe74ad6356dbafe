"""What a run has done so far, in figures: `run.metrics()`."""

from __future__ import annotations

from millstream.metrics.model import (
    EpochMetrics,
    FunctionMetrics,
    Metrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StageMetrics,
)

__all__ = [
    "EpochMetrics",
    "FunctionMetrics",
    "Metrics",
    "OperatorMetrics",
    "SinkMetrics",
    "SourceMetrics",
    "StageMetrics",
]
