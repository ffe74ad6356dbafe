"""The same job in Flink SQL, whose checkpoints and savepoints are asked for by REST."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from bench.measure import Cost, measured
from bench.nexmark.flink import Flink
from bench.nexmark.run import TOOLS
from servers.process import free_port

LOOK = 0.1
PATIENCE = 600
TABLE = (
    "CREATE TABLE `rows` (k BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = 'file://%s', "
    "'format' = 'json', 'source.monitor-interval' = '200 ms')"
)
SINKS = (
    "CREATE TABLE few_sums (k BIGINT, n BIGINT, s BIGINT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE few_most (j BIGINT, most BIGINT) WITH ('connector' = 'blackhole')",
)
# In one line: a script is cut at the ends of lines.
JOB = (
    "EXECUTE STATEMENT SET BEGIN "
    "INSERT INTO few_sums SELECT * FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM `rows` GROUP BY k) WHERE n < 0; "
    "INSERT INTO few_most SELECT * FROM (SELECT k * 7 AS j, MAX(v) AS most FROM `rows` GROUP BY k * 7) WHERE most < 0; "
    "END"
)


class Theirs:
    def __init__(self, folder: Path, parallelism: int) -> None:
        self.folder, self._port = folder, free_port()
        self._rows = folder / "rows"
        self._rows.mkdir()
        settings = {
            "rest.bind-port": str(self._port),
            "rest.port": str(self._port),
            "taskmanager.numberOfTaskSlots": str(parallelism + 1),
            "execution.checkpointing.interval": "1 h",
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            "web.refresh-interval": "100",
            "metrics.fetcher.update-interval": "100",
        }
        self._flink = Flink(TOOLS, folder / "flink", folder, folder, parallelism, other=settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flink.close()

    def measured(self, work: Callable[[], object]) -> Cost:
        return measured(work, of=self._flink.process.pid)

    def feed(self, name: str, keys: range) -> None:
        """A file that appears at once."""
        hidden = self._rows / f".{name}"
        with hidden.open("w") as out:
            out.writelines(f'{{"k": {key}, "v": {key % 1000}}}\n' for key in keys)
        hidden.rename(self._rows / f"{name}.json")

    def start(self, parallelism: int, rows: int) -> None:
        self._begin(parallelism, None)
        self._wait(lambda: self._read() >= rows)

    def go_on(self, parallelism: int, path: str) -> None:
        """From a savepoint or a checkpoint, until all tasks have their state."""
        self._begin(parallelism, path)

    def _begin(self, parallelism: int, path: str | None) -> None:
        chosen = [f"SET parallelism.default={parallelism}"]
        chosen += [f"SET execution.state-recovery.path={path}"] if path else []
        self._flink.start([*chosen, TABLE % self._rows, *SINKS, JOB])
        self._wait(self._running)

    def stop(self) -> None:
        self._flink.stop()
        self._wait(lambda: not self._jobs())

    def change(self, name: str, keys: range, rows: int) -> None:
        self.feed(name, keys)
        self._wait(lambda: self._read() >= rows)
        self.checkpoint()

    def checkpoint(self) -> str:
        """Its path."""
        asked = self._post(f"jobs/{self._job}/checkpoints", {"checkpointType": "CONFIGURED"})
        self._done(f"jobs/{self._job}/checkpoints/{asked['request-id']}")
        found = self._get(f"jobs/{self._job}/checkpoints")["latest"]["completed"]["external_path"]
        return str(found).removeprefix("file:")

    def savepoint(self) -> str:
        told = {"target-directory": f"file://{self.folder}/savepoints", "formatType": "CANONICAL"}
        asked = self._post(f"jobs/{self._job}/savepoints", told)
        return self._done(f"jobs/{self._job}/savepoints/{asked['request-id']}")

    def rescale(self, parallelism: int) -> None:
        """Stops with a savepoint, and continues from it."""
        told = {"targetDirectory": f"file://{self.folder}/savepoints", "formatType": "CANONICAL", "drain": False}
        job = self._job
        asked = self._post(f"jobs/{job}/stop", told)
        path = self._done(f"jobs/{job}/savepoints/{asked['request-id']}")
        self._wait(lambda: not self._jobs())
        self._begin(parallelism, path)

    def _done(self, path: str) -> str:
        found: list[dict[str, Any]] = []

        def completed() -> bool:
            answer = self._get(path)
            found[:] = [answer.get("operation") or {}]
            return bool(answer["status"]["id"] == "COMPLETED")

        self._wait(completed)
        if "failure-cause" in found[0]:
            raise RuntimeError(f"flink: {found[0]['failure-cause']}")
        return str(found[0].get("location", "")).removeprefix("file:")

    @property
    def _job(self) -> str:
        (job,) = self._jobs()
        return job

    def _jobs(self) -> list[str]:
        ended = ("FINISHED", "CANCELED", "FAILED")
        return [job["id"] for job in self._get("jobs")["jobs"] if job["status"] not in ended]

    def _running(self) -> bool:
        jobs = self._jobs()
        vertices = self._get(f"jobs/{jobs[0]}")["vertices"] if jobs else []
        return bool(vertices) and all(one["status"] == "RUNNING" for one in vertices)

    def _read(self) -> int:
        """How many rows the slower of the two aggregates has read."""
        vertices = self._get(f"jobs/{self._job}")["vertices"]
        counted = [int(one["metrics"]["read-records"]) for one in vertices if "Aggregate" in one["name"]]
        return min((count for count in counted if count), default=0)

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/{path}", timeout=60) as answer:
            return json.load(answer)

    def _post(self, path: str, told: dict[str, Any]) -> Any:
        url, headers = f"http://127.0.0.1:{self._port}/{path}", {"Content-Type": "application/json"}
        asked = urllib.request.Request(url, json.dumps(told).encode(), headers)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"flink: {error.read().decode()}") from error

    def _wait(self, there: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not there():
            if time.monotonic() > until:
                raise RuntimeError("flink does not come to an end")
            time.sleep(LOOK)
