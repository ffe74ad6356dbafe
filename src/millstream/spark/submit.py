"""Hands a job over to a cluster whose machines run its driver as well, by spark-submit, and follows it there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from millstream.errors import MillstreamError
from millstream.plan.cluster import DEPLOY_MODE, Cluster
from millstream.plan.connectors import Jars
from millstream.spark.followed import Seen
from millstream.spark.kubernetes import SCHEME
from millstream.spark.launch import LOG
from millstream.spark.packages import class_path
from millstream.spark.python.ship import users_files
from millstream.spark.where import PYTHON, environment, together

DRIVER = Path(__file__).resolve().parents[1] / "cli" / "driver.py"
TOLD_ALONE = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles", DEPLOY_MODE)
"""Settings that have their own options."""
EXECUTORS = "spark.executorEnv."
DRIVERS = ("spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv.")
"""What the names of variables follow."""
CALM = {"spark.kubernetes.report.interval": "1m"}
"""How often spark-submit says that nothing is new. By itself it does so every second, for as long as the job runs."""


@dataclass(frozen=True)
class Submission:
    """`folder`: where the driver is to work, on a disk that all machines share."""

    job: str
    file: Path
    on: Cluster
    jars: tuple[Jars, ...]
    folder: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Listener:
    """`named` gets the name under which the cluster knows the job; `waits`, why its driver does not start."""

    named: Callable[[str], None]
    waits: Callable[[str], None]


def submit(what: Submission, listener: Listener) -> None:
    """Returns when the job has ended well."""
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder, log() as file:
        process = subprocess.Popen(
            command(what, Path(folder)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        try:
            seen = follow(process, file, listener)
        finally:
            process.kill()  # it only watches: the driver is elsewhere
            process.wait()
    if seen.failed:
        raise MillstreamError(
            "MS-CLUSTER-015",
            f'job "{what.job}" failed on the cluster.' if seen.name else f'the cluster did not take job "{what.job}".',
            found=seen.reason,
            hint=where_it_tells(seen.command_for_logs),
        )


def command(what: Submission, folder: Path) -> list[str]:
    on = what.on.settings
    settings = {**python(what.on), **CALM, **of_the_driver(on), **on, **environment(what.on, on)}
    sent = {
        "--jars": together(on.get("spark.jars"), class_path(what.jars)),
        "--files": together(on.get("spark.files"), str(what.file.resolve())),
        "--py-files": together(on.get("spark.submit.pyFiles"), packed(folder / "modules.zip")),
        "--archives": settings.get("spark.archives", ""),
    }
    master = ("--master", what.on.master) if what.on.master else ()
    return [
        f"{_find_spark_home()}/bin/spark-submit",
        *(*master, "--deploy-mode", "cluster", "--name", what.job),
        *(part for name, value in sent.items() if value for part in (name, value)),
        *(part for name, value in settings.items() if name not in TOLD_ALONE for part in ("--conf", f"{name}={value}")),
        *(str(DRIVER), what.folder, what.file.name, *what.options),
    ]


def python(on: Cluster) -> dict[str, str]:
    """Machines of YARN have it where this one has it. An image has its own."""
    chosen = os.environ.get("PYSPARK_PYTHON")
    in_pods = (on.master or "").startswith(SCHEME)
    return {} if in_pods and chosen is None else {PYTHON: chosen or sys.executable}


def of_the_driver(settings: Mapping[str, str]) -> dict[str, str]:
    """The driver runs the same Python as executors: it has their environment, unless its own is set."""
    given = {name.removeprefix(EXECUTORS): value for name, value in settings.items() if name.startswith(EXECUTORS)}
    return {f"{drivers}{name}": value for name, value in given.items() for drivers in DRIVERS}


def packed(archive: Path) -> str:
    """The user's modules that the job's file has imported."""
    files = users_files()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for name, source in files.items():
            made.writestr(name, source)
    return str(archive) if files else ""


def follow(process: subprocess.Popen[str], log: Callable[[str], object], listener: Listener) -> Seen:
    seen = Seen()
    assert process.stdout is not None
    for line in process.stdout:
        log(line)
        nameless, waits = seen.name is None, seen.new_wait(line)
        seen.hear(line)
        if nameless and seen.name is not None:
            listener.named(seen.name)
        if waits is not None:
            listener.waits(waits)
    seen.code = process.wait()
    return seen


@contextmanager
def log() -> Iterator[Callable[[str], object]]:
    """Where spark-submit's output goes: to Spark's log, or to the terminal."""
    file = LOG.open()
    if file is None:
        yield sys.stderr.write
        return
    with os.fdopen(file, "w") as out:
        yield out.write


def where_it_tells(command: str | None) -> str | None:
    here = LOG.keep()
    said = f"what spark-submit said is in {here}" if here else None
    if command is None:
        return said
    return f"`{command}` shows what the driver said" + (f"; {said}" if said else "")
