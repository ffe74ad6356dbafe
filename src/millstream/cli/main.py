"""The command `millstream`: one noun per file, imported when it is used, so that none slows down the others."""

from __future__ import annotations

import importlib
import logging
import traceback
from typing import Any

import click

from millstream.cli import verbose
from millstream.errors import MillstreamError

NOUNS = {
    "demo": "millstream.cli.demo",
    "run": "millstream.cli.run",
    "explain": "millstream.cli.explain",
    "verify": "millstream.cli.verify",
    "checkpoints": "millstream.cli.checkpoints",
    "state": "millstream.cli.state",
    "replay": "millstream.cli.replay",
    "savepoint": "millstream.cli.savepoint",
    "restore": "millstream.cli.restore",
    "rescale": "millstream.cli.rescale",
    "inspect": "millstream.cli.inspect",
    "diff": "millstream.cli.diff",
    "journal": "millstream.cli.journal",
    "jars": "millstream.cli.jars",
    "pack": "millstream.cli.pack",
    "manager": "millstream.cli.manager",
    "token": "millstream.cli.token",
    "submit": "millstream.cli.managed",
    "list": "millstream.cli.managed:list_jobs",
    "status": "millstream.cli.managed",
    "logs": "millstream.cli.managed",
    "start": "millstream.cli.managed",
    "stop": "millstream.cli.managed",
    "cancel": "millstream.cli.managed",
    "upgrade": "millstream.cli.operated",
    "forget": "millstream.cli.managed",
    "metrics": "millstream.cli.managed",
    "managers": "millstream.cli.managed",
}
"""Noun -> the module that has a click command of that name, or of the one behind a colon."""


class Nouns(click.Group):
    """Shows an error of ours as it is meant to be read, without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NOUNS:
            return None
        module, _, name = NOUNS[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), name or cmd_name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (MillstreamError, OSError) as error:
            if ctx.meta.get(verbose.NAME):
                traceback.print_exc()
            click.echo(_shown(error), err=True)
            return ctx.exit(1)


def _not_py4j(record: logging.LogRecord) -> bool:
    """The bridge to the JVM logs every call, and an interrupted one as an error."""
    return "py4j" not in record.pathname


def _shown(error: MillstreamError | OSError) -> str:
    if isinstance(error, OSError):
        error = MillstreamError("MS-CLI-001", f"{error.strerror or error}.", found=error.filename)
    return error.text()


@click.group("millstream", cls=Nouns, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="millstream", prog_name="millstream")
@verbose.option
def main() -> None:
    """Streams and changing tables, exactly once, on Spark."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_not_py4j)
