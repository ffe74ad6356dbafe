"""A full disk: it is reported, nothing acknowledged is lost, and writing continues when there is space again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from millstream import journal
from millstream.errors import MillstreamError
from millstream.journal import format as fmt
from tests.journal.conftest import Disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skipped where it may not be mounted."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small file system")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def values(path: Path) -> list[bytes | None]:
    return [r.value for r in journal.read(path, "t")]


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(MillstreamError) as caught:
        call()
    assert caught.value.code == "MS-JOURNAL-009"
    assert caught.value.message == 'the disk is full: topic "t", partition 0 cannot be written.'


def record(i: int) -> bytes:
    return b"%d " % i + b"." * (900 + i % 100)


def fill(out: journal.Producer) -> tuple[int, int]:
    """Sends until the disk is full: how many were taken, and how many flushed."""
    sent = acknowledged = 0
    while True:
        try:
            out.send(record(sent))
            sent += 1
            if sent % 7 == 0:
                out.flush()
                acknowledged = sent
        except MillstreamError:
            refused(out.flush)
            return sent, acknowledged


@pytest.mark.parametrize("segment_bytes", [10_000, 1 << 20])
def test_a_disk_that_is_really_full(small_disk: Path, segment_bytes: int) -> None:
    journal.create(small_disk, "t")
    (small_disk / "ballast").write_bytes(bytes(80_000))
    with journal.producer(small_disk, "t", segment_bytes=segment_bytes) as out:
        sent, acknowledged = fill(out)
        found = values(small_disk)  # and no torn frame stays behind
        assert found == [record(i) for i in range(len(found))]
        assert acknowledged <= len(found) <= sent
        (small_disk / "ballast").unlink()
        out.send(record(sent))
        out.flush()
        assert values(small_disk) == [record(i) for i in range(sent + 1)]


def fail_once(monkeypatch: pytest.MonkeyPatch, name: str, code: int, after: int = 0) -> None:
    """The next call of os.<name> fails; a write has then written `after` bytes, as a full disk does."""
    real = getattr(os, name)

    def call(fd: int, *arguments: Any) -> Any:
        monkeypatch.setattr(os, name, failing if after and name == "pwrite" else real)
        if after and name == "pwrite":
            data, at = arguments
            return real(fd, data[:after], at)
        raise OSError(code, os.strerror(code))

    def failing(fd: int, *arguments: Any) -> NoReturn:
        monkeypatch.setattr(os, name, real)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("written", [0, 1, 8, 30, 31, 32, 61, 62, 63, 92])
def test_a_write_that_fails_half_way_is_cut_to_whole_records(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send(b"flushed")
        out.flush()
        for value in (b"10000", b"20000", b"30000"):  # frames of 31 bytes
            out.send(value)
        fail_once(monkeypatch, "pwrite", errno.ENOSPC, after=written)
        refused(out.flush)
        assert values(disk.path) == [b"flushed", b"10000", b"20000"][: 1 + written // 31]
        assert disk.segments()[0].stat().st_size == 16 + 33 + 31 * (written // 31)
        assert out.send(b"40000") == (0, 4)
    assert values(disk.path) == [b"flushed", b"10000", b"20000", b"30000", b"40000"]


def test_a_record_whose_sending_failed_was_not_taken(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    with journal.producer(disk.path, "t", segment_bytes=100) as out:
        out.send("a" * 50)
        fail_once(monkeypatch, "pwrite", errno.EDQUOT)
        refused(lambda: out.send("b" * 50))
        assert out.send("c" * 50) == (0, 1)
    assert values(disk.path) == [b"a" * 50, b"c" * 50]


@pytest.mark.parametrize("call", ["rename", "fsync"])
def test_a_segment_that_cannot_be_begun_is_begun_later(disk: Disk, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send("a")
        fail_once(monkeypatch, call, errno.ENOSPC)
        refused(out.flush)
        out.flush()
        assert values(disk.path) == [b"a"]
    assert [p.suffix for p in disk.folder().iterdir() if p.name.startswith("0")] == [".seg"]


def test_what_an_fsync_lost_is_written_again(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed fsync the system forgets that pages are dirty, so they must be handed over again."""
    with journal.producer(disk.path, "t") as out:
        out.send("a")
        out.flush()
        out.send("b", timestamp=0)
        fail_once(monkeypatch, "fsync", errno.ENOSPC)
        refused(out.flush)
        written: list[bytes] = []
        real = os.pwrite

        def pwrite(fd: int, data: bytes, at: int) -> int:
            written.append(bytes(data))
            return real(fd, data, at)

        monkeypatch.setattr(os, "pwrite", pwrite)
        out.flush()
        assert written == [fmt.encode(0, None, b"b")]
        out.flush()
        assert len(written) == 1
    assert values(disk.path) == [b"a", b"b"]


def test_flush_syncs_the_file_and_its_name(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a machine crash could lose the whole segment."""
    synced: list[int] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with journal.producer(disk.path, "t") as out:
        out.send("a")
        out.flush()
        (segment,) = disk.segments()
        assert synced == [segment.stat().st_ino, disk.folder().stat().st_ino]
        out.flush()  # nothing new
        assert len(synced) == 2
        out.send("b")
        out.flush()
        assert synced[2:] == [segment.stat().st_ino]


def test_another_failure_is_not_called_a_full_disk(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    with journal.producer(disk.path, "t") as out:
        out.send("a")
        fail_once(monkeypatch, "pwrite", errno.EIO)
        with pytest.raises(OSError, match="Input/output error"):
            out.flush()
    assert values(disk.path) == [b"a"]


def test_close_lets_go_even_if_it_cannot_flush(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    out = journal.producer(disk.path, "t")
    out.send("a")
    fail_once(monkeypatch, "pwrite", errno.ENOSPC)
    refused(out.close)
    disk.produce("b")
    assert values(disk.path) == [b"b"]
