"""The journal as source and sink of jobs."""

from millstream.connectors.journal.options import sink, source
from millstream.connectors.journal.sink import JournalSink
from millstream.connectors.journal.source import JournalSource

__all__ = ["JournalSink", "JournalSource", "sink", "source"]
