"""Delta tables as sinks: every epoch once, whatever breaks, and whenever."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import millstream as ms
from millstream import delta, journal
from millstream.connectors.delta.carrier import DeltaCarrier
from millstream.plan.connectors import Carried, RowShape
from tests.delta.delta_job import orders_job
from tests.delta.orders import check, contents, rows, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    journal.create(tmp_path / "journal", "orders", 2)
    send(tmp_path, range(100))
    return tmp_path


def run(folder: Path, spark: SparkSession, mode: Any = None, **more: Any) -> None:
    orders_job(folder, **more).run(mode or ms.available_now(), spark=spark)


def test_appends_and_merges(folder: Path, spark: SparkSession) -> None:
    run(folder, spark)
    check(folder, 100)
    table = DeltaTable(str(folder / "orders"))
    assert table.metadata().partition_columns == ["customer"]
    outbox = folder / "checkpoint" / "outbox"
    assert all(len(list((outbox / sink / "0").glob("*.seg"))) <= 2 for sink in ("orders", "spending"))
    send(folder, range(100, 120))
    run(folder, spark)
    check(folder, 120)
    for name in ("orders", "spending"):
        shutil.rmtree(folder / name)
    run(folder, spark, ms.batch(), checkpoint="other")
    check(folder, 120)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_while_an_epoch_is_carried(
    moment: str, folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = DeltaCarrier.carry

    def carry(self: DeltaCarrier, epoch: int, records: Iterable[Carried]) -> None:
        if epoch == 3 and moment == "before":
            raise InterruptedError
        original(self, epoch, records)
        if epoch == 3:
            raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(DeltaCarrier, "carry", carry)
        with pytest.raises(ms.MillstreamError):
            run(folder, spark)
    run(folder, spark)
    check(folder, 100)


def test_a_table_that_is_lost_is_not_started_over_in_silence(folder: Path, spark: SparkSession) -> None:
    run(folder, spark)
    shutil.rmtree(folder / "orders")
    send(folder, [100])
    with pytest.raises(ms.MillstreamError) as error:
        run(folder, spark)
    assert error.value.code == "MS-SINK-007"
    assert rows(folder / "orders") == {}


EVERY = """b BOOLEAN, y TINYINT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(20, 3), s STRING, raw BINARY, day DATE,
at TIMESTAMP, local TIMESTAMP_NTZ, list ARRAY<DECIMAL(4, 1)>, names MAP<INT, STRING>,
nested STRUCT<x: INT, when: TIMESTAMP>"""
VALUES: dict[str, Any] = {
    "b": True,
    "y": -3,
    "i": 2**31 - 1,
    "l": 2**63 - 1,
    "f": 0.5,
    "d": 0.1,
    "n": "12345678901234567.125",
    "s": "töxt \u0000",
    "raw": "AQI=",
    "day": "2026-02-03",
    "at": "2026-02-03T04:05:06.123456Z",
    "local": "2026-02-03T04:05:06.123456",
    "list": [1.5, None],
    "names": {"7": "x", "8": None},
    "nested": {"x": None, "when": "1969-01-01T00:00:00Z"},
}
ARRIVED = VALUES | {
    "n": Decimal("12345678901234567.125"),
    "raw": b"\x01\x02",
    "day": date(2026, 2, 3),
    "at": datetime(2026, 2, 3, 4, 5, 6, 123456, UTC),
    "local": datetime(2026, 2, 3, 4, 5, 6, 123456),
    "list": [Decimal("1.5"), None],
    "names": [(7, "x"), (8, None)],
    "nested": {"x": None, "when": datetime(1969, 1, 1, tzinfo=UTC)},
}


def test_every_type(tmp_path: Path, spark: SparkSession) -> None:
    journal.create(tmp_path / "journal", "things", 1)
    with journal.producer(tmp_path / "journal", "things") as producer:
        producer.send(VALUES)
        producer.send({})
    job = ms.Job("things", checkpoint=str(tmp_path / "checkpoint"), parallelism=1)
    job.stream(journal.source("things", path=str(tmp_path / "journal")), EVERY).to(delta.sink(str(tmp_path / "all")))
    job.run(ms.available_now(), spark=spark)
    assert contents(tmp_path / "all") == [ARRIVED, dict.fromkeys(VALUES)]


def test_tables_that_do_not_fit(folder: Path, spark: SparkSession) -> None:
    """Each is reported before a row is read; a table with more columns fits as well."""
    good = {"id": pa.int64(), "customer": pa.int32(), "price": pa.decimal128(10, 2)}
    wrong = {
        "lacks price": ({"id": pa.int64(), "customer": pa.int32()}, ["customer"]),
        "has other types of id": (good | {"id": pa.string()}, ["customer"]),
        "is not partitioned by customer": (good, None),
    }
    for said, (columns, partition_by) in wrong.items():
        empty(folder / "orders", columns, partition_by)
        with pytest.raises(ms.MillstreamError) as error:
            run(folder, spark)
        assert error.value.code == "MS-DELTA-002"
        assert said in error.value.message
    empty(folder / "orders", good | {"note": pa.string()}, ["customer"])
    run(folder, spark)
    assert {row[:3] for row in rows(folder / "orders")} == {(n, n % 5, Decimal(n) / 4) for n in range(100)}


def empty(path: Path, columns: dict[str, pa.DataType], partition_by: list[str] | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    write_deltalake(str(path), pa.schema(list(columns.items())).empty_table(), partition_by=partition_by)


def test_a_type_that_delta_does_not_have(folder: Path, spark: SparkSession) -> None:
    job = ms.Job("ages", checkpoint=str(folder / "ages"), parallelism=1)
    orders = job.stream(journal.source("orders", path=str(folder / "journal")), "id INT")
    orders.select("id", age="make_interval(id)").to(delta.sink(str(folder / "table")))
    with pytest.raises(ms.MillstreamError) as error:
        job.run(ms.available_now(), spark=spark)
    assert error.value.code == "MS-DELTA-006"
    assert "column age" in error.value.message


def test_two_runs_at_once(folder: Path) -> None:
    """One that lost sight of the table while another wrote its epoch does not write it again."""
    types = '{"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": true, "metadata": {}}]}'
    made = [DeltaCarrier(str(folder / "t"), (), "job", RowShape(("id",), (), types), upserts=False) for _ in "ab"]
    record = next(iter(journal.read(folder / "journal", "orders")))
    made[0].carry(0, [record])
    assert [carrier.last() for carrier in made] == [0, 0]
    made[0].carry(1, [record])
    with pytest.raises(ms.MillstreamError) as error:
        made[1].carry(1, [record])
    assert error.value.code == "MS-DELTA-004"
    assert sum(rows(folder / "t").values()) == 2
