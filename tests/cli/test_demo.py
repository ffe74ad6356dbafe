"""The demo: a short one from start to end, and its parts."""

from __future__ import annotations

import io
import re
import signal
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from millstream import journal
from millstream.demo.generator import Generator
from millstream.demo.meter import Latency, quantile
from millstream.demo.people import People
from millstream.demo.verdict import compare
from millstream.demo.view import Snapshot, line, panel
from tests.cli.conftest import Cli, Start

EQUAL = re.compile(r"(\d+) likes, (\d+) matches, equal to batch")

NOW = Snapshot(
    elapsed=27.4,
    length=30,
    likes=13512,
    likes_rate=501.2,
    matches=3120,
    matches_rate=118.3,
    uncommitted=Latency(8.2, 412),
    committed=Latency(1433, 2511),
    epochs=13,
    every_ms=2000,
    state_rows=27024,
    state_bytes=6_295_776,
    latest=("ella-12345", "mia-3"),
)

PANEL = """\
╭─ millstream demo ──────────────────────────────────────────────────────────╮
│                                                                            │
│  likes                       13,512      501/s                             │
│  matches                      3,120      118/s   ella-12345 ♥ mia-3        │
│                                                                            │
│  from like to match             p50        p99   last 10 s                 │
│    read uncommitted            8 ms     412 ms   as soon as it is found    │
│    read committed             1.4 s      2.5 s   once its epoch commits    │
│                                                                            │
│  epochs                          13  every 2 s                             │
│  state                  27,024 rows     6.3 MB                             │
│                                                                            │
╰─────────────────────────────────────────────────────────── 00:27 of 00:30 ─╯
  Ctrl-C ends the demo.
"""


def test_the_panel() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(panel(NOW, "Ctrl-C ends the demo."))
    assert "".join(f"{row.rstrip()}\n" for row in console.export_text().splitlines()) == PANEL


def test_the_line() -> None:
    assert line(NOW) == (
        "00:27  13,512 likes (501/s)  3,120 matches  uncommitted p50 8 ms p99 412 ms  "
        "committed p50 1.4 s p99 2.5 s  epochs 13  state 27,024 rows, 6.3 MB"
    )


def test_quantiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(1, 101)]
    assert (quantile(values, 0.5), quantile(values, 0.99), quantile([7.0], 0.99)) == (50.0, 99.0, 7.0)


def test_people_answer_some_likes_and_like_the_popular_more() -> None:
    people = People(seed=1)
    likes = [people.like(n / 500) for n in range(20_000)]
    met = set(likes)
    answered = sum((liked, liker) in met for liker, liked in likes) / len(likes)
    popular = Counter(liked for _, liked in likes).most_common(200)  # one in a hundred of the pool
    assert 0.3 < answered < 0.5
    assert sum(count for _, count in popular) > 0.1 * len(likes)
    assert all(liker != liked for liker, liked in likes)


def test_the_generator_sends_what_it_says(tmp_path: Path) -> None:
    journal.create(tmp_path, "likes", partitions=2)
    generator = Generator(tmp_path, rate=500)
    with journal.Reader(tmp_path, "likes") as reader:
        first = reader.poll(timeout=60)[0].json()
    sent = generator.stop()
    assert sorted(first) == ["at", "liked", "liker", "sent"]
    assert sent == journal.describe(tmp_path, "likes").records > 0


def test_the_verdict_counts_what_is_missing_and_what_is_extra(tmp_path: Path) -> None:
    for topic, values in (("stream", "aabc"), ("batch", "abbd")):
        journal.create(tmp_path, topic)
        with journal.producer(tmp_path, topic) as out:
            for value in values:
                out.send(value)
    assert str(compare(tmp_path, 9, "stream", "stream")) == "9 likes, 4 matches, equal to batch"
    wrong = compare(tmp_path, 9, "stream", "batch")
    assert str(wrong) == "9 likes, 4 matches, NOT equal to batch: 2 missing, 2 extra"
    assert not wrong.equal


def test_a_folder_that_holds_something_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = cli("demo", "--path", ".")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "MS-DEMO-001: . is not an empty folder.\n  hint:  name a new one\n"


@pytest.mark.slow
def test_a_short_demo(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", "--for", "8s", "--path", "demo")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    verdict = EQUAL.fullmatch(lines[-1])
    assert verdict is not None, done.stdout
    path = tmp_path / "demo" / "journal"
    assert int(verdict[1]) == journal.describe(path, "likes").records > 1000
    assert int(verdict[2]) == journal.describe(path, "matches").records > 0
    assert lines[0] == "Spark is starting …"
    assert any("read" not in row and "likes (" in row for row in lines)
    assert "state 0 rows" not in done.stdout, "rows that are not counted are not told of"


@pytest.mark.slow
def test_an_interrupted_demo_still_compares(started: Start) -> None:
    process = started("demo", "--path", "demo")
    for row in process.stdout:
        if re.search(r"  [1-9][\d,]* matches", row):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert EQUAL.fullmatch(out.splitlines()[-1]), out
    assert (err, process.returncode) == ("", 0)
