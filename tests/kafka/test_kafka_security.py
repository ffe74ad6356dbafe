"""TLS and passwords: logged in with a secret that is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import kafka
from millstream.runtime.failures import transient
from millstream.spark.launch import LOG
from servers.kafka import PASSWORD, SCRAM, SCRAM_PASSWORD, USER, Kafka
from tests.kafka.broker import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cluster(broker: Kafka, password: kafka.Secret, mechanism: str = "PLAIN") -> kafka.Cluster:
    sasl = kafka.sasl(mechanism, user=USER, password=password)
    return kafka.cluster(broker.secure, tls=kafka.tls(ca=str(broker.ca)), sasl=sasl)


def copy(topics: Topics, at: kafka.Cluster, folder: Path) -> tuple[ms.Job, str]:
    topic, out = topics.create("in"), topics.create("out")
    topics.send(topic, *({"n": n} for n in range(10)))
    job = ms.Job("secure", checkpoint=str(folder / "checkpoint"))
    job.stream(kafka.source(topic, servers=at), "n INT", name="in").to(kafka.sink(out, servers=at))
    return job, out


def test_a_secret_lets_in_and_is_nowhere_to_be_seen(
    topics: Topics, broker: Kafka, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TEST_PASSWORD", PASSWORD)
    job, out = copy(topics, cluster(broker, kafka.secret(env="KAFKA_TEST_PASSWORD")), tmp_path)
    run = job.start(ms.available_now(), spark=spark)
    run.wait()
    assert sorted(row["n"] for row in topics.rows(out)) == list(range(10))
    assert run._query is not None
    plans = run._query.query._jsq.explainInternal(True) + repr(job.plan()) + job.explain()
    assert LOG.path is not None
    for text in (plans, LOG.path.read_text(), *(path.read_text() for path in tmp_path.rglob("*.json"))):
        for form in (PASSWORD, PASSWORD.replace('"', '\\"').replace("\\", "\\\\"), "secret\\"):
            assert form not in text


def test_a_secret_from_a_file_lets_in_by_scram(
    topics: Topics, broker: Kafka, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(f"{SCRAM_PASSWORD}\n")
    job, out = copy(topics, cluster(broker, kafka.secret(file=str(tmp_path / "password")), SCRAM), tmp_path)
    job.run(ms.available_now(), spark=spark)
    assert sorted(row["n"] for row in topics.rows(out)) == list(range(10))


def test_a_wrong_password_is_refused(topics: Topics, broker: Kafka, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("wrong\n")
    job, _ = copy(topics, cluster(broker, kafka.secret(file=str(tmp_path / "password"))), tmp_path)
    with pytest.raises(ms.MillstreamError) as caught:
        job.run(ms.available_now(), spark=spark)
    assert caught.value.code == "MS-KAFKA-010"
    assert "Authentication failed" in str(caught.value.found)
    assert not transient(caught.value, job.plan())
