"""`millstream journal`, as users type it."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream import journal
from millstream.cli.main import main
from tests.journal.conftest import Disk, StartPython

MAIN = "from millstream.cli.main import main; main()"


@pytest.fixture(autouse=True)
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_JOURNAL", str(tmp_path))
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def good(*arguments: str, stdin: str | bytes | None = None) -> str:
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_create_append_read(tmp_path: Path) -> None:
    assert good("journal", "create", "t") == f"topic t created in {tmp_path}, partitions: 1\n"
    assert good("journal", "append", "t", stdin='{"a": 1}\n\n[2]\n"three"') == "3 appended to t\n"
    assert good("journal", "read", "t") == '{"a": 1}\n[2]\n"three"\n'
    assert good("journal", "read", "t", "--limit", "1") == '{"a": 1}\n'
    assert good("journal", "read", "t", "--limit", "0") == ""
    assert good("journal", "read", "t", "--start", "2") == '"three"\n'
    assert good("journal", "read", "t", "--start", "0:1") == '[2]\n"three"\n'
    assert good("journal", "read", "t", "--start", "latest") == ""
    assert good("journal", "read", "t", "--follow", "--limit", "3").count("\n") == 3


def test_path_is_an_option_or_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLSTREAM_JOURNAL")
    monkeypatch.chdir(tmp_path)
    good("journal", "create", "here")
    good("journal", "create", "there", "--path", "other")
    assert journal.topics(tmp_path / "journal") == ["here"]
    assert journal.topics(tmp_path / "other") == ["there"]


def test_keys_come_from_a_field(tmp_path: Path) -> None:
    journal.create(tmp_path, "t")
    good("journal", "append", "t", "--key", "u", stdin='{"u":"ann"}\n{"u":7}\n{"u":null}\n{"u":{"a":1}}\n')
    assert [r.key for r in journal.read(tmp_path, "t")] == [b"ann", b"7", None, b'{"a":1}']
    result = run("journal", "append", "t", "--key", "u", stdin='{"v":1}\n')
    assert result.exit_code == 1
    assert 'MS-JOURNAL-013: line 1 has no field "u" to be its key.' in result.stderr


@pytest.mark.parametrize("bad", ["nope", '{"a":', "NaN", "\ufeff1", b"\xff", "[" * 100_000])
def test_a_line_that_is_not_json_is_refused_with_its_number(tmp_path: Path, bad: str | bytes) -> None:
    journal.create(tmp_path, "t")
    bad = bad.encode() if isinstance(bad, str) else bad
    result = run("journal", "append", "t", stdin=b'{"a":1}\n\n{"a":2}\n' + bad + b'\n{"a":3}\n')
    assert result.exit_code == 1
    assert result.stdout == "2 appended to t\n"
    assert result.stderr.startswith("MS-JOURNAL-013: line 4 is not JSON.\n  found: ")
    assert "Traceback" not in result.stderr
    assert [r.json() for r in journal.read(tmp_path, "t")] == [{"a": 1}, {"a": 2}]


def test_values_of_any_kind_are_one_line_each(tmp_path: Path) -> None:
    journal.create(tmp_path, "t")
    with journal.producer(tmp_path, "t") as out:
        for value in ('{\n"a": 1}', "plain\ntext", b"\xff\x00", None, "NaN", {"é": 1}):
            out.send(value)
    shown = good("journal", "read", "t").splitlines()
    assert shown == ['{"a":1}', '"plain\\ntext"', '{"base64":"/wA="}', "null", '"NaN"', '{"é":1}']


def test_meta(tmp_path: Path) -> None:
    journal.create(tmp_path, "t", 2)
    with journal.producer(tmp_path, "t") as out:
        out.send({"a": 1}, key=b"\xff", headers=[("h", "x"), ("n", None)], timestamp=1234, partition=1)
    assert json.loads(good("journal", "read", "t", "--meta")) == {
        "partition": 1,
        "offset": 0,
        "timestamp": 1234,
        "key": {"base64": "/w=="},
        "headers": [["h", "x"], ["n", None]],
        "committed": True,
        "value": {"a": 1},
    }


def test_isolation(disk: Disk) -> None:
    disk.write_open(disk.open_file(epoch=1), '{"a":1}')
    path = str(disk.path)
    assert good("journal", "read", "t", "--path", path) == ""
    shown = good("journal", "read", "t", "--path", path, "--isolation", "read_uncommitted", "--meta")
    assert (json.loads(shown)["offset"], json.loads(shown)["committed"]) == (None, False)


def test_describe(tmp_path: Path) -> None:
    assert good("journal", "describe") == f"no topics in journal {tmp_path}\n"
    journal.create(tmp_path, "likes", 2)
    journal.create(tmp_path, "other")
    with journal.producer(tmp_path, "likes") as out:
        out.send("x", partition=1)
        out.flush()
        lines = [line.split() for line in good("journal", "describe").splitlines()]
    assert lines[1:] == [
        ["likes", "0", "0", "0", "0", "0", "0", "no"],
        ["likes", "1", "0", "1", "1", "43", "1", "yes"],
        ["other", "0", "0", "0", "0", "0", "0", "no"],
    ]
    found = json.loads(good("journal", "describe", "likes", "--json"))
    assert (found["topic"], found["records"], found["bytes"]) == ("likes", 1, 43)
    assert found["partitions"][1]["end"] == 1
    assert [t["topic"] for t in json.loads(good("journal", "describe", "--json"))] == ["likes", "other"]


def test_errors_are_shown_as_they_are_meant_to_be_read(tmp_path: Path) -> None:
    journal.create(tmp_path, "likes")
    result = run("journal", "read", "liks")
    assert result.exit_code == 1
    assert result.stderr == (
        f'MS-JOURNAL-001: topic "liks" does not exist in journal {tmp_path}.\n'
        "  found: topics: likes\n"
        "  hint:  did you mean likes?\n"
    )
    assert run("journal", "create", "likes").stderr.startswith("MS-JOURNAL-002: ")
    assert "Traceback" in run("--verbose", "journal", "read", "liks").stderr
    assert run("journal", "read", "likes", "--start", "soon").exit_code == 2
    (tmp_path / "file").write_text("")
    result = run("journal", "create", "t", "--path", str(tmp_path / "file"))
    assert (result.exit_code, result.stderr) == (
        1,
        f"MS-CLI-001: File exists.\n  found: {tmp_path / 'file'}\n",
    )


def test_version() -> None:
    assert good("--version").startswith("millstream, version ")


def test_a_real_pipe_appends_as_lines_come_and_follows(tmp_path: Path, python: StartPython) -> None:
    journal.create(tmp_path, "t")
    follower = python(MAIN, "journal", "read", "t", "--follow")
    writer = python(MAIN, "journal", "append", "t")
    for i in range(3):  # each line is seen before the next is written: nothing waits in a buffer
        writer.stdin.write(f'{{"n":{i}}}\n')
        writer.stdin.flush()
        assert follower.stdout.readline() == f'{{"n":{i}}}\n'
    assert writer.communicate() == ("3 appended to t\n", "")
    # The reader goes away: the follower notices without another record, and ends quietly.
    follower.stdout.close()
    assert follower.wait() == 0
    assert follower.stderr.read() == ""


def test_a_broken_pipe_ends_quietly(tmp_path: Path, python: StartPython) -> None:
    journal.create(tmp_path, "t")
    with journal.producer(tmp_path, "t", durable=False) as out:
        for i in range(20_000):
            out.send({"n": i, "text": "x" * 100})
    reader = python(MAIN, "journal", "read", "t")
    head = subprocess.run(["head", "-n", "1"], stdin=reader.stdout, capture_output=True, text=True, check=True)
    assert json.loads(head.stdout)["n"] == 0
    reader.stdout.close()
    assert reader.wait() == 0
    assert reader.stderr.read() == ""
