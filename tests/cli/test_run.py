"""`millstream run`, with Spark: batch, and real time ended by Ctrl-C."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from millstream import journal
from millstream.api.command import Command, commanded
from millstream.api.job import Job
from millstream.plan.modes import Batch, Mode, RealTime
from millstream.runtime.run import Run
from tests.cli.conftest import Cli, Start

MATCHES = Path(__file__).parents[2] / "examples" / "matches.py"
LIKES = (
    {"liker": "ann", "liked": "bob", "at": "2026-01-01T12:00:00Z"},
    {"liker": "bob", "liked": "cyd", "at": "2026-01-01T12:00:01Z"},
    {"liker": "bob", "liked": "ann", "at": "2026-01-01T12:00:05Z"},
)
MATCH = {"liker": "ann", "liked": "bob", "at": "2026-01-01T12:00:05.000000Z"}


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    for topic in ("likes", "matches"):
        journal.create(path, topic)
    return path


def send(path: Path) -> None:
    with journal.producer(path, "likes") as likes:
        for like in LIKES:
            likes.send(json.dumps(like))


@pytest.mark.slow
def test_the_example_in_batch(cli: Cli, topics: Path) -> None:
    send(topics)
    done = cli("run", str(MATCHES), "--mode", "batch")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "matches: starting\nmatches: finished\n"  # and nothing from Spark
    assert [record.json() for record in journal.read(topics, "matches")] == [MATCH]


@pytest.mark.slow
def test_the_example_in_real_time_until_interrupted(started: Start, topics: Path, tmp_path: Path) -> None:
    process = started("run", str(MATCHES), "--every", "1s", "--checkpoint", "progress", "--quiet")
    assert process.stderr.readline() == "matches: starting\n"
    # A join without bounds: users get a warning.
    assert 'WARNING millstream: job "matches": join_' in process.stderr.readline()
    assert process.stderr.readline() == "matches: running, Ctrl-C stops it; checkpoint progress\n"
    send(topics)
    with journal.Reader(topics, "matches") as matches:
        assert [match.json() for match in matches.poll(timeout=120)] == [MATCH]
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate(timeout=120)
    assert rest.startswith("matches: stopped after epoch ")
    assert (len(rest.splitlines()), out, process.returncode) == (1, "", 0)
    assert (tmp_path / "progress" / "millstream.json").exists()


@pytest.mark.slow
def test_a_failure_of_the_job_is_told_without_a_trace(cli: Cli, topics: Path) -> None:
    with journal.producer(topics, "likes") as likes:
        likes.send("not JSON")
    done = cli("run", str(MATCHES), "--mode", "batch")
    assert done.returncode == 1
    first, second, *_ = done.stderr.splitlines()
    assert first == "matches: starting"
    assert second.startswith("MS-")
    assert "Traceback" not in done.stderr
    assert "\tat " not in done.stderr


def test_without_java(cli: Cli, topics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/java/here")
    done = cli("run", str(MATCHES), "--mode", "batch")
    assert done.returncode == 1
    first, second, found, hint = done.stderr.splitlines()
    assert (first, second) == ("matches: starting", "MS-SETUP-003: Spark's Java process did not start.")
    assert "/no/java/here/bin/java" in found
    assert hint == "  hint:  it needs Java 17 or newer, as java on the PATH or in JAVA_HOME"


@pytest.mark.parametrize(
    ("said", "given", "expected"),
    [
        (None, None, RealTime(5000)),
        (None, Batch(), Batch()),
        (RealTime(1), None, RealTime(1)),
        (RealTime(1), Batch(), RealTime(1)),
    ],
)
def test_the_command_line_goes_before_the_file(
    said: Mode | None, given: Mode | None, expected: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(Run, "begin", lambda job, plan, how, restarts: begun.append((how.mode, how.checkpoint)))
    with commanded(Command(mode=said, checkpoint="there")) as order:
        job = Job("copy")
        likes = job.stream(journal.source("likes"), schema="liker STRING")
        likes.to(journal.sink("copies"))
        job.start(given)
    assert begun == [(expected, "there")]
    assert (order.started, order.jobs) == (True, [job])


@pytest.mark.slow
def test_figures_for_prometheus_while_it_runs(started: Start, topics: Path) -> None:
    send(topics)
    process = started("run", str(MATCHES), "--every", "1s", "--metrics-port", "0", "--quiet")
    lines = iter(process.stderr.readline, "")
    url = next(line.split(" metrics at ")[1].strip() for line in lines if " metrics at " in line)
    found: dict[str, float] = {}
    while found.get("millstream_source_rows_total") != len(LIKES):
        with urllib.request.urlopen(url) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        found = {sample.name: sample.value for family in families for sample in family.samples}
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


@pytest.mark.slow
def test_a_line_now_and_then(started: Start, topics: Path) -> None:
    send(topics)
    process = started("run", str(MATCHES), "--every", "1s")
    lines = (line for line in iter(process.stderr.readline, "") if " matches running " in line)
    shown = next(line for line in lines if "epoch –" not in line)
    assert "in 3 (" in shown
    assert "lag 0" in shown
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
