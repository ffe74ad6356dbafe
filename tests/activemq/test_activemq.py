"""Queues and topics of ActiveMQ, Classic and Artemis, as sources and sinks."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import millstream as ms
from millstream import activemq, journal
from millstream.connectors.activemq import connect
from millstream.errors import MillstreamError
from millstream.plan.connectors import RowShape
from servers.activemq import PASSWORD, USER, ActiveMQ
from servers.proxy import Proxy
from tests.activemq.conftest import Queues
from tests.crash.process import until
from tests.reception.jobs import Jobs

SHAPE = RowShape(("n",), (), "{}")


def test_a_queue_with_columns_of_the_message_itself(queues: Queues, jobs: Jobs) -> None:
    queue = queues.name("orders")
    job = jobs.job()
    parts = ("message_id", "timestamp", "redelivered", "headers", "correlation_id")
    rows = job.stream(activemq.source(queue, record=parts), "n BIGINT")
    trace = "CAST(filter(headers, h -> h.key = 'trace')[0].value AS STRING)"
    rows.select("n", "redelivered", "correlation_id", trace=trace).to(jobs.out())
    assert "exactly once (by message id)" in job.explain()
    for start in (0, 50):
        queues.send(
            queue, *({"n": n} for n in range(start, start + 50)), headers={"trace": "abc", "correlation-id": "c"}
        )
        jobs.run_until(job, start + 50, "out")
    found = sorted(jobs.rows(), key=lambda row: row["n"])
    assert found == [{"n": n, "redelivered": False, "correlation_id": "c", "trace": "abc"} for n in range(100)]


def test_a_durable_subscription_of_a_topic(queues: Queues, jobs: Jobs) -> None:
    topic = queues.name("news")
    job = jobs.copied(activemq.source(topic=topic, subscription=f"shop-{topic}"))
    jobs.run(job)
    queues.send(topic, *({"n": n} for n in range(20)), topic=True)
    jobs.run_until(job, 20)
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(20))


def test_a_closed_connection_holds_its_subscription_no_longer(queues: Queues, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "HELD", 0.0)
    server = activemq.Server(queues.broker.url)
    for _ in range(30):
        connect.connect(server, "news", queues.name("shop")).close()


def test_a_subscription_that_another_connection_holds(
    queues: Queues, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if queues.broker.kind == "artemis":
        pytest.skip("Artemis lets several connections have one client id")
    server, name = activemq.Server(queues.broker.url), queues.name("shop")
    first = connect.connect(server, "news", name)
    with monkeypatch.context() as patch:
        patch.setattr(connect, "HELD", 0.0)
        with pytest.raises(MillstreamError, match="MS-ACTIVEMQ-006"):
            connect.connect(server, "news", name)
    with ThreadPoolExecutor(1) as pool, caplog.at_level("INFO", "millstream"):
        second = pool.submit(connect.connect, server, "news", name)
        until(lambda: "waits for the subscription" in caplog.text)
        first.close()
        second.result(60).close()


def test_a_message_that_cannot_be_read_and_one_that_is_too_large(queues: Queues, jobs: Jobs) -> None:
    queue, bad = queues.name("orders"), queues.name("bad")
    queues.send(queue, {"n": 1}, b"not json")
    jobs.run_until(jobs.copied(activemq.source(queue, dead_letters=bad), "careful"), 1, "careful")
    assert jobs.rows("careful") == [{"n": 1}]
    queues.send(queue, {"n": 2, "text": "x" * 1000})
    with pytest.raises(MillstreamError, match="MS-RECEIVE-001"):
        jobs.run_until(jobs.copied(activemq.source(queue, max_message_bytes=500), "small"), 1, "small")
    jobs.run_until(jobs.copied(activemq.source(queue), "small"), 1, "small")
    assert jobs.rows("small") == [{"n": 2}]


def test_an_epoch_that_is_sent_again_counts_once(queues: Queues, jobs: Jobs) -> None:
    queue = queues.name("out")
    carrier = activemq.sink(queue).carrier("job.out", "append", SHAPE)
    records = [journal.Record(0, n, 0, None, json.dumps({"n": n}).encode()) for n in range(50)]
    for epoch in (0, 0, 1):
        carrier.carry(epoch, records[:40] if epoch == 0 else records[40:])
    carrier.close()
    runs = jobs.run_until(jobs.copied(activemq.source(queue)), 50)
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(50))
    receptions = [run.metrics().source("orders").reception for run in runs]
    # Artemis drops duplicates itself; from Classic the reader gets them, and recognises them.
    dropped = sum(reception.duplicates for reception in receptions if reception is not None)
    assert dropped == (40 if queues.broker.kind == "classic" else 0)


def test_over_tls_with_a_password_from_the_environment(
    brokers: dict[str, ActiveMQ], jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = brokers["classic"]
    Queues(broker, "tls").send("tls.orders", {"n": 1})
    monkeypatch.setenv("ACTIVEMQ_PASSWORD", PASSWORD)
    password = activemq.secret(env="ACTIVEMQ_PASSWORD")
    url, trusted = f"stomp+ssl://127.0.0.1:{broker.port_tls}", activemq.tls(ca=str(broker.certificate.file))
    server = activemq.server(url, user=USER, password=password, tls=trusted)
    jobs.run_until(jobs.copied(activemq.source("tls.orders", server=server)), 1)
    assert jobs.rows("read") == [{"n": 1}]
    with pytest.raises(MillstreamError, match="MS-ACTIVEMQ-003"):
        activemq.sink("tls.orders", server=activemq.server(url, user=USER, password=password)).check()


def test_refused(queues: Queues) -> None:
    if queues.broker.kind == "classic":
        with pytest.raises(MillstreamError, match="MS-ACTIVEMQ-004"):
            activemq.sink("x", server=f"stomp://127.0.0.1:{queues.broker.port}").check()
    with pytest.raises(MillstreamError, match="MS-ACTIVEMQ-003"):
        activemq.sink("x", server="stomp://127.0.0.1:1").check()


def test_connection_cut_and_broker_killed(queues: Queues, jobs: Jobs) -> None:
    queue = queues.name("orders")
    with Proxy() as proxy:
        proxy.to = queues.broker.port
        server = activemq.Server(queues.broker.url.replace(str(queues.broker.port), str(proxy.port)))
        run = jobs.copied(activemq.source(queue, server=server)).start(
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
            queues.send(queue, *({"n": n} for n in range(300, 400)))
            queues.broker.restart()
            queues.send(queue, *({"n": n} for n in range(400, 500)))
            until(lambda: arrived(500))
        finally:
            run.stop()
    assert sorted(row["n"] for row in jobs.rows("read")) == list(range(500))
