"""Savepoints of a job that is not running here: they get a session, as a run does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.cluster import Cluster
from millstream.plan.modes import available_now
from millstream.planner.stages import JobPlan
from millstream.runtime.needs import addresses, jars_of, need
from millstream.runtime.savepoints.matching import Choices
from millstream.runtime.savepoints.restoring import Restored, Wanted, restore
from millstream.spark import session
from millstream.storage.files import scheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session_for(
    plan: JobPlan, places: tuple[str, ...], parallelism: int, on: Cluster, given: SparkSession | None
) -> SparkSession:
    """`places`: checkpoints and savepoints that it must reach."""
    jars = tuple(dict.fromkeys(jar for place in places for jar in jars_of(plan, place)))
    elsewhere = any(scheme(address) != "file" for place in places for address in addresses(plan, place))
    session.prepare(given, jars, on, elsewhere=elsewhere)
    return session.use(given, need(plan, available_now(), parallelism), parallelism, jars, on)


def restored(
    job: str,
    plan: JobPlan,
    checkpoint: str,
    parallelism: int,
    on: Cluster,
    given: SparkSession | None,
    savepoint: str,
    choices: Choices,
) -> Restored:
    spark = session_for(plan, (checkpoint, savepoint), parallelism, on, given)
    return restore(Wanted(job, plan, checkpoint, parallelism), savepoint, choices, spark)
