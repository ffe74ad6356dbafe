"""`millstream jars`: what connectors need, put into a folder, for machines that cannot fetch it themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

import click


@click.command()
@click.argument("name", type=click.Choice(["kafka"]))
@click.option("--to", "folder", required=True, type=click.Path(file_okay=False), help="The folder to put them into.")
def jars(name: str, folder: str) -> None:
    """Fetch the jars that NAME needs.

    A job takes them from the folder by jars="FOLDER", or by MILLSTREAM_JARS. On a cluster they may be installed among
    Spark's own jars instead: Millstream's kernels are put there, too.
    """
    from millstream.plan.connectors import Jars
    from millstream.spark.packages import files
    from millstream.spark.session import JAR

    Path(folder).mkdir(parents=True, exist_ok=True)
    for path in (JAR, *files(Jars(name))):
        shutil.copyfile(path, Path(folder) / path.name)
        click.echo(path.name)
