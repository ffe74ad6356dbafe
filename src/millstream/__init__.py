"""Millstream: Flink's model and guarantees on Spark, in Python."""

from millstream.api.job import Job
from millstream.api.keyed import KeyedStream, Processed
from millstream.api.process import Process
from millstream.api.relation import GroupedTable, Relation, Static, Stream, Table
from millstream.api.state import ListState, MapState, ValueState
from millstream.errors import Location, MillstreamError
from millstream.plan.modes import Mode, available_now, batch, micro_batch, processing_time, real_time
from millstream.plan.restarts import exponential_delay, failure_rate, fixed_delay, no_restart
from millstream.plan.windows import hopping, session, sliding, tumbling

__all__ = [
    "GroupedTable",
    "Job",
    "KeyedStream",
    "ListState",
    "Location",
    "MapState",
    "MillstreamError",
    "Mode",
    "Process",
    "Processed",
    "Relation",
    "Static",
    "Stream",
    "Table",
    "ValueState",
    "available_now",
    "batch",
    "exponential_delay",
    "failure_rate",
    "fixed_delay",
    "hopping",
    "micro_batch",
    "no_restart",
    "processing_time",
    "real_time",
    "session",
    "sliding",
    "tumbling",
]
__version__ = "0.1.0"
