"""A job's graph as SVG: a column for each level, a link for each box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from millstream.manager.page.untangle import untangled
from millstream.manager.page.words import bytes_of, length, per_second

WIDTH, HEIGHT, ACROSS, DOWN, EDGE = 200, 76, 90, 22, 12
BUSY = 0.9
"""From which share of one core on an operator is said to be busy all the time."""


@dataclass(frozen=True)
class Placed:
    box: dict[str, Any]
    x: int
    y: int


def drawn(plan: dict[str, Any], status: dict[str, Any], job: str) -> Markup:
    places = placed(plan)
    if not places:
        return Markup("")
    width = max(at.x for at in places.values()) + WIDTH + EDGE
    height = max(at.y for at in places.values()) + HEIGHT + DOWN
    lines = [line(places[edge["from"]], places[edge["to"]], edge, job, places) for edge in plan["edges"]]
    boxes = [shape(at, status, job) for at in places.values()]
    return Markup(
        '<svg class="graph" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-label="The job\'s graph">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>{lines}{boxes}</svg>'
    ).format(w=width, h=height, lines=Markup("").join(lines), boxes=Markup("").join(boxes))


def placed(plan: dict[str, Any]) -> dict[str, Placed]:
    """Each column is centred beside the tallest one."""
    boxes = {box["id"]: box for box in plan["boxes"]}
    levels = sorted({box["level"] for box in plan["boxes"]})
    columns = [[box["id"] for box in plan["boxes"] if box["level"] == level] for level in levels]
    columns = untangled(columns, [(edge["from"], edge["to"]) for edge in plan["edges"]])
    tallest = max(map(len, columns), default=0)
    found = {}
    for at, column in enumerate(columns):
        top = EDGE + (tallest - len(column)) * (HEIGHT + DOWN) // 2
        for row, name in enumerate(column):
            found[name] = Placed(boxes[name], EDGE + at * (WIDTH + ACROSS), top + row * (HEIGHT + DOWN))
    return found


def line(start: Placed, end: Placed, edge: dict[str, Any], job: str, places: dict[str, Placed]) -> Markup:
    steps = "; then ".join(edge["steps"]) or "as they are"
    path = way(start, end, [at for at in places.values() if start.x < at.x < end.x])
    # To a sink, rows are shown as it is given them; elsewhere as they were sent.
    shown = end if end.box["kind"] == "sink" else start
    return Markup(
        '<a href="/jobs/{job}?box={id}#box" aria-label="Rows from {start} to {end}"><title>{steps}</title>'
        '<path class="edge" d="{path}" marker-end="url(#tip)"/><path class="reach" d="{path}"/></a>'
    ).format(
        job=job,
        id=quote(shown.box["id"]),
        start=start.box["name"],
        end=end.box["name"],
        steps=steps,
        path=path,
    )


def way(start: Placed, end: Placed, between: list[Placed]) -> str:
    """From one box to another: past those between them, where it would go behind one."""
    x, y, to_x, to_y = start.x + WIDTH, start.y + HEIGHT // 2, end.x, end.y + HEIGHT // 2
    if not between:
        bend = max(30, (to_x - x) // 2)
        return f"M{x} {y} C{x + bend} {y} {to_x - bend} {to_y} {to_x - 2} {to_y}"
    lane = free_lane(between, (y + to_y) // 2)
    first, last = min(at.x for at in between), max(at.x for at in between) + WIDTH
    into = f"C{(x + first) // 2} {y} {(x + first) // 2} {lane} {first} {lane}"
    out = f"C{(last + to_x) // 2} {lane} {(last + to_x) // 2} {to_y} {to_x - 2} {to_y}"
    return f"M{x} {y} {into} L{last} {lane} {out}"


def free_lane(between: list[Placed], wanted: int) -> int:
    """The height nearest to the one that is wanted at which no box stands in the way."""
    gap = DOWN // 2
    lanes = [wanted, *(side for at in between for side in (at.y - gap, at.y + HEIGHT + gap))]
    free = [lane for lane in lanes if not any(at.y - gap < lane < at.y + HEIGHT + gap for at in between)]
    return min(free, key=lambda lane: abs(lane - wanted))


def shape(at: Placed, status: dict[str, Any], job: str) -> Markup:
    box, (first, second, kind) = at.box, told(at.box, status)
    return Markup(
        '<a href="/jobs/{job}?box={id}#box"><g class="box {kind} {state}" transform="translate({x} {y})">'
        '<rect width="{w}" height="{h}" rx="7"/><title>{what}</title>'
        '<text x="12" y="22" class="name">{name}</text><text x="12" y="42">{first}</text>'
        '<text x="12" y="61">{second}</text></g></a>'
    ).format(
        job=job,
        id=quote(box["id"]),
        kind=box["kind"],
        state=kind,
        x=at.x,
        y=at.y,
        w=WIDTH,
        h=HEIGHT,
        what=box["what"],
        name=short(box["name"], 24),
        first=short(first, 30),
        second=short(second, 30),
    )


def short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def told(box: dict[str, Any], status: dict[str, Any]) -> tuple[str, str, str]:
    """Two lines of what it does, and what is to be said of it in colour: `held-back`, `busy` or nothing."""
    figures, rates = status.get("metrics") or {}, (status.get("rates") or {}).get(box["id"]) or {}
    if box["kind"] == "source":
        part = named(figures.get("sources"), box["name"])
        return source_lines(box, part, rates, figures)
    if box["kind"] == "sink":
        return per_second(rates.get("in")), short(box["guarantee"] or box["system"] or "", 30), ""
    part = named(figures.get("operators"), box["name"])
    stage = next((each for each in figures.get("stages", ()) if each["number"] == box["level"]), None)
    busy = rates.get("busy")
    load = "" if busy is None else f"{busy:.0%} busy"
    state = bytes_of(stage["state_bytes"]) if stage else ""
    late = f"{part['late']:,} late" if part and part["late"] else ""
    first = " → ".join(per_second(rates.get(way)) for way in ("in", "out")) if rates else "no figures yet"
    return first, ", ".join(text for text in (load, state, late) if text), "busy" if (busy or 0) >= BUSY else ""


def source_lines(
    box: dict[str, Any], part: dict[str, Any] | None, rates: dict[str, Any], figures: dict[str, Any]
) -> tuple[str, str, str]:
    if part is None:
        return box["system"] or "", "", ""
    lag = "" if part["lag"] is None else f", lag {part['lag']:,}"
    behind = figures["at"] - part["watermark"] if part["watermark"] else None
    time = "idle" if part["idle"] else f"time {length(behind)} behind" if behind is not None else box["system"]
    others = [each["watermark"] for each in figures["sources"] if each["watermark"]]
    held = (
        figures.get("held_back_by") == box["name"] and part["watermark"] and max(others) - part["watermark"] >= 60_000
    )
    return (
        f"{per_second(rates.get('in'))}{lag}",
        f"{time}{', holds time back' if held else ''}",
        "held-back" if held else "",
    )


def named(parts: list[dict[str, Any]] | None, name: str) -> dict[str, Any] | None:
    return next((part for part in parts or () if part["name"] == name), None)
