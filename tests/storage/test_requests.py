"""An epoch on S3 costs few requests: each takes time, and money."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream import journal
from servers.s3_proxy import S3Proxy

pytestmark = [pytest.mark.slow, pytest.mark.server]
EPOCHS = 10


def copying(folder: str) -> ms.Job:
    job = ms.Job("copy", checkpoint=f"{folder}/checkpoint", parallelism=1)
    path = f"{folder}/journal"
    numbers = job.stream(journal.source("numbers", path=path, max_rows_per_epoch=10), schema="n BIGINT")
    numbers.to(journal.sink("copies", path=path))
    return job


def requests(folder: str, epochs: int, proxy: S3Proxy, spark: SparkSession) -> Counter[str]:
    """The requests of a run of `epochs` epochs, by purpose."""
    with journal.producer(f"{folder}/journal", "numbers") as out:
        for n in range(epochs * 10):
            out.send({"n": n})
    proxy.clear()
    copying(folder).run(ms.available_now(), spark=spark)
    parts = {
        "offsets": "/spark/offsets",
        "commits": "/spark/commits",
        "decisions": "/decisions",
        "source": "/numbers/0",
        "sink": "/copies/0",
    }
    found: Counter[str] = Counter()
    for name, pattern in parts.items():
        found.update({f"{kind} {name}": count for kind, count in proxy.kinds(pattern).items()})
    found["all"] = len(proxy.requests())
    return found


def test_an_epoch(s3_proxy: S3Proxy, bucket_behind_proxy: str, spark: SparkSession) -> None:
    for topic in ("numbers", "copies"):
        journal.create(f"{bucket_behind_proxy}/journal", topic)
    requests(bucket_behind_proxy, 1, s3_proxy, spark)
    few, many = (requests(bucket_behind_proxy, epochs, s3_proxy, spark) for epochs in (1, 1 + EPOCHS))
    each = {name: (many[name] - few[name]) / EPOCHS for name in many}
    # What is logged is not looked for before; a task reads its segment, writes one, and one small object publishes it.
    assert each["PUT offsets"] == each["PUT commits"] == each["GET source"] == 1
    assert each["PUT sink"] == 2
    # The decision, its mark when all is published, and its end.
    assert each["PUT decisions"] == 2
    assert each["all"] <= 12
    assert {name: count for name, count in each.items() if count and "LIST" in name} == {"LIST sink": 1}
