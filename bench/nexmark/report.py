"""The table, the file with the results, and the last line."""

from __future__ import annotations

import json
import math
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.nexmark.run import Row, Wanted

RESULTS = Path(__file__).parents[1] / "results"
ENGINES = ("millstream", "flink", "spark")
COMPARED = """What is compared: the same events, read by each engine from the same file of typed columns, nothing to
parse, once per query by Millstream and Flink; the same result, computed in full and dropped (blackhole, noop), except
q10, which writes CSV files. State in RocksDB on all sides, parallelism 2, heap 4 GB. Flink: mini-batch 2 s, objects
reused, a checkpoint every 10 s. Millstream and PySpark: four epochs, each a checkpoint. CPU seconds are those of all
processes of an engine, user and system; the median of the rounds, after some to warm up.
x: how many times the rival's events per CPU second."""


def report(rows: list[Row], wanted: Wanted) -> str:
    """Prints everything, and returns the last line."""
    console = Console(width=130)
    console.print(table(rows, wanted))
    console.print(COMPARED, highlight=False)
    by_hand = mean(rows, "spark")
    if by_hand is not None:
        console.print(f"geometric mean {by_hand:.2f} of hand-written PySpark, where it can express the query")
    wrong = [row for row in rows if not row.right]
    for row in wrong:
        console.print(f"[red]{row.query}: {row.failure or row.verdict}[/]", highlight=False)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "nexmark.json").write_text(json.dumps([plain(row, wanted) for row in rows], indent=2))
    return last_line(rows, wanted)


def last_line(rows: list[Row], wanted: Wanted) -> str:
    right = f"{sum(row.right for row in rows)}/{len(wanted.queries)} right"
    against = mean(rows, "flink")
    return right if against is None else f"{right}, geometric mean {against:.2f} of flink"


def mean(rows: list[Row], engine: str) -> float | None:
    found = [times for row in rows if (times := row.times(engine)) is not None]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def table(rows: list[Row], wanted: Wanted) -> Table:
    result = Table(title=f"Nexmark, {wanted.events:,} events, {wanted.rounds} rounds")
    result.add_column("query")
    result.add_column("right")
    for engine in ENGINES:
        result.add_column(f"{engine}\nCPU s / M", justify="right")
        result.add_column("events\n/ CPU s", justify="right")
    for engine in ENGINES[1:]:
        result.add_column(f"x {engine}", justify="right")
    for row in rows:
        cells = [cell for engine in ENGINES for cell in costs(row, engine, wanted.events)]
        ratios = ["–" if (times := row.times(engine)) is None else f"{times:.2f}" for engine in ENGINES[1:]]
        result.add_row(row.query, "yes" if row.right else "NO", *cells, *ratios)
    return result


def costs(row: Row, engine: str, events: int) -> tuple[str, str]:
    cpu = row.cpu(engine)
    return ("–", "–") if cpu is None else (f"{cpu / events * 1e6:.2f}", f"{events / cpu / 1000:,.0f}k")


def plain(row: Row, wanted: Wanted) -> dict[str, object]:
    return {
        "query": row.query,
        "right": row.right,
        "said": row.failure or str(row.verdict),
        "events": wanted.events,
        "cpu_seconds": {engine: [cost.cpu for cost in found] for engine, found in row.costs.items()},
        "wall_seconds": {engine: [cost.wall for cost in found] for engine, found in row.costs.items()},
        "times": {engine: row.times(engine) for engine in ENGINES[1:]},
    }
