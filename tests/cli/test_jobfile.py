"""Files that cannot be run: each says what is wrong in the user's words, and never shows our own lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.cli.main import main

SOURCE = 'likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")\n'
HEAD = "import millstream as ms\nfrom millstream import journal\n"
JOB = HEAD + 'job = ms.Job("copy")\n' + SOURCE + 'likes.to(journal.sink("copies"))\n'


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MILLSTREAM_JOURNAL", raising=False)


def millstream(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def refused(text: str, *options: str, verb: str = "run") -> str:
    Path("job.py").write_text(text)
    result = millstream(verb, "job.py", *options)
    assert result.exit_code == 1
    assert not result.stdout
    return result.stderr


@pytest.mark.parametrize("verb", ["run", "explain"])
def test_no_file(verb: str) -> None:
    result = millstream(verb, "missing.py")
    assert result.exit_code == 1
    assert result.stderr == f"MS-CLI-002: there is no file missing.py.\n  found: searched in {Path.cwd()}\n"


def test_a_folder() -> None:
    Path("jobs").mkdir()
    result = millstream("run", "jobs")
    assert result.stderr == "MS-CLI-002: jobs is a folder.\n  hint:  name the file that has the job\n"


@pytest.mark.parametrize("verb", ["run", "explain"])
def test_no_job(verb: str) -> None:
    assert refused("x = 1\n", verb=verb) == (
        'MS-CLI-004: job.py makes no job.\n  hint:  it needs a job = ms.Job("name")\n'
    )


def test_several_jobs() -> None:
    assert refused(HEAD + 'ms.Job("one")\nms.Job("two")\n') == (
        "MS-CLI-005: job.py makes 2 jobs and runs none of them.\n"
        "  found: jobs: one, two\n"
        "  hint:  call run() on the one that is meant, or put each into a file of its own\n"
    )


def test_a_python_error_shows_the_users_own_lines() -> None:
    Path("rates.py").write_text("import json\n\ndef load(text):\n    return json.loads(text)\n")
    error = refused('import rates\nrates.load("{")\n')
    lines = error.splitlines()
    assert lines[0] == "MS-CLI-003: job.py stopped with a Python error."
    assert [line.strip() for line in lines if line.strip().startswith("File")] == [
        'File "job.py", line 2, in <module>',
        f'File "{Path.cwd() / "rates.py"}", line 4, in load',
    ]
    assert lines[-1].strip().startswith("json.decoder.JSONDecodeError: Expecting property name")


def test_a_syntax_error() -> None:
    error = refused("job = = 1\n")
    assert error.splitlines()[:3] == [
        "MS-CLI-003: job.py stopped with a Python error.",
        '    File "job.py", line 1',
        "      job = = 1",
    ]
    assert error.splitlines()[-1] == "  SyntaxError: invalid syntax"


def test_an_error_of_the_plan_is_told_as_it_is() -> None:
    error = refused(JOB + 'likes.where("age > 3")\n')
    assert error.startswith("MS-")
    assert "  at:    job.py:6\n" in error
    assert "Traceback" not in error


def test_a_missing_topic() -> None:
    error = refused(JOB)
    assert error.startswith('copy: starting\nMS-JOURNAL-001: topic "likes" does not exist in journal ')
    assert "  hint:  create it: millstream journal create likes --path " in error


def test_every_needs_a_mode_with_epochs() -> None:
    Path("job.py").write_text(JOB)
    result = millstream("run", "job.py", "--mode", "batch", "--every", "1s")
    assert result.exit_code == 2
    assert "--every has no meaning with --mode batch." in result.stderr


def test_every_is_a_length_of_time() -> None:
    assert refused(JOB, "--every", "soon").startswith("MS-TIME-001: 'soon' is not a length of time.")


EXPLAINED = """\
job copy: 1 source, 0 stages, 1 sink
sink copies: journal copies, append, exactly once (two phases)
└─ source likes: journal likes, append
"""


@pytest.mark.parametrize("end", ["", "job.run()\n", "job.run(ms.batch())\nraise SystemExit('not reached')\n"])
def test_explain_runs_nothing(end: str) -> None:
    Path("job.py").write_text(JOB + end)
    result = millstream("explain", "job.py")
    assert (result.stdout, result.stderr, result.exit_code) == (EXPLAINED, "", 0)
    assert [path.name for path in Path().iterdir()] == ["job.py"]


def test_the_main_part_of_a_file_is_left_out() -> None:
    Path("job.py").write_text(JOB + 'if __name__ == "__main__":\n    raise SystemExit("not reached")\n')
    assert millstream("explain", "job.py").stdout == EXPLAINED
