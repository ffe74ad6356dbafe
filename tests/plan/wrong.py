"""Jobs that are refused when they are built, one for each place that refuses. Each is wrong on a line of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as ms
from millstream import files, journal, kafka
from millstream.connectors import blackhole

ALL: dict[str, Callable[[], Any]] = {}


def wrong(fill: Callable[..., Any]) -> None:
    def build() -> Any:
        return fill(
            ms.Job("shop"),
            *(PIECES[name] for name in fill.__code__.co_varnames[1 : fill.__code__.co_argcount]),
        )

    ALL[fill.__name__] = build


def orders(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), "id BIGINT, customer INT, price DOUBLE, at TIMESTAMP")


def customers(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING", key="id")


PIECES: dict[str, Any] = {"orders": orders, "customers": customers}

# --- the job


@wrong
def a_job_with_a_bad_name(job):
    ms.Job("my job")


@wrong
def a_job_without_parallelism(job):
    ms.Job("shop", parallelism=0)


@wrong
def a_job_without_sinks(job, orders):
    orders(job)
    job.explain()


@wrong
def a_mode_that_is_none(job, orders):
    orders(job).to(journal.sink("out"))
    job.run("fast")


@wrong
def two_steps_with_one_name(job, orders):
    orders(job).group_by("customer").agg(n="count(*)").named("counts").to(journal.sink("one"))
    orders(job).group_by("id").agg(n="count(*)").named("counts").to(journal.sink("other"))


@wrong
def two_sinks_with_one_name(job, orders):
    rows = orders(job)
    rows.to(journal.sink("out"))
    rows.to(journal.sink("out"))


@wrong
def a_length_of_time_that_is_none(job):
    ms.micro_batch("5 parsecs")


@wrong
def restarts_without_attempts(job):
    ms.fixed_delay(attempts=0)


@wrong
def restarts_that_come_sooner_and_sooner(job):
    ms.exponential_delay(factor=0.5)


# --- sources


@wrong
def no_schema(job):
    job.stream(journal.source("orders"))


@wrong
def a_schema_for_raw_records(job):
    job.stream(journal.source("orders", format="raw"), "id INT")


@wrong
def a_schema_that_is_no_sql(job):
    job.stream(journal.source("orders"), "id INT, case STRING")


@wrong
def a_schema_without_types(job):
    job.stream(journal.source("orders"), "id, price")


@wrong
def a_schema_with_a_name_twice(job):
    job.stream(journal.source("orders"), "id INT, ID STRING")


@wrong
def a_schema_with_one_of_our_names(job):
    job.stream(journal.source("orders"), "_w INT")


@wrong
def a_time_that_is_no_column(job):
    job.stream(journal.source("orders"), "id INT, at TIMESTAMP", time="att")


@wrong
def a_time_that_is_a_number(job):
    job.stream(journal.source("orders"), "id INT, at TIMESTAMP", time="id")


@wrong
def a_changelog_as_a_stream(job):
    job.stream(journal.source("orders", changelog=True), "id INT")


@wrong
def raw_records_as_a_table(job):
    job.table(journal.source("orders", format="raw"), key="key")


@wrong
def a_table_without_a_key(job):
    job.table(journal.source("customers"), "id INT, name STRING")


@wrong
def a_key_that_is_no_column(job):
    job.table(journal.source("customers"), "id INT, name STRING", key="ids")


@wrong
def a_key_of_a_changelog_that_is_no_column(job):
    job.table(journal.source("customers", changelog=True), "id INT, name STRING", key="nme")


@wrong
def files_as_upserts(job):
    job.table(files.source("customers", format="json"), "id INT, name STRING", key="id")


@wrong
def files_of_an_unknown_kind(job):
    files.source("orders", format="jsn")


@wrong
def csv_lines_that_are_skipped(job):
    files.source("orders", format="csv", on_error="skip")


@wrong
def a_header_of_json_files(job):
    files.sink("orders", format="json", header=True)


@wrong
def no_files_per_epoch(job):
    files.source("orders", format="json", max_files_per_epoch=0)


@wrong
def a_folder_that_is_not_there(job):
    files.source("/no/such/folder", format="json").partitions()


@wrong
def files_parted_by_no_column(job, orders):
    orders(job).to(files.sink("orders", format="json", partition_by="day"))


# --- expressions


@wrong
def an_expression_that_is_no_text(job, orders):
    orders(job).where(True)


@wrong
def an_expression_that_breaks_off(job, orders):
    orders(job).where("price > ")


@wrong
def a_statement(job, orders):
    orders(job).where("DROP TABLE orders")


@wrong
def a_name_where_none_belongs(job, orders):
    orders(job).select(gross="price * 2 AS gross")


@wrong
def an_unknown_column(job, orders):
    orders(job).where("prize > 3")


@wrong
def an_unknown_alias(job, orders):
    orders(job).as_("o").select("x.*")


@wrong
def a_column_that_could_be_two(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id").where("id > 3")


@wrong
def an_aggregate_over_single_rows(job, orders):
    orders(job).where("price > avg(price)")


@wrong
def a_query_inside_an_expression(job, orders):
    orders(job).where("price > (SELECT 1)")


@wrong
def a_window_function(job, orders):
    orders(job).select(n="row_number() OVER (PARTITION BY customer ORDER BY at)")


# --- steps


@wrong
def a_step_with_a_bad_name(job, orders):
    orders(job).where("price > 3").named("the dear ones")


@wrong
def an_alias_with_a_bad_name(job, orders):
    orders(job).as_("the orders")


@wrong
def a_column_without_a_name(job, orders):
    orders(job).select("price * 2")


@wrong
def nothing_selected(job, orders):
    orders(job).select()


@wrong
def a_column_twice(job, orders):
    orders(job).select("id", ID="customer")


@wrong
def an_element_with_a_name_that_is_there(job, orders):
    orders(job).explode("array(id)", as_="price")


@wrong
def a_column_with_one_of_our_names(job, orders):
    orders(job).select(_w="price")


@wrong
def a_union_of_different_columns(job, orders):
    rows = orders(job)
    rows.union(rows.select("id", "price"))


@wrong
def a_union_with_a_list(job, orders):
    orders(job).union([1, 2, 3])


@wrong
def a_union_of_two_jobs(job, orders):
    orders(job).union(orders(ms.Job("other")))


@wrong
def a_table_added_to_a_stream(job, orders, customers):
    orders(job).select("id").union(customers(job).select("id"))


# --- aggregates


@wrong
def a_column_that_is_not_grouped_by(job, orders):
    orders(job).group_by("customer").agg(total="sum(price) + id")


@wrong
def an_aggregate_that_cannot_be_kept_up(job, orders):
    orders(job).group_by("customer").agg(middle="median(price)")


@wrong
def a_distinct_sum(job, orders):
    orders(job).group_by("customer").agg(n="sum(DISTINCT id)")


@wrong
def a_first_of_no_order(job, orders):
    orders(job).group_by("customer").agg(n="first(price)")


@wrong
def an_ordered_list(job, orders):
    orders(job).group_by("customer").agg(n="collect_list(price ORDER BY at)")


@wrong
def an_aggregate_in_a_filter(job, orders):
    orders(job).group_by("customer").agg(n="count(*) FILTER (WHERE price > max(price))")


@wrong
def an_aggregate_of_several_columns(job, orders):
    orders(job).group_by("customer").agg(n="count(id, price)")


@wrong
def an_aggregate_inside_an_aggregate(job, orders):
    orders(job).group_by("customer").agg(n="sum(max(price))")


@wrong
def an_aggregate_that_is_none(job, orders):
    orders(job).group_by("customer").agg(n="customer + 1")


@wrong
def nothing_aggregated(job, orders):
    orders(job).group_by("customer").agg()


@wrong
def a_top_of_nothing(job, orders):
    orders(job).top(0, by="price")


@wrong
def a_top_in_no_order(job, orders):
    orders(job).top(3, by="price DESC DESC")


@wrong
def a_top_per_field_of_a_column(job, orders):
    orders(job).top(3, by="price", per="at.year")


@wrong
def a_rank_with_the_name_of_a_column(job, orders):
    orders(job).top(3, by="price", rank="ID")


@wrong
def doubles_by_nothing(job, orders):
    orders(job).dedup(by="at")


@wrong
def doubles_that_are_neither_first_nor_last(job, orders):
    orders(job).dedup("id", keep="any", by="at")


@wrong
def doubles_without_a_time(job, orders):
    orders(job).dedup("id")


@wrong
def doubles_of_some_time_that_are_last(job, orders):
    orders(job).dedup("id", keep="last", within="1 hour")


@wrong
def doubles_of_some_time_by_nothing(job, orders):
    orders(job).dedup(within="1 hour")


@wrong
def changes_with_the_name_of_a_column(job, customers):
    customers(job).changes(op="name")


@wrong
def a_stream_as_a_table_without_a_key(job, orders):
    orders(job).to_table((), by="at")


@wrong
def an_intersection_of_other_columns(job, orders, customers):
    orders(job).intersect(customers(job))


@wrong
def a_column_outside_an_aggregate_of_all_rows(job, orders):
    orders(job).agg(n="count(*) + customer")


@wrong
def a_group_by_nothing(job, orders):
    orders(job).group_by()


@wrong
def an_aggregate_with_the_name_of_a_key(job, orders):
    orders(job).group_by("customer").agg(customer="count(*)")


# --- joins


@wrong
def a_join_without_an_equality(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer < c.id")


@wrong
def a_join_of_sides_without_aliases(job, orders, customers):
    orders(job).join(customers(job), on="customer = id")


@wrong
def a_join_on_an_unknown_column(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.ident")


@wrong
def a_join_of_an_unknown_kind(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", how="iner")


@wrong
def a_join_at_times_that_never_agree(job):
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    other = job.stream(journal.source("other"), "id INT, at TIMESTAMP", time="at").as_("b")
    one.join(other, on="a.id = b.id AND b.at BETWEEN a.at + INTERVAL 10 MINUTES AND a.at")


@wrong
def a_join_with_times_and_ttl(job):
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    other = job.stream(journal.source("other"), "id INT, at TIMESTAMP", time="at").as_("b")
    one.join(other, on="a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES", ttl="1 day")


@wrong
def a_join_with_no_ttl_at_all(job, customers):
    one = job.stream(journal.source("one"), "id INT, at TIMESTAMP", time="at").as_("a")
    one.join(customers(job).as_("c"), on="a.id = c.id", ttl="0 seconds")


@wrong
def a_ttl_without_a_time(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", ttl="1 day")


@wrong
def a_broadcast_side_that_goes_out(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", how="right", broadcast=True)


# --- sinks


@wrong
def a_table_to_a_sink_that_only_appends(job, customers):
    customers(job).select(value="CAST(name AS BINARY)").to(journal.sink("out", format="raw"))


@wrong
def upserts_without_a_key(job, customers):
    customers(job).select("name").to(journal.sink("out"))


@wrong
def upserts_by_another_key(job, customers):
    customers(job).to(journal.sink("out", key="name"))


@wrong
def a_record_key_that_is_no_column(job, orders):
    orders(job).to(journal.sink("out", key="costumer"))


@wrong
def two_columns_with_one_name(job, orders, customers):
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id").to(journal.sink("out"))


# --- the journal's options


@wrong
def a_format_that_is_not_known(job):
    journal.source("orders", format="jsn")


@wrong
def dead_letters_without_a_topic(job):
    journal.source("orders", on_error="dead_letter")


@wrong
def no_rows_per_epoch(job):
    journal.source("orders", max_rows_per_epoch=0)


@wrong
def a_changelog_of_raw_records(job):
    journal.sink("out", changelog=True, format="raw")


@wrong
def another_sink_beside_one_that_keeps_nothing(job, orders):
    orders(job).to(journal.sink("out"))
    orders(job).to(blackhole.sink())


# --- windows


@wrong
def processing_time_under_a_name_that_is_taken(job):
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time=ms.processing_time("at"))


@wrong
def lateness_without_a_time(job):
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", lateness="1 minute")


@wrong
def idleness_without_a_time(job):
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", idle_after="1 minute")


@wrong
def a_negative_lateness(job):
    job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at", lateness="-1 minute")


@wrong
def final_results_of_a_sliding_window(job):
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour")).group_by("id").agg(n="count(*)").final()


@wrong
def corrections_of_a_sliding_window(job):
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour"), allowed_lateness="1 minute")


@wrong
def a_sliding_window_without_groups(job):
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.sliding("1 hour")).agg(n="count(*)")


@wrong
def a_session_without_a_gap(job):
    ms.session("0 seconds")


@wrong
def a_window_without_a_time(job, orders):
    orders(job).window(ms.tumbling("1 hour"))


@wrong
def a_window_without_a_size(job):
    ms.hopping("1 minute", every="0 seconds")


@wrong
def final_results_after_another_step(job):
    timed = job.stream(journal.source("orders"), "id BIGINT, at TIMESTAMP", time="at")
    timed.window(ms.tumbling("1 hour")).agg(n="count(*)").where("n > 1").final()


# --- enriching


def timed(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), "id BIGINT, customer INT, at TIMESTAMP, paid TIMESTAMP", time="at")


def dated(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING, since TIMESTAMP", key="id", time="since")


PIECES |= {"timed": timed, "dated": dated}


@wrong
def a_stream_enriched_by_a_stream(job, orders):
    orders(job).as_("o").enrich(orders(job).as_("p"), on="o.id = p.id")


@wrong
def enriched_without_an_equality(job, orders, customers):
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer < c.id")


@wrong
def enriched_in_an_unknown_way(job, orders, customers):
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id", how="outer")


@wrong
def enriched_by_what_changes_by_itself(job, orders, customers):
    orders(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id AND o.at < now()")


@wrong
def as_of_a_time_that_is_not_known(job, orders, dated):
    orders(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_another_time(job, timed, dated):
    timed(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.id", as_of="o.paid")


@wrong
def as_of_for_a_table_without_a_time(job, timed, customers):
    timed(job).as_("o").enrich(customers(job).as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_for_a_table_after_another_step(job, timed, dated):
    timed(job).as_("o").enrich(dated(job).where("id > 3").as_("c"), on="o.customer = c.id", as_of="o.at")


@wrong
def as_of_for_a_table_without_its_key(job, timed, dated):
    timed(job).as_("o").enrich(dated(job).select("name", "since").as_("c"), on="o.id = c.name", as_of="o.at")


@wrong
def as_of_by_another_column_than_the_key(job, timed, dated):
    timed(job).as_("o").enrich(dated(job).as_("c"), on="o.customer = c.name", as_of="o.at")


# --- Kafka's options


@wrong
def kafka_without_brokers(job):
    kafka.source("orders")


@wrong
def kafka_topics_by_name_and_by_pattern(job):
    kafka.source("orders", pattern="orders.*", servers="host:9092")


@wrong
def a_part_that_records_of_kafka_do_not_have(job):
    kafka.source("orders", record=("time",), servers="host:9092")


@wrong
def a_start_in_kafka_that_is_none(job):
    kafka.source("orders", starting="yesterday", servers="host:9092")


@wrong
def offsets_of_several_topics_without_their_names(job):
    kafka.source(["orders", "returns"], starting={0: 12}, servers="host:9092")


@wrong
def a_column_of_the_value_and_of_the_record(job):
    source = kafka.source("orders", record=("timestamp",), servers="host:9092")
    job.stream(source, "id BIGINT, timestamp TIMESTAMP")


@wrong
def a_change_feed_as_a_stream(job):
    job.stream(kafka.source("orders", format="debezium", servers="host:9092"), "id BIGINT")


@wrong
def a_password_in_the_job(job):
    kafka.sasl("PLAIN", user="shop", password="1234")


@wrong
def a_secret_setting_in_the_job(job):
    kafka.cluster("host:9092", settings={"ssl.key.password": "1234"})


@wrong
def a_secret_from_nowhere(job):
    kafka.secret()


@wrong
def a_mechanism_that_does_not_exist(job):
    kafka.sasl("SCRAM-SHA-521", user="shop", password=kafka.secret(env="PASSWORD"))


@wrong
def a_secret_that_is_not_set(job):
    kafka.cluster("host:9092", settings={"ssl.key.password": kafka.secret(env="NOT_SET_ANYWHERE")}).filled()


@wrong
def a_secret_in_a_file_that_is_not_there(job):
    kafka.secret(file="/no/such/file").read()


@wrong
def raw_changes_for_kafka(job):
    kafka.sink("out", changelog=True, format="raw", servers="host:9092")


@wrong
def avro_without_a_schema(job):
    kafka.source("orders", format="avro", servers="host:9092")


@wrong
def a_registry_for_json(job):
    kafka.sink("orders", registry="http://host:8081", servers="host:9092")


@wrong
def an_avro_schema_that_is_none(job):
    kafka.source("orders", format="avro", avro_schema="order.avsc", servers="host:9092")


@wrong
def protobuf_without_its_messages(job):
    kafka.source("orders", format="protobuf", servers="host:9092")


@wrong
def protobuf_for_json(job):
    kafka.sink("orders", protobuf=kafka.protobuf(b"", "shop.Order"), servers="host:9092")


@wrong
def descriptors_that_are_not_there(job):
    kafka.protobuf("/no/such/shop.desc", "shop.Order")


@wrong
def a_registry_with_half_a_login(job):
    kafka.registry("http://host:8081", user="shop")


@wrong
def a_registry_with_a_password_in_the_job(job):
    kafka.registry("http://host:8081", user="shop", password="1234")


# --- Python code


class Silent(ms.Process):
    """Has no columns."""

    def on_row(self, key, row):
        pass


class Deaf(ms.Process):
    output = "n INT"


class Short(ms.Process):
    output = "n INT"

    def on_row(self, row):
        pass


class Waiting(ms.Process):
    output = "n INT"
    outputs = {"alerts": "why STRING"}  # noqa: RUF012

    def on_row(self, key, row):
        self.set_timer(row.at)

    def on_timer(self, key, at):
        yield (1,)


class Keeping(ms.Process):
    output = "n INT"
    span = ms.ValueState("INTERVAL DAY")

    def on_row(self, key, row):
        pass


class Mapping(Short):
    lists = ms.MapState("ARRAY<INT>", "INT")

    def on_row(self, key, row):
        pass


class Brief(Mapping):
    lists = ms.ListState("INT", ttl="0 ms")


class Good(ms.Process):
    output = "n INT"
    outputs = {"alerts": "why STRING"}  # noqa: RUF012

    def on_row(self, key, row):
        pass


@wrong
def a_process_that_is_none(job, orders):
    orders(job).key_by("customer").process(len)


@wrong
def a_function_that_is_none(job, orders):
    orders(job).filter("price > 3")


@wrong
def a_process_without_columns(job, orders):
    orders(job).key_by("customer").process(Silent)


@wrong
def a_process_with_columns_that_are_no_sql(job, orders):
    orders(job).map(lambda row: (1,), schema="n")


@wrong
def a_function_without_columns(job, orders):
    orders(job).flat_map(lambda row: [], schema="")


@wrong
def a_process_that_takes_no_rows(job, orders):
    orders(job).key_by("customer").process(Deaf)


@wrong
def a_process_that_takes_no_key(job, orders):
    orders(job).key_by("customer").process(Short)


@wrong
def state_that_cannot_be_stored(job, orders):
    orders(job).key_by("customer").process(Keeping)


@wrong
def state_by_keys_that_cannot_be_looked_up(job, orders):
    orders(job).key_by("customer").process(Mapping)


@wrong
def state_that_is_kept_for_no_time(job, orders):
    orders(job).key_by("customer").process(Brief)


@wrong
def timers_without_a_time(job, orders):
    orders(job).key_by("customer").process(Waiting)


@wrong
def a_table_by_key(job, customers):
    customers(job).key_by("id")


@wrong
def dead_letters_of_a_table(job, customers):
    customers(job).filter(lambda row: True, on_error=journal.sink("bad"))


@wrong
def an_error_policy_that_is_none(job, orders):
    orders(job).key_by("customer").process(Good, on_error="ignore")


@wrong
def python_in_real_time(job, orders):
    orders(job).filter(lambda row: row.price > 3, name="dear").to(journal.sink("out"))
    job.run(ms.real_time())


@wrong
def an_output_that_is_not_there(job, orders):
    orders(job).key_by("customer").process(Good).output("alarms")


@wrong
def an_output_after_another_step(job, orders):
    orders(job).key_by("customer").process(Good).where("n > 1").output("alerts")
