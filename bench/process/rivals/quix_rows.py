"""Quix Streams: `python quix_rows.py keyed|map SERVERS FOLDER …` says, for each folder, what its rows cost.

It reads only Kafka topics: the rows are sent there first, which does not count. State is in RocksDB, and its changes in
a Kafka topic, as usual for Quix.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer
from quixstreams import Application  # type: ignore[import-not-found]


def send(servers: str, topic: str, folder: str) -> int:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 100_000})
    sent = 0
    for file in sorted(Path(folder).glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(1000):
            for row in batch.to_pylist():
                producer.produce(topic, json.dumps(row), str(row["k"]))
            sent += batch.num_rows
            producer.flush()
    return sent


def counted(row: Any, state: Any) -> Any:
    n, total = state.get("kept", (0, 0.0))
    n, total = n + 1, total + row["v"]
    state.set("kept", (n, total))
    return {"k": row["k"], "n": n, "total": total}


def cost(case: str, servers: str, topic: str, folder: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as kept:
        app = Application(
            broker_address=servers,
            consumer_group=topic,
            auto_offset_reset="earliest",
            state_dir=kept,
            loglevel="ERROR",
        )
        rows = app.dataframe(app.topic(topic, value_deserializer="json", key_deserializer="str"))
        if case == "keyed":
            rows = rows.apply(counted, stateful=True)
        else:
            rows = rows.apply(lambda row: {"id": row["id"], "twice": row["v"] * 2, "text": row["text"]})
        count = send(servers, topic, folder)
        begun, wall = time.process_time(), time.monotonic()
        app.run(rows, count=count, collect=False)
        return {"cpu": time.process_time() - begun, "wall": time.monotonic() - wall, "rows": count}


case, servers, *folders = sys.argv[1:]
for number, folder in enumerate(folders):
    print(json.dumps(cost(case, servers, f"{case}-{number}-{time.time_ns()}", folder)), flush=True)
