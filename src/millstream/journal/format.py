"""Version 1 of the journal's format, as FORMAT.md describes it: frames and names of files. Touches no disk."""

from __future__ import annotations

import re
import struct
import time
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple
from zlib import crc32

from millstream.errors import MillstreamError
from millstream.journal.record import Headers, Record

VERSION = 1
COMPACTED = 2
"""The version of a topic that is compacted: it may have segments whose records do not follow one another."""
MAGIC = b"MSJ1"
WITH_GAPS = b"MSJ2"
"""What a compacted segment begins with."""
HEADER_BYTES = 16
FRAME_BYTES = 8  # length and CRC
MAX_BODY = 64 * 1024 * 1024

_MIN_FRAME = FRAME_BYTES + 18
_HEADER = struct.Struct(">4sq4s")
_FRAME = struct.Struct(">II")
_FRAME_START = struct.Struct(">IIqi")  # length, CRC, timestamp, length of the key
_BODY_START = struct.Struct(">qi")
_U16 = struct.Struct(">H")
_U32 = struct.Struct(">I")
_I32 = struct.Struct(">i")
_NO_HEADERS = b"\0\0"
_GAP = -2
"""In place of the length of a key: no record, but so many offsets without one as the timestamp says."""
_GAP_BODY = 18

_TOPIC = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_PRODUCED = re.compile(r"([0-9]{20})\.seg")
_PUBLISHED = re.compile(r"([0-9]{20})-([A-Za-z0-9_.]+-[0-9]{12}-[0-9]{5})\.seg")
_NAMING = re.compile(r"([0-9]{20})-(([A-Za-z0-9_.]+-[0-9]{12})-([0-9]{5}))-([0-9]+-[0-9]+)-([0-9]+)-([0-9]+)\.ref")
_MERGED = re.compile(r"([0-9]{20})-([A-Za-z0-9_.]+-([0-9]{20}))\.seg")
_COMPACTED = re.compile(r"([0-9]{20})-([A-Za-z0-9_.]+-([0-9]{20}))-([0-9]+)\.cmp")
_OPEN = re.compile(r"([A-Za-z0-9_.]+-[0-9]{12}-[0-9]{5})-[0-9]+-[0-9]+\.seg")


# --- names of files


@dataclass(frozen=True, slots=True)
class Segment:
    """The name of a segment, taken apart."""

    name: str
    base: int
    token: str | None = None
    """`<writer>-<epoch>-<task>` if a job's sink published it, `<writer>-<end>` if it was merged of such ones, None if a
    producer wrote it."""
    where: str | None = None
    """Below the partition's folder, if its records are not under its name."""
    records: int | None = None
    """None: they must be counted."""
    size: int | None = None
    """In bytes; None: it may grow, or nobody has asked yet."""
    generation: int = 0
    """Of one that was compacted: a higher one takes the place of a lower one. 0: it was not."""

    @property
    def path(self) -> str:
        return self.where or self.name

    @property
    def published(self) -> bool:
        return self.token is not None

    @property
    def merged(self) -> bool:
        """Whether it holds what several segments held before, which may still be there beside it."""
        return self.records is not None and self.where is None

    @property
    def compacted(self) -> bool:
        """Whether it is merged, and holds of each key only the newest record."""
        return self.generation > 0

    @property
    def end(self) -> int:
        """The offset after its last record; of one whose records must be counted, that after its first."""
        return self.base + (1 if self.records is None else self.records)

    @property
    def order(self) -> tuple[int, bool, bool, int, int, str]:
        # A producer's segment may be left without a record; the sink's segment after it has the same base. What was
        # compacted comes before what was not: a key that is gone must not come back.
        longest = -self.end if self.merged else 0
        return (self.base, not self.compacted, self.published, longest, -self.generation, self.name)


def is_topic_name(name: str) -> bool:
    return _TOPIC.fullmatch(name) is not None


def base_name(base: int) -> str:
    return f"{base:020d}"


def produced(base: int) -> Segment:
    return Segment(base_name(base) + ".seg", base)


def parse_segment(name: str, size: int | None = None) -> Segment | None:
    if match := _PRODUCED.fullmatch(name):
        return Segment(name, int(match[1]), size=size)
    if match := _PUBLISHED.fullmatch(name):
        return Segment(name, int(match[1]), match[2], size=size)
    if match := _MERGED.fullmatch(name):
        base = int(match[1])
        return Segment(name, base, match[2], records=int(match[3]) - base, size=size)
    if match := _COMPACTED.fullmatch(name):
        base, end = int(match[1]), int(match[3])
        return Segment(name, base, match[2], records=end - base, size=size, generation=int(match[4]))
    if match := _NAMING.fullmatch(name):
        where = f"epochs/{match[3]}/{match[4]}-{match[5]}.seg"
        return Segment(name, int(match[1]), match[2], where, int(match[6]), int(match[7]))
    return None


def uncovered(segments: list[Segment]) -> list[Segment]:
    """Without those whose records are in a merged one, too. They are in order. Only a compacted one holds what
    producers wrote."""
    found: list[Segment] = []
    covered = compacted = -1
    for segment in segments:
        if segment.end > covered if segment.published else segment.base >= compacted:
            found.append(segment)
            covered = segment.end if segment.merged else covered
            compacted = segment.end if segment.compacted else compacted
    return found


def compacted_name(base: int, writer: str, end: int, generation: int) -> str:
    return f"{base_name(base)}-{writer}-{base_name(end)}-{generation}.cmp"


def token_of_open(name: str) -> str | None:
    """The token that a file in `open/` is published under; None if it is no such file."""
    match = _OPEN.fullmatch(name)
    return match[1] if match else None


# --- encoding


def created_in(header: bytes) -> int | None:
    return _HEADER.unpack(header)[1] if len(header) == HEADER_BYTES else None


def encode_header(created: int | None = None, mark: bytes = b"\0\0\0\0", magic: bytes = MAGIC) -> bytes:
    """`mark`: by which a writer knows a segment as its own."""
    return _HEADER.pack(magic, time.time_ns() // 1_000_000 if created is None else created, mark)


def encode(timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> bytes:
    """A record as a frame."""
    body = b"".join(
        (
            _BODY_START.pack(timestamp, -1 if key is None else len(key)),
            key or b"",
            _I32.pack(-1 if value is None else len(value)),
            value or b"",
            _encode_headers(headers) if headers else _NO_HEADERS,
        )
    )
    if len(body) > MAX_BODY:
        raise MillstreamError(
            "MS-JOURNAL-008",
            f"a record of {len(body):,} bytes is too large for the journal.",
            found=f"at most {MAX_BODY:,} bytes (64 MiB) with key, value and headers",
            hint="keep large objects elsewhere and send where they are.",
        )
    return _FRAME.pack(len(body), crc32(body)) + body


def encode_gap(offsets: int) -> bytes:
    """A frame in place of so many records."""
    body = _BODY_START.pack(offsets, _GAP) + _I32.pack(-1) + _NO_HEADERS
    return _FRAME.pack(len(body), crc32(body)) + body


def _encode_headers(headers: Headers) -> bytes:
    parts = [_U16.pack(len(headers))]
    for name, value in headers:
        text = name.encode()
        parts += (_U16.pack(len(text)), text, _I32.pack(-1 if value is None else len(value)), value or b"")
    return b"".join(parts)


# --- decoding


class Why(Enum):
    """Why decoding stopped."""

    RAN_OUT = "the data ended, perhaps within a frame"
    BAD = "the frame fails its CRC, or its lengths do not add up"
    ENOUGH = "as many records as were asked for"


class Decoded(NamedTuple):
    used: int
    records: int
    why: Why


def version_of(header: bytes) -> bool | None:
    """True: a segment of this version; False: of another version; None: no segment at all."""
    if header[:4] in (MAGIC, WITH_GAPS):
        return True
    return False if header[:3] == MAGIC[:3] else None


def decode(data: bytes, partition: int, offset: int | None, out: list[Record]) -> Decoded:
    """Appends the whole records that `data` begins with to `out`. Without an offset they are uncommitted."""
    at, records, end, committed = 0, 0, len(data), offset is not None
    start, int32, append, crc_of, make = _FRAME_START.unpack_from, _I32.unpack_from, out.append, crc32, Record
    while end - at >= _MIN_FRAME:
        length, crc, timestamp, key_length = start(data, at)
        stop = at + FRAME_BYTES + length
        if stop > end:
            break
        if crc_of(data[at + FRAME_BYTES : stop]) != crc:
            return Decoded(at, records, Why.BAD)
        try:
            here = at + 20
            if key_length == _GAP and offset is not None:
                offset, at, records = offset + timestamp, stop, records + timestamp
                continue
            key = None if key_length < 0 else data[here : (here := here + key_length)]
            (value_length,) = int32(data, here)
            here += 4
            value = None if value_length < 0 else data[here : (here := here + value_length)]
            headers: Headers = ()
            if data[here:stop] != _NO_HEADERS:
                headers, here = _decode_headers(data, here, stop)
        except (struct.error, UnicodeDecodeError):
            return Decoded(at, records, Why.BAD)
        append(make(partition, offset, timestamp, key, value, headers, committed))
        if offset is not None:
            offset += 1
        at, records = stop, records + 1
    return Decoded(at, records, Why.RAN_OUT)


def _decode_headers(data: bytes, at: int, stop: int) -> tuple[Headers, int]:
    (count,) = _U16.unpack_from(data, at)
    at += 2
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        (length,) = _U16.unpack_from(data, at)
        name = data[at + 2 : (at := at + 2 + length)].decode()
        (length,) = _I32.unpack_from(data, at)
        at += 4
        headers.append((name, None if length < 0 else data[at : (at := at + length)]))
    if at != stop:
        raise struct.error("the lengths within the body do not add up to its length")
    return tuple(headers), at


def walk(data: bytes, most: int | None = None) -> Decoded:
    """Passes over the whole records that `data` begins with, at most `most`: checked, but not taken apart. A gap is
    passed over whole."""
    at, records, end = 0, 0, len(data)
    frame, crc_of = _FRAME.unpack_from, crc32
    while end - at >= _MIN_FRAME:
        if most is not None and records >= most:
            return Decoded(at, records, Why.ENOUGH)
        length, crc = frame(data, at)
        stop = at + FRAME_BYTES + length
        if stop > end:
            break
        if length < _MIN_FRAME - FRAME_BYTES or crc_of(data[at + FRAME_BYTES : stop]) != crc:
            return Decoded(at, records, Why.BAD)
        records += _offsets(data, at) if length == _GAP_BODY else 1
        at = stop
    return Decoded(at, records, Why.ENOUGH if most is not None and records >= most else Why.RAN_OUT)


def _offsets(data: bytes, at: int) -> int:
    """How many offsets a short frame stands for."""
    _, _, many, key_length = _FRAME_START.unpack_from(data, at)
    return int(many) if key_length == _GAP else 1


def frame_length(start: bytes) -> int | None:
    """The length that a frame's beginning says; None if that much is not there."""
    return FRAME_BYTES + int(_FRAME.unpack_from(start)[0]) if len(start) >= FRAME_BYTES else None


def is_torn(frame: bytes, left: int) -> bool:
    """Whether a bad frame, `left` bytes before the end of the file, is what a crash leaves behind.

    A length that was damaged may reach to the end, too. It is found out if the record that the lengths
    within the body describe is whole, and is followed by more.
    """
    length = frame_length(frame)
    if length is None:
        return True
    if length < left:
        return False
    (crc,) = _U32.unpack_from(frame, 4)
    if length == len(frame) and crc32(frame[FRAME_BYTES:]) == crc:
        return False  # whole, yet it cannot be decoded
    true_length = _length_from_within(frame)
    if true_length is None or true_length >= left:
        return True
    return bool(crc32(frame[FRAME_BYTES:true_length]) != crc)


def _length_from_within(frame: bytes) -> int | None:
    """The frame's length as told by the lengths within its body; None if they are cut off."""
    try:
        at = FRAME_BYTES + 8
        for _ in ("key", "value"):
            at += 4 + max(0, _I32.unpack_from(frame, at)[0])
        (count,) = _U16.unpack_from(frame, at)
        at += 2
        for _ in range(count):
            at += 2 + _U16.unpack_from(frame, at)[0]
            at += 4 + max(0, _I32.unpack_from(frame, at)[0])
    except struct.error:
        return None
    return int(at)


def whole_frames(data: bytes | bytearray, end: int) -> tuple[int, int]:
    """How many bytes and records of the frames in `data` lie before `end`. They are trusted to be good."""
    at, records = 0, 0
    while at + FRAME_BYTES <= end:
        stop = at + FRAME_BYTES + _FRAME.unpack_from(data, at)[0]
        if stop > end:
            break
        at, records = stop, records + 1
    return at, records
