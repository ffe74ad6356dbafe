"""How the demo looks: a panel on a terminal, plain lines anywhere else."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream.demo.meter import WINDOW, Latency

WIDTH = 78


@dataclass(frozen=True)
class Snapshot:
    """All that is shown, at one moment."""

    elapsed: float = 0.0
    length: float | None = None
    likes: int = 0
    likes_rate: float = 0.0
    matches: int = 0
    matches_rate: float = 0.0
    uncommitted: Latency | None = None
    committed: Latency | None = None
    epochs: int = 0
    every_ms: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    latest: tuple[str, str] | None = None


def panel(now: Snapshot, footer: RenderableType) -> RenderableType:
    body = Group(figures(now), Text(), latencies(now), Text(), engine(now))
    length = f" of {clock(now.length)}" if now.length else ""
    return Group(
        Panel(
            Padding(body, (1, 2)),
            title=Text("millstream demo", style="bold"),
            title_align="left",
            subtitle=Text(clock(now.elapsed) + length, style="cyan"),
            subtitle_align="right",
            box=box.ROUNDED,
            border_style="cyan",
            width=WIDTH,
        ),
        Padding(footer, (0, 2)),
    )


def grid(*widths: int) -> Table:
    """Columns that stay where they are, whatever the numbers: labels to the left, numbers to the right."""
    table = Table.grid(padding=(0, 0))
    table.add_column(width=widths[0])
    for width in widths[1:]:
        table.add_column(width=width, justify="right", no_wrap=True)
    return table


def figures(now: Snapshot) -> RenderableType:
    table = grid(20, 14, 14, 22)
    table.add_row("likes", bold(f"{now.likes:,}"), dim(f"{now.likes_rate:,.0f}/s"), "")
    table.add_row(
        "matches", bold(f"{now.matches:,}"), dim(f"{now.matches_rate:,.0f}/s"), dim(pair(now.latest))
    )
    return table


def latencies(now: Snapshot) -> RenderableType:
    table = grid(20, 14, 14, 22)
    table.add_row("from like to match", dim("p50"), dim("p99"), dim(f"last {WINDOW:.0f} s"))
    for name, latency, style in (
        ("read uncommitted", now.uncommitted, "bold green"),
        ("read committed", now.committed, "bold yellow"),
    ):
        p50, p99 = (span(latency.p50), span(latency.p99)) if latency else ("–", "–")
        table.add_row(f"  {name}", Text(p50, style=style), Text(p99, style=style), "")
    return table


def engine(now: Snapshot) -> RenderableType:
    table = grid(20, 14, 14, 22)
    every = f"every {span(now.every_ms)}"
    table.add_row("epochs", bold(f"{now.epochs:,}"), dim(every), "")
    table.add_row("state", bold(f"{now.state_rows:,} rows"), dim(size(now.state_bytes)), "")
    return table


def line(now: Snapshot) -> str:
    """The same on one line, for a log."""
    parts = [
        clock(now.elapsed),
        f"{now.likes:,} likes ({now.likes_rate:,.0f}/s)",
        f"{now.matches:,} matches",
        f"uncommitted {both(now.uncommitted)}",
        f"committed {both(now.committed)}",
        f"epochs {now.epochs}",
        f"state {now.state_rows:,} rows, {size(now.state_bytes)}",
    ]
    return "  ".join(parts)


def both(latency: Latency | None) -> str:
    return f"p50 {span(latency.p50)} p99 {span(latency.p99)}" if latency else "–"


def bold(text: str) -> Text:
    return Text(text, style="bold")


def dim(text: str) -> Text:
    return Text(text, style="dim")


def pair(people: tuple[str, str] | None) -> str:
    return f"{people[0]} ♥ {people[1]}" if people else ""


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def span(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s".replace(".0 s", " s")


def size(number: int) -> str:
    value = float(number)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
