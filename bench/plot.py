"""Lines over two axes, as SVG: what a page of text needs, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 50
COLOURS = ("#1f6f8b", "#d1495b", "#66a182", "#8d6b94")


@dataclass(frozen=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    title: str
    across: str
    up: str
    lines: tuple[Line, ...]

    def svg(self) -> str:
        """From zero on both axes, so that lengths compare."""
        most_x = rounded(max(x for line in self.lines for x, _ in line.points))
        most_y = rounded(max(y for line in self.lines for _, y in line.points))
        parts = [text(WIDTH / 2, 18, self.title, "middle", 14), *axes(most_x, most_y)]
        parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, self.across), turned(14, HEIGHT / 2, self.up)]
        for number, line in enumerate(self.lines):
            colour = COLOURS[number % len(COLOURS)]
            placed = [(at_x(x, most_x), at_y(y, most_y)) for x, y in line.points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in placed]
            parts.append(text(LEFT + 10, TOP + 4 + 15 * number, line.name, "start", colour=colour))
        return "\n".join(parts)


def page(charts: list[Chart]) -> str:
    """Side by side."""
    groups = (
        f'<g transform="translate({WIDTH * number} 0)">\n{chart.svg()}\n</g>' for number, chart in enumerate(charts)
    )
    size = f'width="{WIDTH * len(charts)}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *groups, "</svg>", ""])


def rounded(most: float) -> float:
    """A round number that is not less."""
    size = 10.0 ** (len(f"{most:.0f}") - 1) if most >= 1 else 0.1
    return next(step * size for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * size >= most)


def at_x(x: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * x / most


def at_y(y: float, most: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / most


def axes(most_x: float, most_y: float) -> list[str]:
    parts = []
    for step in range(5):
        x, y = most_x * step / 4, most_y * step / 4
        across = at_y(y, most_y)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{across:.1f}" y2="{across:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, across + 4, f"{y:g}", "end"))
        parts.append(text(at_x(x, most_x), HEIGHT - BOTTOM + 16, f"{x:g}"))
    return parts


def text(x: float, y: float, what: str, anchor: str = "middle", size: int = 11, colour: str = "#222") -> str:
    look = f'text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(what)}</text>'


def turned(x: float, y: float, what: str) -> str:
    return f'<g transform="translate({x:.1f} {y:.1f}) rotate(-90)">{text(0, 0, what)}</g>'
