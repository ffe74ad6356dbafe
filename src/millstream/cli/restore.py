"""`millstream restore`: a new checkpoint for a job, from a savepoint."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.cli import verbose
from millstream.cli.changes import listed, shown
from millstream.cli.jobfile import job_of
from millstream.cli.operated import Manager, or_managed
from millstream.cli.place import placed
from millstream.cli.restore_choices import Chosen, choices
from millstream.plan.cluster import Cluster


@click.command()
@click.argument("job", metavar="FILE|NAME")
@click.argument("savepoint")
@click.option("--checkpoint", metavar="DIR", help="The new checkpoint; by default the job's own, which must be new.")
@choices
@click.option("--fork", is_flag=True, help="Leave the saved job as it is: this one writes elsewhere.")
@click.option("--start/--no-start", default=True, help="At a manager: start the job afterwards.")
@placed
@or_managed
@verbose.option
def restore(
    job: str,
    savepoint: str,
    checkpoint: str | None,
    chosen: Chosen,
    fork: bool,
    start: bool,
    manager: Manager,
    on: Cluster,
    driver_there: bool,
    parallelism: int | None,
) -> None:
    """Create a checkpoint for the job in FILE from SAVEPOINT. `millstream run` then continues from there.

    NAME is a job at a manager that is not running. It is started afterwards.
    """
    if manager.has(job):
        manager.do(job, "restore", {"savepoint": savepoint, **chosen.asked(), "fork": fork, "start": start})
        return
    made = job_of(Path(job), checkpoint, parallelism)
    done = made.restore(
        savepoint,
        was=chosen.was,
        drop=chosen.drop,
        start_empty=chosen.start_empty,
        from_now=chosen.from_now,
        new_sources=chosen.new_source,
        fork=fork,
        on=on,
    )
    click.echo(shown(listed(done.changes)))
    click.echo(f"{made.name}: restored in {made.checkpoint}, goes on after epoch {done.epoch}")
