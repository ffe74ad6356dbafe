"""`millstream explain`: a job's dataflow, without running it."""

from __future__ import annotations

from pathlib import Path

import click

from millstream.api.command import Command
from millstream.cli import verbose
from millstream.cli.jobfile import execute
from millstream.errors import MillstreamError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@verbose.option
def explain(file: Path) -> None:
    """Show the dataflow of the job in FILE: operators, stages, what each sink guarantees."""
    command = Command(explain=True)
    execute(file, command)
    if not command.jobs:
        raise MillstreamError("MS-CLI-004", f"{file} makes no job.", hint='it needs a job = ms.Job("name")')
    click.echo("\n\n".join(job.explain() for job in command.jobs))
