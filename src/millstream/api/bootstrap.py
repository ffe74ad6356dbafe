"""`ms.bootstrap`: a job that starts with state from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from millstream.api.job import Job
from millstream.errors import MillstreamError
from millstream.plan.cluster import Cluster
from millstream.plan.errors import here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runtime.savepoints.restoring import Restored


def bootstrap(
    job: Job,
    steps: Mapping[str, Any] | None = None,
    /,
    *,
    start_empty: Iterable[str] = (),
    on: Cluster | None = None,
    spark: SparkSession | None = None,
    **named: Any,
) -> Restored:
    """Creates the job's checkpoint, which must be new, with state from elsewhere: `run` then continues from there.

    State is given by step name, as keywords or in a dict: a Spark, pandas or Polars data frame, an Arrow table, or the
    path of Parquet, CSV or JSON files. A row has the key's columns, and the state's as `millstream state` shows them.
    For an aggregate you may give its results instead of its state; for a process, the columns are its state variables.
    A step that keeps several lists takes a dict of them. `start_empty`: steps over tables that may start without state.
    """
    from millstream.runtime.savepoints.bootstrapping import bootstrapped
    from millstream.runtime.savepoints.of_job import session_for
    from millstream.runtime.savepoints.restoring import Wanted

    states = {**(steps or {}), **named}
    if not states:
        raise MillstreamError(
            "MS-BOOTSTRAP-001", f'job "{job.name}" is given no state.', at=here(), hint="ms.bootstrap(job, step=frame)"
        )
    plan = job.plan()
    chosen = session_for(plan, (job.checkpoint,), job.parallelism, job._place(on), spark)
    wanted = Wanted(job.name, plan, job.checkpoint, job.parallelism)
    return bootstrapped(wanted, states, frozenset(start_empty), chosen)
