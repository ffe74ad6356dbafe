"""`millstream inspect`: what a savepoint holds."""

from __future__ import annotations

import json

import click

from millstream.cli import verbose
from millstream.runtime.savepoints.manifest import read_savepoint


@click.command()
@click.argument("savepoint")
@click.option("--json", "as_json", is_flag=True, help="Print the whole manifest.")
@verbose.option
def inspect(savepoint: str, as_json: bool) -> None:
    """Show what SAVEPOINT holds: its job and epoch, where its sources are, and its state by step."""
    saved = read_savepoint(savepoint)
    manifest = saved.manifest
    if as_json:
        click.echo(json.dumps(json.loads(manifest.json()), indent=2))
        return
    click.echo(
        f"job {manifest.job}, epoch {manifest.epoch}, parallelism {manifest.parallelism}, taken {manifest.taken}"
    )
    for name, source in manifest.sources.items():
        click.echo(f"source {name}: {source.offset}")
    width = max((len(one.folder) for one in manifest.lists), default=0)
    for one in manifest.lists:
        click.echo(f"state/{one.folder.ljust(width)}  {one.kind:<6}  {one.rows:>10} rows  {one.fingerprint}")
