"""Every case by every engine, in turn: what its readers see, and what it costs."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console

from bench.latency.engines import Engine, Ours, Theirs
from bench.latency.places import PARTITIONS, Case, Place
from bench.latency.report import Found, Seen
from bench.measure import cpu_seconds
from bench.nexmark.flink import Missing
from millstream import journal
from servers.kafka import Kafka, running

SERVER = ("-Xmx1g",)
"""A benchmark's broker lives long enough for the JVM's second compiler."""
STARTS, REST, IDLE = 8, 15, 20
"""Seconds until a job is up, seconds after the load until it is idle, and seconds for which it is then measured."""


@dataclass(frozen=True)
class Wanted:
    cases: tuple[Case, ...]
    engines: tuple[str, ...]
    seconds: int
    warm_up: int


class Bench:
    def __init__(self, broker: Kafka, folder: Path, wanted: Wanted, console: Console) -> None:
        self.broker = broker
        self.folder = folder
        self.wanted = wanted
        self.console = console
        self.admin = AdminClient({"bootstrap.servers": broker.servers})
        self._runs = itertools.count()

    def place(self, name: str, case: Case) -> Place:
        """A new topic."""
        topic, path = f"{name}{next(self._runs)}", str(self.folder / "journal")
        if case.name == "journal":
            journal.create(path, topic, PARTITIONS)
            return Place(topic, None, path)
        for made in self.admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
            made.result()
        return Place(topic, self.broker.servers, path)

    def run(self, case: Case, name: str, engine: Engine) -> Found:
        source, sink = self.place("in", case), self.place("out", case)
        work = self.folder / source.topic
        work.mkdir()
        engine.start(case, source, sink, work)
        seconds = self.wanted.warm_up + self.wanted.seconds
        begin = time.time_ns() + STARTS * 10**9
        told = [source.text(), case.name, str(case.rate), str(begin), str(seconds)]
        with ExitStack() as started:
            probes = {
                isolation: started.enter_context(self.probe(sink, isolation, work))
                for isolation in ("read_uncommitted", "read_committed")
                # Readers of a journal in a folder see uncommitted rows as well as those of Kafka do.
            }
            load = started.enter_context(python("load", *told))
            cpu = self.measured(engine, begin + self.wanted.warm_up * 10**9, self.wanted.seconds)
            load.wait()
            time.sleep(case.every + REST)
            idle = self.measured(engine, time.time_ns(), IDLE)
            for probe in probes.values():
                assert probe.stdin is not None
                probe.stdin.close()
                probe.wait()
        engine.stop()
        counted = begin + self.wanted.warm_up * 10**9
        seen = {isolation: rows(work / isolation) for isolation in probes}
        check(case, seen["read_committed"], case.rate * seconds)
        return Found(case, name, cpu, idle, *(Seen.of(latencies(part, counted)) for part in seen.values()))

    def probe(self, sink: Place, isolation: str, work: Path) -> subprocess.Popen[bytes]:
        return python("probe", sink.text(), isolation, str(work / isolation))

    def measured(self, engine: Engine, begin: int, seconds: int) -> float:
        """CPU seconds per minute."""
        time.sleep(max(0, begin - time.time_ns()) / 1e9)
        before, since = cpu_seconds(engine.pid), time.monotonic()
        time.sleep(seconds)
        return (cpu_seconds(engine.pid) - before) * 60 / (time.monotonic() - since)


def python(module: str, *told: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", f"bench.latency.{module}", *told], stdin=subprocess.PIPE)


def rows(file: Path) -> list[tuple[int, int, int]]:
    """Id, when it was due, when it arrived."""
    numbers = array("q", file.read_bytes())
    return list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


def latencies(seen: list[tuple[int, int, int]], since: int) -> list[float]:
    """In milliseconds, of what was due after the warm-up."""
    return sorted((here - due) / 1e6 for _, due, here in seen if due >= since)


def check(case: Case, seen: list[tuple[int, int, int]], records: int) -> None:
    """Every result once, and no others."""
    found, expected = Counter(id_ for id_, _, _ in seen), Counter(case.expected(records))
    if found != expected:
        lost, more = (expected - found).total(), (found - expected).total()
        raise RuntimeError(f"{case}: {lost} rows are missing, {more} came twice or should not be there")


def engines(wanted: Wanted, folder: Path, console: Console, opened: ExitStack) -> dict[str, Engine]:
    found: dict[str, Engine] = {}
    for name in wanted.engines:
        try:
            found[name] = Ours(folder / "millstream.log") if name == "millstream" else Theirs(folder / "flink")
            opened.callback(found[name].close)
        except Missing as missing:
            console.print(f"without Flink: {missing}")
    return found


def run(wanted: Wanted, console: Console) -> list[Found]:
    found = []
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="millstream-bench-")))
        bench = Bench(opened.enter_context(running(SERVER)), folder, wanted, console)
        there = engines(wanted, folder, console, opened)
        for case in wanted.cases:
            for name, engine in there.items():
                if case.name == "journal" and name != "millstream":
                    continue
                found.append(bench.run(case, name, engine))
                console.print(f"{name}, {case}: {found[-1].uncommitted}")
    return found
