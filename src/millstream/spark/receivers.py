"""Receivers as tasks of a cluster: each is one Spark job of one task, which lasts as long as the receiver."""

from __future__ import annotations

import pickle
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import Location
from millstream.spark.executors import said_by_python
from millstream.spark.python.ship import Shipped, ship
from millstream.spark.slots import place, why_in_driver

ENDING = 10.0
"""Seconds to wait for a cancelled job: until then Spark is not free for another session."""


def why_here(spark: SparkSession) -> str | None:
    return why_in_driver(*place(spark))


class Executors:
    """Those of a session, for the receivers of one source."""

    def __init__(self, spark: SparkSession, source: str, at: Location | None) -> None:
        self._spark = spark
        self._source = source
        self._at = at
        conf = spark.sparkContext.getConf()
        self.address = conf.get("spark.driver.host") or "localhost"
        self.bound = conf.get("spark.driver.bindAddress") or self.address

    def packed(self, what: object) -> bytes:
        return pickle.dumps(Packed(ship(what, self._source, self._at)))

    def start(self, work: Callable[[], None]) -> Job:
        return Job(self._spark, f'receiver of source "{self._source}"', work)


class Packed:
    """Unpickled, it is what was shipped."""

    def __init__(self, shipped: Shipped) -> None:
        self._shipped = shipped

    def __reduce__(self) -> tuple[Callable[[Shipped], Any], tuple[Shipped]]:
        return Shipped.load, (self._shipped,)


class Job:
    """A job of one task, in a thread of the driver and a group of its own. When Spark tries the task again, nobody
    listens for it any more, and it fails at once."""

    def __init__(self, spark: SparkSession, name: str, work: Callable[[], None]) -> None:
        self.why: str | None = None
        self._context = spark.sparkContext
        self._group = f"millstream-receiver-{secrets.token_hex(4)}"
        self._name = name
        self._thread = threading.Thread(target=self._run, args=(work,), name=self._group, daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            self._context.setJobGroup(self._group, self._name)
            self._context.parallelize([0], 1).mapPartitions(doing(work)).collect()
        except Exception as error:
            self.why = said_by_python(f"{error}\n{getattr(error, '_stackTrace', '')}")

    def cancel(self) -> None:
        with suppress(Exception):  # Spark may be gone, and the job with it
            self._context.cancelJobGroup(self._group)
        self._thread.join(ENDING)


def doing(work: Callable[[], None]) -> Callable[[Iterable[int]], Iterable[int]]:
    def task(_: Iterable[int]) -> Iterable[int]:
        work()
        return []

    return task
