"""The command's options, checked; and what is printed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import click
from rich.console import Console

from bench.latency.picture import picture
from bench.latency.places import CASES, Case
from bench.latency.report import beside_flink, keep, table
from bench.latency.run import Wanted
from bench.latency.run import run as run_all


def chosen(option: str, text: str, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
    parts = tuple(part for part in text.split(",") if part)
    unknown = [part for part in parts if part not in known] if known else [part for part in parts if not part.isdigit()]
    if unknown or not parts:
        raise click.BadParameter(f"there is no {', '.join(unknown) or 'such part'}", param_hint=option)
    return parts


def run(cases: str, rates: str, every: str, engines: str, seconds: int, warm_up: int, drawn: str | None) -> None:
    parts = product(chosen("--cases", cases, CASES), chosen("--rates", rates), chosen("--every", every))
    wanted = Wanted(
        tuple(Case(name, int(rate), int(interval)) for name, rate, interval in parts),
        chosen("--engines", engines, ("millstream", "flink")),
        seconds,
        warm_up,
    )
    found = keep(run_all(wanted, Console()))
    if drawn is not None:
        Path(drawn).write_text(picture(found))
    print(table(found))
    print(beside_flink(found))
