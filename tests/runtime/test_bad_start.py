"""What keeps a job from starting."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.spark import query as queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id BIGINT, text STRING"


def copy(path: str, checkpoint: Path, source: str = "in", sink: str = "out") -> ms.Job:
    job = ms.Job("copy", checkpoint=str(checkpoint), parallelism=1)
    job.stream(journal.source(source, path=path), schema=SCHEMA).to(journal.sink(sink, path=path))
    return job


@pytest.fixture
def path(tmp_path: Path) -> str:
    journal.create(tmp_path / "journal", "in", 1)
    journal.create(tmp_path / "journal", "out", 1)
    return str(tmp_path / "journal")


def test_ctrl_c_while_a_query_is_started(
    path: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs on, so the job can be started again at once."""
    start = queries.start

    def interrupted(*args: Any) -> queries.Query:
        started = start(*args)
        signal.raise_signal(signal.SIGINT)
        return started

    monkeypatch.setattr(queries, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy(path, tmp_path / "checkpoint").start(ms.micro_batch("1 second"), spark=spark)
    monkeypatch.undo()
    assert spark.streams.active == []
    assert copy(path, tmp_path / "checkpoint").run(ms.available_now(), spark=spark).state.value == "finished"


@pytest.mark.parametrize(("source", "sink"), [("inn", "out"), ("in", "outt")])
def test_a_topic_that_does_not_exist(source: str, sink: str, path: str, tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(ms.MillstreamError) as error:
        copy(path, tmp_path / "checkpoint", source, sink).run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-JOURNAL-001"
    assert error.value.hint is not None
    assert not (tmp_path / "checkpoint").exists()


def test_an_unknown_mode(path: str, tmp_path: Path) -> None:
    with pytest.raises(ms.MillstreamError) as error:
        copy(path, tmp_path / "checkpoint").run("fast")  # type: ignore[arg-type]
    assert error.value.code == "MS-RUN-001"


def test_too_few_slots_for_real_time(tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    journal.create(path, "in", 100)
    journal.create(path, "out", 1)
    with pytest.raises(ms.MillstreamError) as error:
        copy(path, tmp_path / "checkpoint").run(ms.real_time(), spark=spark)
    assert error.value.code == "MS-RUN-003"
    assert "real time needs 100 task slots" in error.value.message


def test_two_runs_of_one_job(path: str, tmp_path: Path, spark: SparkSession) -> None:
    """The second would write to the same topic, or continue from the same epoch."""
    journal.create(path, "elsewhere", 1)
    run = copy(path, tmp_path / "one").start(ms.micro_batch("1 second"), spark=spark)
    try:
        with pytest.raises(ms.MillstreamError) as error:
            copy(path, tmp_path / "one", sink="elsewhere").run(ms.available_now(), spark=spark)
        assert error.value.code == "MS-CHECKPOINT-005"
        assert error.value.hint is not None
        with pytest.raises(ms.MillstreamError) as error:
            copy(path, tmp_path / "two").run(ms.available_now(), spark=spark)
        assert error.value.code == "MS-JOURNAL-005"
    finally:
        run.stop()


def test_a_start_that_fails_leaves_nothing_behind(
    path: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No query, no listener, no lock: the same job starts when the obstacle is gone."""
    used = []

    def fails(plan: object, job: str, query: object, session: SparkSession, opened: object) -> None:
        used.append(session._jsparkSession.streams())
        assert len(used[0].listListeners()) == 1
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr("millstream.spark.query.listen_for_sources", fails)
        with pytest.raises(ms.MillstreamError):
            copy(path, tmp_path / "checkpoint").run(ms.micro_batch("1 second"), spark=spark)
    assert (len(used[0].listListeners()), len(used[0].active())) == (0, 0)
    copy(path, tmp_path / "checkpoint").run(ms.available_now(), spark=spark)


@pytest.mark.slow
def test_a_session_without_the_kernels() -> None:
    script = """
from pyspark.sql import SparkSession
import millstream as ms
from millstream import journal
journal.create("journal", "in"), journal.create("journal", "out")
job = ms.Job("copy")
job.stream(journal.source("in"), schema="id BIGINT").to(journal.sink("out"))
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
try:
    job.run(ms.available_now(), spark=spark)
except ms.MillstreamError as error:
    print(error.code, error.hint)
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
    assert done.stdout.startswith('MS-SETUP-002 make it with .config("spark.jars", "'), done.stderr
