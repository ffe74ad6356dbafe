"""Protobuf, beside Python's own: what it writes is read, and what is written it reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2, message_factory, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict

import millstream as ms
from millstream import kafka
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "id": ("int64", "BIGINT"),
    "small": ("sint32", "INT"),
    "wide": ("int32", "BIGINT"),
    "positive": ("uint32", "BIGINT"),
    "huge": ("uint64", "DECIMAL(20, 0)"),
    "fixed": ("fixed64", "BIGINT"),
    "ratio": ("float", "FLOAT"),
    "price": ("double", "DOUBLE"),
    "paid": ("bool", "BOOLEAN"),
    "who": ("string", "STRING"),
    "blob": ("bytes", "BINARY"),
}
"""Field -> its type in Protobuf and the column's."""
REST = {
    "note": "STRING",
    "kind": "STRING",
    "code": "INT",
    "at": "TIMESTAMP",
    "nick": "STRING",
    "place": "STRUCT<city: STRING, number: INT>",
    "tags": "ARRAY<STRING>",
    "places": "ARRAY<STRUCT<city: STRING, number: INT>>",
    "counts": "MAP<STRING, INT>",
}
COLUMNS = ", ".join([*(f"{n} {t}" for n, (_, t) in SCALARS.items()), *(f"{n} {t}" for n, t in REST.items())])


def described() -> descriptor_pb2.FileDescriptorSet:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"])
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("UNKNOWN", "BOOK", "FOOD")):
        kind.value.add(name=name, number=number)
    place = file.message_type.add(name="Place")
    place.field.add(name="city", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    place.field.add(name="number", number=2, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)

    def field(name: str, label: int = F.LABEL_OPTIONAL, **more: Any) -> Any:
        return order.field.add(name=name, number=len(order.field) + 1, label=label, **more)

    for name, (kind_, _) in SCALARS.items():
        field(name, type=getattr(F, f"TYPE_{kind_.upper()}"))
    order.oneof_decl.add(name="_note")
    field("note", type=F.TYPE_STRING, proto3_optional=True, oneof_index=0)
    field("kind", type=F.TYPE_ENUM, type_name=".shop.Kind")
    field("code", type=F.TYPE_ENUM, type_name=".shop.Kind")
    field("at", type=F.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp")
    field("nick", type=F.TYPE_MESSAGE, type_name=".google.protobuf.StringValue")
    field("place", type=F.TYPE_MESSAGE, type_name=".shop.Place")
    field("tags", F.LABEL_REPEATED, type=F.TYPE_STRING)
    field("places", F.LABEL_REPEATED, type=F.TYPE_MESSAGE, type_name=".shop.Place")
    field("counts", F.LABEL_REPEATED, type=F.TYPE_MESSAGE, type_name=".shop.Order.CountsEntry")
    known = descriptor_pb2.FileDescriptorSet()
    for imported in (timestamp_pb2, wrappers_pb2):
        known.file.add().ParseFromString(imported.DESCRIPTOR.serialized_pb)
    known.file.append(file)
    return known


def order_type(files: descriptor_pb2.FileDescriptorSet) -> Any:
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def orders(make: Any) -> list[Any]:
    full = make(id=-5, small=-3, wide=7, positive=2**32 - 1, huge=2**64 - 1, fixed=9, ratio=1.5, price=0.1, paid=True)
    full.who, full.blob, full.note, full.kind, full.code = "ännä", b"\x00\xff", "", 2, 1
    full.at.FromDatetime(datetime(1969, 7, 20, 20, 17, 40, 123456, UTC))
    full.nick.value = "n"
    full.place.city, full.place.number = "Rome", 3
    full.tags.extend(["a", "b"])
    full.places.add(city="Oslo")
    full.counts["x"], full.counts["y"] = 1, -1
    return [make(id=1), full, make(id=2, who="plain")]


def by_id(message: Any) -> int:
    return int(message.id)


def test_messages_of_python_come_through_as_they_are(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    files = described()
    make = order_type(files)
    (tmp_path / "shop.desc").write_bytes(files.SerializeToString())
    protobuf = kafka.protobuf(tmp_path / "shop.desc", "shop.Order")
    topic, out, texts, bad = (topics.create(name, 1) for name in ("in", "out", "texts", "bad"))
    sent = [*orders(make), make(id=3, kind=77)]
    topics.send(topic, *(message.SerializeToString() for message in sent), b"\xff\xff", b"\x0a")
    topics.send(topic, b"\x0a\x01x")  # a text where a number was
    job = ms.Job("protobuf", checkpoint=str(tmp_path / "checkpoint"))
    source = kafka.source(topic, format="protobuf", protobuf=protobuf, dead_letters=bad)
    rows = job.stream(source, COLUMNS, name="orders")
    rows.to(kafka.sink(out, format="protobuf", protobuf=protobuf))
    rows.select("id", "note", "kind", "nick", "at", "place", "tags", "huge").to(kafka.sink(texts))
    job.run(ms.available_now(), spark=spark)

    written = sorted((make.FromString(message.value()) for message in topics.read(out)), key=by_id)
    assert [MessageToDict(message) for message in written] == [
        MessageToDict(message) for message in sorted(sent, key=by_id)
    ]
    seen = {row["id"]: row for row in topics.rows(texts)}
    absent = {"note": None, "nick": None, "at": None, "place": None}
    assert seen[1] == {"id": 1, "kind": "UNKNOWN", "tags": [], "huge": 0, **absent}
    assert seen[-5]["note"] == ""
    assert seen[-5]["at"] == "1969-07-20T20:17:40.123456Z"
    assert seen[-5]["huge"] == 2**64 - 1
    assert seen[3]["kind"] == "77"
    assert ["Protobuf" in letter["reason"] for letter in topics.rows(bad)] == [True] * 3


def test_upserts_with_tombstones(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """From a table to messages by key, and back to a table."""
    files = described()
    make = order_type(files)
    protobuf = kafka.protobuf(files.SerializeToString(), "shop.Order")
    topic, middle, out = topics.create("in", 1), topics.create("middle", 1, compacted=True), topics.create("out", 1)
    topics.send(topic, *({"id": n, "who": f"w{n}"} for n in range(4)), key=lambda row: str(row["id"]))
    topics.delete(topic, "2")
    one = ms.Job("there", checkpoint=str(tmp_path / "there"))
    people = one.table(kafka.source(topic, key_format="text"), "id BIGINT, who STRING", key="id", name="people")
    people.to(kafka.sink(middle, format="protobuf", protobuf=protobuf))
    one.run(ms.available_now(), spark=spark)
    topics.delete(topic, "0")
    one.run(ms.available_now(), spark=spark)
    held = {m.key(): m.value() for m in topics.read(middle)}
    assert {make.FromString(value).who for value in held.values() if value is not None} == {"w1", "w3"}
    back = ms.Job("back", checkpoint=str(tmp_path / "back"))
    source = kafka.source(middle, format="protobuf", protobuf=protobuf)
    read = back.table(source, "id BIGINT, who STRING", key="id", name="back")
    read.group_by(all_="1").agg(n="count(*)", most="max(who)").to(kafka.sink(out))
    back.run(ms.available_now(), spark=spark)
    assert topics.rows(out)[-1:] == [{"all_": 1, "n": 2, "most": "w3"}]


@pytest.mark.parametrize(
    ("message", "columns", "code", "said"),
    [
        ("shop.Ordr", "id BIGINT", "MS-PROTOBUF-001", "shop.Order"),
        ("shop.Order", "ident BIGINT", "MS-PROTOBUF-002", 'no field for column "ident"'),
        ("shop.Order", "who BIGINT", "MS-PROTOBUF-002", "does not fit a column of type BIGINT"),
    ],
)
def test_what_does_not_fit_is_told_when_a_job_starts(
    topics: Topics, spark: SparkSession, tmp_path: Path, message: str, columns: str, code: str, said: str
) -> None:
    topic, out = topics.create("in", 1), topics.create("out", 1)
    protobuf = kafka.protobuf(described().SerializeToString(), message)
    job = ms.Job("misfit", checkpoint=str(tmp_path / "checkpoint"))
    job.stream(kafka.source(topic, format="protobuf", protobuf=protobuf), columns, name="orders").to(kafka.sink(out))
    with pytest.raises(ms.MillstreamError) as caught:
        job.run(ms.available_now(), spark=spark)
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.at is not None
