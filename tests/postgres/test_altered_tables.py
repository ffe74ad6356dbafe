"""Tables that are altered, or dropped, while a job reads or writes them: reported, or handled, never ignored."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

import millstream as ms
from millstream import journal, postgres
from tests.postgres.conftest import Sql
from tests.postgres.reception import catch_up, receiver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.server


class Copy:
    """A table that a job copies into another one, as two runs see it: before and after it was altered."""

    def __init__(self, sql: Sql, address: str, folder: Path) -> None:
        self.sql = sql
        self.address = address
        self.folder = folder
        sql.execute("CREATE TABLE people (id INT PRIMARY KEY, name TEXT, age INT)")
        sql.execute("INSERT INTO people VALUES (1, 'ann', 30)")

    def receiver(self) -> Any:
        """One that knows the table as it is now."""
        return receiver(self.folder, self.address)

    def rows(self) -> list[Any]:
        return [record.json() for record in journal.read(self.folder / "received", "people")]


@pytest.fixture
def copy(sql: Sql, address: str, tmp_path: Path) -> Copy:
    return Copy(sql, address, tmp_path)


def test_a_column_that_is_added(copy: Copy, caplog: pytest.LogCaptureFixture) -> None:
    """Left out, with a warning, until the job starts again."""
    first = copy.receiver()
    catch_up(first)
    copy.sql.execute("ALTER TABLE people ADD city TEXT")
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31, 'rome')")
    with caplog.at_level(logging.WARNING, "millstream"):
        catch_up(first)
    assert "city" in caplog.text
    copy.sql.execute("INSERT INTO people VALUES (3, 'cyd', 32, 'oslo')")
    catch_up(copy.receiver())
    assert [row.get("city") for row in copy.rows()] == [None, None, "oslo"]


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        ("DROP age", "has lost age"),
        ("ALTER age TYPE TEXT", "has other types of age"),
        ("ALTER age TYPE NUMERIC(10, 2)", "has other types of age"),
    ],
)
def test_a_table_that_is_no_longer_the_same(alter: str, said: str, copy: Copy) -> None:
    """The job that runs stops before it reads a change; started again, it reads the table as it is now."""
    first = copy.receiver()
    catch_up(first)
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31)")
    copy.sql.execute(f"ALTER TABLE people {alter}")
    copy.sql.execute("INSERT INTO people (id, name) VALUES (3, 'cyd')")
    with pytest.raises(ms.MillstreamError) as error:
        catch_up(first)
    assert error.value.code == "MS-POSTGRES-008"
    assert said in error.value.message
    catch_up(copy.receiver())
    assert [row["id"] for row in copy.rows()] == [1, 2, 3]


def test_another_key(copy: Copy) -> None:
    """What was read was read by the old one: not even another start can continue from there."""
    first = copy.receiver()
    catch_up(first)
    copy.sql.execute("ALTER TABLE people DROP CONSTRAINT people_pkey, ADD PRIMARY KEY (name)")
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31)")
    for one in (first, copy.receiver()):
        with pytest.raises(ms.MillstreamError) as error:
            catch_up(one)
        assert error.value.code == "MS-POSTGRES-008"
        assert "has another key, name" in error.value.message


def test_types_that_mean_the_same(copy: Copy) -> None:
    first = copy.receiver()
    catch_up(first)
    copy.sql.execute("ALTER TABLE people ALTER name TYPE VARCHAR(50)")
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31)")
    catch_up(first)
    assert len(copy.rows()) == 2


def test_a_table_that_was_created_again(copy: Copy) -> None:
    """In a publication of all tables, which has the new one, too; nothing says that old rows are gone."""
    first = copy.receiver()
    catch_up(first)
    create = "CREATE TABLE people (id INT PRIMARY KEY, name TEXT, age INT)"
    copy.sql.execute("DROP TABLE people")
    copy.sql.execute(create)
    copy.sql.execute("ALTER PUBLICATION millstream_copy_people ADD TABLE people")
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31)")
    for one in (first, copy.receiver()):
        with pytest.raises(ms.MillstreamError) as error:
            catch_up(one)
        assert error.value.code == "MS-POSTGRES-009"


@pytest.mark.parametrize("how", ["DROP TABLE people", "ALTER PUBLICATION millstream_copy_people DROP TABLE people"])
def test_a_table_whose_changes_no_longer_come(how: str, copy: Copy) -> None:
    """What was changed before is received; then it is said."""
    first = copy.receiver()
    catch_up(first)
    copy.sql.execute("INSERT INTO people VALUES (2, 'bob', 31)")
    copy.sql.execute(how)
    with pytest.raises(ms.MillstreamError) as error:
        first.receive(Event())
    assert error.value.code == "MS-POSTGRES-009"
    assert len(copy.rows()) == 2


def until(run: Any, true: Callable[[], bool]) -> None:
    """A bounded wait, which ends with the job's own error if it fails."""
    for _ in range(600):
        if true():
            return
        run.poll(0.1)


def test_while_a_job_runs(copy: Copy, address: str, sql: Sql, tmp_path: Path, spark: SparkSession) -> None:
    """It continues without a new column; without one that it knows it stops, and no policy restarts it."""
    sql.execute("CREATE TABLE copied (id INT PRIMARY KEY, name TEXT, age INT)")
    job = ms.Job("copy", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.table(postgres.changes("people", address=address)).to(postgres.sink("copied", address=address))
    run = job.start(ms.micro_batch("50 ms"), restarts=ms.fixed_delay(attempts=9, delay="1 ms"), spark=spark)

    def found() -> list[Any]:
        return sql.execute("SELECT * FROM copied ORDER BY id").fetchall()

    try:
        sql.execute("ALTER TABLE people ADD city TEXT")
        sql.execute("INSERT INTO people VALUES (2, 'bob', 31, 'rome')")
        until(run, lambda: found() == [(1, "ann", 30), (2, "bob", 31)])
        sql.execute("ALTER TABLE people DROP age")
        sql.execute("INSERT INTO people VALUES (3, 'cyd', 'oslo')")
        with pytest.raises(ms.MillstreamError) as error:
            until(run, lambda: False)
        assert error.value.code == "MS-POSTGRES-008"
    finally:
        run.stop()
    assert found() == [(1, "ann", 30), (2, "bob", 31)]
    assert run.failures == []


def test_the_table_of_a_sink(copy: Copy, address: str, sql: Sql, tmp_path: Path, spark: SparkSession) -> None:
    """Altered between two runs, so that a row does not fit: no epoch is committed, and all is there once it is
    fixed."""
    path = str(tmp_path / "journal")
    journal.create(path, "orders", 1)
    sql.execute("CREATE TABLE orders (id INT, price INT)")

    def run(ids: list[int]) -> None:
        with journal.producer(path, "orders") as producer:
            for n in ids:
                producer.send({"id": n, "price": 100 * n})
        job = ms.Job("orders", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
        orders = job.stream(journal.source("orders", path=path), "id INT, price INT")
        orders.to(postgres.sink("orders", address=address))
        job.run(ms.available_now(), spark=spark)

    def refused(ids: list[int]) -> str:
        with pytest.raises(ms.MillstreamError) as error:
            run(ids)
        return error.value.code

    run([1])
    sql.execute("ALTER TABLE orders RENAME price TO cost")
    assert refused([2]) == "MS-POSTGRES-002"
    sql.execute("ALTER TABLE orders RENAME cost TO price")
    sql.execute("ALTER TABLE orders ADD CHECK (price < 300)")
    assert refused([3]) == "MS-POSTGRES-005"
    sql.execute("ALTER TABLE orders DROP CONSTRAINT orders_price_check, ADD note TEXT")
    sql.execute("ALTER TABLE orders ALTER price TYPE NUMERIC(10, 2)")
    run([4])
    assert sql.execute("SELECT id, price::int FROM orders ORDER BY id").fetchall() == [
        (n, 100 * n) for n in (1, 2, 3, 4)
    ]
    sql.execute("DROP TABLE millstream_epochs")
    assert refused([5]) == "MS-SINK-007"
