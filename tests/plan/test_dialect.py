"""What users write reaches Spark as they wrote it."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from millstream.plan.dialect import inside, lost, read, render
from millstream.plan.expressions import Expr


@pytest.mark.parametrize(
    ("written", "read_by_spark"),
    [
        ("'it''s'", r"'it\'s'"),
        ("name = 'O''Brien' AND x = ''''", r"name = 'O\'Brien' AND x = '\''"),
        ("''", "''"),
        ("concat('a', '', 'b')", "CONCAT('a', '', 'b')"),
        ('"a""b"', "'a\"b'"),
        ("""date_format(at, "d MMM ''yy")""", r"DATE_FORMAT(at, 'd MMM \'\'yy')"),
        ("'a' 'b'", "CONCAT('a', 'b')"),
        ("to_char(n, '99G999')", "TO_CHAR(n, '99G999')"),
        ("instr(s, 'b')", "LOCATE('b', s)"),
        ("instr(s, 'b', -1, 2)", "INSTR(s, 'b', -1, 2)"),
        ("locate('b', s, 3)", "LOCATE('b', s, 3)"),
        ("regexp_like(s, 'a.c', 'i')", "REGEXP_LIKE(s, 'a.c', 'i')"),
        ("levenshtein(a, b, 2)", "LEVENSHTEIN(a, b, 2)"),
        ("variant_get(parse_json(s), '$.a', 'int')", "VARIANT_GET(PARSE_JSON(s), '$.a', 'int')"),
        ("unix_date(day)", "UNIX_DATE(day)"),
        ("collate(s, 'UTF8_LCASE') = 'a'", "COLLATE(s, 'UTF8_LCASE') = 'a'"),
        ("transform(xs, ü -> ü + 1)", "TRANSFORM(xs, `ü` -> `ü` + 1)"),
        ("named_struct('größe', 1, 'my col', 2)", "STRUCT(1 AS `größe`, 2 AS `my col`)"),
        ("localtimestamp()", "LOCALTIMESTAMP()"),
    ],
)
def test_nothing_is_lost(written: str, read_by_spark: str) -> None:
    assert render(read(written)) == read_by_spark
    assert render(read(read_by_spark)) == read_by_spark
    assert lost(read(written)) is None


def test_a_text_that_does_not_end_is_refused() -> None:
    with pytest.raises(SqlglotError):
        read("'it''s")


@pytest.mark.parametrize("name", ["select", "b c", "ü"])
def test_a_field_within_a_struct_is_quoted_where_it_must_be(name: str) -> None:
    written = f"`a`.{render(inside(name))}"
    assert written == f"`a`.`{name}`"
    assert Expr(written).fields == {"a"}


def test_a_field_within_a_struct_is_left_alone_where_it_may_be() -> None:
    assert render(inside("price")) == "price"
