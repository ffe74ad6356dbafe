"""A job between brokers, which are not there: `millstream verify` needs none."""

from __future__ import annotations

import millstream as ms
from millstream import journal, kinesis, rabbitmq, sqs

AT = "amqp://nowhere.invalid/"


def made() -> ms.Job:
    job = ms.Job("received")
    parts = ("message_id", "routing_key")
    orders = job.stream(rabbitmq.source("orders", server=AT, record=parts), "customer INT, price INT")
    rates = job.table(kinesis.source("rates"), "customer INT, rate INT", key="customer")
    kept = orders.select("customer", "price", id="message_id")
    kept.to(journal.sink("kept"))
    orders.group_by("customer").agg(spent="sum(price)").to(sqs.sink("spent"))
    rates.to(rabbitmq.sink("copied", server=AT))
    return job


job = made()
