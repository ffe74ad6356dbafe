"""Scripts as users write them, in separate processes: what they print when all goes well, and when it does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millstream import journal
from tests.cli.conftest import environment

HEAD = """
import millstream as ms
from millstream import journal

for topic in ("in", "out"):
    journal.create("journal", topic, 1)


def job(name, parallelism=1):
    made = ms.Job(name, parallelism=parallelism)
    return made, made.stream(journal.source("in", path="journal"), "id INT")


def send(*values):
    with journal.producer("journal", "in") as producer:
        for value in values:
            producer.send(value)


"""


def script(body: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    (folder / "job.py").write_text(HEAD + body)
    return subprocess.run(
        [sys.executable, "job.py"],
        cwd=folder,
        env={**environment(folder), **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )


FAILING = """
send("not JSON")
made, rows = job("copy")
rows.to(journal.sink("out", path="journal"))
made.run(ms.available_now())
"""


@pytest.mark.slow
def test_a_script_that_fails_ends_with_the_message(tmp_path: Path) -> None:
    done = script(FAILING, tmp_path)
    first, at, hint = done.stderr.splitlines()
    assert first.startswith('MS-DECODE-001: source "in" cannot read the record at offset 0 of topic "in", partition 0')
    assert at == "  at:    job.py:11"
    assert hint.startswith("  hint:  where such records may come")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.slow
def test_all_of_it_is_shown_on_demand(tmp_path: Path) -> None:
    done = script(FAILING, tmp_path, MILLSTREAM_VERBOSE="1")
    assert done.returncode == 1
    assert "Traceback (most recent call last)" in done.stderr
    assert "millstream.errors.MillstreamError: MS-DECODE-001" in done.stderr
    assert "\tat millstream.decode." in done.stderr


def test_an_error_without_a_line_of_its_own_names_the_last_one_of_the_users(tmp_path: Path) -> None:
    done = script("ms.Job('x').run()\n", tmp_path)
    assert done.stderr.splitlines()[:2] == ['MS-PLAN-001: job "x" writes nothing.', "  at:    job.py:20"]
    done = script("import sys\nsys.path.insert(0, '.')\njournal.read('journal', 'nothing').__next__()\n", tmp_path)
    assert done.stderr.startswith("MS-JOURNAL-0"), done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


def test_other_errors_are_shown_as_ever(tmp_path: Path) -> None:
    done = script("1 / 0\n", tmp_path)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.slow
def test_jobs_of_all_modes_and_sizes_follow_one_another(tmp_path: Path) -> None:
    """The session that the first one made has too few slots for the third."""
    body = """
send({"id": 1})
for number, (mode, parallelism) in enumerate(
    [(ms.batch(), 1), (ms.available_now(), 3), (ms.real_time("500 ms"), 12), (ms.available_now(), 2)]
):
    made, rows = job(f"job{number}", parallelism)
    rows.group_by("id").agg(n="count(*)", job=f"max({number})").to(journal.sink("out", path="journal"))
    run = made.start(mode)
    while number == 2 and len(list(journal.read("journal", "out"))) < 3:
        run.poll(0.1)
    run.stop() if number == 2 else run.wait()
    print(run.state.value, sorted(record.json()["job"] for record in journal.read("journal", "out")))
"""
    done = script(body, tmp_path)
    assert done.stderr == ""
    lines = ["finished [0]", "finished [0, 1]", "stopped [0, 1, 2]", "finished [0, 1, 2, 3]"]
    assert done.stdout.splitlines() == lines


@pytest.mark.slow
def test_a_session_in_which_something_runs_is_left_alone(tmp_path: Path) -> None:
    body = """
made, rows = job("small")
rows.to(journal.sink("out", path="journal"))
run = made.start(ms.micro_batch("100 ms"))
made, rows = job("large", 20)
rows.group_by("id").agg(n="count(*)").to(journal.sink("out", path="journal"), name="counts")
try:
    made.start(ms.real_time())
except ms.MillstreamError as error:
    print(error.code, "stop the others first" in error.hint)
run.poll(0.1)
print(run.state.value)
run.stop()
"""
    done = script(body, tmp_path)
    assert (done.stdout, done.stderr) == ("MS-RUN-003 True\nrunning\n", "")


@pytest.mark.slow
def test_python_code_runs_in_real_time_if_no_mode_is_chosen(tmp_path: Path) -> None:
    body = """
send({"id": 1})
print("sent", flush=True)
made, rows = job("double")
rows.map(lambda row: {"id": row.id * 2}, schema="id INT", name="twice").to(journal.sink("out", path="journal"))
made.run()
"""
    (tmp_path / "job.py").write_text(HEAD + body)
    process = subprocess.Popen(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "sent\n"
        with journal.Reader(tmp_path / "journal", "out") as reader:
            assert [record.json() for record in reader.poll(timeout=120)] == [{"id": 2}]
        os.kill(process.pid, signal.SIGINT)
        assert process.communicate(timeout=120)[1] == ""
    finally:
        process.kill()
    assert process.returncode == 0
