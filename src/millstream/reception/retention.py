"""Frees the journal of what the job has committed: whole segments, from the beginning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from millstream.journal import retention
from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.segments import Partition, SegmentFile, Tail, chain
from millstream.journal.topics import open_topic

SEGMENT_BYTES = 8 << 20
"""The size at which a segment ends and the next one begins: at most this much is kept needlessly."""
AT_ONCE = 32
"""Where every sync makes a segment, as in S3, this many are deleted at once."""


def committed_segments(folder: str, topic: str, committed: Mapping[int, int]) -> list[tuple[Partition, Segment]]:
    """Those whose records are all committed. The last of each partition stays: its name says where to go on."""
    found = []
    for number in range((there := open_topic(folder, topic)).partitions):
        where = there.partition(number)
        pairs = list(pairwise(chain(where)))
        done = [segment for segment, following in pairs if following.base <= committed.get(number, 0)]
        if len(done) >= (1 if where.files.local else AT_ONCE):
            found += [(where, segment) for segment in done]
    return found


def delete(segments: Sequence[tuple[Partition, Segment]]) -> None:
    for where, segment in segments:
        retention.delete(where, segment)


def records(where: Partition, segment: Segment) -> Iterator[Record]:
    """Of a segment that nobody writes to any more."""
    file = SegmentFile.of(where, segment, bounded=True)
    try:
        tail = Tail.MORE
        while tail is Tail.MORE:
            out: list[Record] = []
            tail = file.read(out)
            yield from out
    finally:
        file.close()


def size(folder: str, topic: str) -> int:
    """The bytes that lie there."""
    there = open_topic(folder, topic)
    wheres = [there.partition(number) for number in range(there.partitions)]
    return sum(size_of(where, segment) for where in wheres for segment in chain(where))


def size_of(where: Partition, segment: Segment) -> int:
    try:
        return retention.size_of(where, segment)
    except FileNotFoundError:  # cut meanwhile
        return 0
