"""Figures of the manager and of all jobs, as Prometheus' own parser reads them."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.manager.house import ROOT, House, until


def epoch(manager: House, name: str) -> int | None:
    found: int | None = manager.http.get(f"/api/v1/jobs/{name}/status").json()["epoch"]
    return found


def test_all_jobs_are_on_one_page(manager: House) -> None:
    manager.submit("first")
    manager.submit("second")
    manager.submit("wrong", "fail")
    for name in ("first", "second"):
        manager.until(name, "running")
        until(partial(epoch, manager, name))
    manager.until("wrong", "failed")
    families = {family.name: family for family in text_string_to_metric_families(manager.http.get("/metrics").text)}
    states = {sample.labels["state"]: sample.value for sample in families["millstream_manager_jobs"].samples}
    assert (states["running"], states["failed"]) == (2, 1)
    assert {sample.labels["job_name"] for sample in families["millstream_up"].samples} == {"first", "second"}
    behind = {sample.labels["job_name"] for sample in families["millstream_job_behind_seconds"].samples}
    assert behind == {"first", "second"}
    assert len(families["millstream_source_rows"].samples) == 2
    assert families["millstream_manager_leads"].samples[0].value == 1


def test_the_board_asks_for_figures_that_there_are(manager: House) -> None:
    manager.submit("first")
    manager.until("first", "running")
    until(lambda: manager.http.get("/api/v1/jobs/first/status").json()["rate_in"] is not None)
    told = manager.http.get("/metrics").text
    board = json.loads((Path(ROOT) / "docs" / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = set(re.findall(r"millstream_\w+", " ".join(asked)))
    assert len(names) >= 8
    assert [name for name in sorted(names) if f"\n{name}" not in told] == []
