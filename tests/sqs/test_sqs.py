"""Queues of SQS as sources and sinks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import millstream as ms
from millstream import journal, sqs
from millstream.errors import MillstreamError
from millstream.plan.connectors import RowShape
from servers.aws import KEY
from servers.proxy import Proxy
from servers.sqs import Sqs
from tests.crash.process import until
from tests.reception.jobs import Jobs
from tests.sqs.conftest import Queues

SHAPE = RowShape(("n",), (), "{}")


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_each_message_is_read_once_over_several_runs(name: str, queues: Queues, jobs: Jobs) -> None:
    queue = queues.create(name)
    for start in (0, 60):
        queues.send(queue, *({"n": n} for n in range(start, start + 60)))
        job = jobs.copied(sqs.source(queue, receivers=2))
        run = jobs.run(job)
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(120))
    assert queues.count(queue) == 0
    reception = run.metrics().source("orders").reception
    assert reception is not None
    assert reception.acknowledged == 60
    known = "deduplication id" if name.endswith(".fifo") else "message id"
    assert f"exactly once (by {known}, of the last 200,000 messages)" in job.explain()


def test_columns_of_the_message_itself(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("orders.fifo")
    attributes = {"trace": {"DataType": "String", "StringValue": "abc"}}
    queues.send(queue, {"n": 1}, MessageAttributes=attributes)
    job = jobs.job()
    parts = ("key", "headers", "message_id", "timestamp", "redelivered", "group", "receive_count")
    rows = job.stream(sqs.source(queue, record=parts), "n BIGINT")
    trace = "CAST(headers[0].value AS STRING)"
    chosen = rows.select("n", "redelivered", "group", "receive_count", key="CAST(key AS STRING)", trace=trace)
    chosen.to(jobs.out())
    jobs.run(job)
    assert jobs.rows() == [{"n": 1, "redelivered": False, "group": "g", "receive_count": 1, "key": "g", "trace": "abc"}]


def test_a_message_that_cannot_be_read_and_one_that_is_too_large(queues: Queues, jobs: Jobs) -> None:
    queue, bad = queues.create("orders"), queues.create("bad")
    queues.send(queue, {"n": 1}, "not json")
    jobs.run(jobs.copied(sqs.source(queue, dead_letters=bad), "careful"))
    assert jobs.rows("careful") == [{"n": 1}]
    assert len(queues.read(bad)) == 1
    queues.send(queue, {"n": 2, "text": "x" * 1000})
    with pytest.raises(MillstreamError, match="MS-RECEIVE-001"):
        jobs.run(jobs.copied(sqs.source(queue, max_message_bytes=500), "small"))
    assert queues.count(queue) == 1


def test_rows_are_sent_with_ids_and_an_epoch_sent_again_is_recognised(queues: Queues, jobs: Jobs) -> None:
    standard, fifo = queues.create("out"), queues.create("out.fifo")
    records = [journal.Record(0, n, 0, b'{"k": 1}', json.dumps({"n": n}).encode()) for n in range(25)]
    for queue in (standard, fifo):
        carrier = sqs.sink(queue).carrier("job.out", "append", SHAPE)
        for epoch in (0, 0):
            carrier.carry(epoch, records)
        carrier.close()
    assert queues.count(standard) == 50
    assert queues.count(fifo) == 25
    jobs.run(jobs.copied(sqs.source(standard), "standard"))
    jobs.run(jobs.copied(sqs.source(fifo), "fifo"))
    assert sorted(row["n"] for row in jobs.rows("standard")) == list(range(25))
    assert [row["n"] for row in jobs.rows("fifo")] == list(range(25))


def test_a_job_from_queue_to_queue(queues: Queues, jobs: Jobs) -> None:
    queue, out = queues.create("in"), queues.create("out.fifo")
    queues.send(queue, *({"n": n % 3} for n in range(30)))
    job = jobs.job()
    job.stream(sqs.source(queue), "n BIGINT").group_by("n").agg(count="count(*)").to(sqs.sink(out))
    assert "exactly once within 5 minutes (deduplication id), then at least once" in job.explain()
    jobs.run(job)
    assert sorted(json.loads(one["Body"])["count"] for one in queues.read(out)) == [10, 10, 10]


def test_what_sqs_does_not_take(queues: Queues) -> None:
    carrier = sqs.sink(queues.create("out")).carrier("job.out", "append", SHAPE)
    large = journal.Record(0, 0, 0, None, b"x" * 300_000)
    with pytest.raises(MillstreamError, match="MS-SQS-002"):
        carrier.carry(0, [large])
    with pytest.raises(MillstreamError, match="MS-AWS-005"):
        sqs.sink("nowhere").check()


@pytest.mark.long
def test_connection_cut_and_server_killed(queues: Queues, server: Sqs, jobs: Jobs, tmp_path: Path) -> None:
    queue = queues.create("orders")
    with Proxy() as proxy:
        proxy.to = server.port
        there = sqs.account(
            region=server.region, endpoint=f"http://127.0.0.1:{proxy.port}", key=KEY, secret_key=secret(tmp_path)
        )
        run = jobs.copied(sqs.source(queue, account=there)).start(
            ms.real_time("300 ms"), restarts=ms.fixed_delay(50, "200 ms"), spark=jobs.spark
        )

        def arrived(count: int) -> bool:
            run.poll(0)
            return len(jobs.rows("read")) >= count

        try:
            queues.send(queue, *({"n": n} for n in range(100)))
            until(lambda: arrived(100))
            queues.send(queue, *({"n": n} for n in range(100, 300)))
            proxy.cut()
            proxy.mend()
            until(lambda: arrived(300))
            proxy.cut()  # until it knows its queues again, it says that there are none
            server.restart()
            proxy.mend()
            queues.send(queue, *({"n": n} for n in range(300, 400)))
            until(lambda: arrived(400))
        finally:
            run.stop()
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(400))


def secret(folder: Path) -> sqs.Secret:
    """From a file."""
    (folder / "secret").write_text("x\n")
    return sqs.secret(file=str(folder / "secret"))
