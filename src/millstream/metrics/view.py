"""How a run's figures look: a panel on a terminal, one line anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream.metrics.model import Metrics, OperatorMetrics, SinkMetrics, SourceMetrics
from millstream.metrics.rates import Rates
from millstream.metrics.text import clock, size, span

WIDTH = 96
NARROW = 76
NONE = "–"
TITLES = ("source", "step", "sink")
Cells = tuple[str | Text, ...]
COLOURS = {"running": "green", "restarting": "yellow", "failing": "red", "failed": "red"}


def panel(now: Metrics, rates: Rates, columns: int = 80) -> RenderableType:
    return Panel(
        Group(epochs(now), time(now), "", figures(now, rates, narrow=columns < NARROW)),
        title=Text.assemble((now.job, "bold"), " ", (now.state, COLOURS.get(now.state, "dim"))),
        title_align="left",
        subtitle=Text(clock(rates.elapsed)),
        subtitle_align="right",
        border_style="cyan",
        padding=(1, 2),
        width=min(columns, WIDTH),
    )


def epochs(now: Metrics) -> Text:
    last = now.last_epoch
    if last is None:
        return Text.assemble("epoch ", ("the first one is running", "dim"))
    taken = {name: ms for name, ms in last.phases_ms.items() if ms}
    phases = ", ".join(f"{name} {span(ms)}" for name, ms in taken.items())
    text = Text.assemble("epoch ", (f"{last.epoch:,}", "bold"), f" in {span(last.duration_ms)}", (f"  {phases}", "dim"))
    if now.restarts:
        text.append(f"  started again {now.restarts}×", "yellow")
    return text


def time(now: Metrics) -> Text:
    text = Text.assemble("state ", (size(now.state_bytes), "bold"))
    if now.state_rows is not None:
        text.append(f" in {now.state_rows:,} rows")
    if now.watermark is not None or now.held_back_by is not None:
        text.append("   watermark ").append(hour(now.watermark, now.at), "bold")
    if now.held_back_by is not None:
        text.append(", held back by ").append(now.held_back_by, "yellow")
    if now.late:
        text.append(f"   late {now.late:,}", "red")
    return text


def figures(now: Metrics, rates: Rates, narrow: bool) -> Table:
    """All in one grid, so that numbers line up. A long name is cut; on a narrow terminal, the rates of bytes and
    results are left out to keep names readable."""
    table = Table.grid(padding=(0, 0, 0, 2), expand=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis", min_width=8)
    for _ in range(5 if narrow else 6):
        table.add_column(justify="right", no_wrap=True)
    parts = [("source", "rows", "rows/s", "bytes/s", "lag", "", "watermark"), *sources(now, rates, narrow)]
    if now.operators:
        parts += [(), ("step", "in", "in/s", "out/s", "late", "busy", "state"), *operators(now, rates)]
    parts += [(), ("sink", "rows", "rows/s", "bytes/s", "", "", "published"), *sinks(now, rates)]
    for cells in parts:
        kept = (*cells[:3], *cells[4:]) if narrow else cells
        table.add_row(*kept, style="dim" if cells and cells[0] in TITLES else None)
    return table


def sources(now: Metrics, rates: Rates, narrow: bool) -> Iterator[Cells]:
    for part in now.sources:
        yield (
            part.name,
            f"{part.rows:,}",
            Text(per_second(rates.of(rows_of(part))), style="bold green"),
            NONE if part.bytes is None else size(int(rates.of(bytes_of(part)))),
            lag(part),
            "",
            Text("idle", style="dim") if part.idle else hour(part.watermark, now.at, narrow),
        )


def operators(now: Metrics, rates: Rates) -> Iterator[Cells]:
    stores = {stage.number: stage for stage in now.stages}
    for part in now.operators:
        # Operators of a stage share its store: it is shown with the first.
        store = stores.pop(part.stage, None)
        yield (
            part.name,
            f"{part.rows_in:,}",
            Text(per_second(rates.of(in_of(part))), style="bold green"),
            per_second(rates.of(out_of(part))),
            Text(f"{part.late:,}", style="bold red" if part.late else "dim"),
            f"{rates.of(seconds_of(part)):.0%}",
            size(store.state_bytes) if store else Text("″", style="dim"),
        )


def sinks(now: Metrics, rates: Rates) -> Iterator[Cells]:
    for part in now.sinks:
        yield (
            part.name,
            f"{part.rows:,}",
            Text(per_second(rates.of(written_of(part))), style="bold green"),
            NONE if part.bytes is None else size(int(rates.of(sent_of(part)))),
            "",
            "",
            NONE if part.published is None else f"epoch {part.published:,}",
        )


def line(now: Metrics, rates: Rates) -> str:
    """The same on one line, for a log."""
    read = rates.of(lambda each: sum(part.rows for part in each.sources))
    written = rates.of(lambda each: sum(part.rows for part in each.sinks))
    lags = [part.lag for part in now.sources if part.lag is not None]
    parts = [
        clock(rates.elapsed),
        f"{now.job} {now.state}",
        f"epoch {now.last_epoch.epoch}" if now.last_epoch else "epoch –",
        f"in {sum(part.rows for part in now.sources):,} ({per_second(read)}/s)",
        f"out {sum(part.rows for part in now.sinks):,} ({per_second(written)}/s)",
    ]
    parts += [f"lag {sum(lags):,}"] if lags else []
    if now.watermark is not None or now.held_back_by is not None:
        held = f" by {now.held_back_by}" if now.held_back_by else ""
        parts.append(f"watermark {hour(now.watermark, now.at)}{held}")
    parts += [f"state {size(now.state_bytes)}"] if now.stages else []
    parts += [f"late {now.late:,}"] if now.late else []
    return "  ".join(parts)


def lag(part: SourceMetrics) -> Text:
    if part.lag is None:
        return Text(NONE, style="dim")
    return Text(f"{part.lag:,}", style="yellow" if part.lag else "dim")


def hour(moment: datetime | None, now: datetime, narrow: bool = False) -> str:
    """With the date, unless it is today's or there is no room."""
    if moment is None:
        return NONE
    today = narrow or moment.date() == now.astimezone(moment.tzinfo).date()
    return moment.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")


def per_second(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 or rate == 0 else f"{rate:.1f}"


Count = Callable[[Metrics], float]


def rows_of(part: SourceMetrics) -> Count:
    return lambda each: each.source(part.name).rows


def bytes_of(part: SourceMetrics) -> Count:
    return lambda each: each.source(part.name).bytes or 0


def in_of(part: OperatorMetrics) -> Count:
    return lambda each: each.operator(part.name).rows_in


def out_of(part: OperatorMetrics) -> Count:
    return lambda each: each.operator(part.name).rows_out


def seconds_of(part: OperatorMetrics) -> Count:
    return lambda each: each.operator(part.name).seconds


def written_of(part: SinkMetrics) -> Count:
    return lambda each: each.sink(part.name).rows


def sent_of(part: SinkMetrics) -> Count:
    return lambda each: each.sink(part.name).bytes or 0
