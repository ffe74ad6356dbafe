"""A sink that takes every row and keeps none: to measure a job without a system behind it."""

from millstream.connectors.blackhole.options import sink
from millstream.connectors.blackhole.sink import BlackholeSink

__all__ = ["BlackholeSink", "sink"]
