"""Streams and super streams of RabbitMQ: read by offset, and written exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import millstream as ms
from millstream import journal, rabbitmq
from millstream.connectors.rabbitmq.streams.message import murmur3
from millstream.errors import MillstreamError
from millstream.plan.connectors import RowShape
from millstream.testing.faults import Fault
from servers.proxy import Proxy
from servers.rabbitmq import running
from tests.crash.lives import Lives
from tests.crash.process import until
from tests.rabbitmq.broker import Queues
from tests.reception.jobs import Jobs

SHAPE = RowShape(("n",), (), "{}")


def test_a_stream_is_read_by_offset_and_can_be_read_again(queues: Queues, jobs: Jobs) -> None:
    stream = queues.create("orders", "stream")
    job = jobs.job()
    rows = job.stream(rabbitmq.stream_source(stream, record=("offset", "stream", "message_id")), "n BIGINT")
    rows.to(jobs.out())
    assert "exactly once (by offset)" in job.explain()
    jobs.run(job)  # there is nothing yet
    for start in (0, 100):
        queues.send(stream, *({"n": n} for n in range(start, start + 100)))
        jobs.run(job)
    assert jobs.rows() == [
        {"n": n, "offset": n, "stream": stream, "message_id": f"id-{ ({'n': n})!r}"} for n in range(200)
    ]
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, max_rows_per_epoch=60), "again"))
    jobs.run(jobs.copied(rabbitmq.stream_source(stream), "batch"), ms.batch())
    for topic in ("again", "batch"):
        assert [row["n"] for row in jobs.rows(topic)] == list(range(200))


def test_where_a_job_starts(queues: Queues, jobs: Jobs) -> None:
    stream = queues.create("orders", "stream")
    queues.send(stream, {"n": 0}, {"n": 1})
    latest = jobs.copied(rabbitmq.stream_source(stream, starting="latest"), "latest")
    jobs.run(latest)
    queues.send(stream, {"n": 2})
    jobs.run(latest)
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, starting=1), "offset"))
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, starting="2026-01-01T00:00:00Z"), "time"))
    assert [row["n"] for row in jobs.rows("latest")] == [2]
    assert [row["n"] for row in jobs.rows("offset")] == [1, 2]
    assert [row["n"] for row in jobs.rows("time")] == [0, 1, 2]


def test_messages_that_are_gone_are_an_error_or_skipped(queues: Queues, jobs: Jobs) -> None:
    small = {"x-max-length-bytes": 200_000, "x-stream-max-segment-size-bytes": 50_000}
    stream = queues.create("orders", "stream", **small)
    queues.send(stream, {"n": 0})
    jobs.run(jobs.copied(rabbitmq.stream_source(stream)))
    queues.send(stream, *({"n": n, "text": "x" * 10_000} for n in range(1, 101)))
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-008"):
        jobs.run(jobs.copied(rabbitmq.stream_source(stream)))
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, on_loss="skip")))
    found = [row["n"] for row in jobs.rows("read")]
    assert 1 < len(found) < 101
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (0, 100)


def test_a_table_through_a_super_stream(queues: Queues, jobs: Jobs) -> None:
    stream, out = queues.create("in", "stream"), queues.super_stream("totals", 3)
    for _ in range(2):
        queues.send(stream, *({"k": f"k{n % 20}", "n": n} for n in range(100)))
        job = jobs.job("write")
        rows = job.stream(rabbitmq.stream_source(stream), "k STRING, n BIGINT")
        totals = rows.group_by("k").agg(total="sum(n)")
        totals.to(rabbitmq.stream_sink(out, super_stream=True))
        assert "exactly once (publishing ids)" in job.explain()
        jobs.run(job)
    reader = jobs.job("again")
    source = rabbitmq.stream_source(out, super_stream=True, record=("stream",))
    reader.table(source, "k STRING, total BIGINT", key="k").to(jobs.out("totals", changelog=True))
    jobs.run(reader)
    found = {row["k"]: row for row in jobs.rows("totals")}
    assert {key: row["total"] for key, row in found.items()} == {f"k{k}": 2 * sum(range(k, 100, 20)) for k in range(20)}
    assert {row["stream"] for row in found.values()} == {f"{out}-{n}" for n in range(3)}


def test_an_epoch_that_is_sent_again_is_there_once(queues: Queues, jobs: Jobs) -> None:
    stream = queues.create("out", "stream")
    records = [journal.Record(0, n, 0, None, json.dumps({"n": n}).encode()) for n in range(1200)]
    for epoch, part in ((0, records[:700]), (0, records[:1000]), (1, records[1000:]), (1, records[1000:])):
        carrier = rabbitmq.stream_sink(stream).carrier("job.out", "append", SHAPE)
        carrier.carry(epoch, part)
        carrier.close()
    jobs.run(jobs.copied(rabbitmq.stream_source(stream)))
    assert [row["n"] for row in jobs.rows("read")] == list(range(1200))


def test_what_cannot_be_read_and_what_is_not_there(queues: Queues, jobs: Jobs) -> None:
    stream, bad = queues.create("orders", "stream"), queues.create("bad", "stream")
    queues.send(stream, {"n": 1}, b"not json", {"n": 2})
    jobs.run(jobs.copied(rabbitmq.stream_source(stream, dead_letters=bad)))
    assert jobs.rows("read") == [{"n": 1}, {"n": 2}]
    until(lambda: queues.count(bad) == 1)
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-004"):
        jobs.run(jobs.copied(rabbitmq.stream_source("nowhere"), "nowhere"))
    carrier = rabbitmq.stream_sink(bad).carrier("job.out", "append", SHAPE)
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-010"):
        carrier.carry(0, [journal.Record(0, 0, 0, None, b"x" * (1 << 20))])


def test_keys_go_where_other_clients_send_them() -> None:
    """The hash of RabbitMQ's own clients, as these compute it."""
    known = {"": 3329588566, "a": 1086686554, "orders": 3488808088, "hello1": 284792890, "hello42": 1711315518}
    assert {key: murmur3(key.encode()) for key in known} == known


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    with Lives("tests.rabbitmq.stream_job", tmp_path_factory.mktemp("lives")) as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("mode", ["real-time", "micro-batch"])
def test_killed_cut_and_restarted(mode: str, lives: Lives, tmp_path: Path) -> None:
    """From stream to stream, each number once, in order."""
    with Proxy() as proxy, running(told=proxy.port) as broker:
        proxy.to = broker.port_stream
        queues = Queues(broker, "t")
        source, out, sent = queues.create("in", "stream"), queues.create("out", "stream"), 0
        address = f"rabbitmq-stream://127.0.0.1:{proxy.port}/"
        lives.of(tmp_path / "run", source, out, address, mode)

        def send(count: int = 100) -> None:
            nonlocal sent
            queues.send(source, *({"n": n} for n in range(sent, sent + count)))
            sent += count

        for point in ("carry.before", "carry.during", "carry.after"):
            send()
            lives.killed(Fault(point, 0))
        lives.begin()
        until(lambda: queues.count(out) >= sent)
        send()
        proxy.cut()
        proxy.mend()
        send()
        until(lambda: queues.count(out) >= sent)
        broker.restart()
        until(lambda: queues.answers(source) and queues.answers(out))
        send()
        until(lambda: queues.count(out) >= sent)
        lives.stop()
        assert queues.stream(out) == list(range(sent))
