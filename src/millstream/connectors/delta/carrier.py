"""Brings epochs to a Delta table.

The table's log keeps, for each application, the number of its last transaction. Here that is the epoch. Delta does not
look at it when it commits, so it is looked at before: an epoch that the table has is not written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from millstream.connectors.delta.errors import deltalake, told
from millstream.connectors.delta.types import Types, fits, row_types
from millstream.plan.connectors import Carried, RowShape

AT_ONCE = 10_000
"""Rows that are read at a time."""
GONE = "__millstream_gone"
"""Whether a merged row is to be deleted."""


class DeltaCarrier:
    def __init__(
        self, path: str, partition_by: tuple[str, ...], writer: str, shape: RowShape, *, upserts: bool
    ) -> None:
        self._path = path
        self._partition_by = partition_by
        self._writer = writer
        self._shape = shape
        self._upserts = upserts
        self._types = row_types(shape.types, path)
        self._table = self._found()

    def _found(self) -> Any:
        """The table, if it is there, with the columns that the job writes."""
        with told(self._path):
            module = deltalake()
            if not module.DeltaTable.is_deltatable(self._path):
                return None
            table = module.DeltaTable(self._path)
        fits(self._path, table, self._types, self._partition_by)
        return table

    def _made(self) -> Any:
        return deltalake().DeltaTable.create(
            self._path, self._types.delta, mode="error", partition_by=list(self._partition_by) or None
        )

    def last(self) -> int:
        self._table = self._found()
        version = None if self._table is None else self._table.transaction_version(self._writer)
        return -1 if version is None else int(version)

    def carry(self, epoch: int, records: Iterable[Carried]) -> None:
        with told(self._path):
            table = self._table if self._table is not None else self._made()
            module = deltalake()
            token = module.CommitProperties(app_transactions=[module.Transaction(self._writer, epoch)])
            if self._upserts:
                self._merge(table, records, token)
            else:
                self._append(table, records, token)
            if table.transaction_version(self._writer) != epoch:
                # Nothing was changed, so nothing was committed: the epoch's number alone is.
                table.create_write_transaction(
                    [], mode="append", schema=table.schema(), partition_by=[], commit_properties=token
                )
            self._table = table

    def _append(self, table: Any, records: Iterable[Carried], token: Any) -> None:
        """As a whole: other threads must not read or release Python's objects."""
        batches = batched((json_of(record.value) for record in records), self._types)
        rows = pa.Table.from_batches(batches, self._types.arrow)
        deltalake().write_deltalake(table, rows, mode="append", schema_mode="merge", commit_properties=token)

    def _merge(self, table: Any, records: Iterable[Carried], token: Any) -> None:
        """The last record of a key counts. A row that is to be deleted has its key alone."""
        last = {record.key: record.value for record in records}
        schema = self._types.arrow.append(pa.field(GONE, pa.bool_()))
        batches = []
        for gone in (True, False):
            rows = (json_of(key if gone else value) for key, value in last.items() if (value is None) == gone)
            for batch in batched(rows, self._types):
                flags = pa.array([gone] * batch.num_rows, pa.bool_())
                batches.append(pa.RecordBatch.from_arrays([*batch.columns, flags], schema=schema))
        same = [f"target.{quoted(name)} IS NOT DISTINCT FROM source.{quoted(name)}" for name in self._shape.key]
        values = {quoted(name): f"source.{quoted(name)}" for name in self._shape.columns}
        merge = table.merge(
            pa.Table.from_batches(batches, schema),
            " AND ".join(same) or "TRUE",
            source_alias="source",
            target_alias="target",
            commit_properties=token,
        )
        merge = merge.when_matched_delete(f"source.{GONE}")
        merge = merge.when_matched_update(values, f"NOT source.{GONE}")
        merge.when_not_matched_insert(values, f"NOT source.{GONE}").execute()

    def close(self) -> None:
        """Nothing stays open."""


def json_of(record: bytes | None) -> dict[str, Any]:
    """Numbers with a point stay text: they may be decimals."""
    found: dict[str, Any] = json.loads(record or b"{}", parse_float=str)
    return found


def batched(rows: Iterable[dict[str, Any]], types: Types) -> Iterator[pa.RecordBatch]:
    rest = iter(rows)
    while some := list(islice(rest, AT_ONCE)):
        yield types.batch(some)


def quoted(name: str) -> str:
    return f"`{name}`"
