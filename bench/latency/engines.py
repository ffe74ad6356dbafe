"""The engines, each a process that stays: it starts and stops jobs on request."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from bench.kafka_flink import connector
from bench.latency.places import Case, Place
from bench.nexmark.flink import Flink
from bench.nexmark.run import TOOLS

PARALLELISM = 2


class Engine(Protocol):
    @property
    def pid(self) -> int: ...

    def start(self, case: Case, source: Place, sink: Place, work: Path) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


class Ours:
    def __init__(self, log: Path) -> None:
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.latency.ours"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._log = log
        self._answer()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, case: Case, source: Place, sink: Place, work: Path) -> None:
        told = {"case": asdict(case), "source": asdict(source), "sink": asdict(sink), "work": str(work)}
        self._ask(json.dumps(told))

    def stop(self) -> None:
        self._ask("stop")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "done":
            raise RuntimeError(f"the job failed; its log is {self._log}")


class Theirs:
    """Flink SQL: exactly-once sink, RocksDB, rows on their way after 2 ms at most."""

    def __init__(self, work: Path) -> None:
        settings = {
            "execution.buffer-timeout.interval": "2 ms",
            "table.exec.mini-batch.enabled": "false",
            "taskmanager.numberOfTaskSlots": str(PARALLELISM),
        }
        self._flink = Flink(TOOLS, work, work, work, PARALLELISM, (connector(),), settings)

    @property
    def pid(self) -> int:
        return self._flink.process.pid

    def start(self, case: Case, source: Place, sink: Place, work: Path) -> None:
        chosen = "a.id, GREATEST(a.sent, b.sent) FROM likes a JOIN likes b "
        chosen += "ON a.liker = b.liked AND a.liked = b.liker WHERE a.liker < a.liked"
        self._flink.start(
            [
                f"SET execution.checkpointing.interval={case.every} s",
                f"CREATE TABLE likes (id BIGINT, liker STRING, liked STRING, sent BIGINT) WITH ({read(source)})",
                f"CREATE TABLE seen (id BIGINT, sent BIGINT) WITH ({written(sink)})",
                f"INSERT INTO seen SELECT {chosen if case.matches else 'id, sent FROM likes'}",
            ]
        )

    def stop(self) -> None:
        self._flink.stop()

    def close(self) -> None:
        self._flink.close()


def at(place: Place) -> str:
    return (
        f"'connector' = 'kafka', 'topic' = '{place.topic}', 'properties.bootstrap.servers' = '{place.servers}', "
        "'format' = 'json'"
    )


def read(place: Place) -> str:
    return f"{at(place)}, 'properties.group.id' = '{place.topic}', 'scan.startup.mode' = 'earliest-offset'"


def written(place: Place) -> str:
    once = f"'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{place.topic}'"
    # Kafka's client waits 5 ms for more records by default.
    quick = "'properties.transaction.timeout.ms' = '600000', 'properties.linger.ms' = '0'"
    return f"{at(place)}, {once}, {quick}"
