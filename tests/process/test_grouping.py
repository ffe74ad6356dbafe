"""The rows of a key come together by a hash of it, and the rows that end a task's input come last."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import millstream as ms
from tests.process.process_bench import Bench, at

KEYS, ROWS = 300, 2_000


class Numbered(ms.Process):
    """Gives each row its number in the order in which the rows of its key come."""

    output = "k STRING, v INT, n INT"
    n = ms.ValueState("INT")

    def on_row(self, key: Any, row: Any) -> Any:
        n = self.n.get(0)
        self.n.set(n + 1)
        yield row.k, row.v, n


class Named(Numbered):
    """The same as another operator."""


def fed(bench: Bench) -> list[tuple[str | None, int]]:
    random = Random(7)
    rows: list[tuple[str | None, int]] = []
    for number in range(ROWS):
        key = random.randrange(KEYS)
        rows.append((None if key == 0 else f"the same beginning {key}", number))
    shuffled = random.sample(rows, len(rows))
    bench.feed(*((k, v, at(v // 60, v % 60)) for k, v in shuffled))
    return rows


def numbered(rows: list[tuple[str | None, int]]) -> list[tuple[str | None, int, int]]:
    seen: Counter[str | None] = Counter()
    found = []
    for k, v in rows:
        found.append((k, v, seen[k]))
        seen[k] += 1
    return found


def test_the_rows_of_a_key_come_at_once_in_the_order_of_their_time(bench: Bench) -> None:
    rows = fed(bench)

    def fill(stream: ms.Stream, bench: Bench) -> None:
        stream.key_by("k").process(Numbered).to(bench.sink("out"))
        stream.key_by("k", half="v % 2").process(Named).to(bench.sink("other"))

    run = bench.run(fill, epoch=ROWS)
    found = [(row["k"], row["v"], row["n"]) for row in bench.read()]
    assert sorted(found, key=repr) == sorted(numbered(rows), key=repr)
    halves = [numbered([row for row in rows if row[1] % 2 == half]) for half in (0, 1)]
    others = [(row["k"], row["v"], row["n"]) for row in bench.read("other")]
    assert sorted(others, key=repr) == sorted([*halves[0], *halves[1]], key=repr)

    plan = run._query.query._jsq.explainInternal(False)
    sorts = [line for line in plan.splitlines() if "Sort [" in line]
    assert len(sorts) == 1, plan
    assert "xxhash64(" in sorts[0]
    assert plan.count("Exchange hashpartitioning") == 1
