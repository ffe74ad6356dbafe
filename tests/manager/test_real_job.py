"""A real job under a manager: its driver is killed, its page is looked at, and every row counts once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millstream import journal
from millstream.manager.server import opened
from millstream.manager.service import Options
from servers import chromium
from tests.manager.browsing import Visitor, listening
from tests.manager.house import House, until

pytestmark = [pytest.mark.slow, pytest.mark.server]
PICTURES = Path(__file__).parents[2] / "docs" / "img"
PEOPLE = 40
JOB = """\
import millstream as ms
from millstream import journal
from soon import SOON

job = ms.Job("matches")
likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING, at TIMESTAMP", time="at")
(
    likes.as_("a")
    .join(likes.as_("b"), on=f"a.liker = b.liked AND a.liked = b.liker AND {SOON}")
    .named("met")
    .where("a.liker < a.liked")
    .select("a.liker", "a.liked")
    .to(journal.sink("matches"))
)
likes.group_by("liker").agg(n="count(*)").named("counted").to(journal.sink("counts"))
"""
SOON = 'SOON = "b.at BETWEEN a.at - INTERVAL 1 HOUR AND a.at + INTERVAL 1 HOUR"\n'


def like(path: Path, portion: int) -> list[tuple[str, str]]:
    """Everybody likes somebody, and is liked back by the next portion."""
    pairs = [(f"p{n}", f"p{(n + portion // 2 + 1) % PEOPLE}") for n in range(PEOPLE)]
    sent = [(b, a) if portion % 2 else (a, b) for a, b in pairs]
    with journal.producer(str(path), "likes") as likes:
        for liker, liked in sent:
            likes.send({"liker": liker, "liked": liked, "at": datetime.now(UTC)}, key=liker)
    return sent


def read(path: Path, topic: str) -> list[dict[str, object]]:
    return [json.loads(record.value or b"") for record in journal.read(str(path), topic)]


def test_a_killed_driver_goes_on_and_every_row_counts_once(tmp_path: Path, golden: bool) -> None:
    work = tmp_path / "work"
    work.mkdir()
    path = work / "journal"
    for topic in ("likes", "matches", "counts"):
        journal.create(str(path), topic, 2 if topic == "likes" else 1)
    with opened(Options(tmp_path / "home")) as service:
        manager = House(service, work)
        sent = like(path, 0)
        spec = {"mode": "micro-batch", "every": "500ms", "restarts": "3/100ms", "master": "local[2]"}
        answer = manager.send({"job.py": JOB, "soon.py": SOON}, **spec)
        assert answer.status_code == 201, answer.text
        try:
            manager.until("matches", "running")
            sent += like(path, 1)
            until(lambda: (epoch(manager) or 0) >= 1, manager.http.get("/api/v1/jobs/matches/logs").text)
            os.kill(manager.pid("matches"), signal.SIGKILL)
            sent += like(path, 2)
            manager.until("matches", "running", run=2)
            for portion in range(3, 8):
                sent += like(path, portion)
            look(manager, golden)
            until(lambda: total(path) == len(sent), "all likes are counted")
            manager.http.post("/api/v1/jobs/matches/stop")
            job = manager.until("matches", "suspended")
        finally:
            manager.http.post("/api/v1/jobs/matches/cancel")
            manager.bury()
    assert (job["restarts"], job["runs"][-1]["ended"]) == (1, "stopped")
    found = Counter((row["liker"], row["liked"]) for row in read(path, "matches"))
    assert found == matched(sent)


def epoch(manager: House) -> int | None:
    found: int | None = manager.http.get("/api/v1/jobs/matches/status").json()["epoch"]
    return found


def total(path: Path) -> int:
    """The likes that are counted, by the last count of each."""
    last = {row["liker"]: row for row in read(path, "counts")}
    return sum(int(str(row["n"])) for row in last.values())


def matched(sent: list[tuple[str, str]]) -> Counter[tuple[object, object]]:
    likes = Counter(sent)
    return Counter(
        {(a, b): likes[a, b] * likes[b, a] for a, b in likes if a < b and likes[b, a]}  # each with each
    )


def look(manager: House, golden: bool) -> None:
    """At the page of a job that runs; with --golden the pictures of the docs are taken."""
    with chromium.running() as browser, listening(manager.service) as url:
        visitor = Visitor(browser, url)
        visitor.log_in(manager.service.home.token.read_text().strip())
        visitor.go("/jobs/matches")
        expect(visitor.page.locator("svg.graph .operator").first).to_contain_text("busy", timeout=60_000)
        expect(visitor.page.locator("svg.graph .source")).to_contain_text("/s", timeout=60_000)
        expect(visitor.page.locator(".charts canvas").first).to_be_visible(timeout=60_000)
        for name in ("", "/epochs"):
            visitor.go(f"/jobs/matches{name}")
            expect(visitor.page.locator("h1")).to_contain_text("matches")
            if golden:
                PICTURES.mkdir(exist_ok=True)
                visitor.page.wait_for_timeout(6_000)
                visitor.page.screenshot(path=PICTURES / f"manager{name.replace('/', '-') or '-overview'}.png")
        assert visitor.wrong == []
