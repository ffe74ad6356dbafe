"""`millstream diff`: what happens to saved state in a changed job, before anything is started."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from millstream.cli import verbose
from millstream.cli.changes import INCOMPATIBLE, as_json, listed, shown
from millstream.cli.jobfile import job_of
from millstream.cli.operated import Manager, diff_at, or_managed
from millstream.cli.restore_choices import Chosen, choices


@click.command()
@click.argument("saved")
@click.argument("file", type=click.Path(path_type=Path))
@choices
@or_managed
@verbose.option
def diff(saved: str, file: Path, chosen: Chosen, manager: Manager) -> None:
    """Show what would happen to the state in SAVED, a savepoint or a checkpoint, if the job in FILE continued from it.

    SAVED may also be the name of a job at a manager. Nothing is started or written. The exit code is 1 if the job could
    not continue.
    """
    if manager.has(saved):
        diff_at(manager, saved, file, chosen)
        return
    from millstream.runtime.savepoints.comparing import changes_in
    from millstream.runtime.savepoints.matching import Choices

    job = job_of(file, None, None)
    drop, empty, now, new = map(frozenset, (chosen.drop, chosen.start_empty, chosen.from_now, chosen.new_source))
    wanted = Choices({**job._was, **chosen.was}, drop, empty, now, new)
    changes = changes_in(saved, job.name, job.plan(), wanted)
    click.echo(as_json(changes) if manager.as_json else shown(listed(changes)))
    if not all(one.allowed for one in changes):
        sys.exit(INCOMPATIBLE)
