"""Segments of a job's sink that were merged: every reader continues as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from tests.journal.conftest import Disk


def publish(disk: Disk, epoch: int, base: int, *values: str) -> Path:
    file = disk.open_file(epoch)
    disk.write_open(file, *values)
    return disk.publish(file, base)


@pytest.fixture
def small(disk: Disk) -> list[Path]:
    """Six segments of two records each."""
    return [publish(disk, n, 2 * n, f"{n}a", f"{n}b") for n in range(6)]


EVERY = [f"{n}{part}" for n in range(6) for part in "ab"]


def values(records: list[journal.Record]) -> list[str]:
    return [(record.value or b"").decode() for record in records]


def test_a_merged_segment_stands_for_those_that_are_still_there(disk: Disk, small: list[Path]) -> None:
    disk.merge(small[:4], 8, delete=False)
    assert disk.values() == EVERY
    assert [record.offset for record in journal.read(disk.path, "t")] == list(range(12))
    assert journal.describe(disk.path, "t").partitions[0].segments == 3
    disk.merge([*small[:5]], 10, delete=False)
    assert disk.values() == EVERY


@pytest.mark.parametrize("start", range(13))
def test_reading_from_any_offset(disk: Disk, small: list[Path], start: int) -> None:
    disk.merge(small[1:4], 8)
    found = list(journal.read(disk.path, "t", start={0: start}))
    assert values(found) == EVERY[start:]
    assert [record.offset for record in found] == list(range(start, 12))


def test_a_reader_in_mid_read_goes_on(disk: Disk, small: list[Path]) -> None:
    """Wherever it is when its segment, and those around it, are gone."""
    with journal.Reader(disk.path, "t") as reader:
        seen = values(reader.poll())
        disk.merge(small[:5], 10)
        while more := reader.poll():
            seen += values(more)
        publish(disk, 6, 12, "6a")
        assert [*seen, *values(reader.poll())] == [*EVERY, "6a"]
        disk.merge(disk.segments(), 13)
        publish(disk, 7, 13, "7a")
        assert values(reader.poll()) == ["7a"]
        assert reader.positions() == {0: 14}


def test_a_reader_that_has_listed_and_not_opened(disk: Disk, small: list[Path]) -> None:
    records = journal.read(disk.path, "t")
    first = next(records)
    disk.merge(small, 12)
    assert values([first, *records]) == EVERY


def test_merged_ones_that_overlap(disk: Disk, small: list[Path]) -> None:
    """Two runs that do not know of each other may merge different stretches."""
    disk.merge(small[:3], 6, delete=False)
    disk.merge(small[1:5], 10, delete=False)
    for segment in small[:5]:
        segment.unlink()
    assert disk.values() == EVERY


def test_a_producer_goes_on_behind_it(disk: Disk, small: list[Path]) -> None:
    disk.merge(small, 12)
    disk.produce("x")
    assert disk.values() == [*EVERY, "x"]


def test_a_gap_is_still_found(disk: Disk, small: list[Path]) -> None:
    disk.merge(small[:3], 6)
    small[3].unlink()
    with pytest.raises(MillstreamError) as caught:
        disk.values()
    assert caught.value.code == "MS-JOURNAL-003"
