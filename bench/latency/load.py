"""Sends records on a fixed schedule: `python -m bench.latency.load PLACE CASE RATE BEGIN SECONDS`.

A record carries when it was due, not when it was sent: whatever is late, this program included, counts in full.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from confluent_kafka import Producer

from bench.latency.places import PARTITIONS, Case, Place
from millstream import journal

BREATH = 0.0005
"""Seconds between two looks at the clock."""


def to_kafka(place: Place) -> tuple[Callable[[int, str], object], Callable[[], object], Callable[[], object]]:
    producer = Producer({"bootstrap.servers": place.servers, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})

    def send(number: int, text: str) -> None:
        producer.produce(place.topic, text, partition=number // 2 % PARTITIONS)

    return send, lambda: producer.poll(0), producer.flush


def to_journal(place: Place) -> tuple[Callable[[int, str], object], Callable[[], object], Callable[[], object]]:
    producer = journal.producer(place.path, place.topic, durable=False)

    def send(number: int, text: str) -> None:
        producer.send(text, partition=number // 2 % PARTITIONS)

    return send, producer.flush, producer.close


def run(place: Place, case: Case, begin: int, records: int) -> None:
    send, after, end = to_kafka(place) if place.servers else to_journal(place)
    step = 1_000_000_000 / case.rate
    number = 0
    while number < records:
        due = min(records, int((time.time_ns() - begin) / step) + 1)
        while number < due:
            send(number, case.record(number, begin + int(number * step)))
            number += 1
        after()
        time.sleep(BREATH)
    end()


if __name__ == "__main__":
    place, name, rate, begin, seconds = sys.argv[1:]
    run(Place.of(place), Case(name, int(rate), 0), int(begin), int(rate) * int(seconds))
