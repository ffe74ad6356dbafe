"""What happens to saved state in a changed job: decided by names and shapes alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import millstream as ms
from millstream.cli.changes import as_json, listed, shown
from millstream.runtime.savepoints.matching import Change, Choices, Fate, compared, refuse
from millstream.spark.lower.state import Placed, StageShape, StateShape, Variable

GROUP = Variable("group", "value", None, "struct<count0:bigint,sum1:bigint>")
TOTALS = StateShape(("customer",), ("string",), (GROUP,), ("sum(price)",), {"0": "count: _w", "1": "sum: price"})
JOIN = StateShape(("id",), ("bigint",), (Variable("left", "value", None, "struct<n:int>"),), ("inner join",))

NOTHING = Choices()


def stage(**operators: StateShape) -> StageShape:
    placed = {name: Placed(tag, (0,), shape) for tag, (name, shape) in enumerate(operators.items())}
    return StageShape(("tag", "string"), False, placed)


def fates(
    before: StageShape, now: StageShape, choices: Choices = NOTHING, adding: frozenset[str] = frozenset()
) -> dict[str, Fate]:
    return {change.name: change.fate for change in compared([before], [now], adding, choices)}


def test_the_same_is_kept() -> None:
    assert fates(stage(totals=TOTALS, join=JOIN), stage(totals=TOTALS, join=JOIN)) == {
        "totals": Fate.KEPT,
        "join": Fate.KEPT,
    }


def test_another_place_is_told() -> None:
    found = fates(stage(totals=TOTALS, join=JOIN), stage(join=JOIN, totals=TOTALS))
    assert found == {"join": Fate.MOVED, "totals": Fate.MOVED}
    changes = compared([stage(totals=TOTALS)], [stage(join=JOIN), stage(totals=TOTALS)], {"join"}, Choices())
    assert [change.why for change in changes] == [
        "it begins with nothing, and counts from now on",
        "from stage 1 to stage 2",
    ]


def test_a_new_name() -> None:
    before, now = stage(totals=TOTALS), stage(sums=TOTALS)
    assert fates(before, now) == {"sums": Fate.INCOMPATIBLE, "totals": Fate.INCOMPATIBLE}
    assert fates(before, now, Choices(was={"sums": "totals"})) == {"sums": Fate.RENAMED}


def test_two_steps_cannot_both_go_on_from_one() -> None:
    both = stage(one=TOTALS, two=TOTALS)
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-007"):
        compared([stage(totals=TOTALS)], [both], set(), Choices(was={"one": "totals", "two": "totals"}))


def test_what_is_gone_must_be_given_up() -> None:
    before, now = stage(totals=TOTALS, join=JOIN), stage(totals=TOTALS)
    assert fates(before, now) == {"totals": Fate.KEPT, "join": Fate.INCOMPATIBLE}
    assert fates(before, now, Choices(drop=frozenset({"join"}))) == {"totals": Fate.KEPT, "join": Fate.GONE}


def test_a_new_step_begins_where_rows_are_only_added() -> None:
    before, now = stage(totals=TOTALS), stage(totals=TOTALS, join=JOIN)
    assert fates(before, now)["join"] is Fate.INCOMPATIBLE
    assert fates(before, now, adding=frozenset({"join"}))["join"] is Fate.NEW
    assert fates(before, now, Choices(start_empty=frozenset({"join"})))["join"] is Fate.NEW


def test_new_figures_of_rows_that_are_only_added_may_count_from_now_on() -> None:
    own = Variable("distinct2", "map", "struct<value:int>", "struct<w:bigint>")
    computes = {**TOTALS.computes, "2": "distinct: price"}
    more = replace(TOTALS, variables=(GROUP, own), means=("sum(price)", "count(DISTINCT price)"), computes=computes)
    before, now = stage(totals=TOTALS), stage(totals=more)
    agreed, adding = Choices(from_now=frozenset({"totals"})), frozenset({"totals"})
    assert fates(before, now, adding=adding) == {"totals": Fate.INCOMPATIBLE}
    assert fates(before, now, agreed) == {"totals": Fate.INCOMPATIBLE}
    assert fates(before, now, agreed, adding) == {"totals": Fate.CONVERTED}
    (change,) = compared([before], [now], adding, agreed)
    assert str(change.why).endswith("of that; what is new (distinct: price) counts from now on")
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-007"):
        fates(before, now, Choices(from_now=frozenset({"sums"})))


def test_state_that_is_dropped_starts_over() -> None:
    both = stage(totals=TOTALS)
    choices = Choices(drop=frozenset({"totals"}), start_empty=frozenset({"totals"}))
    changes = compared([both], [both], set(), choices)
    assert [change.fate for change in changes] == [Fate.NEW, Fate.GONE]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (replace(TOTALS, by=("product",)), "its key was customer (string) and is product (string)"),
        (replace(TOTALS, key=("bigint",)), "its key was customer (string) and is customer (bigint)"),
        (replace(TOTALS, layout=2), "its state is laid out in version 1, and this Millstream knows version 2"),
        (
            replace(TOTALS, computes={"0": "count: _w", "1": "max: price"}, means=("max(price)",)),
            "it kept sum(price), and is to keep max(price)",
        ),
        (replace(TOTALS, variables=(replace(GROUP, kind="list"),)), "its state group was value"),
        (replace(TOTALS, variables=(GROUP, Variable("more", "map", "int", "int"))), "it had no state more"),
    ],
)
def test_what_cannot_be_converted(changed: StateShape, why: str) -> None:
    changes = compared([stage(totals=TOTALS)], [stage(totals=changed)], set(), Choices())
    assert changes[0].fate is Fate.INCOMPATIBLE
    assert changes[0].why is not None
    assert changes[0].why.startswith(why)
    with pytest.raises(ms.MillstreamError, match="MS-SAVEPOINT-008"):
        refuse(changes, "saved")


def test_as_a_table_and_as_json() -> None:
    changes = [Change("operator", "sums", Fate.RENAMED, "totals", 'it was "totals"'), Change("source", "in", Fate.KEPT)]
    assert shown(listed(changes)).splitlines()[1:] == [
        'operator  sums (was totals)  renamed  it was "totals"',
        "source    in                 kept",
    ]
    assert '"compatible": true' in as_json(changes)
    assert '"compatible": false' in as_json([*changes, Change("operator", "x", Fate.INCOMPATIBLE, why="…")])
