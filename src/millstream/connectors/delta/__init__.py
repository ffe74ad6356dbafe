"""Delta tables as sinks of jobs."""

from millstream.connectors.delta.options import sink
from millstream.connectors.delta.sink import DeltaSink

__all__ = ["DeltaSink", "sink"]
