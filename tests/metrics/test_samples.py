"""The points of the charts on a manager's page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from millstream.metrics.model import EpochMetrics, Metrics, StageMetrics
from millstream.reports.figures import sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_run_without_an_epoch_does_not_say_that_its_state_is_gone() -> None:
    started = Metrics("shop", "running", NOW, stages=(StageMetrics(1, ("totals",)),))
    assert sample(started)["state_bytes"] is None
    ended = EpochMetrics(epoch=7, started=NOW, rows=3, duration_ms=20, phases_ms={})
    goes_on = replace(started, last_epoch=ended, stages=(StageMetrics(1, ("totals",), state_bytes=48),))
    assert sample(goes_on)["state_bytes"] == 48
