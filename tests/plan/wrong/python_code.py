"""Python code that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import millstream as ms
from millstream import journal
from tests.plan.wrong.declare import customers, orders, wrong


class Silent(ms.Process):
    """Has no columns."""

    def on_row(self, key: Any, row: Any) -> None:
        pass


class Deaf(ms.Process):
    output = "n INT"


class Short(ms.Process):
    output = "n INT"

    def on_row(self, row: Any) -> None:  # type: ignore[override]
        pass


class Waiting(ms.Process):
    output = "n INT"
    outputs = {"alerts": "why STRING"}  # noqa: RUF012

    def on_row(self, key: Any, row: Any) -> None:
        self.set_timer(row.at)

    def on_timer(self, key: Any, at: datetime) -> Iterator[tuple[int]]:
        yield (1,)


class Keeping(ms.Process):
    output = "n INT"
    span = ms.ValueState("INTERVAL DAY")

    def on_row(self, key: Any, row: Any) -> None:
        pass


class Mapping(Short):
    lists = ms.MapState("ARRAY<INT>", "INT")

    def on_row(self, key: Any, row: Any) -> None:  # type: ignore[override]
        pass


class Brief(Mapping):
    lists = ms.ListState("INT", ttl="0 ms")  # type: ignore[assignment]


class Good(ms.Process):
    output = "n INT"
    outputs = {"alerts": "why STRING"}  # noqa: RUF012

    def on_row(self, key: Any, row: Any) -> None:
        pass


async def later(row: Any) -> Any:
    return {"customer": row.customer}


class Later(ms.Process):
    output = "customer STRING"
    in_flight = 0

    async def on_row(self, key: Any, row: Any) -> Any:
        return [(row.customer,)]


class Mixed(Good):
    kept = ms.ListState("INT")
    brief = ms.ValueState("INT", ttl="1 day")

    def on_batch(self, batch: ms.KeyedBatch) -> None:
        pass


class Plain(ms.Process):
    output = "n INT"

    def on_batch(self, batch: ms.KeyedBatch) -> None:
        pass


@wrong
def a_batch_beside_what_sees_one_key(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Mixed)


@wrong
def a_batch_whose_failing_rows_are_skipped(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Plain, on_error="skip")


@wrong
def a_process_that_is_none(job: ms.Job) -> None:
    orders(job).key_by("customer").process(len)  # type: ignore[arg-type]


@wrong
def a_function_that_is_none(job: ms.Job) -> None:
    orders(job).filter("price > 3")  # type: ignore[arg-type]


@wrong
def a_process_without_columns(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Silent)


@wrong
def a_process_with_columns_that_are_no_sql(job: ms.Job) -> None:
    orders(job).map(lambda row: (1,), schema="n")


@wrong
def a_function_without_columns(job: ms.Job) -> None:
    orders(job).flat_map(lambda row: [], schema="")


@wrong
def a_process_that_takes_no_rows(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Deaf)


@wrong
def a_process_that_takes_no_key(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Short)


@wrong
def state_that_cannot_be_stored(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Keeping)


@wrong
def state_by_keys_that_cannot_be_looked_up(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Mapping)


@wrong
def state_that_is_kept_for_no_time(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Brief)


@wrong
def timers_without_a_time(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Waiting)


@wrong
def a_table_by_key(job: ms.Job) -> None:
    customers(job).key_by("id")


@wrong
def dead_letters_of_a_table(job: ms.Job) -> None:
    customers(job).filter(lambda row: True, on_error=journal.sink("bad"))


@wrong
def an_error_policy_that_is_none(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Good, on_error="ignore")


@wrong
def an_async_function_that_is_not_awaited(job: ms.Job) -> None:
    orders(job).map(later, "customer STRING")


@wrong
def a_function_that_cannot_be_awaited(job: ms.Job) -> None:
    orders(job).map_async(lambda row: row, "customer STRING")


@wrong
def no_rows_in_flight(job: ms.Job) -> None:
    orders(job).map_async(later, "customer STRING", in_flight=0)


@wrong
def a_table_in_any_order(job: ms.Job) -> None:
    counted = orders(job).group_by("customer").agg(n="count(*)")
    counted.map_async(later, schema="customer STRING", ordered=False)


@wrong
def an_async_process_of_no_keys(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Later)


@wrong
def an_output_that_is_not_there(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Good).output("alarms")


@wrong
def an_output_after_another_step(job: ms.Job) -> None:
    orders(job).key_by("customer").process(Good).where("n > 1").output("alerts")


@wrong
def a_time_that_code_does_not_give(job: ms.Job) -> None:
    orders(job).map(lambda row: (1,), schema="n INT, at TIMESTAMP", time="att")


@wrong
def a_time_of_another_type(job: ms.Job) -> None:
    orders(job).map(lambda row: (1,), schema="n INT, at TIMESTAMP", time="n")


@wrong
def a_time_where_none_passes(job: ms.Job) -> None:
    orders(job).map(lambda row: (1,), schema="n INT, at TIMESTAMP", time="at")


@wrong
def a_time_of_a_table(job: ms.Job) -> None:
    orders(job).group_by("customer").agg(n="count(*)").map(lambda row: (1,), schema="n INT, at TIMESTAMP", time="at")
