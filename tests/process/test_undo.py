"""A call that fails leaves a key's state as it was, whatever it did; and state that expires is cleaned in turns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from pyspark.sql.types import LongType

from millstream.spark.python.group import Group
from millstream.spark.python.runner import list_change, map_change
from millstream.spark.python.stores import Clock, ListStore, MapStore, ValueStore

LARGE: dict[str, list[Any]] = {"L": [(1, None), (2, None)], "M": [(key, key, None) for key in range(6)]}


def ask(kind: str, group: int, which: int, key: Any) -> list[Any]:
    """What was too large to come along with the group."""
    return [entry for entry in LARGE["M"] if entry[0] == key] if kind == "G" else LARGE[kind]


def stores(group: Group, clock: Clock, ttl: int | None = None) -> tuple[ValueStore, ListStore, MapStore]:
    made = (
        ValueStore("value", 0, 0, LongType(), ttl, clock),
        ListStore("list", 0, 0, LongType(), ttl, clock, ask=ask),
        MapStore("map", 0, 1, LongType(), ttl, clock, key=LongType(), ask=ask),
    )
    for store in made:
        store.group = group
    return made


def held(lists: list[Any], maps: list[Any]) -> Group:
    """A key that had nothing in its row of values."""
    group = Group(0, (None, None, None, None, [None]))
    group.hold(lists, maps)
    return group


def touch(random: Random, group: Group, of: tuple[ValueStore, ListStore, MapStore]) -> None:
    value, list_, map_ = of
    key, number = random.randrange(8), random.randrange(100)
    steps: dict[str, Callable[[], object]] = {
        "put a value": lambda: value.put(None, number),
        "append": lambda: list_.put(None, number),
        "put into a map": lambda: map_.put(key, number),
        "remove": lambda: map_.remove(key),
        "get": lambda: map_.get(key),
        "read": lambda: (list_.items(), map_.items()),
        "clear": lambda: random.choice(of).clear(),
    }
    weights = (2, 4, 4, 3, 2, 1, 1)
    random.choices(list(steps.values()), weights)[0]()


def told(group: Group) -> Any:
    """What would be said of the group, and kept of it."""
    _, puts, removed = map_change(group, 0) or (False, [], [])
    change = (map_change(group, 0) is not None, sorted(puts), sorted(removed), group.cleared)
    return copy.deepcopy((group.changed, group.row(), list_change(group, 0), change))


def seen(of: tuple[ValueStore, ListStore, MapStore]) -> Any:
    value, list_, map_ = of
    return value.get(None), list_.items(), sorted(map_.items())


@pytest.mark.parametrize("seed", range(40))
def test_what_a_failed_call_did_is_undone(seed: int) -> None:
    """Of two groups that are treated alike, one goes through calls that fail in between."""
    large = seed % 2 == 0
    kept: tuple[Any, Any] = (None, None) if large else ([], [(1, 1, None)])
    tried, plain = (held([copy.copy(kept[0])], [copy.copy(kept[1])]) for _ in range(2))
    clock = Clock()
    of = {id(group): stores(group, clock) for group in (tried, plain)}
    for step in range(30):
        good, bad = Random(f"{seed} {step} good"), Random(f"{seed} {step} bad")
        count = good.randrange(4)
        saved = tried.begin()
        for _ in range(bad.randrange(6)):
            touch(bad, tried, of[id(tried)])
        tried.restore(saved)
        assert told(tried) == told(plain), f"seed {seed}, step {step}"
        tried.begin()
        for group in (tried, plain):
            same = Random(f"{seed} {step}")
            for _ in range(count):
                touch(same, group, of[id(group)])
        tried.end()
    assert told(tried) == told(plain)
    assert seen(of[id(tried)]) == seen(of[id(plain)])


def test_a_call_copies_nothing_of_what_it_does_not_touch() -> None:
    group = held([[(n, None) for n in range(9)]], [[(n, n, None) for n in range(9)]])
    saved = group.begin()
    assert saved["lists"][0] is group.lists[0]
    assert saved["maps"][0] is group.maps[0]


def test_items_that_expire_one_after_the_other_are_cleaned_together() -> None:
    """A look through all of them forgets a sixteenth of their time's worth, and none is forgotten too early."""
    clock, ttl = Clock(), 16_000
    group = held([[]], [[]])
    _, list_, map_ = stores(group, clock, ttl)
    for clock.time in range(0, 16_000, 100):
        list_.put(None, clock.time)
        map_.put(clock.time, clock.time)
    at, looks = clock.earliest, 0
    while at is not None:
        looks += 1
        clock.time = at
        alive = [written for written in range(0, 16_000, 100) if written + ttl > at]
        ends = [store.purge(at) for store in (list_, map_)]
        assert [item for _, item in list_.items()] == [item for _, item in map_.items()] == alive
        assert ends[0] == ends[1]
        at = ends[0]
    assert looks <= 17
