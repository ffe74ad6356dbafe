"""The events of an auction, made from a seed: the same seed gives the same events, however many are asked for.

Of every 50 events the first is a person, the next three are auctions, the rest are bids. One event per millisecond.
Half of the bids go to the last hot auction (one id in a hundred is hot); bidders and sellers likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ROUND = 50
"""Events of a round: 1 person, 3 auctions, 46 bids."""
AUCTIONS, BIDS = 3, 46
CHUNK = 1_000_000
START = datetime(2026, 3, 1, 23, 55, tzinfo=UTC)
"""Five minutes before midnight, so that there are two days."""
START_MS = int(START.timestamp() * 1000)

HOT = 100
IN_FLIGHT = 100
"""Auctions that bids are made on."""
ACTIVE = 1000
"""Persons that bid and sell."""
AHEAD = 10
"""Ids that bids may name before their auction or person is there."""
FIRST_CATEGORY, CATEGORIES = 10, 5
CHANNELS = 10_000
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """Events that follow one another, by kind. Times are milliseconds."""

    persons: pa.Table
    auctions: pa.Table
    bids: pa.Table


def chunks(events: int, seed: int) -> Iterator[Chunk]:
    """The first `events` events; a multiple of 50."""
    assert events % ROUND == 0
    for number, first in enumerate(range(0, events, CHUNK)):
        rounds = np.arange(first // ROUND, min(events, first + CHUNK) // ROUND, dtype=np.int64)
        chance = np.random.default_rng([seed, number])
        # All of a chunk is drawn whatever part of it is wanted: fewer events are the beginning of more.
        whole = np.arange(first // ROUND, (first + CHUNK) // ROUND, dtype=np.int64)
        yield Chunk(
            persons(whole, chance).slice(0, len(rounds)),
            auctions(whole, chance).slice(0, len(rounds) * AUCTIONS),
            bids(whole, chance).slice(0, len(rounds) * BIDS),
        )


def persons(rounds: Longs, chance: np.random.Generator) -> pa.Table:
    count = len(rounds)
    columns = {
        "id": rounds,
        "name": joined(pick(FIRST_NAMES, count, chance), pick(LAST_NAMES, count, chance), " "),
        "email": joined(letters(np.full(count, 7), chance), letters(np.full(count, 5), chance), "@", ".com"),
        "credit_card": cards(count, chance),
        "city": pick(CITIES, count, chance),
        "state": pick(STATES, count, chance),
        "date_time": START_MS + rounds * ROUND,
        "extra": padding(PERSON_BYTES - 70, count, chance),
    }
    return pa.table(columns)


def auctions(rounds: Longs, chance: np.random.Generator) -> pa.Table:
    count = len(rounds) * AUCTIONS
    ids = np.arange(rounds[0] * AUCTIONS, rounds[0] * AUCTIONS + count, dtype=np.int64)
    round_of = ids // AUCTIONS
    at = START_MS + round_of * ROUND + 1 + ids % AUCTIONS
    # An auction lives about as long as it takes until bids have moved on to later ones.
    horizon = IN_FLIGHT * ROUND // AUCTIONS
    initial = prices(count, chance)
    columns = {
        "id": ids,
        "item_name": letters(np.full(count, 20), chance),
        "description": letters(np.full(count, 100), chance),
        "initial_bid": initial,
        "reserve": initial + prices(count, chance),
        "date_time": at,
        "expires": at + 1 + chance.integers(0, 2 * horizon, count),
        "seller": person_ids(round_of, 0, chance),
        "category": FIRST_CATEGORY + chance.integers(0, CATEGORIES, count),
        "extra": padding(AUCTION_BYTES - 176, count, chance),
    }
    return pa.table(columns)


def bids(rounds: Longs, chance: np.random.Generator) -> pa.Table:
    count = len(rounds) * BIDS
    round_of = np.repeat(rounds, BIDS)
    within = np.tile(np.arange(BIDS, dtype=np.int64), len(rounds))
    last = round_of * AUCTIONS + AUCTIONS - 1
    oldest = np.maximum(last - IN_FLIGHT, 0)
    cold = oldest + chance.integers(0, 1 << 40, count) % (last - oldest + 1 + AHEAD)
    hot_channel = chance.random(count) < 0.5
    other = len(HOT_CHANNELS) + chance.integers(0, CHANNELS, count)
    channel = np.where(hot_channel, chance.integers(0, len(HOT_CHANNELS), count), other)
    names, urls = channels()
    columns = {
        "auction": np.where(chance.random(count) < 0.5, last // HOT * HOT, cold),
        "bidder": person_ids(round_of, 1, chance),
        "price": prices(count, chance),
        "channel": names.take(channel),
        "url": urls.take(channel),
        "date_time": START_MS + round_of * ROUND + 1 + AUCTIONS + within,
        "extra": padding(BID_BYTES - 32, count, chance),
    }
    return pa.table(columns)


def person_ids(last: Longs, hot: int, chance: np.random.Generator) -> Longs:
    """Persons that are there in each round: half of the time the last hot one, else one that registered lately.

    Hot sellers and hot bidders are not the same persons: `hot` tells them apart.
    """
    oldest = np.maximum(last - ACTIVE, 0)
    cold = oldest + chance.integers(0, 1 << 40, len(last)) % (last - oldest + 1 + AHEAD)
    return np.where(chance.random(len(last)) < 0.5, last // HOT * HOT + hot, cold)


def prices(count: int, chance: np.random.Generator) -> Longs:
    return np.round(np.power(10.0, chance.random(count) * 6) * 100).astype(np.int64)


@cache
def channels() -> tuple[pa.Array, pa.Array]:
    """The name and the url of every channel, whatever the seed; nine urls in ten name the channel."""
    chance = np.random.default_rng(7)
    names = [*HOT_CHANNELS, *(f"channel-{number}" for number in range(CHANNELS))]
    parts = [letters(np.full(len(names), 5), chance).to_pylist() for _ in range(3)]
    named = chance.random(len(names)) < 0.9
    urls = []
    for place, (one, two, three) in enumerate(zip(*parts, strict=True)):
        channel = place - len(HOT_CHANNELS)
        tail = f"&channel_id={channel * 7919 % 1_000_003}" if channel >= 0 and named[place] else ""
        urls.append(f"https://www.nexmark.com/{one}/{two}/{three}/item.htm?query=1{tail}")
    return pa.array(names), pa.array(urls)


def pick(words: tuple[str, ...], count: int, chance: np.random.Generator) -> pa.Array:
    return pa.array(words).take(chance.integers(0, len(words), count))


def letters(lengths: Any, chance: np.random.Generator) -> pa.Array:
    """Words of random letters, of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = chance.integers(97, 123, int(offsets[-1]), dtype=np.uint8)
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data))


def padding(average: int, count: int, chance: np.random.Generator) -> pa.Array:
    """A fifth more or less than the average."""
    return letters(chance.integers(average * 4 // 5, average * 6 // 5 + 1, count), chance)


def joined(left: pa.Array, right: pa.Array, middle: str, end: str = "") -> pa.Array:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return pa.array([f"{one}{middle}{other}{end}" for one, other in pairs])


def cards(count: int, chance: np.random.Generator) -> pa.Array:
    groups = chance.integers(0, 10_000, (count, 4)).tolist()
    return pa.array([f"{a:04d} {b:04d} {c:04d} {d:04d}" for a, b, c, d in groups])
