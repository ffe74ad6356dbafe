"""Options of Kafka that are refused."""

from __future__ import annotations

import millstream as ms
from millstream import kafka
from tests.plan.wrong.declare import wrong


@wrong
def kafka_without_brokers(job: ms.Job) -> None:
    kafka.source("orders")


@wrong
def kafka_topics_by_name_and_by_pattern(job: ms.Job) -> None:
    kafka.source("orders", pattern="orders.*", servers="host:9092")


@wrong
def a_part_that_records_of_kafka_do_not_have(job: ms.Job) -> None:
    kafka.source("orders", record=("time",), servers="host:9092")


@wrong
def a_start_in_kafka_that_is_none(job: ms.Job) -> None:
    kafka.source("orders", starting="yesterday", servers="host:9092")


@wrong
def offsets_of_several_topics_without_their_names(job: ms.Job) -> None:
    kafka.source(["orders", "returns"], starting={0: 12}, servers="host:9092")


@wrong
def a_column_of_the_value_and_of_the_record(job: ms.Job) -> None:
    source = kafka.source("orders", record=("timestamp",), servers="host:9092")
    job.stream(source, "id BIGINT, timestamp TIMESTAMP")


@wrong
def a_change_feed_as_a_stream(job: ms.Job) -> None:
    job.stream(kafka.source("orders", format="debezium", servers="host:9092"), "id BIGINT")


@wrong
def a_password_in_the_job(job: ms.Job) -> None:
    kafka.sasl("PLAIN", user="shop", password="1234")  # type: ignore[arg-type]


@wrong
def a_secret_setting_in_the_job(job: ms.Job) -> None:
    kafka.cluster("host:9092", settings={"ssl.key.password": "1234"})


@wrong
def a_secret_from_nowhere(job: ms.Job) -> None:
    kafka.secret()


@wrong
def a_mechanism_that_does_not_exist(job: ms.Job) -> None:
    kafka.sasl("SCRAM-SHA-521", user="shop", password=kafka.secret(env="PASSWORD"))


@wrong
def a_secret_that_is_not_set(job: ms.Job) -> None:
    kafka.cluster("host:9092", settings={"ssl.key.password": kafka.secret(env="NOT_SET_ANYWHERE")}).filled()


@wrong
def a_secret_in_a_file_that_is_not_there(job: ms.Job) -> None:
    kafka.secret(file="/no/such/file").read()


@wrong
def raw_changes_for_kafka(job: ms.Job) -> None:
    kafka.sink("out", changelog=True, format="raw", servers="host:9092")


@wrong
def avro_without_a_schema(job: ms.Job) -> None:
    kafka.source("orders", format="avro", servers="host:9092")


@wrong
def a_start_in_a_topic_that_is_not_read(job: ms.Job) -> None:
    kafka.source("likes", starting={"lkies": {0: 5}}, servers="host:9092")


@wrong
def a_registry_for_json(job: ms.Job) -> None:
    kafka.sink("orders", registry="http://host:8081", servers="host:9092")


@wrong
def an_avro_schema_that_is_none(job: ms.Job) -> None:
    kafka.source("orders", format="avro", avro_schema="order.avsc", servers="host:9092")


@wrong
def protobuf_without_its_messages(job: ms.Job) -> None:
    kafka.source("orders", format="protobuf", servers="host:9092")


@wrong
def protobuf_for_json(job: ms.Job) -> None:
    kafka.sink("orders", protobuf=kafka.protobuf(b"", "shop.Order"), servers="host:9092")


@wrong
def descriptors_that_are_not_there(job: ms.Job) -> None:
    kafka.protobuf("/no/such/shop.desc", "shop.Order")


@wrong
def a_registry_with_half_a_login(job: ms.Job) -> None:
    kafka.registry("http://host:8081", user="shop")


@wrong
def a_registry_with_a_password_in_the_job(job: ms.Job) -> None:
    kafka.registry("http://host:8081", user="shop", password="1234")  # type: ignore[arg-type]
