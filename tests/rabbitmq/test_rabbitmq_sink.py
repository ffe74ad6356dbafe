"""Queues and exchanges of RabbitMQ as sinks."""

from __future__ import annotations

import json

import pytest

from millstream import journal, rabbitmq
from millstream.errors import MillstreamError
from millstream.plan.connectors import RowShape
from tests.rabbitmq.broker import Queues
from tests.reception.jobs import Jobs


def test_rows_are_persistent_and_have_ids(queues: Queues, jobs: Jobs) -> None:
    queue, other = queues.create("in"), queues.create("out")
    queues.send(queue, *({"n": n} for n in range(1000)))
    job = jobs.job()
    job.stream(rabbitmq.source(queue), "n BIGINT").to(rabbitmq.sink(other))
    assert "at least once (confirmed; message id tells duplicates)" in job.explain()
    jobs.run(job)
    found = queues.read(other)
    assert sorted(json.loads(body)["n"] for _, body in found) == list(range(1000))
    assert len({about.message_id for about, _ in found}) == 1000
    assert {about.delivery_mode for about, _ in found} == {2}


def test_an_epoch_that_is_sent_again_is_recognised_by_its_reader(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("out")
    carrier = rabbitmq.sink(queue).carrier("job.out", "append", RowShape(("n",), (), "{}"))
    records = [journal.Record(0, n, 0, None, json.dumps({"n": n}).encode()) for n in range(100)]
    for epoch in (0, 1, 1):
        carrier.carry(epoch, records[:50] if epoch else records[50:])
    carrier.close()
    assert queues.count(queue) == 150
    jobs.run(jobs.copied(rabbitmq.source(queue)))
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(100))


def test_a_table_is_sent_and_read_as_upserts_and_deletes(queues: Queues, jobs: Jobs) -> None:
    queue, out = queues.create("in"), queues.create("table")
    job = jobs.job("write")
    ops = job.table(rabbitmq.source(queue, changelog=True), "k STRING, n BIGINT", key="k")
    ops.group_by("k").agg(total="sum(n)").to(rabbitmq.sink(out))
    queues.send(queue, {"op": "insert", "k": "a", "n": 1}, {"op": "insert", "k": "b", "n": 2})
    jobs.run(job)
    queues.send(queue, {"op": "delete", "k": "a", "n": 1}, {"op": "insert", "k": "b", "n": 3}, headers={"x": "y"})
    jobs.run(job)
    reader = jobs.job("again")
    totals = reader.table(rabbitmq.source(out), "k STRING, total BIGINT", key="k")
    totals.to(jobs.out("totals", changelog=True))
    jobs.run(reader)
    assert jobs.rows("totals") == [{"op": "insert", "k": "b", "total": 5}]


def test_rows_are_routed_by_a_column_and_an_unroutable_one_is_not_lost(queues: Queues, jobs: Jobs) -> None:
    source, east = queues.create("in"), queues.create("east")
    exchange = queues.exchange("regions", east=east)
    job = jobs.job()
    rows = job.stream(rabbitmq.source(source), "n BIGINT, region STRING")
    rows.to(rabbitmq.sink(exchange=exchange, routing_column="region"))
    queues.send(source, {"n": 1, "region": "east"}, {"n": 2, "region": "west"})
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-007"):
        jobs.run(job)
    west = queues.create("west")
    queues.exchange("regions", west=west)
    jobs.run(job)
    assert [json.loads(body)["n"] for _, body in queues.read(west)] == [2]
    assert {json.loads(body)["n"] for _, body in queues.read(east)} == {1}


def test_an_exchange_that_is_not_there(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("in")
    queues.send(queue, {"n": 1})
    job = jobs.job()
    job.stream(rabbitmq.source(queue), "n BIGINT").to(rabbitmq.sink(exchange="nowhere", routing_key="x"))
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-004"):
        jobs.run(job)


def test_rows_as_avro_to_a_queue_and_to_a_stream(queues: Queues, jobs: Jobs) -> None:
    schema = json.dumps({"type": "record", "name": "Row", "fields": [{"name": "n", "type": ["null", "long"]}]})
    queue, out, stream = queues.create("in"), queues.create("out"), queues.create("log", "stream")
    queues.send(queue, *({"n": n} for n in range(50)))
    job = jobs.job()
    rows = job.stream(rabbitmq.source(queue), "n BIGINT")
    rows.to(rabbitmq.sink(out, format="avro", avro_schema=schema))
    rows.to(rabbitmq.stream_sink(stream, format="avro", avro_schema=schema))
    jobs.run(job)
    jobs.run(jobs.copied(rabbitmq.source(out, format="avro", avro_schema=schema), "queue"))
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, format="avro", avro_schema=schema), "stream"))
    for topic in ("queue", "stream"):
        assert sorted(row["n"] for row in jobs.rows(topic)) == list(range(50))
