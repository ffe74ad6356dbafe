"""`millstream demo`: the main job, live, and at the end the proof that it was right."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import click

from millstream.cli import verbose
from millstream.errors import MillstreamError
from millstream.plan.modes import milliseconds


@click.command()
@click.option("--for", "length", metavar="TIME", help="End after this time: 30s, 5m. By default it runs until Ctrl-C.")
@click.option("--rate", type=click.FloatRange(min=1), default=500, show_default=True, help="Likes a second.")
@click.option("--every", default="2s", show_default=True, metavar="TIME", help="How long an epoch lasts.")
@click.option("--path", type=click.Path(path_type=Path), help="Keep the journal in this folder.")
@verbose.option
def demo(length: str | None, rate: float, every: str, path: Path | None) -> None:
    """Run the main job: likes stream in, matches stream out."""
    from millstream.demo.show import Plan, show

    bound = None if length is None else milliseconds(length) / 1000
    folder = chosen(path) if path else Path(tempfile.mkdtemp(prefix="millstream-demo-"))
    os.environ.setdefault("MILLSTREAM_LOG", str(folder / "spark.log"))
    try:
        equal = show(Plan(folder, rate, milliseconds(every), bound))
    except KeyboardInterrupt:
        click.echo("interrupted before stream and batch were compared", err=True)
        leave(folder, path is None, 130)
    except BaseException:
        click.echo(f"journal, checkpoint and Spark's log are in {folder}", err=True)
        raise
    leave(folder, equal and path is None, 0 if equal else 1)


def leave(folder: Path, remove: bool, code: int) -> NoReturn:
    if remove:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def chosen(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise MillstreamError("MS-DEMO-001", f"{path} is not an empty folder.", hint="name a new one")
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
