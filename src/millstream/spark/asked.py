"""How many executors to ask for: YARN and Kubernetes give that number, a standalone cluster all that it has."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError
from millstream.plan.cluster import by_number
from millstream.plan.errors import here
from millstream.spark.kubernetes import SCHEME
from millstream.spark.slots import Need, lacking, local, needed

INSTANCES, CORES, CPUS = "spark.executor.instances", "spark.executor.cores", "spark.task.cpus"
DYNAMIC, LEAST = "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.minExecutors"
RECOVERY = "spark.kubernetes.allocation.recoveryMode.enabled"
"""After a pod is killed, Spark assumes a lack of memory and gives each new pod a single slot. Real time, whose tasks
all run at once, would wait for the others forever."""
SPARKS_OWN = 2
"""If no number is set."""


def asked(master: str, known: Mapping[str, str], need: Need, parallelism: int) -> dict[str, str]:
    """Enough for a slot for each task that runs at once, unless a number is set. `known`: by settings."""
    if not by_number(master):
        return {}
    whole = {RECOVERY: "false"} if need.all_at_once and master.startswith(SCHEME) and RECOVERY not in known else {}
    return {**executors(known, need.at(master, known), parallelism), **whole}


def executors(known: Mapping[str, str], need: Need, parallelism: int) -> dict[str, str]:
    slots = need.slots if need.all_at_once else parallelism
    wanted = -(-(slots + need.receivers) // slots_each(known))
    if known.get(DYNAMIC) == "true":
        # Spark would ask for more when tasks wait; in real time they wait until there are enough.
        return {LEAST: str(max(wanted, int(known.get(LEAST, "0"))))}
    if INSTANCES not in known:
        return {INSTANCES: str(wanted)}
    if int(known[INSTANCES]) * slots_each(known) < need.least:
        raise MillstreamError(
            "MS-CLUSTER-014",
            f"{need.told}, and the settings ask for fewer.",
            at=here(),
            found=f"{INSTANCES} {known[INSTANCES]}, each with {slots_each(known)}",
            hint=f"leave {INSTANCES} out, or ask for {wanted}; or lower parallelism",
        )
    return {}


def slots_each(known: Mapping[str, str]) -> int:
    """Of one executor."""
    return max(1, int(known.get(CORES, "1")) // int(known.get(CPUS, "1")))


def short_for_good(spark: SparkSession, need: Need) -> bool:
    """Whether a session has fewer slots than a run needs, and would never get more."""
    if not lacking(spark, need):
        return False
    if local(spark):
        return True
    known = dict(spark.sparkContext.getConf().getAll())
    if not by_number(str(spark.sparkContext.master)) or known.get(DYNAMIC) == "true":
        return False
    return int(known.get(INSTANCES, SPARKS_OWN)) * slots_each(known) < needed(spark, need).least
