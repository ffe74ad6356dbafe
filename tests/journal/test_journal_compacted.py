"""Compacted topics: of each key the newest record stays, under its offset, and readers go on wherever they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal import compaction
from millstream.journal import format as fmt
from millstream.journal.record import Record
from millstream.storage.local import LocalFiles
from tests.journal.conftest import Disk, NewTopic
from tests.journal.test_journal_merged import publish

Row = tuple[str | None, str | None]
KEYS = st.one_of(st.none(), st.sampled_from("abcdef"))
ROWS = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.text("xyz", min_size=1, max_size=3))), max_size=60)
NOW = time.time_ns() // 1_000_000
DAY = 86_400_000


def write(path: Path, rows: Sequence[Row], timestamp: int = NOW) -> None:
    """In segments of a few records."""
    with journal.producer(path, "t", durable=False, segment_bytes=120) as out:
        for key, value in rows:
            out.send(value, key=key, timestamp=timestamp)


def everything(path: Path) -> list[Record]:
    return list(journal.read(path, "t"))


def table(records: list[Record]) -> dict[bytes | None, bytes | None]:
    """What the records come to; those without a key are rows of their own."""
    found: dict[bytes | None, bytes | None] = {}
    for record in records:
        found.pop(record.key, None)
        if record.key is not None and record.value is not None:
            found[record.key] = record.value
    return found


def keyless(records: list[Record]) -> list[Record]:
    return [record for record in records if record.key is None]


def compact_as(path: Path, tombstones: int) -> None:
    """As if the topic kept its tombstones for so long."""
    topic = import_module("millstream.journal.topics").open_topic(path, "t")
    for number in range(topic.partitions):
        compaction.compact_partition(topic.partition(number), tombstones, now=True)


@pytest.mark.parametrize("tombstones", [DAY, -DAY])
@settings(max_examples=40, deadline=None)
@given(parts=st.lists(ROWS, min_size=1, max_size=4), piece=st.sampled_from([1, 200, 1 << 20]))
def test_the_table_stays_the_same(tombstones: int, new_topic: NewTopic, parts: list[list[Row]], piece: int) -> None:
    """However often it is compacted, and into however many segments."""
    with new_topic() as disk, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "LARGEST", piece)
        plain: list[Record] = []
        for rows in parts:
            write(disk.path, rows)
            before = everything(disk.path)
            plain += [record for record in before if record.offset is not None and record.offset >= len(plain)]
            compact_as(disk.path, tombstones)
            found = everything(disk.path)
            assert table(found) == table(plain)
            assert keyless(found) == keyless(plain)
            assert set(found) <= set(plain)
            assert journal.describe(disk.path, "t").partitions[0].end == len(plain)
        for start in range(len(plain) + 1):
            rest = [record for record in found if record.offset is not None and record.offset >= start]
            assert list(journal.read(disk.path, "t", start={0: start})) == rest


def test_only_the_newest_of_each_key_stays(disk: Disk) -> None:
    write(disk.path, [("a", str(n)) for n in range(50)] + [("b", "last")])
    compact_as(disk.path, DAY)
    found = everything(disk.path)
    # The last segment is written to, and stays as it is.
    assert [record.offset for record in found] == list(range(found[0].offset or 0, 51))
    assert 40 < len(range(found[0].offset or 0)) < 50
    info = journal.describe(disk.path, "t").partitions[0]
    assert (info.start, info.end, info.segments) == (0, 51, 2)
    assert len(list(disk.folder().glob("*.seg"))) == 1
    write(disk.path, [("a", "51")])
    assert everything(disk.path)[-1].offset == 51


def test_tombstones_stay_for_their_time(disk: Disk) -> None:
    write(disk.path, [("a", "1"), ("b", "1"), ("a", None)], NOW - DAY)
    write(disk.path, [("c", "1")] * 9)
    compact_as(disk.path, 2 * DAY)
    assert [(r.key, r.value) for r in everything(disk.path)[:2]] == [(b"b", b"1"), (b"a", None)]
    write(disk.path, [("c", "1")] * 9)
    compact_as(disk.path, DAY // 2)
    assert b"a" not in {record.key for record in everything(disk.path)}


def test_a_reader_in_mid_read_goes_on(disk: Disk) -> None:
    write(disk.path, [("a", str(n)) for n in range(20)])
    with journal.Reader(disk.path, "t") as reader:
        seen = reader.poll()
        assert 0 < len(seen) < 20
        compact_as(disk.path, DAY)
        while more := reader.poll():
            seen += more
        write(disk.path, [("b", "x")] * 20)
        compact_as(disk.path, DAY)
        while more := reader.poll():
            seen += more
        assert reader.positions() == {0: 40}
    offsets = [record.offset for record in seen]
    assert offsets == sorted(set(offsets), key=lambda offset: offset or 0)
    assert table(seen) == {b"a": b"19", b"b": b"x"}


@pytest.mark.parametrize("at", range(6))
def test_a_crash_leaves_nothing_to_repair(disk: Disk, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before each step that changes something on the disk: a new file, or one that is deleted."""
    monkeypatch.setattr(compaction, "LARGEST", 300)
    rows: list[Row] = [(key, f"{key}{n}") for n in range(15) for key in "abc"]
    write(disk.path, rows)
    plain, steps = table(everything(disk.path)), iter(range(at))

    def step() -> bool:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return True

    create, delete = LocalFiles.create, LocalFiles.delete
    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "create", lambda *given: step() and create(*given))
        patch.setattr(LocalFiles, "delete", lambda *given: step() and delete(*given))
        with pytest.raises(KeyboardInterrupt):
            compact_as(disk.path, -DAY)
    assert table(everything(disk.path)) == plain
    write(disk.path, [("d", "new")])
    compact_as(disk.path, -DAY)
    assert table(everything(disk.path)) == {**plain, b"d": b"new"}
    assert {path.suffix for path in disk.folder().iterdir() if path.is_file()} == {".seg", ".cmp", ""}


def test_what_a_sink_has_published_is_left_to_its_job(disk: Disk) -> None:
    disk.produce("x", "y")
    for n in range(3):
        publish(disk, n, 2 + n, f"{n}")
    compact_as(disk.path, DAY)
    assert disk.values() == ["x", "y", "0", "1", "2"]
    assert len(list(disk.folder().glob("*.seg"))) == 3
    assert len(list(disk.folder().glob("*.cmp"))) == 1
    assert disk.values("read_uncommitted") == ["x", "y", "0", "1", "2"]
    file = disk.open_file(3)
    disk.write_open(file, "3")
    assert sorted(disk.values("read_uncommitted")) == ["0", "1", "2", "3", "x", "y"]


def test_a_merged_segment_that_comes_late_brings_nothing_back(disk: Disk) -> None:
    """A run that hung and was replaced merges what another has compacted since."""
    small = [publish(disk, n, 2 * n, f"{n}a", f"{n}b") for n in range(4)]
    content = fmt.encode_header(0, magic=fmt.WITH_GAPS) + fmt.encode_gap(3) + fmt.encode(0, None, b"1b")
    (disk.folder() / fmt.compacted_name(0, "job", 4, 1)).write_bytes(content)
    disk.merge(small[:3], 6, delete=False)
    assert disk.values() == ["1b", "2a", "2b", "3a", "3b"]


def test_a_producer_compacts_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("millstream.journal.producer"), "TRIM_EVERY", 0.0)
    journal.create(tmp_path, "t", compact=True)
    with journal.producer(tmp_path, "t", durable=False, segment_bytes=1000) as out:
        for n in range(2000):
            out.send("x" * 20, key=str(n % 10))
            if n % 10 == 0:
                out.flush()
        assert journal.describe(tmp_path, "t").partitions[0].bytes < 5000
        assert journal.compact(tmp_path, "t") == 0  # somebody writes
    assert len(table(everything(tmp_path))) == 10
    assert journal.compact(tmp_path, "t") >= 0


def test_a_topic_that_is_not_compacted(disk: Disk) -> None:
    with pytest.raises(MillstreamError, match="MS-JOURNAL-015"):
        journal.compact(disk.path, "t")


def test_no_changelog_goes_into_a_compacted_topic(tmp_path: Path) -> None:
    journal.create(tmp_path, "t", compact=True, tombstones="1 hour")
    journal.sink("t", path=str(tmp_path)).check()
    with pytest.raises(MillstreamError, match="MS-JOURNAL-016"):
        journal.sink("t", path=str(tmp_path), changelog=True).check()
