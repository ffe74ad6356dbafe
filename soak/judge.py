"""Compares what is in the sinks with what the input says, by the servers' own clients."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Verdict:
    sink: str
    expected: int
    lost: int
    duplicated: int


def read(servers: str, topic: str) -> Iterator[dict[str, Any]]:
    """All committed records there are now."""
    settings = {"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    waiting = set(partitions)
    try:
        while waiting:
            message = consumer.poll(30)
            if message is None:
                raise RuntimeError(f"Kafka does not answer for {topic}")
            if message.error():
                waiting.discard(message.partition())
            else:
                yield json.loads(message.value())
    finally:
        consumer.close()


def orders(rows: Iterator[dict[str, Any]]) -> Rows:
    return Counter((row["id"], row["customer"], row["price"]) for row in rows)


def in_files(folder: Path) -> Iterator[dict[str, Any]]:
    for file in folder.glob("epoch=*/**/*.json"):
        if not file.name.startswith("_"):  # the list of the epoch's files
            with file.open() as lines:
                yield from map(json.loads, lines)


def table(address: str, query: str) -> Rows:
    with psycopg.connect(address) as connection:
        return Counter(connection.execute(query).fetchall())


def totals(given: Rows) -> dict[int, tuple[int, int]]:
    """How many orders each customer has, and their sum."""
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for _, customer, price in given.elements():
        counts[customer] += 1
        sums[customer] += price
    return {customer: (counts[customer], sums[customer]) for customer in counts}


def named(given: Rows, customers: Rows) -> Rows:
    """What the job's join should be, in a few lines of Python."""
    found = totals(given)
    return Counter((id, name, *found[id]) for id, name in customers if id in found)


def compared(sink: str, want: Rows, have: Rows) -> Verdict:
    return Verdict(sink, want.total(), (want - have).total(), (have - want).total())


def verdicts(servers: str, address: str, files: Path) -> list[Verdict]:
    given = orders(read(servers, "orders"))
    customers = table(address, "SELECT id, name FROM customers")
    found = {
        "every (Kafka)": (given, orders(read(servers, "every"))),
        "files (JSON)": (given, orders(in_files(files))),
        "named (Postgres)": (named(given, customers), table(address, "SELECT id, name, orders, total FROM named")),
    }
    return [compared(sink, want, have) for sink, (want, have) in found.items()]
