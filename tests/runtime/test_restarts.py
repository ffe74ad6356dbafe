"""When a failed job is started again: policies are functions of the failures so far."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal
from millstream.runtime.recovery import Recovery
from millstream.spark import jvm
from millstream.spark import query as queries
from millstream.spark.epochs import started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.plan.restarts import Restarts


def delays(policy: Restarts, *moments: float) -> list[int | None]:
    """What the policy says after each failure."""
    return [policy.delay_ms(moments[: i + 1]) for i in range(len(moments))]


def copying(folder: Path) -> tuple[str, ms.Job]:
    """A journal of two topics, and a job that copies one into the other."""
    path = str(folder / "journal")
    for topic in ("in", "out"):
        journal.create(path, topic, 1)
    job = ms.Job("copy", checkpoint=str(folder / "checkpoint"), parallelism=1)
    job.stream(journal.source("in", path=path), schema="id BIGINT").to(journal.sink("out", path=path))
    return path, job


def test_a_fixed_delay_ends_after_so_many_attempts() -> None:
    assert delays(ms.fixed_delay(2, "5 seconds"), 0, 10, 20) == [5000, 5000, None]


def test_an_exponential_delay_grows_and_is_calmed() -> None:
    policy = ms.exponential_delay(first="1 second", most="5 seconds", factor=2, calm="1 minute")
    assert delays(policy, 0, 2, 5, 10, 20) == [1000, 2000, 4000, 5000, 5000]
    assert delays(policy, 0, 2, 200, 202) == [1000, 2000, 1000, 2000]


def test_a_failure_rate_forgets_old_failures() -> None:
    policy = ms.failure_rate(most=2, within="1 minute", delay="0 seconds")
    assert delays(policy, 0, 10, 65, 69) == [0, 0, 0, None]


def test_nothing_said_means_no_restart() -> None:
    assert delays(ms.no_restart(), 0) == [None]


def test_a_bad_record_is_no_reason_to_start_again(tmp_path: Path, spark: SparkSession) -> None:
    """It would fail in the same way forever."""
    path = str(tmp_path / "journal")
    for topic in ("in", "out"):
        journal.create(path, topic, 1)
    with journal.producer(path, "in") as producer:
        producer.send(b"no json")
    job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.stream(journal.source("in", path=path), schema="id BIGINT").to(journal.sink("out", path=path))
    run = job.start(ms.available_now(), restarts=ms.fixed_delay(5, "0 seconds"), spark=spark)
    with pytest.raises(ms.MillstreamError) as error:
        run.wait()
    assert error.value.code == "MS-DECODE-001"
    assert (run.failures, run.state.value) == ([], "failed")


def test_a_division_by_zero_is_no_reason_either(tmp_path: Path, spark: SparkSession) -> None:
    path = str(tmp_path / "journal")
    for topic in ("in", "out"):
        journal.create(path, topic, 1)
    with journal.producer(path, "in") as producer:
        producer.send({"id": 0})
    job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    rows = job.stream(journal.source("in", path=path), schema="id BIGINT")
    rows.select(n="1 div id").to(journal.sink("out", path=path))
    run = job.start(ms.available_now(), restarts=ms.fixed_delay(5, "0 seconds"), spark=spark)
    with pytest.raises(ms.MillstreamError) as error:
        run.wait()
    assert error.value.code == "MS-EXPR-009"
    assert (run.failures, run.state.value) == ([], "failed")


def test_a_start_that_fails_is_not_another_run(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has taken the checkpoint over before it fails, as when a sink's server is away for a moment."""
    path, job = copying(tmp_path)
    run = job.start(ms.micro_batch("0 seconds"), restarts=ms.fixed_delay(5, "0 seconds"), spark=spark)
    failures = [OSError("one"), OSError("two"), OSError("three")]
    check = queries.Query.check

    def first_fail(what: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*arguments: Any, **options: Any) -> Any:
            if failures:
                raise failures.pop()
            return what(*arguments, **options)

        return tried

    monkeypatch.setattr(queries, "started", first_fail(started))
    monkeypatch.setattr(queries.Query, "check", first_fail(check))
    while failures:
        run.poll(0.1)
    with journal.producer(path, "in") as producer:
        producer.send({"id": 1})
    while not list(journal.read(path, "out")):
        run.poll(0.1)
    run.stop()
    assert [record.json() for record in journal.read(path, "out")] == [{"id": 1}]
    assert len(run.failures) == 3


@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), OSError("a checkpoint failed: no answer")])
def test_nothing_is_started_again_without_sparks_process(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery = Recovery("copy", copying(tmp_path)[1].plan(), ms.fixed_delay(5, "0 seconds"), tolerate=5)
    recovery.plan(error, None, lambda: -1)
    assert len(recovery.failures) == 1
    monkeypatch.setattr(jvm, "gone", lambda: True)
    with pytest.raises(ms.MillstreamError, match=r"MS-RUN-004.*Spark's Java process has ended"):
        recovery.plan(error, None, lambda: -1)
    assert len(recovery.failures) == 1


def test_a_run_that_cannot_say_what_it_has_committed_is_over(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the storage of its checkpoint is gone."""
    _, job = copying(tmp_path)
    run = job.start(ms.micro_batch("0 seconds"), spark=spark)

    def gone() -> int:
        raise OSError("gone")

    monkeypatch.setattr(run, "_committed", gone)
    with pytest.raises(OSError, match="gone"):
        run._failed(OSError("a checkpoint failed: no answer"))
    assert run.state.value == "failed"
    run.stop()


KILLED = """
import os, signal, sys
import millstream as ms
from millstream import journal
from millstream.spark import jvm

path = sys.argv[1]
job = ms.Job("copy", checkpoint=f"{path}/checkpoint", parallelism=1)
job.stream(journal.source("in", path=path), schema="id BIGINT").to(journal.sink("out", path=path))
run = job.start(ms.micro_batch("0 seconds"), restarts=ms.exponential_delay())
os.kill(jvm.named("java.lang.ProcessHandle").current().pid(), signal.SIGKILL)
try:
    run.wait()
except ms.MillstreamError as error:
    print(error.code, run.state.value, len(run.failures))
"""


@pytest.mark.slow
def test_a_job_ends_with_sparks_process(tmp_path: Path) -> None:
    """No policy helps: this process can have no other."""
    for topic in ("in", "out"):
        journal.create(tmp_path, topic, 1)
    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout.split() == ["MS-RUN-004", "failed", "0"], ran.stderr
