"""`millstream verify` on jobs that read and write brokers: their own front receives from a broker in a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import millstream as ms
from millstream import journal, kinesis, rabbitmq, sqs
from millstream.cli.verify import verify as command
from millstream.connectors.message_source import MessageSource
from millstream.errors import MillstreamError
from millstream.journal.record import Record
from millstream.plan.connectors import RowShape
from millstream.reception import Front
from millstream.testing.faults import RECEIVE_POINTS
from millstream.verify import standin
from millstream.verify.broker import AT_ONCE
from millstream.verify.inputs import Input, fill
from millstream.verify.sandbox import CHECKPOINT, INPUT, refuse_strange_parts, sandboxed
from tests.verify.received_job import AT
from tests.verify.test_verify_job import LAST, verify

JOB = Path(__file__).with_name("received_job.py")
ROWS = 3 * AT_ONCE + 7


class Killed(BaseException):
    """In place of `kill -9`."""


def source_of(job: ms.Job, folder: Path, rows: int = ROWS) -> MessageSource:
    """The job's source as it is tried out in a folder, with made-up messages."""
    fill(job._sinks, folder / INPUT, Input(rows, 1))
    for sink in sandboxed(job._sinks, folder / INPUT, folder / "run", None):
        options = sink.inputs[0].options  # type: ignore[attr-defined]
        assert isinstance(options, MessageSource)
        return options
    raise AssertionError


def from_rabbitmq(id_column: str | None = None) -> ms.Job:
    job = ms.Job("orders")
    source = rabbitmq.source("orders", server=AT, id_column=id_column)
    job.stream(source, "n BIGINT, order_id STRING").to(journal.sink("out"))
    return job


def from_kinesis() -> ms.Job:
    job = ms.Job("orders")
    job.stream(kinesis.source("orders"), "n BIGINT").to(journal.sink("out"))
    return job


def killed_at(front: Front, point: str, visit: int) -> bool:
    """Whether it came there."""
    counts: Counter[str] = Counter()

    def passing(place: str) -> None:
        counts[place] += 1
        if place == point and counts[place] == visit:
            raise Killed

    front.passing = passing
    front.prepare()
    try:
        front.catch_up()
    except Killed:
        return True
    return False


@pytest.mark.parametrize("way", ["message id", "column", "log"])
@pytest.mark.parametrize("point", RECEIVE_POINTS)
def test_a_front_that_is_killed_at_each_place_receives_each_message_once(point: str, way: str, tmp_path: Path) -> None:
    job = from_kinesis() if way == "log" else from_rabbitmq("order_id" if way == "column" else None)
    options = source_of(job, tmp_path)
    assert killed_at(options.receiver(), point, 2)
    assert killed_at(options.receiver(), point, 1)
    assert not killed_at(options.receiver(), "nowhere", 1)
    folder, topic = str(options.folder), options.topic
    found = [record.value for record in journal.read(folder, topic)]
    given = [record.value for record in journal.read(tmp_path / INPUT, "orders")]
    # Some of the made-up rows come again, with the same number.
    assert found == (list(dict.fromkeys(given)) if way == "column" else given)
    assert len(given) == ROWS
    assert folder == str(tmp_path / "run" / CHECKPOINT / "received")


def test_what_a_front_acknowledges_too_early_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker forgets it, as a real one does."""
    options = source_of(from_rabbitmq(), tmp_path)
    right = Front._append

    def hasty(self, messages, number, client, ended):  # type: ignore[no-untyped-def]
        client.acknowledge(messages)
        self.passing("hasty")
        return right(self, messages, number, client, ended)

    with monkeypatch.context() as patch:
        patch.setattr(Front, "_append", hasty)
        assert killed_at(options.receiver(), "hasty", 2)
    assert not killed_at(options.receiver(), "nowhere", 1)
    assert len(list(journal.read(str(options.folder), options.topic))) == ROWS - AT_ONCE


def test_messages_of_a_recorded_reception_keep_their_ids_and_parts(tmp_path: Path) -> None:
    received = tmp_path / "received"
    journal.create(received, "rabbitmq.orders")
    with journal.producer(received, "rabbitmq.orders") as out:
        for id in ("a", "b", "a"):
            said = [("millstream:id", id), ("millstream:routing_key", "new"), ("trace", "1")]
            out.send({"n": 1}, headers=said)
    job = ms.Job("orders")
    source = rabbitmq.source("orders", server=AT, record=("routing_key",))
    job.stream(source, "n BIGINT").to(journal.sink("out"))
    fill(job._sinks, tmp_path / INPUT, Input(10, 1, {"orders": str(received / "rabbitmq.orders")}))
    (sink,) = sandboxed(job._sinks, tmp_path / INPUT, tmp_path / "run", None)
    options = sink.inputs[0].options  # type: ignore[attr-defined]
    assert not killed_at(options.receiver(), "nowhere", 1)
    found = list(journal.read(options.folder, options.topic))
    assert [dict(record.headers)["millstream:id"] for record in found] == [b"a", b"b"]
    assert all(dict(record.headers)["millstream:routing_key"] == b"new" for record in found)


def test_a_queue_that_stands_in_for_a_sink_tells_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "out.db"
    made = standin.QueueStandIn(str(path), "out", ("append",), ())
    carrier = made.carrier("job-1", "append", RowShape(("n",), (), "{}"))
    carrier.carry(0, records(1, 2))
    carrier.carry(1, records(3))
    carrier.carry(1, records(3, 3, 4))
    assert carrier.last() is None
    carrier.close()
    assert [value for _, value in standin.messages(path)] == [b"1", b"2", b"3", b"3", b"4"]


def records(*values: int) -> list[Record]:
    return [Record(0, None, 0, None, str(value).encode(), (), True) for value in values]


def test_parts_that_a_fault_changes_are_refused() -> None:
    job = ms.Job("orders")
    stream = job.stream(sqs.source("orders", record=("receive_count",)), "n BIGINT")
    with pytest.raises(MillstreamError, match="MS-VERIFY-008"):
        refuse_strange_parts(stream._node)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["--savepoint", "--rescale"])
def test_a_job_that_cannot_be_moved(option: str) -> None:
    done = CliRunner().invoke(command, [str(JOB), option])
    assert isinstance(done.exception, ms.MillstreamError)
    assert done.exception.code == "MS-VERIFY-010"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["micro-batch", pytest.param("real-time", marks=pytest.mark.long)])
def test_a_job_between_brokers(mode: str, tmp_path: Path) -> None:
    """Killed while it receives, and while it sends."""
    code, said = verify(tmp_path, str(JOB), "--mode", mode, "--at", "r", "--faults", "12", "--rows", "60")
    found = LAST.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert (code, *map(int, found.groups())) == (0, 12, int(found[2]), 0, 0), said
    assert "the job's own receiver takes them from a queue in a file" in said
    assert "the job's own receiver takes them from a log in a file" in said
    assert "receive.acknowledge of orders" in said
