"""What real time cannot run: epochs that last longer than a sink can hold them open, sources that come in batches."""

from __future__ import annotations

import sys

from millstream.errors import MillstreamError
from millstream.plan.connectors import LimitsEpochs
from millstream.plan.modes import RealTime
from millstream.planner.stages import JobPlan


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
    """What the Spark session that is there lacks, if there is one: nothing of Spark is loaded for it."""
    if "pyspark.sql" not in sys.modules:
        return []
    from millstream.spark.barriers import in_explain

    why = in_explain()
    return [] if why is None else [f"warning: real time pauses between epochs: {why}"]


def refuse_slow_sources(plan: JobPlan) -> None:
    """Spark reads them between epochs only."""
    slow = next((source for source in plan.sources if not source.options.real_time), None)
    if slow is not None:
        raise MillstreamError(
            "MS-RUN-007",
            f'source "{slow.name}" reads {slow.options.system}, which cannot be read in real time.',
            at=slow.at,
            hint="run the job with ms.micro_batch()",
        )
