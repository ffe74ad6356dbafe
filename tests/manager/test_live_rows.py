"""A few of the rows that pass are shown: only where the manager lets people look, and only to who may operate jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from millstream.manager.app import served
from millstream.manager.tokens import Role
from tests.manager.house import House, house, until

BOX = "/jobs/shown?box=operator%3Acounted"


def test_rows_are_shown_to_who_may_operate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    with house(tmp_path, rows=True) as manager:
        manager.submit("shown")
        manager.until("shown", "running")
        live = until(lambda: manager.http.get("/api/v1/jobs/shown/rows/live").json())
        assert [(row["weight"], row["row"][:8]) for row in live["operator:counted"]] == [
            (1, '{"liker"'),
            (0, '{"liker"'),
            (-1, '["long…'),
        ]
        page = manager.http.get(BOX).text
        assert "What it has sent on" in page
        assert "<th>liker<th>n" in page
        assert "&lt;b&gt;" in page
        assert "<code>[&#34;long…</code>" in page
        assert 'href="/jobs/shown?box=sink%3Acounts#box" aria-label="Rows from counted to counts"' in page
        assert "No row has passed" in manager.http.get("/jobs/shown?box=source%3Alikes").text
        reader = TestClient(
            served(manager.service),
            headers={"Authorization": f"Bearer {manager.service.tokens.add('reader', Role.READ)}"},
        )
        assert reader.get("/api/v1/jobs/shown/rows/live").status_code == 403
        assert "ann" not in reader.get(BOX).text
        manager.bury()


def test_no_row_is_kept_unless_the_manager_says_so(manager: House) -> None:
    manager.submit("shown")
    manager.until("shown", "running")
    until(lambda: (manager.service.home.run("shown", 1).status() or {}).get("metrics"))
    answer = manager.http.get("/api/v1/jobs/shown/rows/live")
    assert (answer.status_code, answer.json()["code"]) == (422, "MS-MANAGER-019")
    assert "What it has sent on" not in manager.http.get(BOX).text
    assert not manager.service.home.run("shown", 1).rows.exists()
