"""Options of queues that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import journal, postgres, rabbitmq
from tests.plan.wrong.declare import wrong

AT = "amqp://host/"


@wrong
def a_password_in_an_address(job: ms.Job) -> None:
    rabbitmq.source("orders", server="amqp://shop:secret@host/")


@wrong
def an_address_of_another_protocol(job: ms.Job) -> None:
    rabbitmq.source("orders", server="http://host:15672/")


@wrong
def a_part_that_messages_do_not_have(job: ms.Job) -> None:
    rabbitmq.source("orders", server=AT, record=("messageid",))


@wrong
def told_apart_in_two_ways(job: ms.Job) -> None:
    rabbitmq.source("orders", server=AT, id_header="order", id_column="order")


@wrong
def a_limit_that_the_journal_does_not_allow(job: ms.Job) -> None:
    rabbitmq.source("orders", server=AT, max_message_bytes=1 << 30)


@wrong
def a_table_with_too_small_a_buffer(job: ms.Job) -> None:
    postgres.changes("orders", buffer_bytes=1 << 20)


@wrong
def a_queue_without_a_schema(job: ms.Job) -> None:
    job.stream(rabbitmq.source("orders", server=AT))


@wrong
def a_queue_and_an_exchange(job: ms.Job) -> None:
    rabbitmq.sink("orders", exchange="orders", server=AT)


@wrong
def a_queue_consumed_twice(job: ms.Job) -> None:
    first = job.stream(rabbitmq.source("orders", server=AT), "id BIGINT", name="first")
    second = job.stream(rabbitmq.source("orders", server=f"{AT}%2F"), "id BIGINT, price DOUBLE", name="second")
    first.to(journal.sink("ids"))
    second.to(journal.sink("prices"))


@wrong
def a_table_received_with_two_schemas(job: ms.Job) -> None:
    people = postgres.changes("people", address="postgresql://shop@host/shop")
    names = job.table(people, "id BIGINT, name STRING", key="id", name="names")
    ages = job.table(people, "id BIGINT, age INT", key="id", name="ages")
    names.to(journal.sink("names"))
    ages.to(journal.sink("ages"))
