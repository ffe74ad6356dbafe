"""PyFlink: `python flink_rows.py thread|process keyed|map FOLDER …` says, for each folder, what its rows cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Types  # type: ignore[import-not-found]
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment  # type: ignore[import-not-found]
from pyflink.datastream.state import ValueStateDescriptor  # type: ignore[import-not-found]
from pyflink.table import StreamTableEnvironment  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parents[3]))
from bench.measure import measured

PARALLELISM = 2
SOURCE = """
CREATE TABLE rows_of_{name} (id BIGINT, k BIGINT, v DOUBLE, `text` STRING)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
SINK = "CREATE TABLE nowhere_{name} ({columns}) WITH ('connector' = 'blackhole')"
COUNTED = Types.ROW_NAMED(["k", "n", "total"], [Types.LONG(), Types.LONG(), Types.DOUBLE()])
MAPPED = Types.ROW_NAMED(["id", "twice", "text"], [Types.LONG(), Types.DOUBLE(), Types.STRING()])


class Count(KeyedProcessFunction):  # type: ignore[misc]
    def open(self, runtime_context: Any) -> None:
        kind = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", kind))

    def process_element(self, row: Any, ctx: Any) -> Any:
        from pyflink.common import Row

        before = self.kept.value()
        n, total = (before[0] + 1, before[1] + row[2]) if before else (1, row[2])
        self.kept.update((n, total))
        yield Row(row[1], n, total)


def mapped(row: Any) -> Any:
    from pyflink.common import Row

    return Row(row[0], row[2] * 2, row[3])


def run(mode: str, case: str, folder: str, work: str) -> None:
    settings = Configuration()
    settings.set_string("python.execution-mode", mode)
    settings.set_string("python.executable", sys.executable)
    settings.set_string("state.backend.type", "rocksdb")
    settings.set_string("execution.checkpointing.interval", "10s")
    settings.set_string("execution.checkpointing.dir", f"file://{work}/flink-checkpoints")
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(PARALLELISM)
    tables = StreamTableEnvironment.create(environment)
    tables.execute_sql(SOURCE.format(name=case, path=folder))
    rows = tables.to_data_stream(tables.from_path(f"rows_of_{case}"))
    if case == "keyed":
        found = rows.key_by(lambda row: row[1], key_type=Types.LONG()).process(Count(), output_type=COUNTED)
    else:
        found = rows.map(mapped, output_type=MAPPED)
    columns = "k BIGINT, n BIGINT, total DOUBLE" if case == "keyed" else "id BIGINT, twice DOUBLE, `text` STRING"
    tables.execute_sql(SINK.format(name=case, columns=columns))
    tables.from_data_stream(found).execute_insert(f"nowhere_{case}").wait()


for folder in sys.argv[3:]:
    cost = measured(lambda folder=folder: run(sys.argv[1], sys.argv[2], folder, str(Path(folder).parent)))  # type: ignore[misc]
    print(json.dumps({"cpu": cost.cpu, "wall": cost.wall}), flush=True)
