"""Receivers on executors: when, the slots that they take, what is to be there, and what goes along."""

from __future__ import annotations

import pickle
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import millstream as ms
from millstream import kinesis, rabbitmq, sqs
from millstream.connectors.elsewhere import check_there, files_of, with_secrets
from millstream.errors import MillstreamError
from millstream.plan.apart import receivers_apart
from millstream.planner.stages import JobPlan
from millstream.runtime.needs import need
from millstream.spark.asked import asked
from millstream.spark.executors import of_receivers, refuse_lack
from millstream.spark.slots import Need, why_in_driver
from tests.reception.memory_queue import MemoryQueue

CLUSTER = "spark://h:1"


def orders(**options: Any) -> rabbitmq.RabbitMQSource:
    return rabbitmq.source("orders", **{"server": "amqp://localhost", **options})


def planned(receivers: int) -> JobPlan:
    job = ms.Job("orders")
    job.stream(orders(receivers=receivers), "n BIGINT", name="orders").to(
        rabbitmq.sink("out", server="amqp://localhost")
    )
    return job.plan()


def test_which_receivers_are_apart() -> None:
    assert [receivers_apart(orders(receivers=n)) for n in (1, 2, 5)] == [0, 2, 5]
    assert receivers_apart(sqs.source("orders", receivers=3)) == 3
    assert receivers_apart(kinesis.source("orders")) == 0
    stand_in = MemoryQueue()
    assert receivers_apart(SimpleNamespace()) == 0
    assert receivers_apart(replace(orders(receivers=2), stand_in=stand_in)) == 0


@pytest.mark.parametrize(
    ("master", "known", "wanted"),
    [
        ("local[4]", {}, "the master is local"),
        (CLUSTER, {}, None),
        (CLUSTER, {"spark.millstream.receivers": "driver"}, "spark.millstream.receivers says so"),
        (CLUSTER, {"spark.network.crypto.enabled": "false"}, None),
        (
            CLUSTER,
            {"spark.ssl.rpc.enabled": " TRUE"},
            "what they send would not be encrypted, and spark.ssl.rpc.enabled wants that",
        ),
        (
            "yarn",
            {"spark.network.crypto.enabled": "true"},
            "what they send would not be encrypted, and spark.network.crypto.enabled wants that",
        ),
    ],
)
def test_where_they_are(master: str, known: dict[str, str], wanted: str | None) -> None:
    assert why_in_driver(master, known) == wanted
    assert Need(4, receivers=2).at(master, known).receivers == (2 if wanted is None else 0)


def test_slots_are_counted_for_them() -> None:
    plan = planned(2)
    in_real_time, in_micro_batches = need(plan, ms.real_time(), 2), need(plan, ms.micro_batch(), 2)
    assert (in_real_time.at(CLUSTER, {}).least, in_real_time.at("local[2]", {}).least) == (4, 2)
    assert in_real_time.at(CLUSTER, {}).told == (
        "real time needs 4 task slots at once (2 for the sources' partitions, 0 × 2 for the stages' tasks, "
        "2 for receivers)"
    )
    assert (in_micro_batches.at(CLUSTER, {}).least, in_micro_batches.at("local[2]", {}).least) == (3, 1)
    assert in_micro_batches.told == "a job needs 3 task slots at once (1 for rows, 2 for receivers)"
    assert Need(4).told == "a job needs a task slot"
    assert [need(plan, mode, 2).receivers for mode in (ms.available_now(), ms.batch())] == [0, 0]
    assert need(planned(1), ms.real_time(), 2).receivers == 0


def test_executors_are_asked_for_them() -> None:
    few = {"spark.executor.instances": "2"}
    assert asked("yarn", {}, Need(6, "all", 2), 5) == {"spark.executor.instances": "8"}
    assert asked("yarn", {}, Need(6, receivers=2), 5) == {"spark.executor.instances": "7"}
    assert asked("yarn", {"spark.millstream.receivers": "driver"}, Need(6, "all", 2), 5) == {
        "spark.executor.instances": "6"
    }
    with pytest.raises(MillstreamError, match=r"MS-CLUSTER-014: a job needs 3 task slots at once \(1 for rows, 2 for"):
        asked("yarn", few, Need(6, receivers=2), 5)
    assert asked("yarn", few, Need(6), 5) == {}


def test_what_is_missing_on_an_executor_is_named(tmp_path: Path) -> None:
    (source,) = planned(2).sources
    wanted = of_receivers(source)
    pickle.loads(pickle.dumps(wanted.object))()
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(pythonExec="python3"))
    for there, said, message in (
        (None, "ModuleNotFoundError: no", "and the Python of the executor on h1 does not have Millstream."),
        (version("millstream"), "no pika", "and what they need is missing on the executor on h1."),
        ("0.0.1", None, f"and the executor on h1 has Millstream 0.0.1, not {version('millstream')}."),
    ):
        with pytest.raises(MillstreamError) as error:
            refuse_lack(("h1", there, [said]), [wanted], spark)
        assert error.value.message == f'step "orders" has receivers on executors, {message}'
        assert error.value.code == "MS-CLUSTER-005"
        assert "millstream pack" in (error.value.hint or "")
        assert error.value.at is not None
    with pytest.raises(MillstreamError, match="MS-SETUP-010"):
        check_there("no_such_package", "rabbitmq", ())
    with pytest.raises(MillstreamError, match=r"MS-TLS-001: there is no file .*ca\.pem"):
        check_there("pika", "rabbitmq", (str(tmp_path / "ca.pem"),))


def test_secrets_go_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("deep\n")
    monkeypatch.setenv("PASSWORD", "open sesame")
    tls = rabbitmq.tls(ca="ca.pem", key_password=rabbitmq.secret(file=str(tmp_path / "key")))
    server = rabbitmq.server("amqps://h", user="shop", password=rabbitmq.secret(env="PASSWORD"), tls=tls)
    system = orders(server=server).connection()
    assert files_of(system) == ("ca.pem",)
    sent = pickle.loads(pickle.dumps(system.sent()))
    monkeypatch.delenv("PASSWORD")
    (tmp_path / "key").unlink()
    assert sent.server.login() == ("shop", "open sesame")
    assert sent.server.tls.key_password.read() == "deep"
    assert "sesame" not in repr(sent)
    assert with_secrets(5) == 5


def test_a_login_of_the_environment_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "s3",
        "AWS_SESSION_TOKEN": "t",
        "AWS_REGION": "eu-west-1",
    }
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    own = sqs.account(region="us-east-1", key="mine", secret_key=sqs.secret(env="AWS_SESSION_TOKEN"))
    from_environment, named = (sqs.source("orders", account=one).connection().sent() for one in (None, own))
    for name in said:
        monkeypatch.delenv(name)
    found = from_environment.account
    assert found.secret_key is not None
    assert found.token is not None
    assert (found.region, found.key, found.secret_key.read(), found.token.read()) == ("eu-west-1", "AKIA", "s3", "t")
    assert named.account.secret_key is not None
    assert (named.account.region, named.account.key, named.account.secret_key.read()) == ("us-east-1", "mine", "t")
