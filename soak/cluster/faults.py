"""What is broken on a cluster, and repaired."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from servers.hdfs_nodes import HdfsNodes
from servers.network import cut_off
from servers.s3_proxy import S3Proxy
from servers.standalone import Standalone, Worker
from soak.cluster.driver import Driver
from soak.disk import Disk
from soak.kinds import Kind, Mend


@dataclass(frozen=True)
class World:
    cluster: Standalone
    add_worker: Callable[[], None]
    disks: dict[str, Disk]
    """By the host of the worker whose disk it is."""
    hdfs: HdfsNodes
    to_s3: S3Proxy
    driver: Driver
    random: Random

    def worker(self) -> Worker:
        """Any of those whose executor runs."""
        return self.random.choice([worker for worker in self.cluster.workers if worker.executors])

    def executor(self) -> int:
        """The process of any of them."""
        return self.random.choice([pid for worker in self.cluster.workers for pid in worker.executors])

    def a_while(self) -> None:
        time.sleep(self.random.uniform(0.5, 3))


def executor_killed(world: World) -> None:
    os.kill(world.executor(), signal.SIGKILL)


def executor_hangs(world: World) -> None:
    pid = world.executor()
    os.kill(pid, signal.SIGSTOP)
    world.a_while()
    wake(pid)


def executor_hangs_for_good(world: World) -> Mend:
    """It wakes up when another one has taken its place, if it is still there."""
    pid = world.executor()
    os.kill(pid, signal.SIGSTOP)
    return lambda: wake(pid)


def wake(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def network_cut(world: World) -> None:
    """One of the executors cannot be reached; it reaches the driver and the storage."""
    with cut_off(world.worker().host):
        world.a_while()


def disk_full(world: World) -> None:
    disk = world.disks[world.worker().host]
    disk.fill()
    world.a_while()
    disk.free()


def worker_killed(world: World) -> None:
    world.cluster.kill(world.worker())
    world.add_worker()
    world.cluster.wait()


def master_killed(world: World) -> None:
    """The other one leads; the killed one comes back as the standby."""
    leader = world.cluster.leader()
    assert leader is not None
    leader.kill()
    world.cluster.wait()
    leader.start()
    leader.wait()


def driver_killed(world: World) -> None:
    world.driver.move()


def data_node_killed(world: World) -> None:
    world.hdfs.restart(world.hdfs.data_node)


def name_node_killed(world: World) -> None:
    world.hdfs.restart(world.hdfs.name_node)


def s3_answers(status: int) -> Callable[[World], None]:
    def strike(world: World) -> None:
        world.to_s3.answer(status)
        world.a_while()
        world.to_s3.clear()

    return strike


def s3_slow(world: World) -> None:
    world.to_s3.delay = 0.5
    world.a_while()
    world.to_s3.clear()


def s3_silent(world: World) -> None:
    """Longer than the timeout of a request."""
    world.to_s3.hold("")
    time.sleep(6)
    world.to_s3.clear()


def s3_forgets(world: World) -> None:
    """Writes are done, and their answers lost."""
    world.to_s3.lose("^PUT", times=2)
    world.a_while()
    world.to_s3.clear()


KINDS: tuple[Kind[World], ...] = (
    Kind("executor killed", executor_killed, 4),
    Kind("executor hangs for up to 3 s", executor_hangs, 2),
    Kind("executor hangs until it is given up", executor_hangs_for_good, 1),
    Kind("network of an executor cut for up to 3 s", network_cut, 2, as_root=True),
    Kind("disk of an executor full for up to 3 s", disk_full, 2, as_root=True),
    Kind("worker killed, another one started", worker_killed, 2),
    Kind("leading master killed", master_killed, 1),
    Kind("driver killed and started elsewhere", driver_killed, 1, ends_job=True),
    Kind("HDFS data node killed and started again", data_node_killed, 2),
    Kind("HDFS name node killed and started again", name_node_killed, 2),
    Kind("S3 answers 500 for up to 3 s", s3_answers(500), 2),
    Kind("S3 answers 503, slow down, for up to 3 s", s3_answers(503), 2),
    Kind("S3 takes 0.5 s longer per request, for up to 3 s", s3_slow, 1),
    Kind("S3 answers nothing for 6 s", s3_silent, 1),
    Kind("S3's answers to writes lost", s3_forgets, 2),
)
