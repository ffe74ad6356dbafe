"""A soak on a cluster, from its beginning to its end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from servers import kafka, s3
from servers.hdfs_nodes import HdfsNodes
from servers.network import can_be_cut
from servers.process import in_own_folder
from servers.s3_proxy import S3Proxy
from servers.standalone import Standalone
from servers.zookeeper import ZooKeeper
from soak.cluster.driver import Driver
from soak.cluster.faults import KINDS, World
from soak.cluster.job import Places
from soak.cluster.judge import Judged, Lines, in_hdfs, in_s3, judge
from soak.cluster.watch import Committed
from soak.disk import Disk, mounted
from soak.kinds import order
from soak.load import Load
from soak.process import PATIENCE
from soak.run import topics
from soak.strike import Plan, Struck, strike_all

WORKERS = 2
CUSTOMERS = 200


CHECKPOINT, FILES = "/soak/checkpoint", "/soak/files"
MEGABYTES = 256


@contextmanager
def world(seed: int, on: str, mode: str) -> Iterator[tuple[World, Places, Lines]]:
    """The servers, and the running job; all of it is gone afterwards. `on`: where the checkpoint is, s3 or hdfs."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-soak-")))
        broker = stack.enter_context(kafka.running())
        topics(broker.port, "orders", "every", "totals")
        hdfs = stack.enter_context(in_own_folder("hdfs", HdfsNodes))
        store = stack.enter_context(s3.running())
        to_s3 = stack.enter_context(S3Proxy(store.port))
        disks = Disks(folder, stack)
        cluster = stack.enter_context(spark(stack.enter_context(in_own_folder("zookeeper", ZooKeeper)).address))
        add_worker = partial(disks.add_worker, cluster)
        for _ in range(WORKERS):
            add_worker()
        cluster.wait()
        roots = {"hdfs": hdfs.url, "s3": f"s3a://{s3.BUCKET}"}
        other = next(name for name in roots if name != on)
        reach = {f"spark.hadoop.{name}": value for name, value in s3.settings(to_s3.endpoint).items()}
        places = Places(cluster.master, broker.servers, roots[on] + CHECKPOINT, roots[other] + FILES, reach, mode)
        driver = Driver(folder, places)
        stack.callback(driver.kill)
        written = partial(in_hdfs, hdfs, FILES) if other == "hdfs" else partial(in_s3, store, s3.BUCKET + FILES)
        yield World(cluster, add_worker, disks.of, hdfs, to_s3, driver, Random(seed)), places, written


def spark(zookeeper: str) -> AbstractContextManager[Standalone]:
    return in_own_folder(
        "spark", lambda folder: Standalone(folder, cores=2, memory="1g", zookeeper=zookeeper, apart=can_be_cut())
    )


class Disks:
    """A small one for each worker."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.of: dict[str, Disk] = {}
        self._number = 0

    def add_worker(self, cluster: Standalone) -> None:
        self._number += 1
        path = self._folder / f"disk{self._number}"
        disk = self._stack.enter_context(mounted(path, MEGABYTES))
        worker = cluster.start_worker(path)
        if disk is not None:
            self.of[worker.host] = disk


def soak(plan: Plan, on: str, mode: str) -> tuple[list[Struck], Judged]:
    with world(plan.seed, on, mode) as (there, places, written):
        with Load(places.kafka, plan.seed, CUSTOMERS) as load, Committed(places.kafka) as committed:

            def at_work() -> Callable[[], bool]:
                """Whether an order that is sent from now on is committed."""
                wanted = load.next
                return lambda: committed.last > wanted

            there.driver.until(at_work(), "its start")
            kinds = order(KINDS, plan.faults, there.random, can_be_cut() and bool(there.disks))
            struck = strike_all(kinds, there, there.driver, at_work, plan)
        return struck, ended(places.kafka, written)


def ended(servers: str, written: Lines) -> Judged:
    """The result when everything is there; or, if it does not come, what is there then."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = judge(servers, written)
        if found.well or time.monotonic() > deadline:
            return found
        time.sleep(2)
