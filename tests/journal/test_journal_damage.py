"""Torn tails are cut, corruption is an error, and a wrong record is never read."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from tests.journal.conftest import Disk

VALUES = ("first", "second", "third")


def frame_ends(values: Sequence[str] = VALUES) -> list[int]:
    ends = [fmt.HEADER_BYTES]
    for value in values:
        ends.append(ends[-1] + len(fmt.encode(0, None, value.encode())))
    return ends


@pytest.mark.parametrize("length", range(frame_ends()[-1] + 1))
def test_a_last_segment_cut_at_any_byte_keeps_exactly_its_whole_records(disk: Disk, length: int) -> None:
    zero = "zero" * 50  # fills a segment alone
    disk.produce(zero, *VALUES, segment_bytes=150)
    sealed, last = disk.segments()
    last.write_bytes(last.read_bytes()[:length])
    complete = VALUES[: sum(end <= length for end in frame_ends()[1:])]
    assert disk.values() == [zero, *complete]
    assert journal.describe(disk.path, "t").records == 1 + len(complete)
    disk.produce("next")
    assert disk.values() == [zero, *complete, "next"]
    assert disk.segments() == [sealed, last]


def test_a_cut_is_logged(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    segment.write_bytes(segment.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING, "millstream.journal"):
        disk.produce("next")
    assert "cut 30 bytes of a torn record off 00000000000000000000.seg" in caplog.text


def outcome(disk: Disk) -> list[str] | str:
    try:
        return disk.values()
    except MillstreamError as error:
        return error.code


@pytest.mark.parametrize("bit", [0, 3, 7])
def test_no_flipped_bit_makes_a_wrong_record(disk: Disk, bit: int) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    whole, ends = segment.read_bytes(), frame_ends()
    for at in range(fmt.HEADER_BYTES, len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        segment.write_bytes(damaged)
        found = outcome(disk)
        if at < ends[-2]:
            assert found == "MS-JOURNAL-003", at
        else:  # the tail's frame: torn if it still reaches the end, else an error
            assert found in (list(VALUES[:-1]), "MS-JOURNAL-003"), at


def test_no_flipped_byte_in_a_sealed_segment_is_passed_over(disk: Disk) -> None:
    disk.produce(*VALUES, "fourth", segment_bytes=frame_ends()[-1])
    sealed, _ = disk.segments()
    whole = sealed.read_bytes()
    for at in range(fmt.HEADER_BYTES, len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        sealed.write_bytes(damaged)
        assert outcome(disk) == "MS-JOURNAL-003", at
    sealed.write_bytes(whole[: frame_ends()[-2]])
    assert outcome(disk) == "MS-JOURNAL-003"
    sealed.unlink()
    assert next(journal.read(disk.path, "t")).offset == 3  # as if the beginning had been dropped


def test_corruption_is_told_with_its_place(disk: Disk) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    whole = segment.read_bytes()
    damaged = bytearray(whole)
    damaged[frame_ends()[1] + 20] ^= 1
    segment.write_bytes(damaged)
    records = journal.read(disk.path, "t")
    with pytest.raises(MillstreamError) as caught:
        list(records)
    assert caught.value.text() == (
        'MS-JOURNAL-003: topic "t", partition 0 is corrupt at offset 1, byte 47 of '
        "00000000000000000000.seg.\n"
        "  found: the record fails its check (CRC-32)\n"
        "  hint:  restore the file from a copy, or begin to read behind it."
    )
    with pytest.raises(MillstreamError) as caught, journal.producer(disk.path, "t") as out:
        out.send("x")
    assert caught.value.code == "MS-JOURNAL-003"
    segment.write_bytes(whole)
    disk.produce("next")  # the lock was let go
    assert disk.values() == [*VALUES, "next"]


def test_a_segment_of_another_version_is_refused(disk: Disk) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    whole = segment.read_bytes()
    segment.write_bytes(b"MSJ3" + whole[4:])
    assert outcome(disk) == "MS-JOURNAL-006"
    segment.write_bytes(b"ABCD" + whole[4:])
    assert outcome(disk) == "MS-JOURNAL-003"


def test_a_missing_segment_is_an_error(disk: Disk) -> None:
    disk.produce(*VALUES, segment_bytes=1)
    disk.segments()[1].unlink()
    with pytest.raises(MillstreamError) as caught:
        disk.values()
    assert caught.value.code == "MS-JOURNAL-003"
    assert caught.value.found == "the segment ends here, and the next begins at offset 2"


def test_a_log_that_begins_too_late_for_its_reader_is_an_error(disk: Disk) -> None:
    with journal.Reader(disk.path, "t") as reader:
        assert reader.poll() == []
        disk.produce(*VALUES)
        (segment,) = disk.segments()
        segment.rename(segment.with_name(f"{5:020d}.seg"))
        with pytest.raises(MillstreamError) as caught:
            reader.poll()
        assert caught.value.found == "the records 0 to 4 are missing"


def test_a_read_that_began_within_a_record_does_not_take_its_growth_for_damage(disk: Disk) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    whole = segment.read_bytes()
    segment.write_bytes(whole[: frame_ends()[1] + 12])
    records = journal.read(disk.path, "t")
    assert next(records).value == b"first"
    segment.write_bytes(whole)
    assert list(records) == []


def test_a_waiting_reader_goes_on_after_a_torn_tail_was_cut(disk: Disk) -> None:
    disk.produce(*VALUES)
    (segment,) = disk.segments()
    segment.write_bytes(segment.read_bytes()[:-3])
    with journal.Reader(disk.path, "t") as reader:
        assert [r.value for r in reader.poll()] == [b"first", b"second"]
        assert reader.poll() == []
        disk.produce("anew", "more")
        assert [(r.offset, r.value) for r in reader.poll()] == [(2, b"anew"), (3, b"more")]
