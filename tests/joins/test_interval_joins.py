"""Time is data: searches and clicks, epoch by epoch, and what joins that wait for partners say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Delete, Watermark

if TYPE_CHECKING:
    from millstream.testing import Inputs, Runner

HOWS = ("inner", "left", "right", "full", "semi", "anti")
TEN_MINUTES = "s.user = c.user AND c.at BETWEEN s.at AND s.at + INTERVAL 10 MINUTES"


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:{second:02d}.000000Z"


def streams(job: ms.Job) -> tuple[ms.Stream, ms.Stream]:
    searches = job.stream(journal.source("searches"), "user STRING, term STRING, at TIMESTAMP", time="at")
    clicks = job.stream(journal.source("clicks"), "user STRING, link STRING, at TIMESTAMP", time="at")
    return searches.as_("s"), clicks.as_("c")


def every_kind(on: str = TEN_MINUTES) -> ms.Job:
    job = ms.Job("searches")
    searches, clicks = streams(job)
    for how in HOWS:
        joined = searches.join(clicks, on=on, how=how).named(how)
        chosen = {"term": "s.term"} if how in ("semi", "anti") else {"term": "s.term", "link": "c.link"}
        joined.select(**chosen).to(journal.sink(f"{how}_out"))
    return job


def search(moment: str | None, term: str, user: str | None = "ann") -> dict[str, Any]:
    return {"user": user, "term": term, "at": moment}


def click(moment: str | None, link: str, user: str | None = "ann") -> dict[str, Any]:
    return {"user": user, "link": link, "at": moment}


def passed(moment: str) -> Watermark:
    return Watermark(moment)


Pairs = list[tuple[str | None, str | None]]


def said(epochs: Sequence[Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
    """The rows of each epoch; what is not there is None."""
    return [sorted(((row.get("term"), row.get("link")) for row in rows), key=str) for rows in epochs]


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_rows_wait_until_no_partner_can_come(millstream: Runner, restart: bool) -> None:
    later = [[passed(at(10))], [passed(at(11))], [passed(at(16))]]
    inputs: Inputs = {
        "searches": [[search(at(0), "a"), search(at(5), "b"), passed(at(5))], *later],
        "clicks": [[click(at(4), "x"), passed(at(5))], *later],
    }
    result = millstream.run(every_kind(), inputs, restart_between=restart)
    pair, alone = ("a", "x"), ("b", None)
    assert said(result["inner_out"].epochs) == [[pair], [], [], []]
    # A search at 0:05 can find clicks until 0:15.
    assert said(result["left_out"].epochs) == [[pair], [], [], [alone]]
    assert said(result["right_out"].epochs) == [[pair], [], [], []]
    assert said(result["full_out"].epochs) == [[pair], [], [], [alone]]
    assert said(result["semi_out"].epochs) == [[("a", None)], [], [], []]
    assert said(result["anti_out"].epochs) == [[], [], [], [alone]]
    assert result.late == dict.fromkeys(HOWS, 0)


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_partner_may_come_much_later(millstream: Runner, restart: bool) -> None:
    inputs: Inputs = {
        "searches": [[search(at(0), "a")], [passed(at(9))], [search(at(9), "late")], [passed(at(30))]],
        "clicks": [[], [passed(at(9))], [click(at(10), "x"), click(at(10), "x")], [passed(at(30))]],
    }
    result = millstream.run(every_kind(), inputs, restart_between=restart)
    pairs = [("a", "x"), ("a", "x"), ("late", "x"), ("late", "x")]
    for how in ("inner", "left", "right", "full"):
        assert said(result[f"{how}_out"].epochs) == [[], [], pairs, []], how
    assert said(result["semi_out"].epochs) == [[], [], [("a", None), ("late", None)], []]
    assert said(result["anti_out"].epochs) == [[], [], [], []]


def test_late_rows_are_counted_and_join_nothing(millstream: Runner) -> None:
    inputs: Inputs = {
        "searches": [[search(at(0), "a"), passed(at(20))], [search(at(9), "over")], [search(at(15), "b")]],
        "clicks": [[passed(at(20))], [click(at(19), "over")], [click(at(21), "x")]],
    }
    result = millstream.run(every_kind(), inputs)
    # A search may be as late as a partner of it could be, ten minutes; a click not at all.
    for how in ("inner", "left", "right", "full"):
        unmatched = [("a", None)] if how in ("left", "full") else []
        assert said(result[f"{how}_out"].epochs) == [unmatched, [], [("b", "x")]], how
    assert said(result["semi_out"].epochs) == [[], [], [("b", None)]]
    assert said(result["anti_out"].epochs) == [[("a", None)], [], []]
    assert result.late == dict.fromkeys(HOWS, 2)


def test_rows_that_can_match_nothing_go_out_at_once(millstream: Runner) -> None:
    inputs = {
        "searches": [[search(at(0), "no user", None), search(None, "no time")]],
        "clicks": [[click(at(0), "no user", None), click(None, "no time")]],
    }
    result = millstream.run(every_kind(), inputs)
    left: Pairs = [("no time", None), ("no user", None)]
    right: Pairs = [(None, "no time"), (None, "no user")]
    sides: dict[str, Pairs] = {
        "inner": [],
        "left": left,
        "right": right,
        "full": [*left, *right],
        "semi": [],
        "anti": left,
    }
    for how, rows in sides.items():
        assert said(result[f"{how}_out"].epochs) == [sorted(rows, key=str)], how


@pytest.mark.parametrize(
    "on",
    [
        "s.user = c.user AND c.at >= s.at AND c.at <= s.at + INTERVAL 10 MINUTES",
        "s.user = c.user AND s.at <= c.at AND c.at - INTERVAL '10' MINUTE <= s.at",
        "c.user = s.user AND c.at - s.at BETWEEN INTERVAL 0 SECONDS AND INTERVAL '10 minutes'",
        "s.at + INTERVAL 5 MINUTES + INTERVAL '5' MINUTE >= c.at AND s.user = c.user AND (s.at <= c.at)",
    ],
)
def test_bounds_are_found_however_they_are_written(on: str) -> None:
    job = ms.Job("searches")
    searches, clicks = streams(job)
    joined = searches.join(clicks, on=on, how="left")
    assert isinstance(joined, ms.Stream)
    assert "keeps left rows until at + 600000 ms, right rows until at + 600000 ms" in joined.explain()


@pytest.mark.parametrize(
    "on",
    [
        "s.user = c.user AND c.at >= s.at",
        "s.user = c.user AND c.at BETWEEN s.at AND s.at + INTERVAL 1 MONTH",
        "s.user = c.user AND (c.at >= s.at OR c.at <= s.at + INTERVAL 10 MINUTES)",
    ],
)
def test_without_both_bounds_rows_are_kept(on: str) -> None:
    job = ms.Job("searches")
    searches, clicks = streams(job)
    searches.join(clicks, on=on).select("s.term").to(journal.sink("out"))
    assert "keeps every row of the stream on its left and its right for ever" in job.explain()


def hourly(how: str) -> ms.Job:
    """A window over rows that may have waited, and other steps that know late rows."""
    job = ms.Job("searches")
    searches, clicks = streams(job)
    joined = searches.join(clicks, on=TEN_MINUTES, how=how).select("s.term", "c.link", "s.at", "s.user")
    assert isinstance(joined, ms.Stream)
    hours = joined.window(ms.tumbling("1 hour"))
    hours.agg(n="count(*)", links="count(link)").final().named("hours").to(journal.sink("hours"))
    again = joined.as_("j").join(
        searches.as_("t"), on="j.user = t.user AND t.at > j.at AND t.at <= j.at + INTERVAL 5 MINUTES", how="left"
    )
    again.named("again").select("j.term", link="t.term").to(journal.sink("again_out"))
    joined.dedup("term", within="1 minute").select("term", "link").to(journal.sink("once"))
    both = joined.select("term", "at").union(clicks.select("c.at", term="c.link"))
    both.window(ms.tumbling("1 hour")).agg(n="count(*)").final().to(journal.sink("both"))
    people = job.table(journal.source("people"), "user STRING, name STRING, at TIMESTAMP", key="user", time="at")
    known = joined.as_("j").enrich(people.as_("p"), on="j.user = p.user")
    known.select("j.at", "p.name").window(ms.tumbling("1 hour")).agg(n="count(name)").final().to(journal.sink("known"))
    dated = joined.as_("j").enrich(people.as_("p"), on="j.user = p.user", as_of="j.at")
    dated.select("j.term", link="p.name").to(journal.sink("dated"))
    hours = dated.select("j.at", "p.name").window(ms.tumbling("1 hour"))
    hours.agg(n="count(*)").final().to(journal.sink("dated_hours"))
    return job


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_waited_is_not_late_for_what_follows(millstream: Runner, restart: bool) -> None:
    """The watermark jumps far past the end of the window, and of the row's own time, in one epoch."""
    inputs: Inputs = {
        "searches": [
            [search(at(0), "a"), search(at(3), "b")],
            [search(at(300), "z"), passed(at(300))],
            [passed(at(400))],
        ],
        "clicks": [[click(at(2), "x")], [passed(at(300))], [passed(at(400))]],
        "people": [[{"user": "ann", "name": name, "at": when} for name, when in (("Ann", at(0)), ("Anne", at(2)))]],
    }
    result = millstream.run(hourly("left"), inputs, restart_between=restart)
    counted = [[(row["window_start"], row["n"], row["links"]) for row in rows] for rows in result["hours"].epochs]
    # `a` has a click, `b` has waited for one in vain: both are in the first hour, although it is over by hours.
    assert counted == [[], [(at(0), 2, 1)], [(at(300), 1, 0)]]
    again = said(result["again_out"].epochs)
    assert again == [[("a", "b")], [("b", None)], [("z", None)]]
    assert said(result["once"].epochs) == [[("a", "x")], [("b", None)], [("z", None)]]
    assert [[row["n"] for row in rows] for rows in result["both"].epochs] == [[], [3], [1]]
    assert [[row["n"] for row in rows] for rows in result["known"].epochs] == [[], [2], [1]]
    assert said(result["dated"].epochs) == [[("a", "Ann")], [("b", "Anne")], [("z", "Anne")]]
    assert [[row["n"] for row in rows] for rows in result["dated_hours"].epochs] == [[], [2], [1]]
    assert result.late == {
        "hours": 0,
        "again": 0,
        **{name: 0 for name in result.late if name not in ("hours", "again")},
    }


def test_columns_that_nobody_reads_need_not_be_there(millstream: Runner) -> None:
    job = ms.Job("searches")
    searches, clicks = streams(job)
    joined = searches.join(clicks, on=TEN_MINUTES).select("s.term", "c.link", "s.at")
    assert isinstance(joined, ms.Stream)
    joined.window(ms.tumbling("1 hour")).group_by("link").agg(n="count(*)").to(journal.sink("links"))
    result = millstream.run(job, {"searches": [search(at(0), "a")], "clicks": [click(at(1), "x")]})
    assert [(row["link"], row["n"]) for row in result["links"].rows] == [("x", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_ttl_forgets(millstream: Runner, restart: bool) -> None:
    """Rows of streams are dropped when the watermark has passed them by the ttl; what was sent stays."""
    job = ms.Job("searches")
    searches, clicks = streams(job)
    people = job.table(journal.source("people"), "user STRING, name STRING", key="user").as_("p")
    for how in ("inner", "left", "full"):
        searches.join(clicks, on="s.user = c.user", how=how, ttl="10 minutes").select("s.term", "c.link").to(
            journal.sink(how, changelog=True)
        )
    searches.join(people, on="s.user = p.user", how="left", ttl="10 minutes").select("s.term", link="p.name").to(
        journal.sink("named", changelog=True)
    )
    ann, bob = {"user": "ann", "name": "Ann"}, {"user": "bob", "name": "Bob"}
    inputs: dict[str, Any] = {
        "searches": [[search(at(0), "a"), search(at(0), "b", "bob")], [passed(at(9))], [passed(at(30))], []],
        "clicks": [[click(at(0), "x")], [click(at(9), "y"), passed(at(9))], [passed(at(30))], [click(at(31), "z")]],
        "people": [[ann], [], [], [{**ann, "name": "Anne"}, bob]],
    }
    result = millstream.run(job, inputs, restart_between=restart)
    first, second = ("a", "x"), ("a", "y")
    assert changes(result["inner"].epochs) == [[("insert", *first)], [("insert", *second)], [], []]
    bobs = ("insert", "b", None)
    assert changes(result["left"].epochs) == [[("insert", *first), bobs], [("insert", *second)], [], []]
    stranger = ("insert", None, "z")
    assert changes(result["full"].epochs) == [[("insert", *first), bobs], [("insert", *second)], [], [stranger]]
    assert changes(result["named"].epochs) == [[("insert", "a", "Ann"), bobs], [], [], []]


def changes(epochs: Sequence[Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
    """The changes of each epoch, with what they do."""
    return [sorted((change(row) for row in rows), key=str) for rows in epochs]


def change(row: Any) -> tuple[Any, ...]:
    gone = isinstance(row, Delete)
    values = row.row if gone else row
    return "delete" if gone else "insert", values.get("term"), values.get("link")
