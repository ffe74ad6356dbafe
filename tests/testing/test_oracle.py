"""The oracle says no: it finds a job that is wrong in one epoch, and right again later."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream.testing import oracle
from millstream.testing.cases import Change, Edit, Fact
from millstream.testing.epochs import committed, published
from millstream.testing.oracle import check
from millstream.testing.trial import Case, Topics, Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build(topics: Topics) -> ms.Job:
    job = ms.Job("counts")
    items = job.table(topics.source("items", changelog=True), "k INT, v INT", key=("k", "v"))
    items.group_by("k").agg(n="count(*)").to(topics.sink("out", changelog=True))
    return job


def changes() -> list[Change]:
    rows = [{"k": k, "v": v} for v in range(6) for k in range(3)]
    inserts: list[Change] = [Edit("insert", row, ()) for row in rows]
    return inserts + [Edit("delete", row, ()) for row in rows[:9]]


def test_a_wrong_epoch_is_told(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(Case(build, {"items": changes()}, seed=1, epochs=3), tmp_path / "right", spark).epochs > 1

    def without_an_epoch(path: Path, topic: str) -> object:
        found = published(path, topic)
        return {epoch: records for epoch, records in found.items() if epoch != 1}

    monkeypatch.setattr(oracle, "published", without_an_epoch)
    with pytest.raises((AssertionError, ms.MillstreamError), match=r"after epoch 1 of|not there"):
        check(Case(build, {"items": changes()}, seed=1, epochs=3), tmp_path / "wrong", spark)


def test_what_is_told(tmp_path: Path) -> None:
    """Which sink, which epoch, what is missing, and the seed."""
    trial = Trial(Case(build, {"items": [Fact({})]}, seed=77), tmp_path)
    job = trial.job()
    with pytest.MonkeyPatch.context() as patch:
        rows = {"out": {0: Counter({'{"k": 1}': 1})}}
        patch.setattr(oracle, "written", lambda sink, records, last: rows[sink.name])
        batch = {"out": Counter({'{"k": 2}': 1})}
        patch.setattr(oracle, "results", lambda job, epochs, spark, optimised: {0: batch, oracle.OPTIMISED: batch})
        with pytest.raises(AssertionError) as told:
            oracle.compare(trial, job, {0: [{0: 1}]}, None)  # type: ignore[arg-type]
    for part in (
        'sink "out" (changelog)',
        "epoch 0",
        "seed 77",
        'missing: {"k": 2}',
        'extra: {"k": 1}',
        "job counts",
    ):
        assert part in str(told.value)


def test_input_is_cut_for_every_run(tmp_path: Path) -> None:
    trial = Trial(Case(build, {"items": changes()}, seed=3, runs=3), tmp_path)
    ends = []
    for limits in trial.feed():
        assert (limits["items"] or 0) >= 1
        ends.append(sum(oracle.whole(trial, "items").values()))
    assert ends == sorted(ends)
    assert ends[-1] == len(changes())


def test_offsets_of_epochs(tmp_path: Path) -> None:
    for folder in ("offsets", "commits"):
        (tmp_path / "spark" / folder).mkdir(parents=True)
    for epoch, lines in enumerate((['{"0": 1, "1": 2}', "-"], ['{"0": 3, "1": 2}', '{"0": 5}'])):
        (tmp_path / "spark" / "offsets" / str(epoch)).write_text("\n".join(["v1", "{}", *lines]))
    (tmp_path / "spark" / "commits" / "0").write_text("v1\n{}")
    (tmp_path / "spark" / "commits" / ".0.crc").write_text("")
    assert committed(tmp_path) == {0: [{0: 1, 1: 2}, {}]}
