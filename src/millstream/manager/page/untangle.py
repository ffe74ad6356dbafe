"""The order of the boxes in each column of a graph, so that few edges cross."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Columns = list[list[str]]
Edges = Sequence[tuple[str, str]]
SWEEPS = 4


def untangled(columns: Columns, edges: Edges) -> Columns:
    """Each box moves towards the middle of those that it is joined to, from left to right and back. Of all orders that
    come up, the one with the fewest crossings; of several, the one that is nearest to the plan's own."""
    best, fewest = columns, crossings(columns, edges)
    now = columns
    for sweep in range(SWEEPS):
        if not fewest:
            break
        now = swept(now, edges, rightwards=sweep % 2 == 0)
        found = crossings(now, edges)
        if found < fewest:
            best, fewest = now, found
    return best


def swept(columns: Columns, edges: Edges, rightwards: bool) -> Columns:
    place = heights(columns)
    column_of = {name: at for at, column in enumerate(columns) for name in column}
    found = [list(column) for column in columns]

    def middle(name: str) -> float:
        joined = [other for edge in edges if name in edge for other in edge if other != name]
        before = [other for other in joined if (column_of[other] < column_of[name]) is rightwards]
        return sum(place[other] for other in before) / len(before) if before else place[name]

    for at in range(len(found)) if rightwards else reversed(range(len(found))):
        found[at].sort(key=middle)
        place.update(heights([found[at]]))
    return found


def heights(columns: Columns) -> dict[str, float]:
    """Columns are centred: their middle is at 0."""
    return {name: row - (len(column) - 1) / 2 for column in columns for row, name in enumerate(column)}


def crossings(columns: Columns, edges: Edges) -> int:
    """Of straight lines: an edge that spans several columns is taken between each two of them."""
    place = heights(columns)
    column_of = {name: at for at, column in enumerate(columns) for name in column}
    count = 0
    for gap in range(len(columns) - 1):
        lines = [
            (height(edge, gap, place, column_of), height(edge, gap + 1, place, column_of))
            for edge in edges
            if column_of[edge[0]] <= gap < column_of[edge[1]]
        ]
        count += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(lines, 2))
    return count


def height(edge: tuple[str, str], at: int, place: dict[str, float], column_of: dict[str, int]) -> float:
    start, end = edge
    share = (at - column_of[start]) / (column_of[end] - column_of[start])
    return place[start] + share * (place[end] - place[start])
