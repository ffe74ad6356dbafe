"""The first rows of groups: top-N, rows without duplicates, a stream as the latest row of each key."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.plan import nodes
from millstream.plan.changing import refuse_changing
from millstream.plan.columns import Columns
from millstream.plan.dialect import read
from millstream.plan.errors import Step, here
from millstream.plan.expressions import Expr, bind, field, first_line, refuse_aggregates, resolve, same, scalar
from millstream.plan.modes import milliseconds
from millstream.plan.node import Key, Node
from millstream.plan.operators import Dedup, Ordering, Top


def top(input: Node, count: int, by: str, per: tuple[str, ...], rank: str | None) -> Top:
    step = Step("top", here())
    if not isinstance(count, int) or count < 1:
        raise step.error("MS-TOP-001", f"keeps {count!r} rows.", hint="a whole number, 1 or more")
    if rank is not None and (rank.startswith("_") or rank.lower() in (part.name.lower() for part in input.columns)):
        raise step.error("MS-PLAN-004", f"cannot call a column {rank}.", found="columns: " + ", ".join(input.carries))
    return Top(None, step.at, input, count, ordering(by, input, step), fields(per, input.columns, step), rank)


def fields(names: tuple[str, ...], columns: Columns, step: Step) -> Key:
    """The fields that carry columns; a column inside of one is none."""
    found = []
    for name in names:
        column, rest = resolve(parts(name, columns), columns, step)
        if rest:
            raise step.error("MS-TOP-002", f"groups by {name}, which is not a column.", hint="add it: with_columns(…)")
        found.append(column.field)
    return tuple(found)


def parts(name: str, columns: Columns) -> list[str]:
    """Of a dotted name, unless there is a column of that name, or it is in quotes."""
    if any(same(column.name, name) for column in columns):
        return [name]
    try:
        tree = read(name)
    except SqlglotError:
        return name.split(".")
    return [part.name for part in tree.parts] if isinstance(tree, exp.Column) else name.split(".")


def ordering(by: str, input: Node, step: Step) -> tuple[Ordering, ...]:
    """`price DESC, at`, as SQL's ORDER BY has it."""
    if not isinstance(by, str):
        raise step.error(
            "MS-EXPR-001", f"was given {type(by).__name__} {by!r} as its order.", hint='for example by="price DESC, at"'
        )
    try:
        tree = read(f"ORDER BY {by}", into=exp.Order)
    except SqlglotError as error:
        raise step.error("MS-EXPR-001", f"cannot read the order {by!r}.", found=first_line(error)) from error
    found = []
    for part in tree.expressions:
        refuse_aggregates(part, step)
        expr = bind(part.this, input.columns, step)
        refuse_changing([expr], input, step)
        if not expr.fields:
            raise step.error(
                "MS-TOP-005", f"orders by {expr.shown}, which is the same for every row.", hint="name a column"
            )
        found.append(Ordering(expr, bool(part.args.get("desc")), bool(part.args.get("nulls_first"))))
    return tuple(found)


def dedup(input: Node, keys: tuple[str, ...], keep: str, by: str | None) -> Top:
    """One row per key: the first or the last by time."""
    step = Step("dedup", here())
    check_doubles(keys, keep, step)
    order = Ordering(time(input, by, step), keep == "last", keep == "first")
    return Top(None, step.at, input, 1, (order,), fields(keys, input.columns, step))


def dedup_within(input: Node, keys: tuple[str, ...], keep: str, by: str | None, within: str) -> Dedup:
    """The first row of a key, and the next one later by more than `within`; or each that none follows so soon."""
    step = Step("dedup", here())
    check_doubles(keys, keep, step)
    if by is not None:
        raise step.error(
            "MS-TOP-003",
            "has by= beside within=, which goes by event time.",
            hint="leave out by=, or leave out within= for a table",
        )
    time(input, None, step)
    return Dedup(None, step.at, input, fields(keys, input.columns, step), milliseconds(within), keep == "last")


def check_doubles(keys: tuple[str, ...], keep: str, step: Step) -> None:
    if keep not in ("first", "last"):
        raise step.error("MS-TOP-003", f"cannot keep {keep!r}.", found="one of: first, last")
    if not keys:
        raise step.error("MS-TOP-002", "has no columns to tell duplicates by.", hint='for example dedup("id")')


def time(input: Node, by: str | None, step: Step) -> Expr:
    """What says which row came first. The order in which rows arrive cannot: it differs from run to run."""
    if by is not None:
        expr = scalar(by, input.columns, step)
        refuse_changing([expr], input, step)
        return expr
    if input.event_time is None:
        raise step.error(
            "MS-TOP-004",
            "needs the time of each row, and does not know it.",
            found="columns: " + ", ".join(column.label for column in input.columns),
            hint='say by what: by="at", or say it at the source: job.stream(…, time="at")',
        )
    return Expr(field(input.event_time))


def to_table(input: Node, key: tuple[str, ...], delete: str | None, by: str | None) -> Node:
    """The last row of each key, unless it removes the key."""
    step = Step("to_table", here())
    if not key:
        raise step.error("MS-TOP-002", "has no key.", hint='for example to_table("id")')
    order = Ordering(time(input, by, step), True, False)
    last = Top(None, step.at, input, 1, (order,), fields(key, input.columns, step))
    if delete is None:
        return last
    gone = scalar(delete, input.columns, step)
    refuse_changing([gone], last, step)
    return nodes.Filter(None, step.at, last, Expr(f"NOT coalesce({gone.sql}, FALSE)"))
