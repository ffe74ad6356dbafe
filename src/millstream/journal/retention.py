"""Deletes what a topic need not keep: whole segments, from the beginning of a partition. The last one stays."""

from __future__ import annotations

import os
import time
from itertools import pairwise

from millstream.journal import format as fmt
from millstream.journal import lock
from millstream.journal.format import Segment
from millstream.journal.segments import Partition, SegmentFile
from millstream.journal.topics import JournalPath, Keep, open_topic


def trim(path: JournalPath, topic: str) -> int:
    """Deletes now what the topic's writer would delete later. Skips partitions that have a writer. Returns how many
    segments are gone."""
    found = open_topic(path, topic)
    partitions = [found.partition(number) for number in range(found.partitions)]
    return sum(trim_partition(where, found.keep) for where in partitions if not lock.is_held(where))


def trim_partition(where: Partition, keep: Keep) -> int:
    everything = segments(where)
    log = fmt.uncovered(everything)
    sizes = {segment: size_of(where, segment) for segment in log} if keep.bytes is not None else {}
    left, gone = sum(sizes.values()), 0
    for first, following in pairwise(log):
        over = keep.bytes is not None and left > keep.bytes
        if not over and not is_old(where, following, keep):
            break
        # What a merged segment covers goes first: without it, these would be part of the log again.
        covered = [one for one in everything if one is not first and one.base < following.base]
        for segment in (*covered, first):
            delete(where, segment)
        everything = [one for one in everything if one.base >= following.base]
        left -= sizes.get(first, 0)
        gone += 1
    return gone


def segments(where: Partition) -> list[Segment]:
    """All segments in the folder, in the order of the log."""
    parsed = (fmt.parse_segment(entry.name, entry.size) for entry in where.files.entries(where.folder))
    return sorted((segment for segment in parsed if segment is not None), key=lambda segment: segment.order)


def is_old(where: Partition, segment: Segment, keep: Keep) -> bool:
    """Whether everything before a segment is too old: it was begun when they ended."""
    if keep.milliseconds is None:
        return False
    file = SegmentFile.of(where, segment)
    try:
        created = file.created()
    finally:
        file.close()
    return created is not None and time.time_ns() // 1_000_000 - created > keep.milliseconds


def size_of(where: Partition, segment: Segment) -> int:
    return os.stat(f"{where.folder}/{segment.path}").st_size if segment.size is None else segment.size


def delete(where: Partition, segment: Segment) -> None:
    """An object that nothing names would stay forever: what names it comes last."""
    where.files.delete(f"{where.folder}/{segment.path}")
    if segment.path != segment.name:
        where.files.delete(f"{where.folder}/{segment.name}")
