"""The Spark session: made with all that Millstream needs, or checked if the user brings one."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.cluster import SHOWS_ROWS, Cluster, connect, is_local
from millstream.plan.connectors import Jars
from millstream.spark import ahead, barriers, files, flow, jvm, loaded, where
from millstream.spark.asked import asked, short_for_good
from millstream.spark.launch import launch, own_interrupts, quiet
from millstream.spark.slots import Need, too_few, wait_for
from millstream.spark.where import MADE, OURS, REQUIRED, use_python
from millstream.storage import remote

ROWS_ARE_COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"

CHOSEN = {
    # To count a store's rows, Spark reads each one before it writes it: a good part of what state costs.
    ROWS_ARE_COUNTED: "false",
    SHOWS_ROWS: "false",
    **barriers.SETTINGS,
    **flow.SETTINGS,
}
"""Defaults for our queries, unless the session says otherwise."""

HERE = Cluster()
"""No choice of where: the current session, what spark-submit says, or this machine."""


def prepare(given: SparkSession | None, jars: tuple[Jars, ...], on: Cluster = HERE, *, elsewhere: bool = False) -> None:
    """Brings what connectors need to Spark's class path: a job asks them about their topics before it has a session.

    `elsewhere`: whether it is on storages that are reached through Spark's JVM.
    """
    refuse_connect(given)
    remote.through(files.bridge)
    spark = given or SparkSession.getActiveSession()
    if given is None and (spark is None or not where.fits(spark, on)):
        ahead.check(on)
    if not jars and not elsewhere:
        return
    if spark is None:
        launch(where.at_launch(on, jars))
    else:
        loaded.add(spark, jars, is_ours(spark))


def use(
    given: SparkSession | None,
    need: Need,
    parallelism: int,
    jars: tuple[Jars, ...] = (),
    on: Cluster = HERE,
    patience: float | None = None,
) -> SparkSession:
    """The session to run in: the user's, the current one, or a new one. Settings are the run's own.

    `patience`: how many seconds to wait for a cluster's slots, if not as long as `ms.cluster` says.
    """
    refuse_connect(given)
    spark = found(given, on, need) or made(on, need, parallelism, jars)
    use_python(spark)
    loaded.check(spark)
    loaded.check_launched(spark, tuple(wanted for wanted in jars if need.all_at_once or wanted.set.from_start))
    if is_ours(spark) and short_for_good(spark, need):
        raise others_run(spark, need)
    wait_for(spark, need, on.slots_within_ms / 1000 if patience is None else patience)
    jvm.named("millstream.journal.HadoopSettings").forgetOrigins(spark.sparkContext._jsc.sc().hadoopConfiguration())
    own = spark.newSession()
    for name, value in {**REQUIRED, "spark.sql.shuffle.partitions": str(parallelism)}.items():
        own.conf.set(name, value)
    for name, value in CHOSEN.items():
        own.conf.set(name, spark.conf.get(name, value) or value)
    jvm.named("millstream.rules.Rules").into(own._jsparkSession)
    return own


def found(given: SparkSession | None, on: Cluster, need: Need) -> SparkSession | None:
    """The current session. One that Millstream made is stopped and replaced if it does not fit."""
    if given is not None:
        if on.master is not None:
            raise elsewhere(given, on, "leave out spark= or on=")
        return given
    spark = SparkSession.getActiveSession() or ended()
    if spark is None:
        return None
    if not alive(spark) and is_ours(spark):
        spark.stop()
        return None
    fits = where.fits(spark, on)
    if fits and not short_for_good(spark, need):
        return spark
    if replaceable(spark):
        spark.stop()
        return None
    if not fits:
        raise elsewhere(spark, on, "stop that session first: spark.stop()")
    return spark


def ended() -> SparkSession | None:
    """A session whose Spark has ended by itself: it is no longer active, but prevents a new one."""
    last = SparkSession._instantiatedSession
    return last if last is not None and last.sparkContext._jsc is not None and not alive(last) else None


def elsewhere(spark: SparkSession, on: Cluster, hint: str) -> MillstreamError:
    there = spark.sparkContext.master
    return MillstreamError(
        "MS-CLUSTER-002",
        f"the job is to run on {on.master or there}, and the session that is there, on {there}, was made otherwise.",
        hint=hint,
    )


def alive(spark: SparkSession) -> bool:
    """Whether the session's Spark is still alive: it ends when its cluster gives it up."""
    context = spark.sparkContext._jsc
    return context is not None and not context.sc().isStopped()


def there() -> SparkSession | None:
    """The session that is active, if it is alive."""
    spark = SparkSession.getActiveSession()
    return spark if spark is not None and alive(spark) else None


def is_ours(spark: SparkSession) -> bool:
    return spark.sparkContext.getConf().get(MADE) is not None


def replaceable(spark: SparkSession) -> bool:
    """Whether Millstream may replace it, and nothing runs in it."""
    return is_ours(spark) and not running(spark)


def running(spark: SparkSession) -> bool:
    """Whether a query or a job runs in this or any other session of the same Spark."""
    queries = spark._jsparkSession.sharedState().activeStreamingQueries()
    return not queries.isEmpty() or bool(spark.sparkContext.statusTracker().getActiveJobsIds())


def others_run(spark: SparkSession, need: Need) -> MillstreamError:
    hint = "Spark is started again with enough of them when no other job runs in it: stop the others first"
    error = too_few(spark, need, 0)
    return MillstreamError(error.code, error.message, hint=hint)


def make(slots: int, parallelism: int, extra: dict[str, str], jars: tuple[Jars, ...] = ()) -> SparkSession:
    """A session on this machine with a task slot for everything that must run at once."""
    launch(where.at_launch(HERE, jars, extra))
    return build({**where.settings(f"local[{slots}]", HERE, parallelism, jars), **extra})


def made(on: Cluster, need: Need, parallelism: int, jars: tuple[Jars, ...]) -> SparkSession:
    """On the master that was chosen, or that spark-submit names, or else on this machine."""
    launch(where.at_launch(on, jars))
    master = on.master or where.submitted() or f"local[{need.slots}]"
    known = {**where.said(), **on.settings}
    settings = {**asked(master, known, need, parallelism), **where.settings(master, on, parallelism, jars), **OURS}
    try:
        return build(settings)
    except Exception as error:
        if is_local(master):
            raise
        raise MillstreamError(
            "MS-CLUSTER-008",
            f"the Spark master {master} took no job from here.",
            found=reason(error),
            hint="is it running, of Spark 4.3, and can its machines reach this one? spark.driver.host names it to them",
        ) from error


def reason(error: Exception) -> str | None:
    """The first cause, as far as Java tells: it is the last one that it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("Caused by: ", ": "))] or lines[:1]
    return causes[-1].removeprefix("Caused by: ").removeprefix(": ")[:300] if causes else None


def build(settings: dict[str, str]) -> SparkSession:
    quiet()
    where.set_python()
    where.add_jars(settings)
    with own_interrupts():
        spark = SparkSession.builder.config(map={**settings}).getOrCreate()
    use_python(spark)
    return spark


def refuse_connect(given: Any) -> None:
    """Refuses a session of Spark Connect, and an environment in which pyspark would make one."""
    if given is not None and type(given).__module__.startswith("pyspark.sql.connect"):
        raise connect("the session")
    named = where.remote()
    if given is None and named is not None:
        raise connect(named)
