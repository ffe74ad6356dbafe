"""Messages of streams: AMQP 1.0, with the key of a row among the application properties."""

from __future__ import annotations

import struct

from millstream.plan.connectors import Carried

KEY, DELETED = "millstream-key", "millstream-deleted"
"""Application properties: the key of a row, and that the row of this key is gone."""
PROPERTIES, DATA = b"\x00\x53\x74", b"\x00\x53\x75"
"""Sections of a message."""
TRUE = b"\x41"
SEED = 104_729
"""Of the hash by which RabbitMQ's own clients choose a partition."""


def encoded(record: Carried) -> bytes:
    pairs = [] if record.key is None else [(KEY, string(record.key))]
    if record.value is None:
        pairs.append((DELETED, TRUE))
    return properties(pairs) + DATA + binary(record.value or b"")


def properties(pairs: list[tuple[str, bytes]]) -> bytes:
    if not pairs:
        return b""
    content = b"".join(string(name.encode()) + value for name, value in pairs)
    return PROPERTIES + b"\xd1" + struct.pack(">II", len(content) + 4, 2 * len(pairs)) + content


def string(value: bytes) -> bytes:
    return sized(b"\xa1", b"\xb1", value)


def binary(value: bytes) -> bytes:
    return sized(b"\xa0", b"\xb0", value)


def sized(short: bytes, long: bytes, value: bytes) -> bytes:
    size = len(value)
    return short + bytes([size]) + value if size < 256 else long + struct.pack(">I", size) + value


def partition_of(key: bytes | None, number: int, partitions: int) -> int:
    """By the key, as RabbitMQ's own clients do; rows without one go to each partition in turn."""
    if partitions == 1:
        return 0
    return (number if key is None else murmur3(key)) % partitions


def murmur3(data: bytes) -> int:
    """The 32-bit MurmurHash3, unsigned."""
    mask, found = 0xFFFFFFFF, SEED
    whole = len(data) - len(data) % 4
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        found ^= scrambled(block)
        found = ((found << 13 | found >> 19) * 5 + 0xE6546B64) & mask
    found ^= scrambled(int.from_bytes(data[whole:], "little"))
    found ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = ((found ^ found >> shift) * factor) & mask
    return found ^ found >> 16


def scrambled(block: int) -> int:
    mask = 0xFFFFFFFF
    block = block * 0xCC9E2D51 & mask
    return ((block << 15 | block >> 17) & mask) * 0x1B873593 & mask
