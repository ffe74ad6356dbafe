"""What the job has committed is cut off the journal of a received table: it stays small, and nothing is forgotten."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from millstream import journal
from millstream.connectors.postgres.receiver import PostgresReceiver
from millstream.connectors.postgres.slot import Slot
from millstream.errors import MillstreamError
from millstream.journal.topics import describe, drop
from millstream.reception import Message, front
from millstream.storage import CheckpointFolder, files_at
from tests.crash.process import until
from tests.postgres.conftest import Sql
from tests.postgres.reception import Follower, catch_up, in_small_segments, in_table, people, receiver
from tests.reception.memory_queue import receiving

pytestmark = pytest.mark.server
SEGMENT = 4096


def bytes_of(folder: Path) -> int:
    return describe(folder / "received", "people").bytes


def kept_keys(folder: Path) -> int:
    return describe(folder / "received" / "people.keys", "live").bytes


def fill(sql: Sql, count: int) -> None:
    sql.execute("INSERT INTO people SELECT n, 'name ' || n FROM generate_series(4, %s) n", [count])


def cut(made: PostgresReceiver, follower: Follower) -> None:
    """As a run does beside the reception, when the job has committed what it read."""
    follower.follow()
    with made._producing():
        made.cut({0: follower.next})


def test_the_journal_does_not_grow_with_the_changes(sql: Sql, address: str, tmp_path: Path) -> None:
    """Hundreds of small transactions, with a new start and a TRUNCATE now and then."""
    people(sql)
    follower, chance = Follower(tmp_path), Random(7)
    largest = 0
    for life in range(3):
        made = in_small_segments(tmp_path, address, SEGMENT)
        with receiving(made) as failures:
            for number in range(300):
                id = chance.randrange(50)
                name = f"{life} {number}"
                sql.execute(
                    "INSERT INTO people VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET name = excluded.name", [id, name]
                )
                sql.execute("DELETE FROM people WHERE id = %s", [chance.randrange(50)])
                if number == 150:
                    sql.execute("TRUNCATE people")
                if number % 20 == 0:
                    until(lambda: follower.follow() == in_table(sql))
                    made.cut({0: follower.next})
                    largest = max(largest, bytes_of(tmp_path))
            until(lambda: follower.follow() == in_table(sql))
        assert not failures
    info = describe(tmp_path / "received", "people").partitions[0]
    assert info.end == follower.next
    assert info.start > follower.next // 2
    assert largest < 3 * SEGMENT
    assert info.segments <= 4


def test_the_kept_keys_do_not_grow_with_the_changes(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.reception.retention.SEGMENT_BYTES", SEGMENT)
    people(sql)
    fill(sql, 50)
    follower, largest = Follower(tmp_path), 0
    for number in range(40):
        made = in_small_segments(tmp_path, address, SEGMENT)
        sql.execute("UPDATE people SET name = %s", [f"name {number}"])
        catch_up(made)
        cut(made, follower)
        with suppress(MillstreamError):  # nothing was cut yet
            largest = max(largest, kept_keys(tmp_path))
    assert follower.rows == in_table(sql)
    assert 0 < largest < 6 * SEGMENT


def test_a_truncate_after_a_cut(sql: Sql, address: str, tmp_path: Path) -> None:
    """Of keys whose rows are long cut off, and of keys that were deleted, and came again."""
    people(sql)
    fill(sql, 300)
    follower = Follower(tmp_path)
    made = in_small_segments(tmp_path, address, SEGMENT)
    catch_up(made)
    sql.execute("DELETE FROM people WHERE mod(id, 3) = 0")
    sql.execute("INSERT INTO people VALUES (3, 'again')")
    catch_up(made)
    cut(made, follower)
    assert describe(tmp_path / "received", "people").partitions[0].start > 300
    assert follower.rows == in_table(sql)
    live, deleted = len(follower.rows), follower.deletions
    sql.execute("TRUNCATE people")
    sql.execute("INSERT INTO people VALUES (5, 'last')")
    catch_up(in_small_segments(tmp_path, address, SEGMENT))
    assert follower.follow() == in_table(sql) == {5: "last"}
    assert follower.deletions == deleted + live


def test_a_crash_while_a_table_is_emptied_and_a_cut(
    sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job has committed some of the deletions, and they are cut off, before the others come."""
    people(sql)
    fill(sql, 300)
    follower = Follower(tmp_path)
    made = in_small_segments(tmp_path, address, 1024)
    catch_up(made)
    cut(made, follower)
    with sql.transaction():
        sql.execute("INSERT INTO people VALUES (301, 'short')")
        sql.execute("TRUNCATE people")
        sql.execute("INSERT INTO people VALUES (1, 'new')")
    monkeypatch.setattr(front, "AT_ONCE", 50)
    appended = 0

    def crash_after_many(self: PostgresReceiver, message: Message, number: int) -> None:
        nonlocal appended
        appended += 1
        if appended > 120:
            raise InterruptedError
        original(self, message, number)

    original = PostgresReceiver._take_one
    with monkeypatch.context() as patched:
        patched.setattr(PostgresReceiver, "_take_one", crash_after_many)
        with pytest.raises(InterruptedError):
            catch_up(in_small_segments(tmp_path, address, 1024))
    again = in_small_segments(tmp_path, address, 1024)
    again.prepare()
    cut(again, follower)
    assert len(follower.rows) == 301 - 119
    again.catch_up()
    assert follower.follow() == in_table(sql) == {1: "new"}
    assert follower.deletions == 301


def test_a_start_after_a_cut(sql: Sql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was received before the cut, and not acknowledged, is recognised."""
    people(sql)
    follower = Follower(tmp_path)
    made = in_small_segments(tmp_path, address, 512)
    catch_up(made)
    fill(sql, 100)

    def crash(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(Slot, "advance", crash)
        with pytest.raises(InterruptedError):
            catch_up(made)
    again = in_small_segments(tmp_path, address, 512)
    again.prepare()
    cut(again, follower)
    sql.execute("UPDATE people SET name = 'x' WHERE id = 1")
    again.catch_up()
    assert follower.follow() == in_table(sql)
    assert follower.next == 101
    assert (again.figures.received, again.figures.duplicates) == (98, 97)
    assert (again.figures.acknowledged, again.figures.behind_bytes) == (98, 0)


def as_format_1(folder: Path, address: str, *places: str) -> None:
    """What was received, as an earlier version has left it."""
    catch_up(receiver(folder, address))
    received = CheckpointFolder.at(str(folder)).received
    files = files_at(received)
    about = json.loads(files.read(f"{received}/people.json") or "")
    files.replace(f"{received}/people.json", json.dumps({**about, "format": 1}))
    files.delete(f"{received}/people.seen")
    drop(received, "people")
    journal.create(received, "people")
    with journal.producer(received, "people") as out:
        for number, place in enumerate(places, 1):
            row = {"id": number, "name": f"name {number}", "story": None}
            out.send(json.dumps(row), key=json.dumps({"id": number}), headers=[("lsn", place)])


def test_what_an_earlier_version_has_received(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    as_format_1(tmp_path, address, "0:0", "0:1", "0:2")
    follower = Follower(tmp_path)
    for _ in range(2):
        sql.execute("UPDATE people SET name = name || '!'")
        catch_up(receiver(tmp_path, address))
    assert follower.follow() == in_table(sql)
    assert follower.next == 9
    sql.execute("TRUNCATE people")
    catch_up(receiver(tmp_path, address))
    assert follower.follow() == {}


def test_a_transaction_that_an_earlier_version_has_received_in_part(sql: Sql, address: str, tmp_path: Path) -> None:
    people(sql)
    as_format_1(tmp_path, address, "0:0", f"{1 << 60}:0")
    with pytest.raises(MillstreamError, match="MS-CHECKPOINT-004"):
        receiver(tmp_path, address).prepare()
