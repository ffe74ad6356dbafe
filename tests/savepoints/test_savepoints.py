"""Savepoints: taken of a job that is running or not, restored into a new checkpoint, at any parallelism."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.savepoints.manifest import read_savepoint
from tests.savepoints.shop import SINKS, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = dict[str, Counter[str]]


def rows(shop: Shop) -> Rows:
    return {
        topic: Counter(json.dumps(record.json(), sort_keys=True) for record in journal.read(shop.path, topic))
        for topic in SINKS
    }


@pytest.fixture(scope="module")
def straight(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What comes out without a savepoint in between."""
    shop = Shop(tmp_path_factory.mktemp("straight"))
    for count in (120, 80):
        shop.feed(count)
        shop.job().run(ms.available_now(), spark=spark)
    return rows(shop)


@pytest.mark.parametrize("parallelism", [3, 1])
def test_a_job_goes_on_from_a_savepoint(parallelism: int, straight: Rows, spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.feed(120)
    run = shop.job().start(ms.available_now(), spark=spark)
    while not run.poll(0.2):
        pass
    saved = run.savepoint(str(tmp_path / "saved"))
    restored = shop.job("next", parallelism=parallelism).restore(str(tmp_path / "saved"), spark=spark)
    assert restored.epoch == saved.manifest.epoch
    shop.feed(80)
    shop.job("next", parallelism=parallelism).run(ms.available_now(), spark=spark)
    found = rows(shop)
    for topic in SINKS:
        assert found[topic] == straight[topic], topic
    again = shop.job("next", parallelism=parallelism).start(ms.available_now(), spark=spark)
    again.wait()
    assert read_savepoint(str(tmp_path / "saved")).manifest == saved.manifest
