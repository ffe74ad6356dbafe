"""What real time cannot run: epochs that last longer than a sink can hold them open, sources that come in batches,
Python code where barriers cannot flow."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError
from millstream.plan.connectors import LimitsEpochs
from millstream.plan.errors import Step
from millstream.plan.modes import RealTime
from millstream.plan.node import walk
from millstream.plan.nodes import Source
from millstream.plan.python import Call, Process
from millstream.planner.stages import JobPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuse_long_epochs(plan: JobPlan, mode: RealTime) -> None:
    """No epoch would ever be committed."""
    for sink in plan.sinks:
        if isinstance(sink.options, LimitsEpochs) and mode.checkpoint_every_ms >= sink.options.longest_epoch_ms:
            raise MillstreamError(
                "MS-RUN-010",
                f'sink "{sink.name}" gives an epoch up after {sink.options.longest_epoch_ms / 1000:g} s, '
                f"and epochs are to last {mode.checkpoint_every_ms / 1000:g} s.",
                at=sink.at,
                hint="shorten checkpoint_every, or lengthen transaction_timeout",
            )


def warnings_of_session() -> list[str]:
    """What the current Spark session lacks, if there is one; this loads nothing of Spark."""
    if "pyspark.sql" not in sys.modules:
        return []
    from millstream.spark.barriers import in_explain

    why = in_explain()
    return [] if why is None else [f"warning: real time pauses between epochs: {why}"]


def why_python_cannot(plan: JobPlan, spark: SparkSession | None) -> str | None:
    """Why a job with Python code would be refused in real time; None: it would not, or it has none."""
    code = python_step(plan)
    if code is None:
        return None
    slow = slow_source(plan)
    if slow is not None:
        return f'source "{slow.name}" reads {slow.options.system}, which cannot be read in real time'
    if spark is None and "pyspark.sql" not in sys.modules:
        return None
    from millstream.spark.barriers import in_explain, pausing

    why = in_explain() if spark is None else pausing(spark)
    return None if why is None else f'step "{code.name}" runs Python code, and {why}'


def python_step(plan: JobPlan) -> Process | Call | None:
    return next((node for node in walk(plan.flow) if isinstance(node, Process | Call)), None)


def slow_source(plan: JobPlan) -> Source | None:
    return next((source for source in plan.sources if not source.options.real_time), None)


def refuse_python_that_waits(plan: JobPlan, why: str | None) -> None:
    """Where Spark itself ends epochs, rows would stay in Python until the epoch ends. `why`: the reason for that."""
    code = python_step(plan)
    if code is not None and why is not None:
        raise Step(code.name, code.at).error(
            "MS-PROCESS-008",
            "runs Python code, which needs barriers in real time, and these cannot flow.",
            found=why,
            hint="mend what was found, or run the job with ms.micro_batch()",
        )


def refuse_slow_sources(plan: JobPlan) -> None:
    """Spark reads them between epochs only."""
    slow = slow_source(plan)
    if slow is not None:
        raise MillstreamError(
            "MS-RUN-007",
            f'source "{slow.name}" reads {slow.options.system}, which cannot be read in real time.',
            at=slow.at,
            hint="run the job with ms.micro_batch()",
        )
