"""`millstream replay`: runs an epoch of a job again, without writing anything."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from millstream.cli import verbose
from millstream.cli.jobfile import job_of
from millstream.cli.state import cell
from millstream.testing.given import Delete
from millstream.testing.written import Written, in_order


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epoch", required=True, type=click.IntRange(0), help="The epoch to run; it must be kept.")
@click.option("--checkpoint", metavar="DIR", help="The job's checkpoint, if it is not the default.")
@click.option("--pdb", is_flag=True, help="Open pdb at breakpoint() in Python steps, and where they fail.")
@click.option("--to-test", "test", type=click.Path(path_type=Path), metavar="FILE", help="Also write it as a pytest.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@verbose.option
def replay(file: Path, epoch: int, checkpoint: str | None, pdb: bool, test: Path | None, as_json: bool) -> None:
    """Run an epoch of the job in FILE again, from the state before it and with its rows, and print what it writes.

    It runs in a sandbox: sinks, checkpoint and sources are left as they are. The epoch must be kept, or be the one in
    which the job failed. The code may have changed since, but not the shape of its state.
    """
    from millstream.replay import replay as again
    from millstream.replay.as_test import write_test
    from millstream.replay.terminal import lent

    job = job_of(file)
    job.checkpoint = checkpoint or job.checkpoint
    with lent() if pdb else nullcontext():
        found = again(job, epoch) if test is None else write_test(job, file, epoch, test)
    show(found.epoch, found.outputs, as_json)
    if test is not None:
        click.echo(f"{test} and {test.with_suffix('')} written: run it with pytest", err=True)


def show(epoch: int, outputs: dict[str, list[Written]], as_json: bool) -> None:
    console = Console()
    for sink, rows in ((name, in_order(found)) for name, found in outputs.items()):
        if as_json:
            for row in rows:
                click.echo(json.dumps({"sink": sink, **told(row)}, default=str))
            continue
        console.print(f"{sink}: {len(rows)} in epoch {epoch}", style="bold", markup=False)
        names = dict.fromkeys(name for row in rows for name in plain(row))
        table = Table("", *names, box=None, pad_edge=False)
        for row in rows:
            values = plain(row)
            table.add_row("-" if isinstance(row, Delete) else "+", *(cell(values.get(name)) for name in names))
        if rows:
            console.print(table)


def plain(row: Written) -> dict[str, object]:
    return dict(row.row if isinstance(row, Delete) else row)


def told(row: Written) -> dict[str, object]:
    return {"delete": plain(row)} if isinstance(row, Delete) else {"row": plain(row)}
