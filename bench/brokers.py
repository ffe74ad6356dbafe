"""Messages per CPU second of each source, durable and deduplicated, beside the client's own bare consume-and-ack loop.

Both run here, without Spark: what a job costs behind the journal, other benches measure. Server and sender are other
processes, or done before. Both connect while they are measured. What a library reads once in a process (Amazon's reads
descriptions of services) counts for neither.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

import pika
import stomp

from millstream import activemq, kinesis, rabbitmq, sqs
from millstream.connectors.message_source import MessageSource
from servers import activemq as activemq_server
from servers import kinesis as kinesis_server
from servers import rabbitmq as rabbitmq_server
from servers import sqs as sqs_server

NAME = "orders"
BODY = json.dumps({"id": 1, "customer": "somebody", "price": 12.5, "text": "x" * 100})
BATCH = 200
EVERY = 0.21
"""Seconds between two reads of a shard of Kinesis."""


@dataclass(frozen=True)
class Case:
    """`fill` sends a number of messages; `bare` consumes and acknowledges as many; `source` is ours."""

    name: str
    fill: Callable[[int], None]
    bare: Callable[[int], None]
    source: MessageSource


def run(messages: int, rounds: int) -> None:
    with ExitStack() as stack:
        print("| source | ours, messages per CPU second | bare loop | share |\n|---|--:|--:|--:|")
        for made in (of_rabbitmq, of_activemq, of_sqs, of_kinesis):
            case = made(stack)
            pairs = [(measured(case, messages, received), measured(case, messages, bare)) for _ in range(rounds)]
            ours, theirs = (median(side) for side in zip(*pairs, strict=True))
            print(f"| {case.name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} |", flush=True)


def measured(case: Case, messages: int, consume: Callable[[Case, int], None]) -> float:
    case.fill(messages)
    begun = time.process_time()
    consume(case, messages)
    return messages / (time.process_time() - begun)


def received(case: Case, messages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        front = case.source.bound("bench", folder).receiver()
        front.prepare()
        front.catch_up()
        assert front.figures.received >= messages, front.figures


def bare(case: Case, messages: int) -> None:
    case.bare(messages)


def of_rabbitmq(stack: ExitStack) -> Case:
    server = stack.enter_context(rabbitmq_server.running())
    address = pika.URLParameters(server.url)
    channel: Any = pika.BlockingConnection(address).channel()
    channel.queue_declare(NAME, durable=True)

    def fill(count: int) -> None:
        for number in range(count):
            about = pika.BasicProperties(delivery_mode=2, message_id=f"{time.time_ns()}-{number}")
            channel.basic_publish("", NAME, BODY, about)
        while channel.queue_declare(NAME, passive=True).method.message_count < count:
            pass

    def consume(count: int) -> None:
        """As the source does: many messages are acknowledged at once."""
        own: Any = pika.BlockingConnection(address)
        mine = own.channel()
        mine.basic_qos(prefetch_count=2000)
        for taken, (method, _, _) in enumerate(mine.consume(NAME), 1):
            if taken % BATCH == 0 or taken == count:
                mine.basic_ack(method.delivery_tag, multiple=True)
            if taken == count:
                break
        own.close()

    return Case("RabbitMQ", fill, consume, rabbitmq.source(NAME, server=rabbitmq.Server(server.url)))


def of_activemq(stack: ExitStack) -> Case:
    server = stack.enter_context(activemq_server.running("artemis"))

    def connected(listener: Any = None) -> Any:
        connection = stomp.Connection12([("127.0.0.1", server.port)], auto_decode=False)
        if listener is not None:
            connection.set_listener("", listener)
        connection.connect(wait=True)
        return connection

    def fill(count: int) -> None:
        sent = stomp.WaitingListener("sent")
        connection = connected(sent)
        transaction = connection.begin()
        for _ in range(count):
            connection.send(NAME, BODY, headers={"destination-type": "ANYCAST"}, transaction=transaction)
        connection.commit(transaction, receipt="sent")
        sent.wait_on_receipt()
        connection.disconnect()

    class Acknowledging(stomp.ConnectionListener):  # type: ignore[misc]
        taken = 0
        connection: Any = None

        def on_message(self, frame: Any) -> None:
            self.connection.ack(frame.headers["ack"])
            self.taken += 1

    def consume(count: int) -> None:
        listener = Acknowledging()
        listener.connection = connection = connected(listener)
        headers = {"subscription-type": "ANYCAST", "consumer-window-size": "2048000"}
        connection.subscribe(NAME, "1", "client-individual", headers=headers)
        while listener.taken < count:
            time.sleep(0.01)
        connection.disconnect()

    source = activemq.source(NAME, server=f"stomp://127.0.0.1:{server.port}")
    return Case("ActiveMQ (Artemis)", fill, consume, source)


def of_sqs(stack: ExitStack) -> Case:
    server = stack.enter_context(sqs_server.running())
    os.environ.update(server.environment)
    client = server.client()
    url = client.create_queue(QueueName=NAME)["QueueUrl"]
    source = sqs.source(NAME)
    source.account.client("sqs").close()

    def fill(count: int) -> None:
        for at in range(0, count, 10):
            entries = [{"Id": str(n), "MessageBody": BODY} for n in range(min(10, count - at))]
            client.send_message_batch(QueueUrl=url, Entries=entries)

    def consume(count: int) -> None:
        taken, own = 0, source.account.client("sqs")
        while taken < count:
            given = own.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(given)]
            if entries:
                own.delete_message_batch(QueueUrl=url, Entries=entries)
            taken += len(entries)

    return Case("SQS", fill, consume, source)


def of_kinesis(stack: ExitStack) -> Case:
    """A log has no acknowledgements: both begin with the oldest record, and ask five times a second, as Kinesis allows.
    Each round has a stream of its own."""
    server = stack.enter_context(kinesis_server.running())
    os.environ.update(server.environment)
    client, source = server.client(), kinesis.source(NAME)
    source.account.client("kinesis").close()

    def fill(count: int) -> None:
        if NAME in client.list_streams()["StreamNames"]:
            client.delete_stream(StreamName=NAME)
            while NAME in client.list_streams()["StreamNames"]:
                time.sleep(0.05)
        client.create_stream(StreamName=NAME, ShardCount=1)
        while client.describe_stream(StreamName=NAME)["StreamDescription"]["StreamStatus"] != "ACTIVE":
            time.sleep(0.05)
        for at in range(0, count, BATCH):
            records = [{"Data": BODY, "PartitionKey": str(n)} for n in range(min(BATCH, count - at))]
            client.put_records(StreamName=NAME, Records=records)

    def consume(count: int) -> None:
        own = source.account.client("kinesis")
        shard = own.list_shards(StreamName=NAME)["Shards"][0]["ShardId"]
        asked = {"StreamName": NAME, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator, taken = own.get_shard_iterator(**asked)["ShardIterator"], 0
        while taken < count:
            answer = own.get_records(ShardIterator=iterator, Limit=1000)
            iterator, taken = answer["NextShardIterator"], taken + len(answer["Records"])
            time.sleep(EVERY)

    return Case("Kinesis", fill, consume, source)
