"""Python code with state: Millstream's `Process` beside Spark's own `transformWithState` in Python, by hand.

Both read the same journal topic and write to the same kind of sink. Spark's code is written as well as its interface
allows: state is read once and written once for all rows of a key in an epoch. Where Spark has two interfaces, rows and
pandas, the faster one counts.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from rich.console import Console
from rich.table import Table

import millstream as ms
from bench.basics import EVENT, RESULTS, Bench, generate, median
from bench.basics import Case as Measured
from bench.measure import Cost


@dataclass(frozen=True)
class Case:
    name: str
    key: str
    process: type[ms.Process]
    by_hand: dict[str, Callable[[DataFrame], DataFrame]]


class Count(ms.Process):
    output = "k BIGINT, n BIGINT, total DOUBLE"
    kept = ms.ValueState("n BIGINT, total DOUBLE")

    def on_row(self, key: int, row: Any) -> Iterator[Any]:
        before = self.kept.get()
        n, total = (before.n + 1, before.total + row.v) if before else (1, row.v)
        self.kept.set((n, total))
        yield key, n, total


class CountRows(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.kept = handle.getValueState("kept", "n BIGINT, total DOUBLE")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        n, total = self.kept.get() or (0, 0.0)
        for row in rows:
            n, total = n + 1, total + row.v
            yield Row(k=key[0], n=n, total=total)
        self.kept.update((n, total))

    def close(self) -> None:
        pass


class CountPandas(CountRows):
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        import pandas

        n, total = self.kept.get() or (0, 0.0)
        for frame in rows:
            totals = frame["v"].cumsum() + total
            yield pandas.DataFrame({"k": key[0], "n": range(n + 1, n + 1 + len(frame)), "total": totals})
            n, total = n + len(frame), float(totals.iloc[-1])
        self.kept.update((n, total))


class Seen(ms.Process):
    output = "k BIGINT, text STRING, n BIGINT"
    texts = ms.MapState("STRING", "BIGINT")

    def on_row(self, key: int, row: Any) -> Iterator[Any]:
        n = self.texts.get(row.text, 0) + 1
        self.texts.put(row.text, n)
        yield key, row.text, n


class SeenRows(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.texts = handle.getMapState("texts", "text STRING", "n BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            at = (row.text,)
            n = (self.texts.getValue(at) or (0,))[0] + 1
            self.texts.updateValue(at, (n,))
            yield Row(k=key[0], text=row.text, n=n)

    def close(self) -> None:
        pass


def rows_by(processor: type[StatefulProcessor], schema: str) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: rows.groupBy("g").transformWithState(processor(), schema, "Update", "None")


def pandas_by(processor: type[StatefulProcessor], schema: str) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: rows.groupBy("g").transformWithStateInPandas(processor(), schema, "Update", "None")


COUNT = {"rows": rows_by(CountRows, Count.output), "pandas": pandas_by(CountPandas, Count.output)}
SEEN = {"rows": rows_by(SeenRows, Seen.output)}
CASES = (
    Case("value, 100 keys", "k % 100", Count, COUNT),
    Case("value, 100,000 keys", "k", Count, COUNT),
    Case("map, 10,000 keys", "k % 10000", Seen, SEEN),
    Case("map, 10 keys", "k % 10", Seen, SEEN),
)


def measured(bench: Bench, case: Case, how: str) -> Cost:
    def job(job: ms.Job, bench: Bench) -> None:
        events = job.stream(bench.source("events", 1), schema=EVENT)
        events.key_by(g=case.key).process(case.process).to(bench.out)

    def spark(bench: Bench) -> DataFrame:
        return case.by_hand[how](bench.records("events", 1).selectExpr(f"{case.key} AS g", "*"))

    part = Measured("process", ("events",), job, spark)
    return bench.by_millstream(part) if how == "millstream" else bench.by_pyspark(part)


def run(events: int, rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    console = Console()
    found: dict[str, dict[str, Cost]] = {}
    try:
        bench = Bench(folder, events)
        generate(bench.path, "events", events, 2)
        for case in CASES:
            costs: dict[str, list[Cost]] = {how: [] for how in ("millstream", *case.by_hand)}
            for number in range(rounds + 1):
                for how in costs:
                    cost = measured(bench, case, how)
                    console.print(f"{case.name}, {how}, {'warm-up' if number == 0 else number}: {cost.wall:.1f} s")
                    if number > 0:
                        costs[how].append(cost)
            found[case.name] = {how: median(parts) for how, parts in costs.items()}
        report(console, events, found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(console: Console, events: int, found: dict[str, dict[str, Cost]]) -> None:
    table = Table(title=f"rows per second ({events:,} rows)")
    for heading in ("case", "millstream", "spark, rows", "spark, pandas", "times the faster one"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    ratios = {}
    for name, costs in found.items():
        speeds = {how: events / cost.wall for how, cost in costs.items()}
        ours = speeds.pop("millstream")
        ratios[name] = ours / max(speeds.values())
        theirs = [f"{speeds[how]:,.0f}" if how in speeds else "" for how in ("rows", "pandas")]
        table.add_row(name, f"{ours:,.0f}", *theirs, f"{ratios[name]:.1f}")
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    content = [
        {"case": name, "events": events, "ratio": ratios[name], **{how: asdict(cost) for how, cost in costs.items()}}
        for name, costs in found.items()
    ]
    (RESULTS / "process.json").write_text(json.dumps(content, indent=2))
    print(", ".join(f"{name}: {ratio:.1f} times" for name, ratio in ratios.items()) + " Spark's own rows per second")
