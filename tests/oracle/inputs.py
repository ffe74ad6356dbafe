"""The sources that the oracle's jobs read: schemas, and random changes. Column `c` tells the packed cases apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from random import Random

import millstream as ms
from millstream.testing import cases
from millstream.testing.cases import (
    Broken,
    Change,
    Column,
    Edit,
    Fact,
    Row,
    Upsert,
    decimals,
    doubles,
    lists,
    nullable,
    whole,
    words,
)
from millstream.testing.trial import Topics

CASES = 12


def moments(nulls: float = 0.0) -> Column:
    return nullable(lambda random: f"2024-01-{random.randint(1, 28):02d}T{random.randint(0, 23):02d}:00:00Z", nulls)


def case() -> Column:
    """A third of all rows belong to the first case, so that its groups outgrow what is kept in line."""
    return whole(0, CASES, skew=0.3)


# Facts: a stream.
FACTS = "c INT, k INT, l BIGINT, v INT, d DOUBLE, e DECIMAL(8, 2), s STRING, at TIMESTAMP, xs ARRAY<INT>"
FACT = cases.rows(
    c=case(),
    k=whole(0, 2, nulls=0.1, skew=0.3),
    l=whole(0, 3, nulls=0.1),
    v=whole(-50, 50, nulls=0.1),
    d=doubles(nulls=0.1),
    e=decimals(nulls=0.1),
    s=words(6, nulls=0.1),
    at=moments(nulls=0.1),
    xs=lists(whole(0, 3, nulls=0.1), 3, nulls=0.1),
)

# Items: a table by its changelog, whose rows may be there several times.
ITEMS = "c INT, k INT, l BIGINT, v INT, d DOUBLE, e DECIMAL(8, 2), s STRING, at TIMESTAMP"
ITEM = cases.rows(
    c=case(),
    k=whole(0, 2, nulls=0.1, skew=0.3),
    l=whole(0, 3, nulls=0.1),
    v=whole(-50, 50, nulls=0.1),
    d=doubles(nulls=0.1),
    e=decimals(nulls=0.1),
    s=words(6, nulls=0.1),
    at=moments(nulls=0.1),
)

# People: a table by its changelog, one row per (c, id).
PEOPLE = "c INT, id INT, k BIGINT, name STRING"
PERSON = cases.rows(c=case(), id=whole(0, 9), k=whole(0, 2, nulls=0.1), name=words(4, nulls=0.1))

# Accounts: a table by upserts and tombstones.
ACCOUNTS = "c INT, id INT, k INT, v INT, s STRING"
ACCOUNT = cases.rows(
    c=case(), id=whole(0, 8), k=whole(0, 2, nulls=0.1), v=whole(0, 30, nulls=0.1), s=words(3, nulls=0.1)
)

MAKE: dict[str, Callable[[Random, int], list[Change]]] = {
    "facts": lambda random, count: cases.stream(random, FACT, count),
    "broken": lambda random, count: cases.stream(random, FACT, count, broken=0.2),
    "more": lambda random, count: cases.stream(random, FACT, count),
    "items": lambda random, count: cases.changelog(random, ITEM, count),
    "people": lambda random, count: cases.changelog(random, PERSON, count, key=("c", "id")),
    "accounts": lambda random, count: cases.upserts(random, ACCOUNT, ("c", "id"), count),
}


def make(seeds: Sequence[int], **counts: int) -> dict[str, list[Change]]:
    """Changes of all seeds, one of each in turn. Their cases are kept apart: the first of two has the even ones."""
    found = {}
    for name, count in counts.items():
        parts = [MAKE[name](Random(f"{seed} {name}"), count) for seed in seeds]
        apart = [[moved(change, len(parts), n) for change in part] for n, part in enumerate(parts)]
        found[name] = [change for turn in zip_longest(*apart) for change in turn if change is not None]
    return found


def moved(change: Change, times: int, more: int) -> Change:
    """The same change of another case."""

    def row(row: Row) -> Row:
        return {**row, "c": row["c"] * times + more}

    match change:
        case Fact() | Edit():
            return replace(change, row=row(change.row))
        case Upsert():
            return Upsert(row(change.key), row(change.row) if change.row else None)
        case Broken():
            return change


def facts(job: ms.Job, topics: Topics, topic: str = "facts") -> ms.Stream:
    return job.stream(topics.source(topic), FACTS)


def items(job: ms.Job, topics: Topics) -> ms.Table:
    return job.table(topics.source("items", changelog=True), ITEMS, key=("c", "k", "l", "v", "d", "e", "s", "at"))


def people(job: ms.Job, topics: Topics) -> ms.Table:
    return job.table(topics.source("people", changelog=True), PEOPLE, key=("c", "id"))


def accounts(job: ms.Job, topics: Topics) -> ms.Table:
    return job.table(topics.source("accounts"), ACCOUNTS, key=("c", "id"))
