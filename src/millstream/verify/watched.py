"""Sinks that rows are carried to, with places to be killed at on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.plan.connectors import Carried, Carrier, Format, RowShape, StagedSink, WriteMode
from millstream.verify.visits import TELLER


@dataclass(frozen=True)
class Watched:
    """A staged sink with places to be killed at: before an epoch is carried, at each of its records, and after it."""

    inner: StagedSink
    sink: str

    @property
    def system(self) -> str:
        return self.inner.system

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def modes(self) -> tuple[WriteMode, ...]:
        return self.inner.modes

    @property
    def guarantee(self) -> str:
        return self.inner.guarantee

    @property
    def format(self) -> Format:
        return self.inner.format

    @property
    def key(self) -> tuple[str, ...]:
        return self.inner.key

    @property
    def partition_by(self) -> tuple[str, ...]:
        return self.inner.partition_by

    def check(self) -> None:
        self.inner.check()

    def writer(self) -> dict[str, str]:
        return self.inner.writer()

    def carrier(self, writer: str, mode: WriteMode, shape: RowShape) -> Carrier:
        return WatchedCarrier(self.inner.carrier(writer, mode, shape), self.sink)


class WatchedCarrier:
    def __init__(self, inner: Carrier, sink: str) -> None:
        self._inner = inner
        self._sink = sink

    def last(self) -> int:
        return self._inner.last()

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        TELLER.at("sink.carry.before", epoch, self._sink)
        self._inner.carry(epoch, self._told(epoch, records))
        TELLER.at("sink.carry.after", epoch, self._sink)

    def _told(self, epoch: int, records: Iterable[Carried]) -> Iterator[Carried]:
        for record in records:
            TELLER.at("sink.carry.during", epoch, self._sink)
            yield record

    def close(self) -> None:
        self._inner.close()
