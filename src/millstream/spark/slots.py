"""Task slots: how many tasks Spark can run at once, which on a cluster is known when executors have registered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.cluster import is_local

MORE = {
    "yarn": "make room in the queue, or ask for smaller executors (spark.executor.memory) or less parallelism; "
    "`yarn application -list` shows who holds what",
    "k8s": "`kubectl get pods -l spark-role=executor` and `kubectl describe pod` show what the pods wait for: nodes "
    "with room, an image that can be pulled, leave to make them",
    "spark": "add workers, free those that other applications hold, or lower parallelism",
}
"""How to get more slots from a cluster."""
LONGER = 'a cluster that is slow to give them can be waited for longer: ms.cluster(slots_within="5 minutes")'
RECEIVERS = "spark.millstream.receivers"
"""The setting of Spark's that says where the receivers of queues are: `driver`, or else `executors`."""
FEWER = f"receivers in the driver need none: {RECEIVERS}=driver"
ENCRYPTED = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")
OFTEN = 0.1
"""Seconds between two looks."""


@dataclass(frozen=True)
class Need:
    """How many slots a run needs. `why`: in real time, which tasks they are for, as all of them run at once.
    `receivers`: on a cluster, these have slots of their own, in every mode."""

    slots: int
    why: str | None = None
    receivers: int = 0

    @property
    def all_at_once(self) -> bool:
        return self.why is not None

    @property
    def least(self) -> int:
        """So many there must be. Micro-batches and batch make do with one, beside the receivers."""
        return (self.slots if self.all_at_once else 1) + self.receivers

    def at(self, master: str, known: Mapping[str, str]) -> Need:
        """What it is there. `known`: by settings."""
        return self if why_in_driver(master, known) is None else replace(self, receivers=0)

    @property
    def told(self) -> str:
        """As errors say it."""
        receivers = f", {self.receivers} for receivers" if self.receivers else ""
        if self.why is not None:
            return f"real time needs {self.least} task slots at once ({self.why}{receivers})"
        if not receivers:
            return "a job needs a task slot"
        return f"a job needs {self.least} task slots at once (1 for rows{receivers})"


@dataclass(frozen=True)
class Executor:
    host: str
    slots: int


def local(spark: SparkSession) -> bool:
    return is_local(spark.sparkContext.master)


def count(spark: SparkSession) -> int:
    """Those that Spark would fill now. What it calls its default parallelism is another number, if it was set; and
    on Kubernetes an executor may take fewer tasks than it says."""
    if local(spark):
        return int(spark.sparkContext.defaultParallelism)
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def executors(spark: SparkSession) -> list[Executor]:
    """Those of a cluster that have registered and were not lost since."""
    listed: Any = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    found = (listed.apply(i) for i in range(listed.size()))
    return [Executor(str(one.hostPort()), int(one.maxTasks())) for one in found if one.id() != "driver"]


def needed(spark: SparkSession, need: Need) -> Need:
    return need.at(*place(spark))


def place(spark: SparkSession) -> tuple[str, dict[str, str]]:
    """Its master and settings."""
    return str(spark.sparkContext.master), dict(spark.sparkContext.getConf().getAll())


def why_in_driver(master: str, known: Mapping[str, str]) -> str | None:
    """Why receivers are threads of the driver, and no tasks of the cluster; None: they are tasks."""
    if is_local(master):
        return "the master is local"
    if known.get(RECEIVERS) == "driver":
        return f"{RECEIVERS} says so"
    encrypted = next((name for name in ENCRYPTED if known.get(name, "").strip().lower() == "true"), None)
    return f"what they send would not be encrypted, and {encrypted} wants that" if encrypted else None


def lacking(spark: SparkSession, need: Need) -> bool:
    """Whether there are fewer than a run needs."""
    return count(spark) < needed(spark, need).least


def wait_for(spark: SparkSession, need: Need, seconds: float) -> None:
    """Waits until a cluster has given enough of them; a local session never gets more."""
    deadline = time.monotonic() + (0 if local(spark) else seconds)
    while lacking(spark, need):
        if time.monotonic() >= deadline:
            raise too_few(spark, need, seconds)
        time.sleep(OFTEN)


def kind(master: str) -> str:
    found = master.partition(":")[0]
    return found if found in MORE else "spark"


def too_few(spark: SparkSession, need: Need, seconds: float) -> MillstreamError:
    need = needed(spark, need)
    if local(spark):
        there, found = f"and Spark has {count(spark)}", None
        hint = f'make the session with .master("local[{need.slots}]"), or lower parallelism'
    else:
        given = executors(spark)
        within = f" within {seconds:g} s" if seconds else ""
        there = f"and {spark.sparkContext.master} has given {count(spark)}{within}"
        found = "executors: " + (", ".join(f"{one.host} with {one.slots}" for one in given) or "none")
        fewer = f"; {FEWER}" if need.receivers else ""
        hint = f"{MORE[kind(str(spark.sparkContext.master))]}; {LONGER}{fewer}"
    return MillstreamError("MS-RUN-003", f"{need.told}, {there}.", found=found, hint=hint)
