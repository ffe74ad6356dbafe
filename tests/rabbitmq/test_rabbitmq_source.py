"""Queues of RabbitMQ as streams and tables."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest

import millstream as ms
from millstream import rabbitmq
from millstream.errors import MillstreamError
from servers.rabbitmq import RabbitMQ
from tests.crash.process import until
from tests.rabbitmq.broker import Queues
from tests.reception.jobs import Jobs


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_each_message_is_read_once_over_several_runs(kind: str, queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("orders", kind)
    for start in (0, 100):
        queues.send(queue, *({"n": n} for n in range(start, start + 100)))
        # The producer sends some again, as after a connection that was lost.
        queues.send(queue, *({"n": n} for n in range(start, start + 10)))
        run = jobs.run(jobs.copied(rabbitmq.source(queue)))
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(200))
    reception = run.metrics().source("orders").reception
    assert reception is not None
    assert (reception.received, reception.acknowledged, reception.duplicates) == (110, 110, 10)
    assert queues.count(queue) == 0


def test_columns_of_the_message_itself_and_explain(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("orders")
    headers = {"trace": "abc", "tries": 3}
    queues.send(queue, {"n": 1}, timestamp=1_700_000_000, headers=headers, content_type="text/json")
    job = jobs.job()
    parts = ("key", "headers", "message_id", "timestamp", "redelivered", "routing_key", "content_type")
    rows = job.stream(rabbitmq.source(queue, record=parts), "n BIGINT", name="orders")
    trace, tries = (f"CAST(headers[{i}].value AS STRING)" for i in range(2))
    plain = ("n", "message_id", "timestamp", "redelivered", "routing_key", "content_type")
    rows.select(*plain, key="CAST(key AS STRING)", trace=trace, tries=tries).to(jobs.out())
    assert "exactly once (by message id; a message without one is at least once)" in job.explain()
    jobs.run(job)
    assert jobs.rows() == [
        {
            "n": 1,
            "message_id": "id-{'n': 1}",
            "timestamp": "2023-11-14T22:13:20.000000Z",
            "redelivered": False,
            "routing_key": queue,
            "content_type": "text/json",
            "key": queue,
            "trace": "abc",
            "tries": "3",
        }
    ]


def test_told_apart_by_a_header_or_a_column(queues: Queues, jobs: Jobs) -> None:
    by_header, by_column = queues.create("h"), queues.create("c")
    for _ in range(2):
        queues.send(by_header, {"n": 1}, ids=False, headers={"order": "a"})
        queues.send(by_column, {"n": 1, "order": 7}, ids=False)
    jobs.run(jobs.copied(rabbitmq.source(by_header, id_header="order"), "h"))
    jobs.run(jobs.copied(rabbitmq.source(by_column, id_column="order"), "c"))
    assert jobs.rows("h") == jobs.rows("c") == [{"n": 1}]


def test_a_message_that_cannot_be_read(queues: Queues, jobs: Jobs) -> None:
    queue, bad = queues.create("orders"), queues.create("bad")
    queues.send(queue, {"n": 1}, b"not json", {"n": 2})
    failing = jobs.copied(rabbitmq.source(queue), "failing")
    with pytest.raises(MillstreamError, match="MS-DECODE-001"):
        jobs.run(failing)
    # It was received, and its job has it for good: another one gets new messages.
    queues.send(queue, {"n": 1}, b"not json", {"n": 2})
    jobs.run(jobs.copied(rabbitmq.source(queue, dead_letters=bad), "careful"))
    assert jobs.rows("careful") == [{"n": 1}, {"n": 2}]
    ((_, body),) = queues.read(bad)
    assert b64decode(json.loads(body)["value"]) == b"not json"
    jobs.run(jobs.copied(rabbitmq.source(queue, on_error="skip"), "failing"))
    assert jobs.rows("failing") == [{"n": 1}, {"n": 2}]


def test_too_large_a_message_stays_in_the_queue(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("orders")
    queues.send(queue, {"n": 1}, {"n": 2, "text": "x" * 1000})
    with pytest.raises(MillstreamError, match="MS-RECEIVE-001"):
        jobs.run(jobs.copied(rabbitmq.source(queue, max_message_bytes=500)))
    until(lambda: queues.count(queue) == 1)
    jobs.run(jobs.copied(rabbitmq.source(queue)))
    assert jobs.rows("read") == [{"n": 1}, {"n": 2}]


def test_a_batch_leaves_the_queue_as_it_was(queues: Queues, jobs: Jobs) -> None:
    queue = queues.create("orders")
    queues.send(queue, {"n": 1}, {"n": 2})
    jobs.run(jobs.copied(rabbitmq.source(queue)), ms.batch())
    assert jobs.rows("read") == [{"n": 1}, {"n": 2}]
    until(lambda: queues.count(queue) == 2)


def test_over_tls_with_a_password_from_the_environment(
    queues: Queues, rabbit: RabbitMQ, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = queues.create("orders")
    queues.send(queue, {"n": 1})
    monkeypatch.setenv("RABBIT_PASSWORD", "guest")
    password = rabbitmq.secret(env="RABBIT_PASSWORD")
    url = f"amqps://127.0.0.1:{rabbit.port_tls}"
    trusted = rabbitmq.tls(ca=str(rabbit.certificate.file))
    server = rabbitmq.server(url, user="guest", password=password, tls=trusted)
    jobs.run(jobs.copied(rabbitmq.source(queue, server=server)))
    assert jobs.rows("read") == [{"n": 1}]
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-003"):
        jobs.run(jobs.copied(rabbitmq.source(queue, server=url), "stranger"))
    monkeypatch.setenv("RABBIT_PASSWORD", "wrong")
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-005"):
        jobs.run(jobs.copied(rabbitmq.source(queue, server=server), "intruder"))


def test_a_queue_that_is_not_there(queues: Queues, jobs: Jobs) -> None:
    with pytest.raises(MillstreamError, match="MS-RABBITMQ-004"):
        jobs.run(jobs.copied(rabbitmq.source("nowhere")))
