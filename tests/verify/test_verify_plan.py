"""What `millstream verify` decides before it kills anything, and how it reports the results."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import millstream as ms
from millstream import files, journal, postgres
from millstream.journal.reader import read
from millstream.journal.record import Record
from millstream.plan.connectors import CarriedSink, RowShape
from millstream.runtime.faults import Teller
from millstream.verify.contents import Held, held
from millstream.verify.determinism import moving_steps, order_matters, refuse_moving
from millstream.verify.faults import Choice, Fault, Visit
from millstream.verify.inputs import Input, fill
from millstream.verify.report import Certificate
from millstream.verify.sandbox import moved
from millstream.verify.trial import Difference, Outcome, differences
from millstream.verify.visits import Listener, Watch

LIKES = "liker STRING, liked STRING, at TIMESTAMP"


def likes(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("likes"), schema=LIKES)


# --- steps that cannot be compared


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("rand()", "rand()"),
        ("1 + floor(RAND() * 10)", "rand()"),
        ("current_timestamp", "current_timestamp()"),
        ("date_add(current_date(), 1)", "current_date()"),
        ("uuid()", "uuid()"),
        ("monotonically_increasing_id()", "monotonically_increasing_id()"),
    ],
)
def test_a_step_that_gives_something_else_each_time_is_named(expression: str, function: str) -> None:
    job = ms.Job("likes")
    likes(job).with_columns(x=expression).named("stamped").to(journal.sink("out"))
    with pytest.raises(ms.MillstreamError) as error:
        refuse_moving(job._sinks)
    assert error.value.code == "MS-VERIFY-003"
    assert f'step "stamped" uses {function}, ' in error.value.message
    assert error.value.at is not None
    assert error.value.at.file.endswith("test_verify_plan.py")


def test_a_condition_and_an_aggregate_are_looked_into() -> None:
    job = ms.Job("likes")
    counted = likes(job).where("at < now()").group_by("liked").agg(n="count(*) FILTER (WHERE rand() < 0.5)")
    counted.to(journal.sink("out"))
    assert {what for _, what in moving_steps(job._sinks)} == {"now()", "rand()"}


def test_names_that_only_look_like_it_are_let_through() -> None:
    job = ms.Job("likes")
    source = job.stream(journal.source("likes"), schema="now TIMESTAMP, brand STRING, at STRING")
    source.select("now", "brand", s="unix_timestamp(at)", t="'rand()'").to(journal.sink("out"))
    assert list(moving_steps(job._sinks)) == []


def test_python_code_that_goes_by_the_clock_is_named() -> None:
    def stamped(row: dict[str, object]) -> dict[str, object]:
        return {"liker": row["liker"], "x": (lambda: random.random() + time.time())()}

    job = ms.Job("likes")
    likes(job).map(stamped, "liker STRING, x DOUBLE").to(journal.sink("out"))
    assert {what for _, what in moving_steps(job._sinks)} == {"random in its Python code"}


def test_steps_that_a_batch_may_see_otherwise_are_told() -> None:
    job = ms.Job("likes")
    people = job.table(journal.source("people"), schema="id STRING, age INT", key="id")
    likes(job).as_("l").enrich(people.as_("p"), on="l.liker = p.id").select("l.liked", "p.age").to(journal.sink("now"))
    people.group_by("age").agg(n="count(*)").to(journal.sink("ages"))
    now, ages = job._sinks
    assert "what is known when a row comes" in (order_matters(now) or "")
    assert order_matters(ages) is None


# --- faults


VISITS = [
    Visit(point, epoch, sink, number)
    for epoch in range(4)
    for point, sink, count in (("offsets.before", "", 1), ("sink.write", "a", 50), ("sink.write", "b", 50))
    for number in range(count)
]


def test_every_place_has_its_turn_and_the_seed_repeats_it() -> None:
    choice = Choice(VISITS, seed=5)
    chosen = [choice.first() for _ in range(9)]
    assert Counter(fault.visit.place for fault in chosen) == Counter(dict.fromkeys({v.place for v in VISITS}, 3))
    again = Choice(VISITS, seed=5)
    assert [again.first() for _ in range(9)] == chosen
    assert [Choice(VISITS, seed=6).first() for _ in range(9)] != chosen


def test_the_most_telling_place_comes_first_if_it_is_among_them() -> None:
    told = [Choice(VISITS, 5, VISITS[-1]).first() for _ in range(3)]
    assert told == [Fault(VISITS[-1])] * 3
    choice = Choice(VISITS, 5, VISITS[-1])
    others = Choice(VISITS, 5, Visit("elsewhere", 1))
    assert [choice.first() for _ in range(9)][1:] == [others.first() for _ in range(8)]


def test_a_second_fault_comes_after_the_first() -> None:
    choice = Choice(VISITS, seed=1)
    first = Fault(Visit("sink.write", 2, "b", 10))
    for _ in range(20):
        second = choice.after(first)
        assert second is not None
        assert VISITS.index(second.visit) > VISITS.index(first.visit)
    assert choice.after(Fault(VISITS[-1])) is None


def test_a_watch_acts_at_its_visit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    struck: list[Fault] = []
    at, later = Fault(Visit("sink.write", 1, "a", 2)), Fault(Visit("sink.write", 1, "a", 0), later_ms=1)
    listener = Listener()
    listener.watch = watch = Watch([at, later], struck.append)
    for name, value in listener.environment.items():
        monkeypatch.setenv(name, value)
    teller = Teller()
    for _ in range(4):
        teller.tell("sink.write", 1, "a")
    watch.end()
    listener.close()
    assert sorted(struck, key=str) == sorted([at, later], key=str)
    assert [visit.number for visit in watch.seen] == [0, 1, 2, 3]


def test_a_visit_that_does_not_come_again_is_made_up_for_by_the_next_one() -> None:
    """In real time an epoch may have fewer rows than the one that the fault was chosen from."""
    struck: list[Fault] = []
    rare, never = Fault(Visit("sink.write", 1, "a", 9)), Fault(Visit("sink.write", 7, "a"))
    watch = Watch([rare, never], struck.append)
    for epoch, sink in ((0, "a"), (1, "a"), (1, "a"), (2, "b")):
        watch.visit("sink.write", epoch, sink)
        assert struck == []
    watch.visit("sink.write", 2, "a")
    watch.visit("sink.write", 3, "a")
    assert struck == [rare]


# --- input


def shop() -> ms.Job:
    """A stream with a time, a table by key, a changelog with a key."""
    job = ms.Job("shop")
    clicks = job.stream(
        journal.source("clicks", on_error="skip"), schema="user STRING, at TIMESTAMP", time="at", lateness="1 minute"
    )
    people = job.table(postgres.changes("people", address="nowhere"), schema="id INT, name STRING", key="id")
    games = job.table(journal.source("games", changelog=True), schema="id BIGINT, points INT", key="id")
    clicks.to(journal.sink("clicks_out"))
    people.to(postgres.sink("people_out", address="nowhere"))
    games.to(files.sink("games_out", format="csv", changelog=True))
    return job


def test_made_input_inserts_updates_and_deletes(tmp_path: Path) -> None:
    told = fill(shop()._sinks, tmp_path, Input(200, 1))
    assert {name: count for name, (count, _) in told.items()} == {"clicks": 200, "people": 200, "games": 200}
    times = [record.json()["at"] for record in read(tmp_path, "clicks") if b'"at"' in (record.value or b"")]
    assert 100 < len(times) <= 200
    live: dict[int, int] = {}
    changes: Counter[str] = Counter()
    for record in read(tmp_path, "games"):
        row = record.json()
        live[row["id"]] = live.get(row["id"], 0) + (1 if row["op"] == "insert" else -1)
        assert live[row["id"]] in (0, 1), "a key has at most one row"
        changes[row["op"]] += 1
    assert min(changes["insert"], changes["delete"]) > 50
    deleted = [record.value is None for record in read(tmp_path, "people")]
    assert 20 < sum(deleted) < 100


def test_the_seed_makes_the_same_input(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        fill(shop()._sinks, tmp_path / name, Input(50, seed))
    values = {
        name: [record.value for topic in ("clicks", "games") for record in read(tmp_path / name, topic)]
        for name in ("one", "same", "other")
    }
    assert values["one"] == values["same"] != values["other"]


def test_recorded_input_from_lines_and_from_a_topic(tmp_path: Path) -> None:
    lines = tmp_path / "people.jsonl"
    lines.write_text('{"id": 1, "name": "ann"}\n{"op": "delete", "id": 1}\n')
    journal.create(tmp_path / "journal", "clicks", 2)
    with journal.producer(tmp_path / "journal", "clicks") as out:
        out.send({"user": "ann"}, key="ann")
    recorded = {"people": str(lines), "clicks": str(tmp_path / "journal" / "clicks")}
    told = fill(shop()._sinks, tmp_path / "input", Input(10, 1, recorded))
    assert told["people"] == (2, f"recorded, from {lines}")
    assert [(record.key, record.value) for record in read(tmp_path / "input", "people")] == [
        (b'{"id":1}', b'{"id":1,"name":"ann"}'),
        (b'{"id":1}', None),
    ]
    assert [record.key for record in read(tmp_path / "input", "clicks")] == [b"ann"]


def test_recorded_input_that_is_not_there(tmp_path: Path) -> None:
    for code, recorded in (("MS-VERIFY-005", {"poeple": "x"}), ("MS-VERIFY-006", {"people": str(tmp_path / "none")})):
        with pytest.raises(ms.MillstreamError) as error:
            fill(shop()._sinks, tmp_path / code, Input(10, 1, recorded))
        assert error.value.code == code


# --- comparing


def test_sinks_are_moved_into_the_folder(tmp_path: Path) -> None:
    systems = {sink.name: moved(sink, tmp_path).system for sink in shop()._sinks}
    assert systems == {"clicks_out": "journal", "people_out": "sqlite", "games_out": "files"}
    assert all(held(sink, tmp_path).records == Counter() for sink in shop()._sinks)


def test_files_and_databases_are_read(tmp_path: Path) -> None:
    job = ms.Job("likes")
    likes(job).to(files.sink("out", format="json"), name="lines")
    likes(job).to(postgres.sink("liked", address="nowhere"), name="liked")
    lines, liked = job._sinks
    epoch = tmp_path / "lines" / "epoch=0"
    epoch.mkdir(parents=True)
    (epoch / "_manifest.json").write_text('{"files": ["a.json"]}')
    (epoch / "a.json").write_text('{"liker": "ann"}\n{"liker": "ann"}\n')
    assert held(lines, tmp_path).table == Counter({'{"liker": "ann"}': 2})
    options = moved(liked, tmp_path)
    assert isinstance(options, CarriedSink)
    carrier = options.carrier("w", "append", RowShape(("liker",), (), "{}"))
    assert carrier.last() == -1
    for epoch_number in range(2):
        carrier.carry(epoch_number, [Record(0, epoch_number, 0, None, b'{"liker":"bob"}', ())])
    assert carrier.last() == 1
    carrier.close()
    assert held(liked, tmp_path).table == Counter({'{"liker": "bob"}': 2})


def test_rows_too_few_and_too_many_are_counted() -> None:
    want, have = Counter(a=2, b=1), Counter(a=1, b=1, c=3)
    ((name, found),) = differences({"out": Held(want, want)}, {"out": Held(have, have)}, {"out"})
    assert (name, found.lost, found.duplicated) == ("out", Counter(a=1), Counter(c=3))
    same = Held(Counter(x=1), want)
    assert differences({"out": same}, {"out": Held(Counter(y=1), want)}, set()) == []


# --- telling


def test_a_certificate_says_where_and_what(tmp_path: Path) -> None:
    job = ms.Job("likes")
    likes(job).to(journal.sink("a"))
    trial = SimpleNamespace(
        job=job,
        sinks=job._sinks,
        file=tmp_path / "likes.py",
        given=Input(10, 1),
        choice=Choice(VISITS, 1),
        mode="real-time",
        storage=None,
        moved=None,
    )
    certificate = Certificate(trial, tmp_path, {})  # type: ignore[arg-type]
    for epoch in range(2):
        certificate.take(Outcome((Fault(Visit("sink.write", epoch, "a")),), (), real=epoch == 0))
    assert certificate.good
    lost = Difference("a", Counter(x=2), Counter(y=1))
    certificate.take(Outcome((Fault(Visit("offsets.before", 1), 5), Fault(Visit("sink.write", 2, "a", 3))), (lost,)))
    assert not certificate.good
    assert certificate.text().replace(str(tmp_path), "") == (
        """\
  sink a: exactly once (two phases); in a folder of its own

  killed at
    offsets          before 0
    sink.write of a  3
    sink.write of b  0
  1 of them with kill -9, the others as images

  FAILED after offsets.before in epoch 1, 5 ms later; then sink.write of a in epoch 2, visit 4
    sink a: missing: x; too much: y
    saved as /test_verify_likes_1.py

3 faults at 1 points, lost 2, duplicated 1"""
    )
    saved = (tmp_path / "test_verify_likes_1.py").read_text()
    assert "recorded={}), 'real-time')" in saved
    compile(saved, "saved", "exec")
