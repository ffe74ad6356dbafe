"""Avro, by one schema and by a registry, beside clients that know nothing about Millstream."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import millstream as ms
from millstream import kafka
from millstream.plan.modes import Mode
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "who", "type": ["null", "string"], "default": None},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
]
ORDER = {"type": "record", "name": "Order", "fields": FIELDS}
LATER = {**ORDER, "fields": [{"name": "extra", "type": "int", "default": 0}, *FIELDS[:3]]}
"""Another version: a field more, in front, and one less."""
OTHER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
"""And one in which a field is of another type."""
COLUMNS = "id BIGINT, who STRING, at TIMESTAMP, tags ARRAY<STRING>"
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def order(n: int) -> dict[str, Any]:
    return {"id": n, "who": None if n % 2 else f"w{n}", "at": AT, "tags": ["x"] * (n % 3)}


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    from servers.registry import running

    with running() as url:
        yield url


@pytest.mark.parametrize("mode", [ms.available_now(), ms.batch()], ids=["epochs", "batch"])
def test_plain_avro(topics: Topics, spark: SparkSession, tmp_path: Path, mode: Mode) -> None:
    topic, out, bad = topics.create("in"), topics.create("out"), topics.create("bad")
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(ORDER))
    for n in range(4):
        data = io.BytesIO()
        fastavro.schemaless_writer(data, fastavro.parse_schema(ORDER), order(n))
        topics.send(topic, data.getvalue())
    topics.send(topic, b"\x07")
    job = ms.Job("plain", checkpoint=str(tmp_path / "checkpoint"))
    source = kafka.source(topic, format="avro", avro_schema=file, dead_letters=bad, record=("offset",))
    rows = job.stream(source, COLUMNS, name="orders")
    rows.select("id", "who", "at", "tags").to(kafka.sink(out, format="avro", avro_schema=file))
    job.run(mode, spark=spark)
    schema = fastavro.parse_schema(ORDER)
    read = [fastavro.schemaless_reader(io.BytesIO(m.value()), schema, None) for m in topics.read(out)]
    found = [row for row in read if isinstance(row, dict)]
    assert sorted(found, key=lambda row: int(row["id"])) == [order(n) for n in range(4)]
    assert ["Avro" in letter["reason"] for letter in topics.rows(bad)] == [True]


def test_schemas_of_a_registry(topics: Topics, registry: str, spark: SparkSession, tmp_path: Path) -> None:
    """Values of two versions are read; what is written is registered, as upserts with tombstones."""
    topic, out, bad = (topics.create(name, 1) for name in ("in", "out", "bad"))
    client = SchemaRegistryClient({"url": registry})
    place = SerializationContext(topic, MessageField.VALUE)
    settings = {"auto.register.schemas": True, "normalize.schemas": False}
    first = AvroSerializer(client, json.dumps(ORDER), conf=settings)
    second = AvroSerializer(client, Schema(json.dumps(LATER), "AVRO"), conf=settings)
    for n in range(6):
        row = order(n)
        if n >= 3:
            del row["tags"]
        value = (first if n < 3 else second)({**row, **({"extra": n} if n >= 3 else {})}, place)
        topics.send(topic, value, key=lambda _, n=n: str(n % 4))  # type: ignore[misc]
    topics.delete(topic, "2")
    other = AvroSerializer(client, json.dumps(OTHER), conf=settings)
    topics.send(topic, other({"id": "seven"}, place), key=lambda _: "7")
    topics.send(topic, b"\x00\x00\x0f\x00\x00 of a registry that is gone", key=lambda _: "8")

    job = ms.Job("registry", checkpoint=str(tmp_path / "checkpoint"))
    source = kafka.source(topic, format="avro", registry=registry, key_format="text", dead_letters=bad)
    orders = job.table(source, COLUMNS, key="id", name="orders")
    orders.to(kafka.sink(out, format="avro", registry=kafka.registry(registry)))
    job.run(ms.available_now(), spark=spark)

    read = AvroDeserializer(client)
    written = {m.key(): read(m.value(), SerializationContext(out, MessageField.VALUE)) for m in topics.read(out)}
    expected = {n: {**order(n), "tags": order(n)["tags"] if n < 3 else None} for n in (0, 1, 3, 4, 5)}
    assert {row["id"]: row for row in written.values() if row is not None} == expected
    assert client.get_latest_version(f"{out}-value").version == 1
    assert topics.read(out)[0].value()[:1] == b"\x00"
    letters = [letter["reason"] for letter in topics.rows(bad)]
    for reason in ("does not fit the columns", "is not in the registry"):
        assert [reason in letter for letter in letters].count(True) == 1
    assert len(letters) == 2
