"""Operations on a real job while rows come: saved, rescaled, upgraded, brought back, and every row counts once."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millstream import journal
from millstream.manager.server import opened
from millstream.manager.service import Options
from servers import chromium
from tests.manager.browsing import Visitor, listening
from tests.manager.house import House, until
from tests.manager.test_operations import do, ended, send

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.server]
PICTURES = Path(__file__).parents[2] / "docs" / "img"
JOB = """\
import millstream as ms
from millstream import journal

job = ms.Job("shop")
orders = job.stream(journal.source("orders"), schema="customer STRING, price INT")
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
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        number = 0
        while not self._over.wait(0.3):
            with journal.producer(self.path, "orders") as producer:
                for _ in range(10):
                    customer = f"c{number % CUSTOMERS}"
                    producer.send({"customer": customer, "price": number % 100}, key=customer)
                    self.sent[customer] += 1
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
def shop(folder: Path) -> Iterator[tuple[House, Orders]]:
    """A manager that runs the job, while orders come."""
    work = folder / "work"
    work.mkdir()
    path = str(work / "journal")
    for topic in ("orders", "totals", "large"):
        journal.create(path, topic, 1)
    with opened(Options(folder / "home", rows=True)) as service, coming(path) as orders:
        manager = House(service, work)
        spec = {"mode": "micro-batch", "every": "500ms", "restarts": "never", "master": "local[2]"}
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
    large = [json.loads(record.value or b"") for record in journal.read(orders.path, "large")]
    sent = sum(orders.sent.values())
    assert len(large) == sent // 100 * 9 + max(0, sent % 100 - 91)


def operate(manager: House) -> None:
    saved = ended(manager, "shop", do(manager, "shop", "savepoint"), LONG)
    assert saved["state"] == "succeeded", saved
    rescaled = ended(manager, "shop", do(manager, "shop", "rescale", parallelism=3), LONG)
    assert rescaled["state"] == "succeeded", rescaled
    worse = ended(manager, "shop", send(manager, "shop", "upgrade", BROKEN, within_s=120), LONG)
    assert (worse["state"], "runs again as it was" in worse["detail"]) == ("failed", True), worse
    assert manager.until("shop", "running")["version"] == 1
    upgraded = ended(manager, "shop", send(manager, "shop", "upgrade", NEW, within_s=300), LONG)
    assert upgraded["detail"].startswith("version 3 has committed epoch "), upgraded


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
        picture(visitor, "state", golden)
        visitor.go("/jobs/shop/rows?look=1")
        expect(visitor.page.locator("table.rows").first).to_contain_text("customer", timeout=200_000)
        visitor.go("/jobs/shop/change")
        file = {"name": "job.py", "mimeType": "text/x-python", "buffer": NEW.encode()}
        visitor.page.set_input_files("input[type=file]", file)  # type: ignore[arg-type]
        visitor.page.get_by_role("button", name="Compare").click()
        expect(visitor.page.locator("[data-still]")).to_be_visible(timeout=200_000)
        picture(visitor, "change", golden)
        assert visitor.wrong == []


def picture(visitor: Visitor, name: str, golden: bool) -> None:
    if golden:
        visitor.page.screenshot(path=PICTURES / f"manager-{name}.png")
