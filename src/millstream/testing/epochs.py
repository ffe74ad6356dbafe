"""What a run did, epoch by epoch: the input offsets at which each ended, the records that it published."""

from __future__ import annotations

import json
from collections import defaultdict

from millstream.journal.format import Segment
from millstream.journal.record import Record
from millstream.journal.segments import Partition, SegmentFile, Tail, chain
from millstream.journal.topics import JournalPath, open_topic
from millstream.storage import CheckpointFolder

Ends = dict[int, int]
"""Partition -> the offset after the last record that was read."""


def published(path: JournalPath, topic: str) -> dict[int, list[Record]]:
    """The records of a job's sink by epoch, each partition in its order. Not of those that are merged since: they are
    of many epochs."""
    found: dict[int, list[Record]] = defaultdict(list)
    opened = open_topic(path, topic)
    for number in range(opened.partitions):
        where = opened.partition(number)
        for segment in chain(where):
            if segment.token is not None and not segment.merged:
                _, epoch, _ = segment.token.rsplit("-", 2)
                found[int(epoch)] += records(where, segment)
    return dict(found)


def records(where: Partition, segment: Segment) -> list[Record]:
    out: list[Record] = []
    file = SegmentFile.of(where, segment, bounded=True)
    try:
        while file.read(out) is Tail.MORE:
            pass
    finally:
        file.close()
    return out


def committed(checkpoint: JournalPath) -> dict[int, list[Ends]]:
    """For each committed epoch, where each source's input ended, in the order of the plan's sources."""
    folder = CheckpointFolder.at(str(checkpoint))
    return {epoch: ends(log(folder, epoch)) for epoch in folder.committed()}


def last_read(checkpoint: JournalPath) -> int | None:
    """The last committed epoch that read something; those after it only followed time. None: there is none."""
    epochs = committed(checkpoint)
    return min((epoch for epoch, ends in epochs.items() if ends == epochs[max(epochs)]), default=None)


def log(folder: CheckpointFolder, epoch: int) -> list[str]:
    """Spark's offset log of an epoch: a version, settings, then a line per source."""
    text = folder.files.read(folder.offsets_of(epoch))
    assert text is not None
    return text.splitlines()


def ends(log: list[str]) -> list[Ends]:
    _, _, *lines = log
    return [{int(partition): end for partition, end in offsets(line).items()} for line in lines]


def watermark(checkpoint: JournalPath, epoch: int) -> int:
    """How far time had come in an epoch, in milliseconds: it stands with the settings."""
    settings = log(CheckpointFolder.at(str(checkpoint)), epoch)[1]
    return int(json.loads(settings)["batchWatermarkMs"])


def next_watermark(checkpoint: JournalPath, epoch: int) -> int:
    """How far time had come when an epoch was committed. What follows runs with it."""
    folder = CheckpointFolder.at(str(checkpoint))
    text = folder.files.read(folder.commit_of(epoch))
    assert text is not None
    return int(json.loads(text.splitlines()[1])["nextBatchWatermarkMs"])


def offsets(line: str) -> dict[str, int]:
    """A source that has read nothing yet has a dash."""
    found: dict[str, int] = {} if line.strip() in ("-", "") else json.loads(line)
    return found
