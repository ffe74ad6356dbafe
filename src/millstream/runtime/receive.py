"""Receives from systems that cannot be read again, into a journal beside the checkpoint, which can."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from millstream.plan.apart import SpreadReceiver, receivers_apart
from millstream.plan.nodes import Source
from millstream.plan.received import BufferedReceiver, ReceivedSource, Receiver, ReceptionFigures
from millstream.runtime import faults
from millstream.spark.receivers import Executors, why_here
from millstream.spark.slots import local
from millstream.storage import CheckpointFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("millstream")
FREED_EVERY = 1.0
"""Seconds between two looks for what the job has committed."""


class Reception:
    """A thread per source, and one that frees what was committed; what goes wrong is kept for the thread that watches
    the job."""

    def __init__(self, sources: Iterable[Source], figures: dict[str, ReceptionFigures]) -> None:
        """`figures`: by source, what was counted at earlier starts of the run."""
        self.failure: Exception | None = None
        self._ended = threading.Event()
        self._receivers: list[Receiver] = []
        self._buffered: dict[int, BufferedReceiver] = {}
        self._may_spread: list[tuple[Source, SpreadReceiver]] = []
        for place, source in enumerate(sources):
            if isinstance(source.options, ReceivedSource):
                receiver = source.options.receiver()
                self._receivers.append(receiver)
                if receivers_apart(source.options) and isinstance(receiver, SpreadReceiver):
                    self._may_spread.append((source, receiver))
                if isinstance(receiver, BufferedReceiver):
                    receiver.figures = figures.setdefault(source.name, ReceptionFigures())
                    receiver.passing = partial(pass_by, source.name)
                    self._buffered[place] = receiver
        self._threads: list[threading.Thread] = []

    def copy(self) -> None:
        """For a run that ends with what there is now."""
        for receiver in self._receivers:
            receiver.copy()

    def start(self, folder: CheckpointFolder, ends: bool, spark: SparkSession) -> None:
        """`ends`: whether the run ends when it has caught up."""
        if not ends:
            self._spread(spark)
        for receiver in self._receivers:
            receiver.prepare()
        for place, buffered in self._buffered.items() if ends else ():
            buffered.catch_up(committed(folder, place))
        self._threads = [
            threading.Thread(target=self._run, args=(receiver,), name="millstream-reception", daemon=True)
            for receiver in self._receivers
        ]
        if self._buffered:
            self._threads.append(threading.Thread(target=self._free, args=(folder,), daemon=True))
        for thread in self._threads:
            thread.start()

    def _spread(self, spark: SparkSession) -> None:
        """Of a source with several receivers, to the machines of a cluster."""
        why = why_here(spark)
        for source, receiver in self._may_spread:
            if why is None:
                receiver.spread(Executors(spark, source.name, source.at))
            elif not local(spark):
                LOG.info('source "%s": its receivers stay in the driver: %s', source.name, why)

    def _run(self, receiver: Receiver) -> None:
        try:
            receiver.receive(self._ended)
        except Exception as error:
            self.failure = error

    def _free(self, folder: CheckpointFolder) -> None:
        try:
            while not self._ended.wait(FREED_EVERY):
                for place, receiver in self._buffered.items():
                    receiver.cut(committed(folder, place))
        except Exception as error:
            self.failure = error

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


def committed(folder: CheckpointFolder, place: int) -> dict[int, int]:
    """By partition of its journal, the next offset of the source that the job will read."""
    return {int(partition): offset for partition, offset in folder.read_up_to(place).items()}


def pass_by(source: str, point: str) -> None:
    """Messages are received outside of epochs."""
    faults.at(point, 0, source)
