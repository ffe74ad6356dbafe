"""The text for Prometheus, read by its own client."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from millstream.errors import MillstreamError
from millstream.metrics import Metrics
from millstream.metrics.prometheus import CONTENT_TYPE, text
from millstream.metrics.server import Server
from tests.metrics.figures import METRICS, NOON


def families(shown: str) -> dict[str, Metric]:
    found = list(text_string_to_metric_families(shown))
    names = [family.name for family in found]
    assert len(names) == len(set(names)), "each name once"
    return {family.name: family for family in found}


def values(shown: str) -> dict[tuple[str, ...], float]:
    """By name and labels: the job's name stands on all of them, and is left out."""
    found = {}
    for family in families(shown).values():
        for sample in family.samples:
            assert sample.labels["job_name"] == "alerts"
            rest = [label for name, label in sample.labels.items() if name != "job_name"]
            found[(sample.name, *rest)] = sample.value
    return found


def test_counters_end_in_total_and_gauges_do_not() -> None:
    for family in families(text(METRICS)).values():
        assert family.type in ("counter", "gauge")
        assert family.documentation.endswith(".")
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter")


def test_every_figure_is_there() -> None:
    found = values(text(METRICS))
    assert found["millstream_source_rows_total", "doors"] == 60_000
    assert found["millstream_source_lag_rows", "doors"] == 0
    assert found["millstream_operator_rows_in_total", "per_minute", "1"] == 60_010
    assert found["millstream_operator_late_rows_total", "per_minute", "1"] == 3
    assert found["millstream_operator_busy_seconds_total", "per_minute", "1"] == 1.5
    assert found["millstream_function_skipped_rows_total", "parse"] == 7
    assert found["millstream_state_bytes", "1"] == 1_234_567
    assert found["millstream_sink_published_epoch", "alerts"] == 11
    assert found["millstream_epoch_phase_seconds_total", "commit"] == 0.96
    assert found["millstream_last_epoch_phase_seconds", "commit"] == 0.08
    assert found["millstream_watermark_timestamp_seconds",] == NOON.timestamp() - 4
    assert (found["millstream_up",], found["millstream_restarts_total",]) == (1, 1)


def test_what_is_not_known_is_left_out() -> None:
    found = values(text(METRICS))
    assert ("millstream_source_bytes_total", "doors") in found
    assert ("millstream_source_bytes_total", "lamps") not in found
    assert ("millstream_source_lag_rows", "lamps") not in found
    assert ("millstream_sink_published_epoch", "nowhere") not in found


def test_labels_are_escaped() -> None:
    assert values(text(METRICS))["millstream_operator_rows_in_total", 'say "hi"\\', "2"] == 710


def test_a_run_that_has_done_nothing() -> None:
    found = values(text(Metrics("alerts", "created", NOON)))
    assert found["millstream_up",] == 0
    assert found["millstream_epochs_total",] == 0


def test_it_is_served_on_this_machine() -> None:
    read = iter([METRICS, Metrics("alerts", "stopped", NOON)])
    server = Server(0)
    try:
        server.serve(lambda: next(read))
        assert server.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(server.url) as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE
            assert values(answer.read().decode())["millstream_up",] == 1
        with urllib.request.urlopen(server.url) as answer:
            assert values(answer.read().decode())["millstream_up",] == 0
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url.removesuffix("/metrics"))
        with pytest.raises(MillstreamError, match="MS-METRICS-001"):
            Server(server.port)
    finally:
        server.close()
