"""Delta tables."""

from millstream.connectors.delta import DeltaSink, sink

__all__ = ["DeltaSink", "sink"]
