"""Random input from a seed: streams of facts, tables that are changed row by row or by key.

    row = cases.rows(c=cases.whole(0, 20), k=cases.whole(0, 3, nulls=0.1), v=cases.doubles())
    cases.changelog(random.Random(7), row, 300)

Many cases run in one go if a column of the key tells them apart. Only live rows are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Row = dict[str, Any]
Column = Callable[[Random], Any]
MakeRow = Callable[[Random], Row]


@dataclass(frozen=True)
class Fact:
    """A row of a stream."""

    row: Row


@dataclass(frozen=True)
class Edit:
    """A row added to a table's changelog, or taken back. `key`: what tells its rows apart."""

    op: str
    row: Row
    key: tuple[str, ...]

    @property
    def place(self) -> Row:
        """Changes that agree in this stay in their order."""
        return {name: self.row[name] for name in self.key} if self.key else self.row


@dataclass(frozen=True)
class Upsert:
    """The row of a key; None deletes it."""

    key: Row
    row: Row | None


@dataclass(frozen=True)
class Broken:
    """A record that cannot be read."""

    value: bytes


Change = Fact | Edit | Upsert | Broken


# --- columns


def rows(**columns: Column) -> MakeRow:
    return lambda random: {name: column(random) for name, column in columns.items()}


def nullable(column: Column, nulls: float) -> Column:
    return lambda random: None if random.random() < nulls else column(random)


def whole(low: int, high: int, *, nulls: float = 0.0, skew: float = 0.0) -> Column:
    """Whole numbers, both ends included; `skew`: how often the lowest one."""

    def value(random: Random) -> int:
        return low if random.random() < skew else random.randint(low, high)

    return nullable(value, nulls)


def doubles(*, nulls: float = 0.0, special: float = 0.1, places: int = 3) -> Column:
    """Floating-point numbers; `special`: how often NaN, an infinity or a zero with a sign."""

    def value(random: Random) -> float | str:
        if random.random() < special:
            odd: list[float | str] = ["NaN", "Infinity", "-Infinity", 0.0, -0.0]
            return random.choice(odd)
        return round(random.uniform(-1000, 1000), places)

    return nullable(value, nulls)


def decimals(*, whole: int = 6, scale: int = 2, nulls: float = 0.0) -> Column:
    def value(random: Random) -> str:
        number = random.randint(-(10 ** (whole + scale)) + 1, 10 ** (whole + scale) - 1)
        return f"{'-' if number < 0 else ''}{abs(number) // 10**scale}.{abs(number) % 10**scale:0{scale}d}"

    return nullable(value, nulls)


def words(count: int, *, nulls: float = 0.0) -> Column:
    return nullable(lambda random: f"w{random.randrange(count)}", nulls)


def lists(element: Column, longest: int, *, nulls: float = 0.0) -> Column:
    return nullable(lambda random: [element(random) for _ in range(random.randint(0, longest))], nulls)


# --- changes


def stream(random: Random, row: MakeRow, count: int, *, doubles: float = 0.1, broken: float = 0.0) -> list[Change]:
    """Facts; `doubles`: how often a duplicate of an earlier one; `broken`: how often a record that cannot be read."""
    out: list[Change] = []
    for number in range(count):
        if random.random() < broken:
            out.append(Broken(b'{"broken": %d' % number))
        else:
            again = out and random.random() < doubles
            out.append(random.choice(out) if again else Fact(row(random)))
    return out


def changelog(
    random: Random, row: MakeRow, count: int, *, key: Sequence[str] = (), doubles: float = 0.1
) -> list[Change]:
    """Inserts, deletes and updates: first the table grows, then it shrinks to little or nothing.

    With a key there is one live row of each, and a second one replaces it. Without, rows may be there several times.
    """
    out: list[Change] = []
    live: list[Row] = []

    def edit(op: str, changed: Row) -> None:
        (live.append if op == "insert" else live.remove)(changed)
        out.append(Edit(op, changed, tuple(key)))

    while len(out) < count:
        if live and random.random() < (0.15 if len(out) < count / 2 else 0.8):
            edit("delete", random.choice(live))
            continue
        again = bool(live) and not key and random.random() < doubles
        new = random.choice(live) if again else row(random)
        for old in [old for old in live if key and all(old[name] == new[name] for name in key)]:
            edit("delete", old)
        edit("insert", new)
    return out


def upserts(random: Random, row: MakeRow, key: Sequence[str], count: int, *, deletes: float = 0.25) -> list[Change]:
    """New rows, other rows under old keys, and tombstones, also of keys that are not there."""
    out: list[Change] = []
    for _ in range(count):
        made = row(random)
        name = {part: made[part] for part in key}
        out.append(Upsert(name, None if random.random() < deletes else made))
    return out
