"""Hands a job over to a cluster whose machines run its driver as well, by spark-submit, and follows it there."""

from __future__ import annotations

import os
import re
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
NAME = re.compile(r"Submitted application (application_\w+)|pod name: (\S+)")
STATE = re.compile(r"final status: (\w+)|phase: (\w+)")
REASON = re.compile(r"diagnostics: (?!N/A|AM container|\[.*Application is added|Scheduler has assigned)(.+)")


@dataclass(frozen=True)
class Submission:
    """`folder`: where the driver is to work, on a disk that all machines share."""

    job: str
    file: Path
    on: Cluster
    jars: tuple[Jars, ...]
    folder: str
    options: tuple[str, ...]


def submit(what: Submission, named: Callable[[str], None]) -> None:
    """Returns when the job has ended well. `named` gets the name under which the cluster knows it."""
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder, log() as file:
        process = subprocess.Popen(
            command(what, Path(folder)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        try:
            seen = follow(process, file, named)
        finally:
            process.kill()  # it only watches: the driver is elsewhere
            process.wait()
    if seen.code != 0:
        raise MillstreamError(
            "MS-CLUSTER-015",
            f'job "{what.job}" failed on the cluster.' if seen.name else f'the cluster did not take job "{what.job}".',
            found=seen.reason,
            hint=where_it_tells(seen.name),
        )


def command(what: Submission, folder: Path) -> list[str]:
    on = what.on.settings
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    settings = {PYTHON: python, **of_the_driver(on), **on, **environment(what.on, on)}
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


@dataclass
class Seen:
    name: str | None = None
    reason: str | None = None
    code: int = 0


def follow(process: subprocess.Popen[str], log: Callable[[str], object], named: Callable[[str], None]) -> Seen:
    seen = Seen()
    assert process.stdout is not None
    for line in process.stdout:
        log(line)
        name, reason = NAME.search(line), REASON.search(line)
        if name is not None and seen.name is None:
            seen.name = name.group(1) or name.group(2)
            named(seen.name)
        if reason is not None:
            seen.reason = reason.group(1).strip()
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


def where_it_tells(name: str | None) -> str | None:
    here = LOG.keep()
    said = f"what spark-submit said is in {here}" if here else None
    if name is None:
        return said
    tell = f"yarn logs -applicationId {name}" if name.startswith("application_") else f"kubectl logs {name}"
    return f"`{tell}` shows what the driver said" + (f"; {said}" if said else "")
