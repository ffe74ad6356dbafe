"""The benchmark itself: its events, its judge, and that queries run and are right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.nexmark import events, log
from bench.nexmark.oracle import Oracle

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_fewer_events_are_the_beginning_of_more() -> None:
    (few,), (more,) = events.chunks(1000, seed=3), events.chunks(2000, seed=3)
    for kind, rows in log.by_kind(few).items():
        assert rows.num_rows == log.ROWS[kind]
        assert rows.equals(log.by_kind(more)[kind].slice(0, rows.num_rows))


@pytest.mark.slow
def test_another_seed_gives_other_events() -> None:
    (one,), (other,) = events.chunks(1000, seed=3), events.chunks(1000, seed=4)
    assert not one.bids.equals(other.bids)


def test_half_of_the_bids_go_to_hot_auctions() -> None:
    (chunk,) = events.chunks(100_000, seed=1)
    hot = sum(auction % events.HOT == 0 for auction in chunk.bids["auction"].to_pylist())
    assert 0.49 < hot / chunk.bids.num_rows < 0.53


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("events")
    log.write(made, 2000, seed=1)
    return made


def changes(oracle: Oracle, path: Path) -> list[dict[str, object]]:
    """The right changes of q2, in a file."""
    oracle.wanted("q2")
    rows = [{"op": "insert", "auction": a, "price": p} for a, p in oracle.db.execute("FROM wanted").fetchall()]
    write(rows, path)
    return rows


def write(rows: list[dict[str, object]], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_judge_sums_changes(folder: Path, tmp_path: Path) -> None:
    oracle, file = Oracle(folder), tmp_path / "changes.json"
    rows = changes(oracle, file)
    assert oracle.judge("q2", file).right
    write([*rows, {**rows[0], "op": "delete"}, rows[0]], file)
    assert oracle.judge("q2", file).right


def test_the_judge_sees_what_is_missing_and_what_is_too_much(folder: Path, tmp_path: Path) -> None:
    oracle, file = Oracle(folder), tmp_path / "changes.json"
    rows = changes(oracle, file)
    write([*rows[1:], {**rows[1], "price": -1}], file)
    verdict = oracle.judge("q2", file)
    assert (verdict.right, verdict.missing, verdict.extra) == (False, 1, 1)
    write([*rows, rows[0]], file)
    assert (oracle.judge("q2", file).missing, oracle.judge("q2", file).extra) == (0, 1)


def test_the_judge_reads_flinks_changes(folder: Path, tmp_path: Path) -> None:
    oracle, file = Oracle(folder), tmp_path / "changes.tsv"
    oracle.wanted("q0")
    rows = ["\t".join(map(str, row)) for row in oracle.db.execute("FROM wanted").fetchall()]
    file.write_text("".join(f"+I\t{row}\n" for row in rows) + f"-U\t{rows[0]}\n+U\t{rows[0]}\n")
    assert oracle.judge_flink("q0", file).right
    file.write_text("".join(f"+I\t{row}\n" for row in rows[1:]))
    assert oracle.judge_flink("q0", file).missing == 1


@pytest.mark.slow
def test_queries_run_and_are_right() -> None:
    command = [sys.executable, "-m", "bench", "nexmark", "--events", "20000", "--warm-ups", "0", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--against", "", "--queries", "q2,q3,q17"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == ["3/3 right"], done.stdout + done.stderr
