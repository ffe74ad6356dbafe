"""Receivers on other machines: the front does all but fetch, whatever happens to them and to the connection."""

from __future__ import annotations

import errno
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from threading import Event
from typing import ClassVar

import pytest

from millstream import journal
from millstream.connectors.message_source import Identity
from millstream.errors import MillstreamError
from millstream.reception import Client, ConnectionLost, Front, Limits, Message, System, line, serving
from millstream.reception import apart as aparts
from millstream.reception.apart import Apart
from millstream.reception.front import patiently_fetched
from millstream.reception.line import Line, admitted, exactly, listening, reached
from millstream.reception.message import EndsNow, TellsBytes, TellsDelay
from millstream.verify.broker import Broker
from tests.crash.process import until
from tests.reception.here import Processes, Threads
from tests.reception.memory_queue import MemoryQueue, receiving
from tests.reception.test_front import TOPIC, numbered, received

SECRET = b"s" * 32


class Failing:
    """A client whose calls fail as they are told to."""

    quiet: ClassVar[float] = 7.0

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.closed = Event()
        self.rested: list[float] = []

    def connect(self, number: int, places: Mapping[str, str]) -> Client:
        if isinstance(self.error, MillstreamError) and self.error.code == "MS-TEST-003":
            raise self.error
        return self

    def fetch(self, most: int, seconds: float) -> Sequence[Message]:
        if self.error is not None:
            raise self.error
        return []

    def acknowledge(self, messages: Sequence[Message]) -> None: ...

    def rest(self, seconds: float) -> None:
        self.rested.append(seconds)

    def waiting(self) -> int | None:
        return None

    def close(self) -> None:
        self.closed.set()


class Telling(Failing):
    def behind_ms(self) -> int | None:
        return 5

    def end_now(self) -> None:
        self.rested.append(-1)


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.end()


def connected(system: System, threads: Threads) -> Client:
    return Apart(system, threads, "orders", Event()).connect(1, {"log": "3"})


def front(system: System, machines: Threads | Processes, folder: Path, receivers: int) -> Front:
    made = Front("orders", system, str(folder), TOPIC, Limits(receivers))
    made.spread(machines)
    return made


# --- one client


def test_a_client_does_what_the_real_one_does(threads: Threads) -> None:
    queue = MemoryQueue()
    sent = [
        Message(b"1", id="a", key=b"k", headers=(("h", b"v"), ("n", None)), parts=(("p", b"q"),), timestamp=5),
        Message(None, place=("log", "4"), known=True, handle="its own"),
    ]
    queue.put(*sent, *numbered(2, 5))
    client = connected(queue, threads)
    assert (client.quiet, client.waiting()) == (60.0, 5)
    first = client.fetch(2, 0)
    assert [message.handle for message in first] == [0, 1]
    for message, known in zip(first, sent, strict=True):
        known_handle, message.handle = known.handle, known.handle
        assert message == known
        assert known_handle in (None, "its own")
    second = patiently_fetched(client)
    client.acknowledge(second[:2])
    assert queue.acknowledged == numbered(2, 4)
    client.close()
    until(lambda: threads.tasks[0].over)
    assert [(message.value, message.redelivered) for message in queue.waiting] == [
        (b"1", True),
        (None, True),
        (b"4", True),
    ]
    assert (threads.tasks[0].why, threads.tasks[0].cancelled) == (None, True)


def test_what_only_some_clients_tell(threads: Threads) -> None:
    plain, telling = Failing(), Telling()
    with closing(connected(plain, threads)) as client:
        assert not isinstance(client, TellsDelay | TellsBytes | EndsNow)
        assert client.quiet == 7.0
        client.rest(0.25)
    with closing(connected(telling, threads)) as client:
        assert isinstance(client, TellsDelay)
        assert isinstance(client, EndsNow)
        assert not isinstance(client, TellsBytes)
        assert client.behind_ms() == 5
        client.end_now()
    assert plain.closed.wait(5)
    assert (plain.rested, telling.rested) == ([0.25], [-1])


def test_answers_are_cut_to_size(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "AT_ONCE", 10)
    queue = MemoryQueue()
    queue.put(Message(b"123456"), Message(b"1234"), Message(b"x" * 50), Message(b"1"))
    with closing(connected(queue, threads)) as client:
        sizes = [[message.size for message in client.fetch(100, 0)] for _ in range(4)]
        assert sizes == [[6, 4], [50], [1], []]


def test_errors_come_back_as_they_are(threads: Threads) -> None:
    told = MillstreamError("MS-TEST-001", "no.", found="this", hint="that")
    for error in (told, ConnectionLost("MS-TEST-002", "gone.", found="why"), OSError(errno.ENOSPC, "full")):
        system = Failing(error)
        with closing(connected(system, threads)) as client, pytest.raises(type(error)) as caught:
            client.fetch(1, 0)
        assert type(caught.value) is type(error)
        assert str(caught.value) == str(error)
        assert system.closed.wait(5)
    assert isinstance(error, OSError)
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == error.errno


def test_an_error_that_cannot_be_pickled_comes_in_words(threads: Threads) -> None:
    class OwnError(Exception):
        pass

    with (
        closing(connected(Failing(OwnError("no")), threads)) as client,
        pytest.raises(RuntimeError, match="OwnError: no"),
    ):
        client.fetch(1, 0)


def test_a_system_that_refuses_the_connection(threads: Threads) -> None:
    with pytest.raises(MillstreamError, match=r"MS-TEST-003: no queue\."):
        connected(Failing(MillstreamError("MS-TEST-003", "no queue.")), threads)
    until(lambda: threads.tasks[0].over)
    assert threads.tasks[0].why is None
    assert threads.tasks[0].cancelled


# --- the line


def test_nobody_is_admitted_without_the_secret() -> None:
    with listening("127.0.0.1") as listener:
        port = listener.getsockname()[1]
        refused: list[BaseException] = []
        guess = threading.Thread(target=lambda: refused.append(caught(lambda: reached(("127.0.0.1", port), b"guess"))))
        guess.start()
        end, _ = listener.accept()
        with pytest.raises(line.Refused):
            admitted(end, SECRET)
        guess.join()
        assert isinstance(refused[0], OSError)
        assert end.fileno() == -1


def caught(act: Callable[[], object]) -> BaseException:
    with pytest.raises(OSError) as error:
        act()
    return error.value


def test_a_receiver_reads_nothing_from_who_does_not_know_the_secret() -> None:
    """It would unpickle it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pretend() -> None:
            end, _ = listener.accept()
            with end:
                end.sendall(b"c" * 32)
                exactly(end, 64)
                end.sendall(b"p" * 32)

        other = threading.Thread(target=pretend)
        other.start()
        with pytest.raises(line.Refused):
            reached(("127.0.0.1", listener.getsockname()[1]), SECRET)
        other.join()


def test_strangers_do_not_keep_the_receiver_out(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "GREETING", 0.2)
    strangers: list[socket.socket] = []

    def strangers_first(work: Callable[[], None]) -> None:
        address = work.args[0]  # type: ignore[attr-defined]
        strangers.extend(socket.create_connection(address) for _ in range(2))
        strangers[0].sendall(b"x" * 100)
        work()

    threads.before = strangers_first
    queue = MemoryQueue()
    queue.put(*numbered(0, 3))
    with closing(connected(queue, threads)) as client:
        assert len(client.fetch(10, 0)) == 3
    for one in strangers:
        one.close()


def test_frames_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        monkeypatch.setattr(line, "KEEPALIVE", {})
        monkeypatch.setattr(line, "LARGEST", 100)
        monkeypatch.setattr(line.Line, "__init__", lambda self, end: setattr(self, "_end", end))
        with pytest.raises(ValueError, match="101 bytes"):
            Line(one).send(b"x" * 101)
        one.sendall(struct.pack("!Q", 101))
        with pytest.raises(ConnectionError, match="101 bytes"):
            Line(other).receive()


def test_a_task_that_comes_too_late_finds_nobody(threads: Threads) -> None:
    """As Spark's second try does: nobody waits for it any more."""
    works: list[Callable[[], None]] = []

    def noted(work: Callable[[], None]) -> None:
        works.append(work)
        work()

    threads.before = noted
    queue = MemoryQueue()
    with closing(connected(queue, threads)):
        with pytest.raises(ConnectionError, match="the driver does not answer"):
            works[0]()
        assert queue.connections == 1


def test_no_task_connects(threads: Threads) -> None:
    def fail(work: Callable[[], None]) -> None:
        raise RuntimeError("no slot")

    threads.before = fail
    with pytest.raises(ConnectionLost) as error:
        connected(MemoryQueue(), threads)
    error.value.hint = None
    assert error.value.text() == (
        'MS-CLUSTER-016: receiver 2 of source "orders" was started on no executor.\n  found: no slot'
    )
    assert threads.tasks[0].cancelled


def test_a_task_that_hangs_is_given_up(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aparts, "ANSWER", 0.2)
    monkeypatch.setattr(line, "LOOK", 0.05)
    woken = Event()

    class Hanging(Failing):
        def fetch(self, most: int, seconds: float) -> Sequence[Message]:
            woken.wait(30)
            return []

    client = connected(Hanging(), threads)
    with pytest.raises(ConnectionLost) as error:
        client.fetch(1, 0)
    assert (error.value.code, error.value.found) == ("MS-CLUSTER-016", "it does not answer")
    begun = time.monotonic()
    client.close()
    assert time.monotonic() - begun < 5
    woken.set()


# --- under a front


def test_all_messages_once_by_several_receivers(threads: Threads, tmp_path: Path) -> None:
    queue = MemoryQueue()
    queue.lose_acknowledgements = 3
    queue.put(*numbered(0, 3000))
    with receiving(front(queue, threads, tmp_path, 3)) as failures:
        until(lambda: len(queue.acknowledged) == 3000 or bool(failures))
    assert failures == []
    assert sorted(received(tmp_path)) == list(range(3000))
    assert len(threads.tasks) > 3
    until(lambda: all(task.over for task in threads.tasks))


def test_a_run_that_ends_does_not_wait_for_a_task(threads: Threads, tmp_path: Path) -> None:
    begun = Event()

    def never(work: Callable[[], None]) -> None:
        begun.set()
        time.sleep(3600)

    threads.before = never
    with receiving(front(MemoryQueue(), threads, tmp_path, 2)):
        assert begun.wait(30)
        ending = time.monotonic()
    assert time.monotonic() - ending < 10


def test_killed_processes_lose_and_repeat_nothing(processes: Processes, tmp_path: Path) -> None:
    journal.create(tmp_path / "in", "orders")
    numbers = iter(range(600))
    send_orders(tmp_path / "in", islice(numbers, 200))
    broker = Broker(str(tmp_path / "in"), "orders", str(tmp_path / "kept" / "orders"), False, Identity(), frozenset())
    made = front(broker, processes, tmp_path, 1)
    with receiving(made) as failures:
        for known in (40, 200):
            until(lambda known=known: len(broker.noted()) > known or bool(failures))  # type: ignore[misc]
            processes.started[-1].kill()
            # Whoever comes next has something to receive.
            send_orders(tmp_path / "in", islice(numbers, 200))
        until(lambda: len(broker.noted()) == 600 or bool(failures))
    assert failures == []
    assert received(tmp_path) == list(range(600))
    assert len(processes.started) == 3


def send_orders(path: Path, numbers: Iterable[int]) -> None:
    with journal.producer(path, "orders") as out:
        for n in numbers:
            out.send(str(n))


def test_a_system_with_secrets_goes_with_them(threads: Threads) -> None:
    class Closed(Failing):
        opened = False

        def sent(self) -> System:
            found = Closed()
            found.opened = True
            return found

        def connect(self, number: int, places: Mapping[str, str]) -> Client:
            if not self.opened:
                raise MillstreamError("MS-TEST-004", "its secrets are elsewhere.")
            return self

    connected(Closed(), threads).close()


def test_errors_are_pickled_in_parts() -> None:
    from millstream.reception.answers import of_error

    told = of_error(MillstreamError("MS-TEST-001", "no.", hint="that"))
    assert str(pickle.loads(pickle.dumps(told)).raised()) == "MS-TEST-001: no.\n  hint:  that"
