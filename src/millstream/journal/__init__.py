"""The journal: an embedded, durable, partitioned log in a folder."""

from millstream.connectors.journal import JournalSink, JournalSource, sink, source
from millstream.journal.compaction import compact
from millstream.journal.producer import Producer, producer
from millstream.journal.reader import Reader, read
from millstream.journal.record import Record
from millstream.journal.retention import trim
from millstream.journal.topics import PartitionInfo, TopicInfo, create, describe, topics

__all__ = [
    "JournalSink",
    "JournalSource",
    "PartitionInfo",
    "Producer",
    "Reader",
    "Record",
    "TopicInfo",
    "compact",
    "create",
    "describe",
    "producer",
    "read",
    "sink",
    "source",
    "topics",
    "trim",
]
