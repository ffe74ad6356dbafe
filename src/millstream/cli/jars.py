"""`millstream jars`: what connectors and storages need, put into a folder, for machines that cannot fetch it."""

from __future__ import annotations

import shutil
from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.option("--to", "folder", required=True, type=click.Path(file_okay=False), help="The folder to put them into.")
def jars(name: str, folder: str) -> None:
    """Fetch the jars that NAME needs: kafka, rabbitmq, s3, or a connector that you have installed.

    A job takes them from the folder that jars="FOLDER" or MILLSTREAM_JARS names. On a cluster you can install them
    among Spark's own jars instead, together with Millstream's kernels, which are put into the folder, too.
    """
    from millstream.connectors import Jars, jar_set
    from millstream.spark.packages import JAR, files

    wanted = Jars(jar_set(name))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path in (JAR, *files(wanted)):
        shutil.copyfile(path, Path(folder) / path.name)
        click.echo(path.name)
