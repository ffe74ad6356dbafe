"""`millstream checkpoints`: a job's last checkpoints."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from millstream.cli import verbose
from millstream.cli.jobfile import folder_of
from millstream.metrics.text import size, span
from millstream.runtime.described import read_checkpoint
from millstream.runtime.history import CheckpointRecord, FailedCheckpoint, failures, history
from millstream.runtime.requests import followed

NONE = "–"


@click.command()
@click.argument("job")
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="The number of epochs to show.")
@click.option("--tasks", is_flag=True, help="Print a line for each task, with the steps whose state it keeps.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@verbose.option
def checkpoints(job: str, last: int, tasks: bool, as_json: bool) -> None:
    """Show the last checkpoints of JOB: when they were taken, how long they took, how large they are.

    JOB is the file with the job, its checkpoint's folder, or its name if the checkpoint is in .millstream.
    """
    folder = read_checkpoint(followed(folder_of(job).root)).folder
    records, failed = history(folder)[-last:], failures(folder)
    if as_json:
        listed = {"checkpoints": [plain(one) for one in records], "failures": [plain(one) for one in failed]}
        click.echo(json.dumps(listed, default=str))
        return
    if not records and not failed:
        click.echo(f"no checkpoint in {folder.root} has been noted yet", err=True)
        return
    console = Console()
    console.print(by_task(records) if tasks else by_epoch(records))
    for one in failed[-last:]:
        console.print(f"epoch {one.epoch}, {one.at:%Y-%m-%d %H:%M:%S}: failed, {one.reason}", style="red", markup=False)


def plain(one: CheckpointRecord | FailedCheckpoint) -> dict[str, Any]:
    return dataclasses.asdict(one) | {"at": one.at.isoformat()}


def by_epoch(records: list[CheckpointRecord]) -> Table:
    table = Table(*("epoch", "at", "mode"), box=None, pad_edge=False)
    for title in ("took", "aligned in", "changes", "snapshots"):
        table.add_column(title, justify="right")
    for one in records:
        table.add_row(
            str(one.epoch),
            f"{one.at:%Y-%m-%d %H:%M:%S}",
            one.mode,
            span(one.duration_ms),
            time(one.align_ms),
            "gone" if one.bytes is None else size(one.bytes),
            "gone" if one.snapshot_bytes is None else size(one.snapshot_bytes),
        )
    return table


def by_task(records: list[CheckpointRecord]) -> Table:
    table = Table("epoch", "stage", "task", "steps", box=None, pad_edge=False)
    for title in ("aligned in", "stood still", "synced in", "changes"):
        table.add_column(title, justify="right")
    for record in records:
        for one in record.tasks:
            table.add_row(
                str(record.epoch),
                str(one.stage + 1),
                str(one.task),
                ", ".join(one.operators),
                time(one.align_ms),
                time(one.save_ms),
                time(one.sync_ms),
                NONE if one.bytes is None else size(one.bytes),
            )
    return table


def time(milliseconds: int | None) -> str:
    return NONE if milliseconds is None else span(milliseconds)
