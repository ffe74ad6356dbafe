"""Edges of a job's graph cross as little as they can."""

from __future__ import annotations

from millstream.manager.page.graph import DOWN, HEIGHT, WIDTH, Placed, free_lane, way
from millstream.manager.page.untangle import crossings, untangled


def test_sinks_stand_beside_what_they_are_written_by() -> None:
    columns = [["likes"], ["met", "counted"], ["counts", "matches"]]
    edges = [("likes", "met"), ("likes", "counted"), ("met", "matches"), ("counted", "counts")]
    assert crossings(columns, edges) == 1
    assert untangled(columns, edges)[2] == ["matches", "counts"]


def test_sources_move_too() -> None:
    columns = [["a", "b", "c"], ["of_c", "of_b", "of_a"], ["one"]]
    edges = [("a", "of_a"), ("b", "of_b"), ("c", "of_c"), ("of_a", "one"), ("of_b", "one"), ("of_c", "one")]
    assert crossings(untangled(columns, edges), edges) == 0


def test_a_plan_without_crossings_stays_as_it_is() -> None:
    columns = [["a", "b"], ["x", "y"]]
    edges = [("a", "x"), ("b", "y"), ("a", "y")]
    assert untangled(columns, edges) == columns


def test_an_edge_across_several_columns_counts() -> None:
    columns = [["a"], ["x"], ["s", "t"]]
    edges = [("a", "x"), ("x", "s"), ("a", "t")]
    assert crossings(untangled(columns, edges), edges) == 0


def test_an_empty_plan() -> None:
    assert untangled([], []) == []


def test_an_edge_goes_past_the_boxes_between() -> None:
    start, end = Placed({}, 0, 100), Placed({}, 600, 150)
    middle = Placed({}, 300, 100)
    assert way(start, end, []).startswith(f"M{WIDTH} {100 + HEIGHT // 2} C")
    lane = free_lane([middle], 125 + HEIGHT // 2)
    assert lane == middle.y + HEIGHT + DOWN // 2
    assert f"L{300 + WIDTH} {lane}" in way(start, end, [middle])
    above = Placed({}, 300, 40 - HEIGHT)
    assert free_lane([middle, above], 60) == 60
