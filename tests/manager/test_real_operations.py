"""Operations on a real job while rows come: saved, rescaled, upgraded, brought back, and every row counts once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, expect

from millstream import journal
from millstream.manager.server import opened
from millstream.manager.service import Options
from servers import chromium
from servers.process import command, descendants
from tests.manager.browsing import Visitor, listening
from tests.manager.house import House, until
from tests.manager.test_operations import do, ended, send

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.server]
PICTURES = Path(__file__).parents[2] / "docs" / "img"
JOB = """\
import millstream as ms
from millstream import journal

job = ms.Job("shop")
orders = job.stream(journal.source("orders"), schema="id INT, customer STRING, price INT")
orders.group_by("customer").agg(n="count(*)").named("totals"){then}.to(journal.sink("totals"))
orders.where("price > 90").to(journal.sink("large"))
"""
OLD = JOB.format(then="")
NEW = JOB.format(then='.where("n > 0")')
BROKEN = OLD.replace('"price > 90"', '"100 / (price - price) > 90"')
CUSTOMERS = 20
LONG = 900
"""Seconds: an upgrade that is brought back starts eight times a Spark."""


class Orders:
    """Orders that come all the while."""

    def __init__(self, path: str) -> None:
        self.path, self.sent = path, Counter[str]()
        self.large: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        number = 0
        while not self._over.wait(0.3):
            with journal.producer(self.path, "orders") as producer:
                for _ in range(10):
                    customer, price = f"c{number % CUSTOMERS}", number * 37 % 100
                    producer.send({"id": number, "customer": customer, "price": price}, key=customer)
                    self.sent[customer] += 1
                    self.large += [number] * (price > 90)
                    number += 1

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@contextmanager
def coming(path: str) -> Iterator[Orders]:
    orders = Orders(path)
    try:
        yield orders
    finally:
        orders.close()


def counted(path: str) -> Counter[str]:
    rows = [json.loads(record.value or b"") for record in journal.read(path, "totals")]
    return Counter({row["customer"]: int(row["n"]) for row in rows})


@contextmanager
def shop(folder: Path, restarts: str = "never") -> Iterator[tuple[House, Orders]]:
    """A manager that runs the job, while orders come."""
    work = folder / "work"
    work.mkdir()
    path = str(work / "journal")
    for topic in ("orders", "totals", "large"):
        journal.create(path, topic, 1)
    with opened(Options(folder / "home", rows=True)) as service, coming(path) as orders:
        manager = House(service, work)
        spec = {"mode": "micro-batch", "every": "500ms", "restarts": restarts, "master": "local[2]"}
        answer = manager.send({"job.py": OLD}, **spec)
        assert answer.status_code == 201, answer.text
        try:
            manager.until("shop", "running")
            until(lambda: counted(path), "the first rows are counted")
            yield manager, orders
        finally:
            manager.http.post("/api/v1/jobs/shop/cancel")
            manager.bury()


def test_saved_rescaled_upgraded_and_brought_back(tmp_path: Path) -> None:
    with shop(tmp_path) as (manager, orders):
        operate(manager)
        orders.close()
        until(lambda: counted(orders.path) == orders.sent, "every order counts once", lambda: counted(orders.path))
        done = ended(manager, "shop", do(manager, "shop", "stop", savepoint=True), LONG)
        assert done["state"] == "succeeded", done
        assert counted(orders.path) == orders.sent
    assert large(orders.path) == orders.large


def large(path: str) -> list[int]:
    """The large orders that a reader sees: one that came twice is there twice."""
    return sorted(json.loads(record.value or b"")["id"] for record in journal.read(path, "large"))


def test_a_driver_whose_java_process_is_killed_is_started_again(tmp_path: Path) -> None:
    with shop(tmp_path, restarts="3/100ms") as (manager, orders):
        (java,) = (pid for pid in descendants(manager.pid("shop")) if command(pid).split(b"\0")[0].endswith(b"java"))
        os.kill(java, signal.SIGKILL)
        job = manager.until("shop", "running", run=2)
        assert [failure["message"] for failure in job["failures"]] == ["Spark's Java process has ended."]
        orders.close()
        until(lambda: counted(orders.path) == orders.sent, "every order counts once", lambda: counted(orders.path))
        do(manager, "shop", "stop")
        manager.until("shop", "suspended")
    assert large(orders.path) == orders.large


def operate(manager: House) -> None:
    saved = ended(manager, "shop", do(manager, "shop", "savepoint"), LONG)
    assert saved["state"] == "succeeded", saved
    rescaled = ended(manager, "shop", do(manager, "shop", "rescale", parallelism=3), LONG)
    assert rescaled["state"] == "succeeded", rescaled
    worse = ended(manager, "shop", send(manager, "shop", "upgrade", BROKEN, within_s=120), LONG)
    assert (worse["state"], "runs again as it was" in worse["detail"]) == ("failed", True), worse
    assert "version 2 has failed" in worse["detail"], worse
    job = manager.until("shop", "running")
    assert (job["version"], job["spec"]["parallelism"]) == (1, 3)
    # The old version has gone on from the savepoint that the upgrade took, and commits.
    assert worse["asked"]["savepoint"] == job["savepoints"][-1]["path"]
    until(lambda: (epoch(manager) or 0) > worse["epoch"], "the old version commits", lambda: manager.job("shop"))
    upgraded = ended(manager, "shop", send(manager, "shop", "upgrade", NEW, within_s=300), LONG)
    assert upgraded["detail"].startswith("version 3 has committed epoch "), upgraded
    assert int(upgraded["detail"].rpartition(" ")[2]) > upgraded["epoch"] > worse["epoch"]
    assert manager.until("shop", "running")["version"] == 3


def epoch(manager: House) -> int | None:
    found: int | None = manager.http.get("/api/v1/jobs/shop/status").json()["epoch"]
    return found


def test_looking_into_a_job_and_at_a_change_of_it(tmp_path: Path, golden: bool) -> None:
    with shop(tmp_path) as (manager, _):
        look(manager, golden)


def look(manager: House, golden: bool) -> None:
    with chromium.running() as browser, listening(manager.service) as url:
        visitor = Visitor(browser, url)
        visitor.log_in(manager.service.home.token.read_text().strip())
        visitor.page.set_default_navigation_timeout(200_000)
        visitor.go("/jobs/shop/state?operator=totals&key=c7")
        expect(visitor.page.locator("table.rows")).to_contain_text("c7", timeout=200_000)
        picture(visitor, "state", golden, 480)
        visitor.go("/jobs/shop/rows?look=1")
        expect(visitor.page.locator("table.rows").first).to_contain_text("customer", timeout=200_000)
        picture(visitor, "rows", golden)
        look_at_rows_that_pass(visitor, golden)
        if golden:
            prove(manager, url)
        visitor.go("/jobs/shop/proof")
        expect(visitor.page.get_by_text("exactly once").first).to_be_visible()
        picture(visitor, "proof", golden, 640)
        visitor.go("/jobs/shop/change")
        file = {"name": "job.py", "mimeType": "text/x-python", "buffer": NEW.encode()}
        visitor.page.set_input_files("input[type=file]", file)  # type: ignore[arg-type]
        visitor.page.get_by_role("button", name="Compare").click()
        expect(visitor.page.locator("[data-still]")).to_be_visible(timeout=200_000)
        picture(visitor, "change", golden, 600)
        assert visitor.wrong == []


def prove(manager: House, url: str) -> None:
    """For the picture: a certificate of the file that runs."""
    file = manager.folder / "job.py"
    file.write_text(OLD)
    token = manager.service.home.token.read_text().strip()
    how = ("--faults", "40", "--for", "110s", "--publish", "--manager", url, "--token", token)
    main = "from millstream.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", main, "verify", str(file), *how], cwd=manager.folder, check=True)


def look_at_rows_that_pass(visitor: Visitor, golden: bool) -> None:
    """A click on an edge shows what flows there, and goes on showing it."""
    visitor.go("/jobs/shop")
    visitor.page.get_by_label("Rows from totals to totals").click(force=True)
    given = visitor.page.locator("#box table.rows tbody tr")
    expect(given.first).to_contain_text("c", timeout=60_000)
    first = given.first.inner_text()
    expect(given.first).not_to_have_text(first, timeout=60_000)
    visitor.page.locator("svg.graph a .source").click()
    expect(visitor.page.locator("#box")).to_contain_text("What it has read")
    expect(given.first).to_contain_text("c", timeout=60_000)
    picture(visitor, "graph", golden, 1100)


def picture(visitor: Visitor, name: str, golden: bool, height: int = 800) -> None:
    """From the top of the page on."""
    if golden:
        part: FloatRect = {"x": 0, "y": 0, "width": 1200, "height": height}
        visitor.page.screenshot(path=PICTURES / f"manager-{name}.png", full_page=True, clip=part)
