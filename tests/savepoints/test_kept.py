"""Savepoints of earlier versions, kept in the repository: a job of today continues from each of them.

`./dev run pytest tests/savepoints/test_kept.py --golden` takes one of this version. Do so when a layout, or the format
of savepoints, gets a new version; those that are there stay.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.savepoints.manifest import FORMAT, checksum
from tests.savepoints.shop import SINKS, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = Path(__file__).parent / "kept"
NOWHERE = "/nowhere/shop"
"""In place of the checkpoint that a kept savepoint was taken from."""
ORDERS = 100


def keep(folder: Path, saved: Path) -> None:
    """Without the place where it was taken."""
    shutil.copytree(saved, folder, ignore=shutil.ignore_patterns("*.crc"))
    content = json.loads((folder / "savepoint.json").read_text())
    content = {**content, "checkpoint": NOWHERE}
    del content["sha256"]
    (folder / "savepoint.json").write_text(json.dumps({**content, "sha256": checksum(content)}, indent=1) + "\n")


def begun(folder: Path, spark: SparkSession) -> Shop:
    shop = Shop(folder)
    shop.feed(ORDERS)
    run = shop.job().start(ms.available_now(), spark=spark)
    run.wait()
    return shop


def rows(shop: Shop) -> dict[str, Counter[str]]:
    read = {topic: journal.read(shop.path, topic) for topic in SINKS}
    return {topic: Counter(json.dumps(one.json(), sort_keys=True) for one in found) for topic, found in read.items()}


def test_take_one(golden: bool, spark: SparkSession, tmp_path: Path) -> None:
    if not golden:
        pytest.skip("only to write one")
    shop = begun(tmp_path, spark)
    shop.job().start(ms.available_now(), spark=spark).stop(savepoint=str(tmp_path / "saved"))
    keep(KEPT / str(FORMAT), tmp_path / "saved")


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(path.name for path in KEPT.glob("*")))
def test_a_job_goes_on_from_a_kept_one(version: str, spark: SparkSession, tmp_path: Path) -> None:
    """As it does from its own checkpoint."""
    shop = begun(tmp_path, spark)
    before = rows(shop)
    shop.job("next", parallelism=3).restore(str(KEPT / version), fork=True, spark=spark)
    shop.feed(60)
    shop.job("next", parallelism=3).run(ms.available_now(), spark=spark)
    both = rows(shop)
    own = {topic: both[topic] - before[topic] for topic in SINKS}
    shop.job().run(ms.available_now(), spark=spark)
    for topic, found in rows(shop).items():
        assert found - both[topic] == own[topic], topic
