"""What a topic keeps: by age and by size, whole segments, from the beginning; offsets stay as they were."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from tests.crash.process import until
from tests.journal.conftest import Disk
from tests.journal.test_journal_merged import publish


def fill(path: Path, count: int, topic: str = "t") -> None:
    with journal.producer(path, topic, segment_bytes=1000) as out:
        for n in range(count):
            out.send(f"{n:03d}" + "x" * 100)


def numbers(path: Path) -> list[int]:
    return [int((record.value or b"")[:3]) for record in journal.read(path, "t")]


def test_by_size(tmp_path: Path) -> None:
    journal.create(tmp_path, "t", keep_bytes=5000)
    fill(tmp_path, 200)
    assert journal.trim(tmp_path, "t") > 0
    found = journal.describe(tmp_path, "t").partitions[0]
    assert 3000 < found.bytes <= 5000
    assert found.end == 200
    assert numbers(tmp_path) == list(range(found.start, 200))
    assert journal.trim(tmp_path, "t") == 0


def test_by_age(tmp_path: Path) -> None:
    journal.create(tmp_path, "t", keep="1 ms")
    fill(tmp_path, 50)
    until(lambda: (journal.trim(tmp_path, "t"), journal.describe(tmp_path, "t").partitions[0].segments)[1] == 1)
    fill(tmp_path, 1)
    assert journal.describe(tmp_path, "t").partitions[0].end == 51
    journal.create(tmp_path, "kept", keep="1 hour")
    fill(tmp_path, 50, "kept")
    assert journal.trim(tmp_path, "kept") == 0


def test_a_producer_trims_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Under its name in the package is a function.
    monkeypatch.setattr(import_module("millstream.journal.producer"), "TRIM_EVERY", 0.0)
    journal.create(tmp_path, "t", keep_bytes=5000)
    with journal.producer(tmp_path, "t", segment_bytes=1000) as out:
        for n in range(500):
            out.send(f"{n:03d}" + "x" * 100)
            out.flush()
            if n % 50 == 0:
                assert journal.describe(tmp_path, "t").partitions[0].bytes <= 6000
        assert journal.trim(tmp_path, "t") == 0  # it has a writer
    assert numbers(tmp_path)[-1] == 499


def test_a_reader_that_is_too_late_is_told(tmp_path: Path) -> None:
    journal.create(tmp_path, "t", keep_bytes=2000)
    fill(tmp_path, 100)
    journal.trim(tmp_path, "t")
    with pytest.raises(MillstreamError, match="MS-JOURNAL-004"):
        list(journal.read(tmp_path, "t", start={0: 0}))


def test_what_a_merged_segment_covers_does_not_come_back(disk: Disk) -> None:
    small = [publish(disk, n, 2 * n, f"{n}a", f"{n}b") for n in range(6)]
    disk.merge(small[:4], 8, delete=False)
    description = disk.path / "t" / "topic.json"
    description.write_text('{"format": 1, "partitions": 1, "keep_bytes": 1}\n')
    assert journal.trim(disk.path, "t") == 2
    assert disk.values() == ["5a", "5b"]


def test_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(MillstreamError, match="MS-JOURNAL-007"):
        journal.create(tmp_path, "t", keep="0 seconds")
