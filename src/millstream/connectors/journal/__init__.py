"""The journal as source and sink of jobs."""

from millstream.connectors.journal.options import JournalSink, JournalSource, sink, source

__all__ = ["JournalSink", "JournalSource", "sink", "source"]
