"""The latencies as a picture: a line per case and engine, from p50 to p99.9, by powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from bench.latency.report import Found

COLORS = {"millstream": "#1f6feb", "flink": "#d9480f"}
LEFT, RIGHT, STEP, TOP = 250, 60, 22, 56
WIDTH = 860
LEAST, MOST = 1.0, 1000.0
"""Milliseconds at both ends."""


def x(milliseconds: float) -> float:
    share = math.log10(min(MOST, max(LEAST, milliseconds)) / LEAST) / math.log10(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(at: float, y: float, words: str, anchor: str = "start", color: str = "#57606a") -> str:
    return f'<text x="{at:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def scale(height: int) -> Iterator[str]:
    for mark in (1, 3, 10, 30, 100, 300, 1000):
        yield f'<line x1="{x(mark):.0f}" y1="{TOP - 8}" x2="{x(mark):.0f}" y2="{height - 12}" stroke="#d0d7de"/>'
        yield text(x(mark), TOP - 14, f"{mark} ms", "middle")


def row(part: Found, y: int) -> Iterator[str]:
    color, seen = COLORS[part.engine], part.uncommitted
    yield text(LEFT - 12, y + 4, f"{part.case.name}, {part.case.rate:,}/s, {part.case.every} s, {part.engine}", "end")
    yield f'<line x1="{x(seen.p50):.1f}" y1="{y}" x2="{x(seen.p999):.1f}" y2="{y}" stroke="{color}" stroke-width="3"/>'
    for latency, radius in ((seen.p50, 5), (seen.p99, 4), (seen.p999, 3)):
        yield f'<circle cx="{x(latency):.1f}" cy="{y}" r="{radius}" fill="{color}"/>'


def picture(found: Iterable[Found]) -> str:
    parts = list(found)
    height = TOP + STEP * len(parts) + 24
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
    lines = [f'{head} font-size="12">', f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    lines.append(text(LEFT, 20, "from when a row is due to when a reader has it: p50, p99, p99.9", color="#1f2328"))
    lines += scale(height)
    for number, part in enumerate(parts):
        lines += row(part, TOP + 10 + STEP * number)
    return "\n".join([*lines, "</svg>", ""])
