"""How late rows are in real time while a savepoint of many keys is written, beside the same rows before and after it.

A join of likes with their answers holds unanswered likes; others are sent on a fixed schedule, and a separate process
notes when their matches arrive.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

import click

import millstream as ms
from bench.latency.ours import job
from bench.latency.places import LAG, PARTITIONS, Case, Place
from millstream import journal
from millstream.runtime.run import Run
from millstream.spark import session

RATE, SECONDS, WARM_UP = 1000, 60, 20
CASE = Case("journal", RATE, 5)
SLOTS = 8


@dataclass(frozen=True)
class Window:
    """From when until when, in nanoseconds."""

    begin: int
    end: int


def run(keys: int) -> None:
    with tempfile.TemporaryDirectory(prefix="millstream-savepoints-") as name:
        folder = Path(name)
        path = str(folder / "journal")
        for topic in ("in", "out"):
            journal.create(path, topic, PARTITIONS)
        prefill(path, keys)
        session.make(SLOTS, PARTITIONS, {}, ())
        source, sink = Place("in", None, path), Place("out", None, path)
        made = job(CASE, source, sink, name)
        made.run(ms.available_now())
        running = made.start(ms.real_time(f"{CASE.every} seconds"))
        report(keys, *observed(running, source, sink, folder))


def prefill(path: str, keys: int) -> None:
    with journal.producer(path, "in", durable=False) as producer:
        for key in range(1, keys + 1):
            producer.send(f'{{"id":-{key},"liker":"x{key}","liked":"y{key}","sent":0}}')


def observed(running: Run, source: Place, sink: Place, folder: Path) -> tuple[Window, list[tuple[int, int]]]:
    """When the savepoint was written, and of each row when it was due and how late it was."""
    out, begin = folder / "seen", time.time_ns() + 5 * 10**9
    probe = python("probe", sink.text(), "read_uncommitted", str(out), stdin=subprocess.PIPE)
    load = python("load", source.text(), CASE.name, str(RATE), str(begin), str(WARM_UP + SECONDS))
    let_run(running, begin + (WARM_UP + SECONDS // 3) * 10**9)
    started = time.time_ns()
    running.savepoint(str(folder / "saved"))
    written = Window(started, time.time_ns())
    while load.poll() is None:
        running.poll(0.2)
    let_run(running, time.time_ns() + 3 * 10**9)
    assert probe.stdin is not None
    probe.stdin.close()
    probe.wait(60)
    running.stop()
    found = array("q", out.read_bytes())
    rows = [(due, seen - due) for due, seen in zip(found[1::3], found[2::3], strict=True)]
    return written, [row for row in rows if row[0] >= begin + WARM_UP * 10**9]


def let_run(running: Run, until: int) -> None:
    while time.time_ns() < until:
        running.poll(0.2)


def python(module: str, *arguments: str, stdin: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", f"bench.latency.{module}", *arguments], stdin=stdin)


def report(keys: int, written: Window, rows: list[tuple[int, int]]) -> None:
    during = sorted(late for due, late in rows if written.begin <= due <= written.end)
    beside = sorted(late for due, late in rows if not written.begin <= due <= written.end)
    click.echo(f"{keys} keys, {RATE} rows a second, checkpoints every {CASE.every} s; {LAG} likes before each answer")
    for what, late in (("while a savepoint is written", during), ("before and after", beside)):
        click.echo(f"  {what:<30} {len(late):>6} rows, p50 {share(late, 0.5):.1f} ms, p99 {share(late, 0.99):.1f} ms")
    click.echo(f"the savepoint took {(written.end - written.begin) / 1e9:.1f} s")


def share(late: list[int], part: float) -> float:
    return late[min(len(late) - 1, int(len(late) * part))] / 1e6 if late else float("nan")
