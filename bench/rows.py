"""What it costs that people may look at the rows of a job (`millstream manager --show-rows`): the same job, on and off.

Cases are those of `bench/basics.py` without their rivals. What the driver's reporter writes each second is not in it.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.basics import CASES, RESULTS, Bench, Case, generate
from bench.measure import Cost
from millstream.plan.cluster import SHOWS_ROWS

NAMES = ("filter", "aggregate")
OFF, ON = "false", "true"


def cost(bench: Bench, case: Case, shown: str) -> Cost:
    bench.spark.conf.set(SHOWS_ROWS, shown)
    return bench.by_millstream(case)


def compared(bench: Bench, case: Case, warm_ups: int, rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each round. The two change places, so that what still warms up serves neither."""
    found: dict[str, list[float]] = {OFF: [], ON: []}
    for number in range(warm_ups + rounds):
        for shown in (OFF, ON) if number % 2 == 0 else (ON, OFF):
            cpu = cost(bench, case, shown).cpu
            print(f"{case.name} {number - warm_ups + 1}, shown {shown}: {cpu:.2f} CPU s", flush=True)
            if number >= warm_ups:
                found[shown].append(cpu)
    return found


def run(events: int, warm_ups: int, rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="millstream-bench-"))
    try:
        bench = Bench(folder, events)
        generate(bench.path, "events", events, seed=2)
        cases = [case for case in CASES if case.name in NAMES]
        report(events, {case.name: compared(bench, case, warm_ups, rounds) for case in cases})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(events: int, found: dict[str, dict[str, list[float]]]) -> None:
    table = Table(title=f"CPU seconds of {events:,} events, by whether rows are shown")
    for heading in ("case", "off", "on", "ratio", "all, off", "all, on"):
        table.add_column(heading)
    for name, each in found.items():
        off, on = (statistics.median(each[shown]) for shown in (OFF, ON))
        every = (" ".join(f"{cpu:.2f}" for cpu in each[shown]) for shown in (OFF, ON))
        table.add_row(name, f"{off:.2f}", f"{on:.2f}", f"{on / off:.3f}", *every)
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "rows.json").write_text(json.dumps({"events": events, **found}, indent=1))
