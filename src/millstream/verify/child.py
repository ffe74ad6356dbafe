"""The job as a process of its own, to be killed: `python -m millstream.verify.child FILE FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from millstream.api.command import Command
from millstream.api.job import Job
from millstream.cli.jobfile import execute, the_job
from millstream.plan.modes import Batch, MicroBatch, Mode
from millstream.plan.restarts import no_restart
from millstream.planner.stages import plan_job
from millstream.runtime.run import Run, Setting
from millstream.spark import session
from millstream.testing.faults import MANAGER
from millstream.verify.sandbox import sandboxed

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"}
"""These processes do not live long enough for the JVM's slow compiler to pay off."""
CHECKPOINT = "checkpoint"


def load(file: Path) -> Job:
    """The job of a file, which is not run."""
    command = Command(explain=True)
    execute(file, command)
    return the_job(file, command)


def work(job: Job, folder: Path, rows_per_epoch: dict[str, int], mode: Mode) -> None:
    plan = plan_job(sandboxed(job._sinks, folder, rows_per_epoch))
    spark = session.make(4, job.parallelism, {**MANAGER, **QUICK})
    setting = Setting(mode, str(folder / CHECKPOINT), job.parallelism, spark)
    Run.begin(job.name, plan, setting, no_restart()).wait()


def main(file: str, folder: str) -> None:
    told = json.loads((Path(folder) / "run.json").read_text())
    mode: Mode = Batch() if told["batch"] else MicroBatch(0, True)
    work(load(Path(file)), Path(folder), told["rows_per_epoch"], mode)


if __name__ == "__main__":
    main(*sys.argv[1:])
