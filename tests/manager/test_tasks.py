"""What the tasks of operations do to real state: in this process, with the Spark of the tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.cli.jobfile import job_of
from millstream.manager.reader import answer
from millstream.manager.tasks import performed
from millstream.reports.folder import RunFolder
from millstream.runtime.requests import followed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
JOB = """\
import millstream as ms
from millstream import journal

job = ms.Job("shop", checkpoint={checkpoint!r})
orders = job.stream(journal.source("orders", path={path!r}), schema="customer STRING, price INT")
totals = orders.group_by("customer").agg({agg}).named("totals"){then}
totals.to(journal.sink("out", path={path!r}))
"""
COUNTED = 'n="count(*)"'


class Shop:
    """A job with two versions of its file, and the tasks of an operation on it."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.path, self.checkpoint = str(folder / "journal"), str(folder / "checkpoint")
        for topic in ("orders", "out"):
            journal.create(self.path, topic, 1)
        self.old, self.new = self.written("old"), self.written("new", then='.where("n > 0")')
        self.operations = 0

    def written(self, name: str, agg: str = COUNTED, then: str = "") -> Path:
        file = self.folder / name / "job.py"
        file.parent.mkdir()
        file.write_text(JOB.format(checkpoint=self.checkpoint, path=self.path, agg=agg, then=then))
        return file

    def runs(self, file: Path, *orders: tuple[str, int]) -> dict[str, dict[str, Any]]:
        """The last row of each customer when it has caught up."""
        with journal.producer(self.path, "orders") as producer:
            for customer, price in orders:
                producer.send({"customer": customer, "price": price}, key=customer)
        job_of(file).run(ms.available_now(), spark=self.spark)
        rows = [record.json() for record in journal.read(self.path, "out")]
        return {row["customer"]: row for row in rows}

    def does(self, task: str, file: Path, kind: str, operation: str, number: int = 1, **asked: Any) -> dict[str, Any]:
        folder = RunFolder(self.folder / "operations" / operation / str(number))
        folder.make()
        choices: dict[str, Any] = {"savepoint": None, "was": {}, "drop": [], "start_empty": [], "fork": False}
        told = {"task": task, "kind": kind, "operation": operation, "begun_at": 0, "file": str(file)}
        told |= {"checkpoint": None, "parallelism": None, "master": None, "conf": {}, "shared_disk": False}
        told |= {"checkpoint_before": self.checkpoint, "asked": {**choices, **asked}}
        return performed(folder, json.loads(json.dumps(told)))


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(tmp_path, spark)


def test_an_upgrade_that_fails_goes_back_with_nothing_lost(shop: Shop) -> None:
    shop.runs(shop.old, ("ann", 3), ("bob", 7), ("ann", 2))
    compared = shop.does("diff", shop.new, "upgrade", "a1")["result"]
    assert {(one["name"], one["state"]) for one in compared["changes"]} == {("totals", "kept"), ("orders", "kept")}
    other = shop.does("diff", shop.written("other", 'most="max(price)"'), "diff", "a2")["result"]
    assert (compared["compatible"], other["compatible"]) == (True, False)
    saved = shop.does("savepoint", shop.old, "upgrade", "a1")["result"]
    assert (saved["rows"], saved["bytes"] > 0) == (2, True)
    at = saved["path"]
    assert at.startswith(f"{shop.checkpoint}.savepoints/")
    restored = shop.does("restore", shop.new, "upgrade", "a1", 2, savepoint=at)["result"]
    assert restored["epoch"] >= saved["epoch"]
    again = shop.does("restore", shop.new, "upgrade", "a1", 3, savepoint=at)["result"]
    assert again["checkpoint"] == restored["checkpoint"] == followed(shop.checkpoint), "repeated, it finds what is done"
    # It does not come up, and the old version goes on.
    assert shop.does("fence", shop.new, "upgrade", "a1", 4, savepoint=at)["state"] == "succeeded"
    with pytest.raises(ms.MillstreamError, match="MS-CHECKPOINT-015"):
        shop.runs(shop.new)
    for number in (5, 6):
        back = shop.does("back", shop.old, "upgrade", "a1", number, savepoint=at)["result"]
        assert followed(shop.checkpoint) == back["checkpoint"]
    assert shop.runs(shop.old, ("ann", 1))["ann"]["n"] == 3
    told = answer({"checkpoint": shop.checkpoint, "operator": None, "keys": ["ann"], "at": None, "limit": 10})
    assert told["lists"][0]["rows"][0]["count0"] == 3
    missing = answer({"checkpoint": shop.checkpoint, "operator": "nobody", "keys": [], "at": None, "limit": 10})
    assert missing["error"]["code"] == "MS-STATE-002"


def test_a_version_that_has_committed_is_not_taken_back(shop: Shop) -> None:
    shop.runs(shop.old, ("ann", 3))
    at = shop.does("savepoint", shop.old, "upgrade", "b1")["result"]["path"]
    shop.does("restore", shop.old, "upgrade", "b1", 2, savepoint=at)
    shop.runs(shop.old, ("ann", 4))
    refused = shop.does("fence", shop.old, "upgrade", "b1", 3, savepoint=at)
    assert refused["error"]["code"] == "MS-SAVEPOINT-009"
    assert shop.runs(shop.old, ("ann", 5))["ann"]["n"] == 3


def test_a_savepoint_that_was_cut_off_is_taken_again_and_nothing_else_is_deleted(shop: Shop) -> None:
    shop.runs(shop.old, ("ann", 3))
    mine = shop.folder / "mine"
    mine.mkdir()
    (mine / "precious").write_text("x")
    refused = shop.does("savepoint", shop.old, "savepoint", "c1", savepoint=str(mine))
    assert (refused["error"]["code"], (mine / "precious").exists()) == ("MS-SAVEPOINT-005", True)
    saved = shop.does("savepoint", shop.old, "savepoint", "c2", savepoint=str(shop.folder / "saved"))["result"]
    Path(saved["path"], "savepoint.json").unlink()
    again = shop.does("savepoint", shop.old, "savepoint", "c2", 2, savepoint=str(shop.folder / "saved"))
    assert again["result"]["epoch"] == saved["epoch"]
    shutil.rmtree(saved["path"])
    missing = shop.does("restore", shop.old, "restore", "c3", savepoint=saved["path"])
    assert missing["error"]["code"] == "MS-SAVEPOINT-002"
