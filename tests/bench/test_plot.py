"""Charts are SVG that a browser reads, with every point where it belongs."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bench.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, Line, page, rounded

SVG = "{http://www.w3.org/2000/svg}"


def test_points_lie_where_they_belong() -> None:
    drawn = ElementTree.fromstring(page([Chart("a & b", "x", "y", (Line("one", ((0, 0), (5, 50), (10, 100))),))]))
    circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in drawn.iter(f"{SVG}circle")]
    left, right, bottom, top = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP
    assert circles == [(left, bottom), ((left + right) / 2, (top + bottom) / 2), (right, top)]
    assert "a & b" in [one.text for one in drawn.iter(f"{SVG}text")]


@pytest.mark.parametrize(("most", "end"), [(0.07, 0.1), (1, 1), (7, 8), (16, 20), (99, 100), (640, 800)])
def test_axes_end_at_a_round_number(most: float, end: float) -> None:
    assert rounded(most) == pytest.approx(end)
