"""Runs one kept epoch of a job again: its own plan and sources, its sinks in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from millstream.api.job import Job
from millstream.plan.nodes import Sink
from millstream.planner.stages import JobPlan
from millstream.runtime.again import muted, run_again
from millstream.runtime.described import Described, read_checkpoint
from millstream.runtime.needs import jars_of
from millstream.runtime.requests import followed
from millstream.runtime.sandbox import copied, refuse_unknown
from millstream.spark import session
from millstream.storage.files import scheme
from millstream.testing.written import Written, decoded, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Replayed:
    """What an epoch wrote when it was run again: by sink, rows and `Delete`s in no order."""

    job: str
    epoch: int
    outputs: dict[str, list[Written]]


def replay(job: Job, epoch: int, *, spark: SparkSession | None = None) -> Replayed:
    """Runs a kept epoch of a job again, from the state before it and with its rows. Nothing is written."""
    session.prepare(spark, jars_of(job.plan(), job.checkpoint), elsewhere=scheme(job.checkpoint) != "file")
    about = read_checkpoint(followed(job.checkpoint))
    refuse_unknown(about, epoch)
    with TemporaryDirectory(prefix="millstream-replay-", ignore_cleanup_errors=True) as folder:
        sandbox = copied(about, epoch, Path(folder))
        return Replayed(job.name, epoch, outputs_of(job, muted(job._sinks), sandbox, epoch, spark))


def outputs_of(
    job: Job, plan: JobPlan, sandbox: Described, epoch: int, spark: SparkSession | None
) -> dict[str, list[Written]]:
    """What each sink receives in the epoch that a sandbox has begun."""
    taken = run_again(plan, sandbox, spark, jars_of(plan, job.checkpoint))
    return {sink.name: entries(sink, taken[sink.name], epoch) for sink in job._sinks}


def entries(sink: Sink, text: str, epoch: int) -> list[Written]:
    found: dict[str, list[list[str | None]]] = json.loads(text)
    return [written(sink, *map(decoded, entry))[1] for entry in found.get(str(epoch), [])]
