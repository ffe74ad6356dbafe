"""Flink beside us: a cluster in its own process, installed into its own environment."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.measure import Cost, measured
from bench.nexmark.flink_sql import FILES, SQL, tables
from bench.nexmark.jars import flink_jar

VERSION = "2.3.0"
MEMORY = "4g"
OPENED = ("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent")


class Missing(Exception):
    """Flink is not available here."""


def install(folder: Path) -> Path:
    """The folder of Flink's jars; made once, with pip."""
    environment = folder / f"flink-{VERSION}"
    found = list(environment.glob("lib/python*/site-packages/pyflink/lib"))
    if found:
        return found[0]
    uv = shutil.which("uv")
    if uv is None:
        commands = [[sys.executable, "-m", "venv", str(environment)], [f"{environment}/bin/pip", "install", "-q"]]
    else:
        python = ["--python", f"{environment}/bin/python"]
        commands = [[uv, "venv", "-q", "--seed", str(environment)], [uv, "pip", "install", "-q", *python]]
    commands[-1].append(f"apache-flink=={VERSION}")
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(environment, ignore_errors=True)
            raise Missing(f"apache-flink {VERSION} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    return next(environment.glob("lib/python*/site-packages/pyflink/lib"))


def settings(work: Path, parallelism: int) -> dict[str, str]:
    return {
        "parallelism.default": str(parallelism),
        "taskmanager.numberOfTaskSlots": str(parallelism),
        "taskmanager.memory.managed.size": "1g",
        "taskmanager.memory.network.min": "128m",
        "taskmanager.memory.network.max": "128m",
        "rest.bind-port": "0",
        "rest.bind-address": "127.0.0.1",
        "rest.address": "127.0.0.1",
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": f"{work}/rocksdb",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": "10s",
        "execution.checkpointing.dir": f"file://{work}/checkpoints",
        "pipeline.object-reuse": "true",
        "table.local-time-zone": "UTC",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "2 s",
        "table.exec.mini-batch.size": "50000",
        "table.optimizer.distinct-agg.split.enabled": "true",
    }


class Flink:
    """One cluster for all queries. Close it."""

    def __init__(
        self,
        tools: Path,
        work: Path,
        events: Path,
        judged: Path,
        parallelism: int,
        more: tuple[Path, ...] = (),
        other: dict[str, str] | None = None,
    ) -> None:
        """`more`: other jars beside Flink's own; `other`: settings that differ from the benchmark's."""
        jars = install(tools)
        own = flink_jar(tools / "jars", jars)
        self.work = work
        self.events = events
        self.judged = judged
        self.parallelism = parallelism
        self._runs = itertools.count()
        work.mkdir(parents=True, exist_ok=True)
        opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
        chosen = [f"{name}={value}" for name, value in {**settings(work, parallelism), **(other or {})}.items()]
        path = ":".join(map(str, (own, *more, f"{jars}/*")))
        command = ["java", f"-Xmx{MEMORY}", *opened, "-cp", path, "nexmark.flink.Runner", *chosen]
        with (work / "flink.log").open("w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=quiet(work)
            )
        self._answer("ready")

    def cost(self, query: str) -> Cost:
        """The cost of a run that drops its rows, or for q10 writes them to files."""
        sink = "CREATE TABLE sunk WITH ('connector' = 'blackhole') AS " + SQL[query]
        last = [sink]
        if query == "q10":
            last = [FILES % (self.work / f"files-{next(self._runs)}"), f"INSERT INTO sunk {SQL[query]}"]
        script = self._script(query, self.events, last)
        return measured(lambda: self._ask(f"run {script}"), of=self.process.pid)

    def run(self, statements: list[str]) -> Cost:
        """What a script costs."""
        script = self._written(statements)
        return measured(lambda: self._ask(f"run {script}"), of=self.process.pid)

    def start(self, statements: list[str]) -> None:
        """A script whose last statement does not end by itself."""
        self._ask(f"start {self._written(statements)}")

    def stop(self) -> None:
        """Ends what was started."""
        self._ask("stop")

    def _written(self, statements: list[str]) -> Path:
        script = self.work / f"script-{next(self._runs)}.sql"
        script.write_text(";\n".join(statements))
        return script

    def results(self, query: str, to: Path) -> None:
        """Every change of the result, as lines: op and fields, with tabs between."""
        self._ask(f"collect {self._script(query, self.judged, [SQL[query]])} {to}")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _script(self, query: str, events: Path, last: list[str]) -> Path:
        script = self.work / f"{query}.sql"
        script.write_text(";\n".join([*tables(query, str(events), self.parallelism), *last]))
        return script

    def _ask(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self._answer("done")

    def _answer(self, wanted: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == wanted:
                return
            if line.startswith("failed"):
                raise RuntimeError(f"flink {line.strip()}; its log is {self.work / 'flink.log'}")
        raise RuntimeError(f"flink ended; its log is {self.work / 'flink.log'}")


def quiet(work: Path) -> dict[str, str]:
    """Log warnings only."""
    file = work / "log4j2.properties"
    file.write_text(
        "rootLogger.level = WARN\nrootLogger.appenderRef.console.ref = console\nappender.console.name = console\n"
        "appender.console.type = CONSOLE\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %d %p %c %m%n\n"
    )
    return {**os.environ, "JDK_JAVA_OPTIONS": f"-Dlog4j.configurationFile={file}"}
