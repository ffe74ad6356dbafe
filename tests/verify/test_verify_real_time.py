"""`millstream verify --mode real-time`: what it refuses, and how the input reaches a job that does not end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import millstream as ms
from millstream import journal
from millstream.cli.verify import verify
from millstream.journal.reader import read
from millstream.journal.topics import describe
from millstream.plan.node import walk
from millstream.plan.nodes import Source
from millstream.verify import portions
from millstream.verify.inputs import Input
from millstream.verify.portions import Growing, Portions
from millstream.verify.sandbox import INPUT, sandboxed
from millstream.verify.trial import Trial

HEAD = """
import millstream as ms
from millstream import files, journal

job = ms.Job("refused")
"""
FILES = """
job.stream(files.source("rows", format="json"), schema="n INT").to(journal.sink("out"))
"""


def test_what_real_time_refuses_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(HEAD + FILES)
    done = CliRunner().invoke(verify, [str(file), "--mode", "real-time"])
    assert isinstance(done.exception, ms.MillstreamError)
    assert done.exception.code == "MS-RUN-007"
    assert done.exception.at is not None
    assert done.exception.at.file == str(file)


class Reader:
    """A run that commits, at every look, what it was given by then; `epochs`: how many rows each of them had."""

    def __init__(self, path: Path, checkpoint: Path) -> None:
        self.path = path
        self.spark = checkpoint / "spark"
        for log in ("offsets", "commits"):
            (self.spark / log).mkdir(parents=True)
        self.ends: list[dict[int, int]] = []
        self.stopped = False

    def poll(self, seconds: float) -> bool:
        number = len(self.ends)
        self.ends.append({part.partition: part.end for part in describe(self.path, "rows").partitions})
        (self.spark / "offsets" / str(number)).write_text(f"v1\n{{}}\n{json.dumps(self.ends[-1])}\n")
        (self.spark / "commits" / str(number)).write_text("v1\n{}")
        return False

    def stop(self) -> None:
        self.stopped = True


def source(time: str | None = None) -> Source:
    stream = ms.Job("rows").stream(journal.source("rows"), "n INT, at TIMESTAMP", time=time)
    assert isinstance(stream._node, Source)
    return stream._node


def whole(path: Path, rows: int, partitions: int = 2) -> None:
    journal.create(path, "rows", partitions)
    with journal.producer(path, "rows", durable=False) as out:
        for n in range(rows):
            out.send({"n": n}, key=f"k{n}", headers=[("h", b"x")], timestamp=n)


def records(path: Path) -> list[tuple[Any, ...]]:
    found = [(one.partition, one.offset, one.key, one.value, one.timestamp, one.headers) for one in read(path, "rows")]
    return sorted(found, key=lambda one: one[:2])


@pytest.mark.parametrize(("time", "more"), [(None, 0), ("at", portions.SETTLING)])
def test_each_portion_comes_when_the_last_is_committed(time: str | None, more: int, tmp_path: Path) -> None:
    """With a time, epochs go by until it has moved on everywhere."""
    whole(tmp_path / "whole", 20)
    given = Portions((source(time),), tmp_path / "whole", tmp_path / "run" / INPUT)
    run = Reader(tmp_path / "run" / INPUT, tmp_path / "run" / "checkpoint")
    given.work_off(run, tmp_path / "run" / "checkpoint")  # type: ignore[arg-type]
    assert run.stopped
    assert len(run.ends) == portions.PORTIONS + more
    assert run.ends[0] != run.ends[1] != run.ends[2] == run.ends[-1]
    assert records(tmp_path / "run" / INPUT) == records(tmp_path / "whole")


def test_a_portion_is_made_whole_by_the_next_run(tmp_path: Path) -> None:
    """The process that gave a part of it was killed."""
    whole(tmp_path / "whole", 20)
    topic = Growing(tmp_path / "whole", tmp_path / "run", "rows")
    first = next(iter(read(tmp_path / "whole", "rows")))
    with journal.producer(tmp_path / "run", "rows", durable=False) as out:
        out.send(
            first.value,
            key=first.key,
            headers=first.headers,
            timestamp=first.timestamp,
            partition=first.partition,
        )
    again = Growing(tmp_path / "whole", tmp_path / "run", "rows")
    for portion in range(1, portions.PORTIONS + 1):
        assert again.lacks(portion)
        again.give(portion)
        assert not topic.lacks(portion)
    assert records(tmp_path / "run") == records(tmp_path / "whole")


def test_an_empty_input_is_worked_off(tmp_path: Path) -> None:
    whole(tmp_path / "whole", 0)
    given = Portions((source(),), tmp_path / "whole", tmp_path / "run" / INPUT)
    run = Reader(tmp_path / "run" / INPUT, tmp_path / "run" / "checkpoint")
    given.work_off(run, tmp_path / "run" / "checkpoint")  # type: ignore[arg-type]
    assert run.stopped


def test_sources_read_what_they_were_given_and_are_never_idle(tmp_path: Path) -> None:
    job = ms.Job("rows")
    rows = job.stream(journal.source("rows"), "n INT", time=ms.processing_time()).as_("r")
    names = job.static(journal.source("names"), "n INT, name STRING").as_("s")
    rows.enrich(names, on="r.n = s.n").select("r.n", "s.name").to(journal.sink("out"))
    (sink,) = sandboxed(job._sinks, tmp_path / "whole", tmp_path / "run", None, portions=True)
    found = {node.name: node for node in walk((sink,)) if isinstance(node, Source)}
    assert found["rows"].options.path == str(tmp_path / "run" / INPUT)  # type: ignore[attr-defined]
    assert found["rows"].idle_after is None
    assert found["names"].options.path == str(tmp_path / "whole")  # type: ignore[attr-defined]


def test_a_step_that_goes_by_the_order_of_rows_is_named(tmp_path: Path) -> None:
    job = ms.Job("rows")
    rows = job.stream(journal.source("rows"), "n INT").as_("r")
    names = job.table(journal.source("names"), "n INT, name STRING", key="n").as_("s")
    rows.enrich(names, on="r.n = s.n").named("known").select("r.n", "s.name").to(journal.sink("out"))
    with Trial(job, tmp_path / "job.py", tmp_path, Input(10, 1), mode="real-time") as trial:
        reason = 'step "known" takes what is known when a row comes'
        assert trial._why("out").startswith(f"{reason}: verify the job in micro-batches")
