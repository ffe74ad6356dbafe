"""All queries in one run: judged by DuckDB, and measured beside Flink and hand-written PySpark."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from bench.measure import Cost
from bench.nexmark import flink_sql, log
from bench.nexmark.flink import Flink, Missing
from bench.nexmark.jobs import PARALLELISM, Jobs
from bench.nexmark.oracle import TAKEN, Oracle, Verdict
from bench.nexmark.queries import QUERIES
from bench.nexmark.source import EventSource
from bench.nexmark.spark import QUERIES as SPARK
from bench.nexmark.spark import Spark

NAMES = tuple(f"q{number}" for number in range(24))
EPOCHS = 4
TOOLS = Path(__file__).parents[2] / ".tools" / "nexmark"
"""Flink's environment and the compiled sources: kept between runs."""


@dataclass
class Row:
    """What is known about a query: whether it is right, and the cost of each engine."""

    query: str
    verdict: Verdict | None = None
    failure: str | None = None
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        return self.verdict is not None and self.verdict.right

    def cpu(self, engine: str) -> float | None:
        """The median, in CPU seconds."""
        costs = self.costs.get(engine)
        return statistics.median(cost.cpu for cost in costs) if costs else None

    def times(self, engine: str) -> float | None:
        """How many times as many events per CPU second we handle."""
        ours, theirs = self.cpu("millstream"), self.cpu(engine)
        return theirs / ours if ours and theirs else None


@dataclass(frozen=True)
class Wanted:
    queries: tuple[str, ...]
    events: int
    rounds: int
    against: tuple[str, ...]
    judge_flink: bool = False
    warm_ups: int = 3
    judged: int = 100_000
    """How many of the first events are enough to judge a query's results."""
    seed: int = 1


def source(folder: Path, events: int) -> EventSource:
    return EventSource(str(folder), max(log.BLOCK, events // EPOCHS), PARALLELISM)


class Bench:
    """The engines, ready to run; those that are not available are left out, with the reason."""

    def __init__(self, work: Path, wanted: Wanted, console: Console) -> None:
        self.wanted = wanted
        self.console = console
        self.flink: Flink | None = None
        events, judged = work / "events", work / "judged"
        log.write(events, wanted.events, wanted.seed)
        log.write(judged, min(wanted.events, wanted.judged), wanted.seed)
        self.oracle = Oracle(judged)
        if "flink" in wanted.against:
            try:
                self.flink = Flink(TOOLS, work / "flink", events, judged, PARALLELISM)
            except Missing as reason:
                console.print(f"[yellow]without flink: {reason}[/]")
        self.jobs = Jobs(TOOLS, work, source(events, wanted.events), source(judged, min(wanted.events, wanted.judged)))
        self.spark = Spark(self.jobs.spark, work, self.jobs.source, PARALLELISM)

    def close(self) -> None:
        if self.flink is not None:
            self.flink.close()

    def engines(self, query: str) -> dict[str, Callable[[], Cost]]:
        idle = self.flink.process.pid if self.flink else None
        found: dict[str, Callable[[], Cost]] = {}
        if query in QUERIES:
            found["millstream"] = lambda: self.jobs.cost(query, idle)
        if self.flink is not None and query in flink_sql.SQL:
            flink = self.flink
            found["flink"] = lambda: flink.cost(query)
        if "spark" in self.wanted.against and query in SPARK:
            found["spark"] = lambda: self.spark.cost(query, idle)
        return found

    def row(self, query: str) -> Row:
        row = Row(query)
        if query not in QUERIES:
            row.failure = "not written yet"
            return row
        try:
            row.verdict = self.jobs.check(query, self.oracle)
        except Exception as error:
            row.failure = str(error).splitlines()[0]
        if self.wanted.judge_flink:
            self.judge_flink(query)
        self.measure(row)
        return row

    def judge_flink(self, query: str) -> None:
        """Whether Flink's SQL asks for the same."""
        if self.flink is None or query not in flink_sql.SQL or query in TAKEN:
            return
        changes = self.flink.work / "changes.tsv"
        self.flink.results(query, changes)
        self.console.print(f"{query} by flink: {self.oracle.judge_flink(query, changes)}")

    def measure(self, row: Row) -> None:
        """In turn, so that disturbances affect all alike; the first runs are for warming up.

        Once is not enough: half of what a second run costs is still the JVM's compiler, on all sides.
        """
        engines = self.engines(row.query) if self.wanted.rounds else {}
        for number in range(self.wanted.warm_ups + self.wanted.rounds):
            for name, cost in list(engines.items()):
                try:
                    found = cost()
                except Exception as error:
                    row.failures[name] = str(error).splitlines()[0]
                    del engines[name]
                    continue
                if number >= self.wanted.warm_ups:
                    row.costs.setdefault(name, []).append(found)
        said = ", ".join(f"{name} {row.cpu(name):.1f}" for name in row.costs)
        self.console.print(f"{row.query}: {row.verdict or row.failure}; CPU s: {said or '–'}")
        for name, why in row.failures.items():
            self.console.print(f"  [red]{name}: {why}[/]")


def run(wanted: Wanted) -> list[Row]:
    work = Path(tempfile.mkdtemp(prefix="millstream-nexmark-"))
    bench = None
    try:
        bench = Bench(work, wanted, Console())
        return [bench.row(query) for query in wanted.queries]
    finally:
        if bench is not None:
            bench.close()
        shutil.rmtree(work, ignore_errors=True)
