"""Segments by `struct` alone, straight from FORMAT.md: shares code with neither implementation."""

from __future__ import annotations

import json
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Record:
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int = 0


def make_topic(journal: Path, topic: str, partitions: int = 1) -> Path:
    folder = journal / topic
    for partition in range(partitions):
        (folder / str(partition)).mkdir(parents=True)
    (folder / "topic.json").write_text(json.dumps({"format": 1, "partitions": partitions}))
    return folder


def header() -> bytes:
    return b"MSJ1" + struct.pack(">qI", int(time.time() * 1000), 0)


def counted(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def frame(record: Record) -> bytes:
    body = struct.pack(">q", record.timestamp) + counted(record.key) + counted(record.value)
    body += struct.pack(">H", len(record.headers))
    for name, value in record.headers:
        body += struct.pack(">H", len(name.encode())) + name.encode() + counted(value)
    return struct.pack(">II", len(body), zlib.crc32(body)) + body


def write_segment(folder: Path, base: int, records: list[Record]) -> Path:
    path = folder / f"{base:020d}.seg"
    path.write_bytes(header() + b"".join(frame(record) for record in records))
    return path


def append(path: Path, *records: Record) -> None:
    with path.open("ab") as file:
        file.write(b"".join(frame(record) for record in records))


def read_counted(body: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = struct.unpack_from(">i", body, at)
    return (None, at + 4) if length < 0 else (body[at + 4 : at + 4 + length], at + 4 + length)


def read_segment(path: Path) -> list[Record]:
    data = path.read_bytes()
    assert data[:4] == b"MSJ1"
    assert data[12:16] == b"\0\0\0\0"
    at, records = 16, []
    while at < len(data):
        length, crc = struct.unpack_from(">II", data, at)
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(body) == crc
        (timestamp,) = struct.unpack_from(">q", body, 0)
        key, end = read_counted(body, 8)
        value, end = read_counted(body, end)
        assert body[end:] == b"\0\0", "a sink writes no headers"
        records.append(Record(key, value, (), timestamp))
        at += 8 + length
    return records


def read_topic(journal: Path, topic: str) -> dict[int, list[Record]]:
    """The published records of each partition; checks that the bases are without gaps."""
    found: dict[int, list[Record]] = {}
    for folder in sorted(path for path in (journal / topic).iterdir() if path.name.isdigit()):
        records: list[Record] = []
        for path in sorted(folder.glob("*.seg")):
            assert int(path.name[:20]) == len(records)
            records += read_segment(path)
        found[int(folder.name)] = records
    return found
