"""Every aggregate function is registered whole: each way to write it, and all that is known about it."""

from __future__ import annotations

import string
from dataclasses import fields, replace

import pytest
import sqlglot
from sqlglot import exp

import millstream as ms
from millstream import journal
from millstream.plan.functions.definition import Argument, Computed, Form, Function, ValueType
from millstream.plan.functions.registry import ALL, FORMS, by_form, by_name, supported
from millstream.plan.operators import Aggregate

TYPES = (
    ValueType("BIGINT", "whole"),
    ValueType("INT", "whole"),
    ValueType("DOUBLE", "floating"),
    ValueType("DECIMAL(10,2)", "decimal", 10, 2),
    ValueType("STRING", "other"),
)
COMPUTED = [(function, distinct) for function in ALL for distinct in (False, True) if not distinct or function.distinct]


def argument(type_: ValueType, append_only: bool, where: str | None) -> Argument:
    return Argument(
        sql="(x)",
        type=type_,
        by="(y)",
        where=where,
        key=lambda sql: sql,
        by_key=lambda sql: sql,
        append_only=append_only,
        also=frozenset(),
        filters=(where,),
    )


def parsed(sql: str) -> exp.Expr:
    tree = sqlglot.parse_one(sql, dialect="spark")
    assert isinstance(tree, exp.Expr)
    return tree


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, (_, form) in FORMS.items()])
def test_each_form_is_what_the_parser_makes_of_it(name: str, form: Form) -> None:
    assert type(parsed(form.example)) is form.parsed
    assert name in supported()


def orders() -> ms.Stream:
    return ms.Job("orders").stream(journal.source("orders"), "x INT, at TIMESTAMP")


@pytest.mark.parametrize(("name", "function"), [(name, function) for name, (function, _) in FORMS.items()])
def test_each_form_becomes_a_figure_of_its_function(name: str, function: Function) -> None:
    node = orders().agg(n=FORMS[name][1].example)._node
    assert isinstance(node, Aggregate)
    (figure,) = node.figures
    assert (figure.function, figure.distinct) == (function.name, False)
    assert figure.argument is not None
    if len(FORMS[name][1].arguments) > 1 or function.constant is not None:
        assert figure.by is not None


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, (_, form) in FORMS.items()])
@pytest.mark.parametrize("more", [1, -1])
def test_no_argument_is_dropped(name: str, form: Form, more: int) -> None:
    given = [*form.arguments, "7"] if more > 0 else form.arguments[:-1]
    for distinct in ("", "DISTINCT "):
        # Several different values are counted together.
        if (name, more, distinct) != ("count", 1, "DISTINCT "):
            with pytest.raises(ms.MillstreamError) as caught:
                orders().agg(n=f"{name}({distinct if given else ''}{', '.join(given)})")
            assert caught.value.code in ("MS-AGG-002", "MS-EXPR-001")


@pytest.mark.parametrize(("function", "distinct"), COMPUTED)
@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.sql)
@pytest.mark.parametrize("append_only", [True, False])
@pytest.mark.parametrize("where", [None, "z > 0"])
def test_each_is_computed(
    function: Function, distinct: bool, type_: ValueType, append_only: bool, where: str | None
) -> None:
    if function.numbers and not type_.number:
        return
    computed, of = function.of(distinct), argument(type_, append_only, where)
    kept = computed.accumulators(of)
    assert kept
    assert all(part.payload and all(parsed(sql) for sql in part.payload) for part in kept)
    result = parsed(computed.result(of, tuple(f"a{i}" for i in range(len(kept)))))
    assert {column.name for column in result.find_all(exp.Column)} >= {f"a{i}" for i in range(len(kept))}


@pytest.mark.parametrize(("function", "distinct"), COMPUTED)
def test_each_is_a_call_in_batch(function: Function, distinct: bool) -> None:
    sql = function.of(distinct).batch
    named = {name for _, name, _, _ in string.Formatter().parse(sql) if name is not None}
    goes_by = function.constant is not None or any(len(form.arguments) > 1 for form in function.forms)
    assert named == {"x", "where", *(["by"] if goes_by else [])}
    assert parsed(sql.format(x="x", by="'y'", where=" FILTER (WHERE z > 0)")).find(exp.AggFunc, exp.Anonymous)


@pytest.mark.parametrize("kind", [Function, Computed])
def test_a_definition_leaves_nothing_out(kind: type[Function] | type[Computed]) -> None:
    whole = ALL[0] if kind is Function else ALL[0].computed
    for left_out in fields(kind):
        given = {part.name: getattr(whole, part.name) for part in fields(kind) if part is not left_out}
        with pytest.raises(TypeError, match=left_out.name):
            kind(**given)


def test_no_two_have_one_name_or_one_form() -> None:
    with pytest.raises(ValueError, match="one name"):
        by_name((*ALL, ALL[0]))
    with pytest.raises(ValueError, match="another function"):
        by_form((*ALL, replace(ALL[0], name="tally")))
    with pytest.raises(ValueError, match="no way is said"):
        by_form((replace(ALL[0], forms=()),))
