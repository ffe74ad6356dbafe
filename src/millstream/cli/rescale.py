"""`millstream rescale`: another parallelism for a job."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.api.job import Job
from millstream.cli import verbose
from millstream.cli.jobfile import job_of
from millstream.cli.operated import Manager, or_managed
from millstream.cli.place import placed
from millstream.plan.cluster import Cluster
from millstream.runtime.described import read_checkpoint
from millstream.runtime.requests import ask_to_stop, followed
from millstream.runtime.savepoints.of_job import session_for
from millstream.runtime.savepoints.rescaling import Rescaled, refuse_parallelism, rescaled
from millstream.storage import CheckpointFolder


@click.command()
@click.argument("job", metavar="FILE|NAME")
@click.option("--to", "parallelism_now", type=int, required=True, metavar="N", help="The new number of parts.")
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps its progress and state.")
@click.option("--stop", is_flag=True, help="Ask the job to stop first, wherever it runs.")
@placed
@or_managed
@verbose.option
def rescale(
    job: str,
    parallelism_now: int,
    checkpoint: str | None,
    stop: bool,
    manager: Manager,
    on: Cluster,
    driver_there: bool,
    parallelism: int | None,
) -> None:
    """Divide the state of the job in FILE into N parts. Then run it with that parallelism.

    If NAME is a job at a manager, the manager stops it, divides its state, and starts it again.
    """
    if manager.has(job):
        manager.do(job, "rescale", {"parallelism": parallelism_now})
        return
    of_file(job_of(Path(job), checkpoint, parallelism), parallelism_now, stop, on)


def of_file(job: Job, parallelism_now: int, stop: bool, on: Cluster) -> None:
    refuse_parallelism(parallelism_now)
    at = followed(job.checkpoint)
    if stop:
        ask_to_stop(CheckpointFolder.at(at))
    spark = session_for(job.plan(), (at,), parallelism_now, on, None)
    before = read_checkpoint(at).parallelism
    done = rescaled(job.name, job.plan(), at, parallelism_now, spark)
    click.echo(compared(done))
    click.echo(shared(done))
    click.echo(f"{job.name}: {before} -> {parallelism_now}; run it with --parallelism {parallelism_now}")


def compared(done: Rescaled) -> str:
    """Fingerprints of all state, before and after."""
    width = max((len(f"{one.operator}/{one.name}") for one in done.lists), default=0)
    return "\n".join(
        f"{f'{one.operator}/{one.name}'.ljust(width)}  {one.rows:>10} rows  {one.before}  {one.after}"
        f"  {'equal' if one.same else 'DIFFERENT'}"
        for one in done.lists
    )


def shared(done: Rescaled) -> str:
    """Each task's part of the state, and what the rescale cost."""
    lines = []
    for number, rows in enumerate(done.shares, 1):
        whole = sum(rows) or 1
        parts = ", ".join(f"{count} ({count / whole:.0%})" for count in rows)
        lines.append(f"stage {number}: {parts} of {sum(rows)} entries, task by task")
    moved = done.moved
    size = f"{moved.bytes / 1e6:.1f} MB of state were written again, of which {moved.least / 1e6:.1f} MB had to move"
    return "\n".join([*lines, f"{size}; it took {moved.seconds:.1f} s"])
