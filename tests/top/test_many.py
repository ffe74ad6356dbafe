"""More rows are wanted than 32 bits can count, or 64: all there are come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import millstream as ms
from millstream import journal
from millstream.testing import Delete

if TYPE_CHECKING:
    from millstream.testing import Inputs, Runner

ROWS = [{"id": id} for id in range(40)]


MANY = (2**30, 2**31 - 1, 2**31, 2**32, 2**63, 2**70)
CASES = {f"{n} by {rank}": (n, rank) for n in MANY for rank in (None, "place")}


def tops() -> ms.Job:
    """Of a table and of a stream, all in one job."""
    job = ms.Job("many")
    table = job.table(journal.source("rows", path="/nowhere", changelog=True), "id INT", key="id")
    stream = job.stream(journal.source("facts", path="/nowhere"), "id INT")
    for name, (n, rank) in CASES.items():
        for of, rows in (("table", table), ("stream", stream)):
            sink = journal.sink(f"{of}-{n}-{rank}", path="/nowhere", changelog=True)
            rows.top(n, by="id DESC", rank=rank).to(sink, name=f"{of} {name}")
    return job


@pytest.mark.slow
def test_all_rows_come(millstream: Runner) -> None:
    given: Inputs = {"rows": [ROWS, [Delete(ROWS[3])]], "facts": [ROWS[1:], ROWS[:1]]}
    result = millstream.run(tops(), given)
    batch = millstream.run(tops(), {"rows": ROWS[:3] + ROWS[4:], "facts": ROWS}, mode=ms.batch())
    for name in CASES:
        of_table, of_stream = result[f"table {name}"].rows, result[f"stream {name}"].rows
        assert sorted(row["id"] for row in of_table) == [id for id in range(40) if id != 3], name
        assert sorted(row["id"] for row in of_stream) == list(range(40)), name
        assert (batch[f"table {name}"].rows, batch[f"stream {name}"].rows) == (of_table, of_stream), name
