"""This version beside an earlier one: each case in both, in turn, each version in a process of its own.

this tree ──▶ worker ─┐
                      ├─ the same case, one after the other; the median of each counts
a commit  ──▶ worker ─┘
"""

from __future__ import annotations

import io
import statistics
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.beside_worker import READY

ROOT = Path(__file__).parents[1]
TREES = ROOT / ".tools" / "beside"
"""Earlier versions, set up: kept between runs."""
CASES = {"basics": ("filter", "aggregate", "join", "enrich"), "nexmark": ("q0", "q3", "q5", "q8", "q17", "q20")}


@dataclass(frozen=True)
class Compared:
    case: str
    now: float
    before: float

    @property
    def ratio(self) -> float:
        return self.now / self.before


class Worker:
    """A version's process. It has its own environment, and is told which case to run."""

    def __init__(self, tree: Path, group: str, events: int) -> None:
        command = ["./dev", "run", "python", str(ROOT / "bench" / "beside_worker.py"), group, str(events)]
        self._process = subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def await_ready(self) -> None:
        self._answer(READY)

    def cost(self, case: str) -> float:
        """In CPU seconds."""
        assert self._process.stdin is not None
        print(case, file=self._process.stdin, flush=True)
        return float(self._answer("cpu "))

    def _answer(self, beginning: str) -> str:
        """What follows the beginning of the next line that has it; Spark may say something, too."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(beginning):
                return line.removeprefix(beginning)
        raise click.ClickException("a version's process ended; the lines above say why")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def run(commit: str, only: tuple[str, ...], events: int, warm_ups: int, rounds: int) -> None:
    console = Console()
    tree = unpacked(commit)
    found: list[Compared] = []
    for group, cases in CASES.items():
        chosen = [case for case in cases if not only or case in only]
        if chosen:
            with workers(tree, group, events) as (now, before):
                found += [compare(case, now, before, warm_ups, rounds, console) for case in chosen]
    report(found, commit, events, console)


def unpacked(commit: str) -> Path:
    """The files of that commit, in a folder of their own."""
    name = git("rev-parse", "--short", commit).decode().strip()
    tree = TREES / name
    if not tree.exists():
        with tarfile.open(fileobj=io.BytesIO(git("archive", name))) as files:
            files.extractall(tree, filter="data")
    return tree


def git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise click.ClickException(done.stderr.decode().strip())
    return done.stdout


@contextmanager
def workers(tree: Path, group: str, events: int) -> Iterator[tuple[Worker, Worker]]:
    now, before = Worker(ROOT, group, events), Worker(tree, group, events)
    try:
        for worker in (now, before):
            worker.await_ready()
        yield now, before
    finally:
        for worker in (now, before):
            worker.close()


def compare(case: str, now: Worker, before: Worker, warm_ups: int, rounds: int, console: Console) -> Compared:
    costs = [(now.cost(case), before.cost(case)) for _ in range(warm_ups + rounds)]
    told = ", ".join(f"{one:.2f}/{other:.2f}" for one, other in costs)
    console.print(f"{case}: {told} CPU s, now/before", highlight=False)
    measured = costs[warm_ups:]
    return Compared(case, statistics.median(one for one, _ in measured), statistics.median(o for _, o in measured))


def report(found: list[Compared], commit: str, events: int, console: Console) -> None:
    table = Table(title=f"CPU seconds per million events ({events:,} events)")
    for heading in ("case", "now", commit, "ratio"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for part in found:
        cells = (f"{part.now * 1e6 / events:.2f}", f"{part.before * 1e6 / events:.2f}", f"{part.ratio:.2f}")
        table.add_row(part.case, *cells)
    console.print(table)
    worst = max(found, key=lambda part: part.ratio)
    print(f"at most {worst.ratio:.2f} of {commit}, in {worst.case}")
