"""`--verbose`, before or after the noun: more in the log, Spark's log too, and where errors come from."""

from __future__ import annotations

import logging
import os

import click

NAME = "millstream.verbose"


def _be_verbose(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value:
        os.environ["MILLSTREAM_VERBOSE"] = "1"
        logging.getLogger().setLevel(logging.DEBUG)
        context.find_root().meta[NAME] = True
    return value


option = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_be_verbose,
    help="Log more, including Spark's log, and show where errors come from.",
)
