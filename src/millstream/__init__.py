"""Millstream: Flink's model and guarantees on Spark, in Python."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from millstream.api.bootstrap import bootstrap
from millstream.api.job import Job
from millstream.api.keyed import KeyedStream, Processed
from millstream.api.process import Process
from millstream.api.relation import GroupedTable, Relation, Stream, Table
from millstream.api.state import ListState, MapState, ValueState
from millstream.api.static import Static
from millstream.api.uncaught import install
from millstream.errors import Location, MillstreamError
from millstream.plan.checkpoints import Checkpoints, checkpoints
from millstream.plan.cluster import Cluster, cluster
from millstream.plan.keyed_batch import KeyedBatch
from millstream.plan.modes import Mode, available_now, batch, micro_batch, processing_time, real_time
from millstream.plan.restarts import exponential_delay, failure_rate, fixed_delay, no_restart
from millstream.plan.windows import hopping, session, sliding, tumbling

__all__ = [
    "Checkpoints",
    "Cluster",
    "GroupedTable",
    "Job",
    "KeyedBatch",
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
    "bootstrap",
    "checkpoints",
    "cluster",
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
__version__ = version("millstream")

install()

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A connector of another package: `from millstream import NAME`."""
        from millstream.connectors.registry import connector, names

        if not name.startswith("_") and name in names():
            return connector(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
