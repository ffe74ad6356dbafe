"""How and where a job runs, and the Spark session for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.plan.checkpoints import DEFAULT, Checkpoints
from millstream.plan.cluster import Cluster
from millstream.plan.modes import Mode
from millstream.planner.stages import JobPlan
from millstream.runtime.needs import addresses, jars_of
from millstream.runtime.shared_disk import refuse_local_disks
from millstream.spark import session
from millstream.spark.executors import check_executors
from millstream.spark.slots import Need
from millstream.storage.files import scheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Setting:
    """How and where a job runs."""

    mode: Mode
    checkpoint: str
    parallelism: int
    spark: SparkSession | None
    on: Cluster = session.HERE
    checkpoints: Checkpoints = DEFAULT


def prepare(job: str, plan: JobPlan, setting: Setting) -> None:
    """Brings what the job needs to Spark's class path: it asks its sources about themselves before it has a session."""
    checkpoint, on = setting.checkpoint, setting.on
    if on.master is not None:
        refuse_local_disks(job, plan, checkpoint, on, on.master)
    elsewhere = any(scheme(address) != "file" for address in addresses(plan, checkpoint))
    session.prepare(setting.spark, jars_of(plan, checkpoint), on, elsewhere=elsewhere)


def session_for(job: str, plan: JobPlan, setting: Setting, need: Need, patience: float | None) -> SparkSession:
    """Where the job runs, with the slots that it needs; what cannot run there is refused.

    `patience`: how many seconds to wait for slots, if not as long as `ms.cluster` says.
    """
    for sink in plan.sinks:
        sink.options.check()
    jars = jars_of(plan, setting.checkpoint)
    spark = session.use(setting.spark, need, setting.parallelism, jars, setting.on, patience)
    refuse_local_disks(job, plan, setting.checkpoint, setting.on, spark.sparkContext.master)
    check_executors(plan, spark, need)
    return spark
