"""`millstream savepoint`: saves the state of a job, which may be running."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.cli import verbose
from millstream.cli.jobfile import job_of
from millstream.cli.operated import Manager, or_managed
from millstream.cli.place import placed
from millstream.plan.cluster import Cluster


@click.command()
@click.argument("job", metavar="FILE|NAME")
@click.argument("path", required=False)
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps its progress and state.")
@click.option("--stop", is_flag=True, help="Stop the job first, so that it can continue elsewhere from the savepoint.")
@placed
@or_managed
@verbose.option
def savepoint(
    job: str,
    path: str | None,
    checkpoint: str | None,
    stop: bool,
    manager: Manager,
    on: Cluster,
    driver_there: bool,
    parallelism: int | None,
) -> None:
    """Save the state of the job in FILE in the new folder PATH.

    The job may be running, here or elsewhere, and keeps running: the savepoint holds the last epoch that it has
    committed. NAME is a job at a manager; without PATH, the savepoint goes beside its checkpoint.
    """
    if manager.has(job):
        asked = {"path": path, **({"savepoint": True} if stop else {})}
        manager.do(job, "stop" if stop else "savepoint", asked)
        return
    if path is None:
        raise click.UsageError("Missing argument 'PATH'.")
    of_file(Path(job), path, checkpoint, stop, on, parallelism)


def of_file(file: Path, path: str, checkpoint: str | None, stop: bool, on: Cluster, parallelism: int | None) -> None:
    from millstream.cli.savepoint_progress import Progress
    from millstream.runtime.requests import ask_to_stop, followed
    from millstream.runtime.savepoints.of_job import session_for
    from millstream.runtime.savepoints.ports import outputs_of
    from millstream.runtime.savepoints.taking import take
    from millstream.storage import CheckpointFolder

    job = job_of(file, checkpoint, parallelism)
    plan, at = job.plan(), followed(job.checkpoint)
    if stop:
        ask_to_stop(CheckpointFolder.at(at))
    spark = session_for(plan, (at, path), job.parallelism, on, None)
    saved = take(spark, at, path, outputs_of(plan), Progress)
    manifest = saved.manifest
    click.echo(f"{job.name}: epoch {manifest.epoch}, {manifest.rows} rows of state, saved in {saved.path}")
