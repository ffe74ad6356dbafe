"""A checkpoint depends on the shape of saved state, and on nothing else of a job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.connectors.journal import JournalSink
from millstream.spark.lower.told import Hosted, Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIKES = "liker STRING, liked STRING, n BIGINT, m BIGINT, at TIMESTAMP"
Build = Callable[[ms.Job, ms.Stream], None]


class Likes:
    """A job over likes, run again and again from one checkpoint, each time with one more like, of n = 1."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark = folder, spark
        self.path = str(folder / "journal")
        self.sent = 0
        for topic in ("likes", "out", "copies", "more"):
            journal.create(self.path, topic, 1)

    def sink(self, topic: str) -> JournalSink:
        return journal.sink(topic, path=self.path)

    def changelog(self, topic: str) -> JournalSink:
        return journal.sink(topic, path=self.path, changelog=True)

    def run(self, build: Build) -> None:
        with journal.producer(self.path, "likes") as producer:
            at = f"2026-01-01T00:00:{self.sent:02}"
            producer.send({"liker": "a", "liked": "b", "n": 1, "m": 10, "at": at})
        self.sent += 1
        job = ms.Job("likes", checkpoint=str(self.folder / "checkpoint"), parallelism=2)
        build(job, job.stream(journal.source("likes", path=self.path), LIKES, time="at", lateness="0 seconds"))
        job.run(ms.available_now(), spark=self.spark)

    def refused(self, build: Build) -> ms.MillstreamError:
        with pytest.raises(ms.MillstreamError) as caught:
            self.run(build)
        assert caught.value.code == "MS-CHECKPOINT-002"
        return caught.value

    def rows(self, topic: str) -> list[dict[str, Any]]:
        return [record.json() for record in journal.read(self.path, topic)]

    @property
    def stages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "checkpoint" / "millstream.json").read_text())["stages"]
        return found


@pytest.fixture
def likes(tmp_path: Path, spark: SparkSession) -> Likes:
    return Likes(tmp_path, spark)


@pytest.mark.parametrize("name", ["aardvark", "zebra"])
def test_a_select_that_rides_through_a_level(name: str, likes: Likes) -> None:
    """Whether what passes would come before or behind the operator by its name."""

    def build(**selected: str) -> Build:
        def made(job: ms.Job, rows: ms.Stream) -> None:
            rows.group_by("liked").agg(n="sum(n)").named(name).to(likes.sink("out"))
            rows.select("liker", **selected).to(likes.sink("copies"))

        return made

    likes.run(build(m="m * 2"))
    likes.run(build(k="n + 5", m="'text'"))
    likes.run(build())
    assert [row["n"] for row in likes.rows("out")] == [1, 2, 3]
    assert likes.rows("copies") == [{"liker": "a", "m": 20}, {"liker": "a", "k": 6, "m": "text"}, {"liker": "a"}]
    assert [list(stage["operators"]) for stage in likes.stages] == [[name]]


def test_what_a_kernel_is_told(likes: Likes) -> None:
    """A changelog beside the upserts: the aggregate takes old rows back from now on."""

    def build(more: bool) -> Build:
        def made(job: ms.Job, rows: ms.Stream) -> None:
            popular = rows.group_by("liked").agg(n="sum(n)").named("popular")
            popular.to(likes.sink("out"))
            if more:
                popular.changes().select("n", "op").to(likes.sink("more"))

        return made

    likes.run(build(more=False))
    likes.run(build(more=True))
    assert [row["n"] for row in likes.rows("out")] == [1, 2]
    assert sorted((row["op"], row["n"]) for row in likes.rows("more")) == [("delete", 1), ("insert", 2)]


def test_how_long_a_join_keeps_its_rows(likes: Likes) -> None:
    def build(ttl: str) -> Build:
        def made(job: ms.Job, rows: ms.Stream) -> None:
            pairs = rows.as_("a").join(rows.as_("b"), on="a.liked = b.liked", ttl=ttl).named("pairs")
            pairs.select(one="a.at", other="b.at").to(likes.sink("out"))

        return made

    likes.run(build("1 hour"))
    likes.run(build("2 hours"))
    assert len(likes.rows("out")) == 4


def popular(likes: Likes, total: str = "sum(n)", by: str = "liked") -> Build:
    return lambda job, rows: rows.group_by(who=by).agg(n=total).named("popular").to(likes.sink("out"))


def first(likes: Likes, n: int = 2, by: str = "n DESC") -> Build:
    return lambda job, rows: rows.top(n, by=by, per="liked").named("popular").to(likes.changelog("out"))


def visits(likes: Likes, gap: str = "10 seconds") -> Build:
    def made(job: ms.Job, rows: ms.Stream) -> None:
        rows.window(ms.session(gap)).group_by("liked").agg(n="count(*)").named("popular").to(likes.sink("out"))

    return made


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        (popular, lambda likes: popular(likes, "sum(m)"), "saved: means: sum(`n`); now: means: sum(`m`)"),
        (popular, lambda likes: popular(likes, "max(n)"), "state group: value struct<count0:bigint,"),
        (popular, lambda likes: popular(likes, by="liker"), "saved: key: liked (string); now: key: liker (string)"),
        (popular, lambda likes: popular(likes, by="m"), "saved: key: liked (string); now: key: m (bigint)"),
        (first, lambda likes: first(likes, n=3), "first 2 by n DESC NULLS LAST; now: means: the first 3"),
        (first, lambda likes: first(likes, by="m"), "now: means: the first 2 by m ASC NULLS FIRST"),
        (visits, lambda likes: visits(likes, "9 seconds"), "a gap of 10000 ms; now: means: count(*), a gap of 9000 ms"),
    ],
    ids=["figure", "accumulator", "key", "key_type", "count", "order", "gap"],
)
def test_state_that_is_another(
    before: Callable[[Likes], Build], after: Callable[[Likes], Build], difference: str, likes: Likes
) -> None:
    likes.run(before(likes))
    error = likes.refused(after(likes))
    assert error.message == 'step "popular" has saved state of another shape.'
    assert difference in (error.found or "")
    assert error.at is not None
    assert Path(error.at.file).name == Path(__file__).name


class Counter(ms.Process):
    """How many rows each key has had, in a state of rows."""

    output = "liked STRING, n BIGINT"
    kept = ms.ValueState("n BIGINT")

    def on_row(self, key: str | None, row: Any) -> Iterator[dict[str, Any]]:
        before = self.kept.get()
        self.kept.set({"n": (before.n if before else 0) + row.n})
        yield {"liked": key, "n": self.kept.get().n}


def counted(likes: Likes, rows: ms.Stream) -> None:
    rows.group_by("liked").agg(n="sum(n)", most="max(m)").named("step").to(likes.sink("out"))


def paired(likes: Likes, rows: ms.Stream) -> None:
    pairs = rows.as_("a").join(rows.as_("b"), on="a.liked = b.liked").named("step")
    pairs.select("a.liked", n="b.n").to(likes.sink("out"))


def best(likes: Likes, rows: ms.Stream) -> None:
    rows.top(2, by="n, at", per="liked").named("step").to(likes.changelog("out"))


def processed(likes: Likes, rows: ms.Stream) -> None:
    """Beside an aggregate in the same stage."""
    rows.key_by("liked").process(Counter, name="step").to(likes.sink("out"))
    rows.group_by("liked").agg(n="sum(n)", most="max(m)").named("beside").to(likes.sink("more"))


@pytest.mark.parametrize("step", [counted, paired, best, processed])
def test_columns_that_may_be_null_from_now_on_or_no_more(
    step: Callable[[Likes, ms.Stream], None], likes: Likes
) -> None:
    """Whether a stateless step makes them so is nothing that saved state depends on."""

    def build(**columns: str) -> Build:
        return lambda job, rows: step(likes, rows.with_columns(**columns) if columns else rows)

    never = {"liked": "coalesce(liked, 'none')", "n": "coalesce(n, 0)", "m": "coalesce(m, 0)"}
    likes.run(build(**never))
    likes.run(build())
    likes.run(build(**never))
    assert [row["n"] for row in likes.rows("out")][:1] == [1]
    assert len(likes.rows("out")) >= 2


def test_a_step_that_passes_where_none_did(likes: Likes) -> None:
    """Then keys of the stage have a tag, which saved ones lack."""
    likes.run(popular(likes))

    def more(job: ms.Job, rows: ms.Stream) -> None:
        popular(likes)(job, rows)
        rows.select("liker").to(likes.sink("copies"))

    error = likes.refused(more)
    assert "place: stage 1" in (error.found or "")


def test_nothing_that_kernels_are_told_is_saved(likes: Likes) -> None:
    likes.run(popular(likes))
    (stage,) = likes.stages
    (placed,) = stage["operators"].values()
    saved = {*stage, *placed, *placed["state"], *(name for part in placed["state"]["variables"] for name in part)}
    assert saved == {
        *("key", "timers", "operators"),
        *("tag", "slots", "state"),
        *("by", "variables", "means", "computes", "layout", "results"),
        *("name", "kind", "value"),
    }
    kinds: list[type[Hosted | Told]] = [Hosted, *Told.__subclasses__()]
    told = {part.name for kind in kinds for part in fields(kind)}
    assert told & saved == {"name"}
