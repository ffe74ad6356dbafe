"""Python code with and without state, beside PySpark by hand, PyFlink, Bytewax and Quix, one after the other.

CPU seconds per million rows. The cost of the same code over few rows, in as many epochs, is subtracted: that is the
cost of starting.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from bench.basics import RESULTS
from bench.process.install import Missing, environment
from bench.process.ours import BY_HAND, JOBS, Ours
from bench.process.rows import generate
from servers.kafka import running

FEW = 8_000
SLOW = {"keyed, transformWithStateInPandas": 50}
"""Ways that get this many times fewer rows: they would take all day."""
RIVALS = Path(__file__).parent / "rivals"
FLINK = ("apache-flink==2.3.0", "setuptools<81")
BYTEWAX = ("bytewax==0.21.1", "pyarrow")
QUIX = ("quixstreams==3.28.1", "pyarrow")
Costs = dict[str, float]
"""By way, CPU seconds per million rows."""


@dataclass(frozen=True)
class Folders:
    """The same rows in the form that a way reads, few and all."""

    few: str
    all: str
    rows: int

    def per_million(self, few: float, all_: float) -> float:
        return (all_ - few) / (self.rows - FEW) * 1_000_000


@dataclass(frozen=True)
class Rival:
    """Another engine: its packages, its script, and the script's arguments before the folders."""

    packages: tuple[str, ...]
    script: str
    told: tuple[str, ...]
    csv: bool = False
    kafka: bool = False
    """Whether it also gets the address of a broker."""

    @property
    def name(self) -> str:
        return self.packages[0].partition("==")[0]


OTHERS = {
    "keyed, bytewax": Rival(BYTEWAX, "bytewax_rows.py", ("keyed",)),
    "map, bytewax": Rival(BYTEWAX, "bytewax_rows.py", ("map",)),
    "keyed, quix": Rival(QUIX, "quix_rows.py", ("keyed",), kafka=True),
    "map, quix": Rival(QUIX, "quix_rows.py", ("map",), kafka=True),
    "keyed, pyflink threads": Rival(FLINK, "flink_rows.py", ("thread", "keyed"), csv=True),
    "map, pyflink threads": Rival(FLINK, "flink_rows.py", ("thread", "map"), csv=True),
    "keyed, pyflink processes": Rival(FLINK, "flink_rows.py", ("process", "keyed"), csv=True),
    "map, pyflink processes": Rival(FLINK, "flink_rows.py", ("process", "map"), csv=True),
}
WAYS = (*JOBS, *BY_HAND, *OTHERS)


def run(rows: int, rounds: int, only: tuple[str, ...]) -> None:
    work = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    console = Console()
    ways = [way for way in WAYS if not only or any(part in way for part in only)]
    found: dict[str, list[float]] = {way: [] for way in ways}
    try:
        ours = Ours(work)
        folders = made(work, rows)
        for number in range(rounds + 1):
            for way in list(found):
                cost = attempt(lambda way=way: measured(way, ours, folders), console)  # type: ignore[misc]
                if cost is None:
                    del found[way]
                    continue
                console.print(f"{way}, {'warm-up' if number == 0 else number}: {cost:.2f} CPU s per million rows")
                if number > 0:
                    found[way].append(cost)
        report(console, rows, {way: median(costs) for way, costs in found.items() if costs})
    finally:
        shutil.rmtree(work, ignore_errors=True)


def attempt(work: Callable[[], float], console: Console) -> float | None:
    try:
        return work()
    except Missing as missing:
        console.print(f"left out: {missing}")
        return None


def made(work: Path, rows: int) -> dict[str, Folders]:
    """By the form of the files, and for ways that are slow."""
    few, all_ = generate(work / "few", FEW), generate(work / "all", rows)
    found = {"parquet": Folders(few, all_, rows), "csv": Folders(as_csv(few), as_csv(all_), rows)}
    for share in set(SLOW.values()):
        part = max(2 * FEW, rows // share)
        found[f"1/{share}"] = Folders(few, generate(work / f"part-{share}", part), part)
    return found


def as_csv(folder: str) -> str:
    to = Path(f"{folder}-csv")
    to.mkdir()
    plain = pyarrow.csv.WriteOptions(include_header=False)
    for file in sorted(Path(folder).glob("*.parquet")):
        pyarrow.csv.write_csv(pyarrow.parquet.read_table(file), to / f"{file.stem}.csv", plain)
    return str(to)


def measured(way: str, ours: Ours, folders: dict[str, Folders]) -> float:
    if way in OTHERS:
        return of_rival(OTHERS[way], folders["csv" if OTHERS[way].csv else "parquet"])
    chosen = folders[f"1/{SLOW[way]}" if way in SLOW else "parquet"]
    return chosen.per_million(ours.cost(way, chosen.few).cpu, ours.cost(way, chosen.all).cpu)


def of_rival(rival: Rival, folders: Folders) -> float:
    """In a separate process, warmed up by a few rows."""
    python = environment(rival.name, *rival.packages)
    with ExitStack() as started:
        servers = [started.enter_context(running(("-Xmx1g",))).servers] if rival.kafka else []
        rows = [folders.few, folders.few, folders.all]
        command = [str(python), str(RIVALS / rival.script), *rival.told, *servers, *rows]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) < 3:
        said = done.stderr.strip().splitlines() or ["no word why"]
        raise Missing(f"{rival.name} {' '.join(rival.told)} did not run: {said[-1]}")
    return folders.per_million(lines[1]["cpu"], lines[2]["cpu"])


def report(console: Console, rows: int, costs: Costs) -> None:
    table = Table(title=f"CPU seconds per million rows ({rows:,} rows), without what it takes to start")
    table.add_column("way")
    table.add_column("CPU s", justify="right")
    for way, cost in costs.items():
        table.add_row(way, f"{cost:.2f}")
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "process.json").write_text(json.dumps({"rows": rows, "cpu": costs}, indent=2))
    print(last_line(costs))


def last_line(costs: Costs) -> str:
    parts = (("keyed", "bytewax"), ("map", "bytewax"), ("batches", "mapInArrow"))
    return ", ".join(f"{case} {ratio(costs, case, other)} of {other}" for case, other in parts)


def ratio(costs: Costs, case: str, other: str) -> str:
    ours, theirs = costs.get(f"{case}, millstream"), costs.get(f"{case}, {other}")
    return "?" if ours is None or not theirs else f"{ours / theirs:.2f}"
