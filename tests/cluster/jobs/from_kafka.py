"""Orders of a Kafka that is named in a file, each into another topic, and summed. Run by `millstream run`."""

from __future__ import annotations

from pathlib import Path

import millstream as ms
from millstream import kafka

servers, orders_topic, every_topic, totals_topic = Path("kafka.txt").read_text().split()
job = ms.Job("orders", parallelism=2)
orders = job.stream(kafka.source(orders_topic, servers=servers), schema="customer STRING, price INT")
orders.to(kafka.sink(every_topic, servers=servers))
orders.group_by("customer").agg(total="sum(price)").to(kafka.sink(totals_topic, servers=servers))
