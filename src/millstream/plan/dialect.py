"""Spark's SQL as it is read and written here: the parser's dialect, with what it would change on the way mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that Spark takes without quotes."""
TIMES_OF_DAY = (exp.DataType.Type.TIME, exp.DataType.Type.TIMETZ)


def one_of(short: type[exp.Func], name: str, size: int) -> Callable[[list[exp.Expr]], exp.Expr]:
    """A function whose further arguments the parser would lose: with them it is passed on as it is."""

    def build(args: list[exp.Expr]) -> exp.Expr:
        return exp.Anonymous(this=name, expressions=args) if len(args) > size else short.from_arg_list(args)

    return build


class SparkSql(Spark):
    """With quotes in texts written twice, and without functions that would come out as others."""

    class Parser(SparkParser):
        # The first four would lose a format or a type.
        FUNCTIONS = {
            name: make
            for name, make in SparkParser.FUNCTIONS.items()
            if name not in ("COLLATE", "PARSE_JSON", "TO_CHAR", "UNIX_DATE")
        } | {
            "INSTR": one_of(exp.StrPosition, "instr", 2),
            "REGEXP_LIKE": one_of(exp.RegexpLike, "regexp_like", 2),
            "LEVENSHTEIN": one_of(exp.Levenshtein, "levenshtein", 2),
        }

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """`'it''s'` is one text: to the parser it is two, side by side."""
        found: list[Token] = []
        for token in super().tokenize(sql, dialect):
            before = found[-1] if found else None
            if before is None or not continues(before, token, sql):
                found.append(token)
                continue
            text = before.text + sql[token.start] + token.text
            found[-1] = Token(TokenType.STRING, text, before.line, before.col, before.start, token.end)
        return found


def continues(before: Token, token: Token, sql: str) -> bool:
    texts = before.token_type == token.token_type == TokenType.STRING
    return texts and before.end + 1 == token.start and sql[before.end] == sql[token.start]


DIALECT = SparkSql()


def read(sql: str, **options: Any) -> exp.Expr:
    """The text as a tree that `render` writes as Spark reads it."""
    tree = sqlglot.parse_one(sql, dialect=DIALECT, **options)
    assert isinstance(tree, exp.Expr)
    return tree.transform(mended)


def mended(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Localtimestamp() | exp.Localtime():
            # The parser's text of `localtimestamp()` has no parentheses, and would be read as a column.
            return exp.Anonymous(this=node.sql_name())
        case exp.Identifier() if not node.quoted and not PLAIN.fullmatch(node.name):
            return exp.to_identifier(node.name, quoted=True)
    return node


def render(tree: exp.Expr) -> str:
    return tree.sql(dialect=DIALECT, unsupported_level=ErrorLevel.IGNORE)


def lost(tree: exp.Expr) -> str | None:
    """What Spark would not get of an expression; None: nothing is lost."""
    if tree.find(exp.AggFunc) is not None:
        return None  # they are refused by what they are called with
    try:
        tree.sql(dialect=DIALECT, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        return str(error)
    return None


def time_of_day(tree: exp.Expr) -> bool:
    """Whether it asks for the time of day, or has the type TIME, which would come out as TIMESTAMP."""
    asked = tree.find(exp.CurrentTime) or any(call.name.lower() == "localtime" for call in tree.find_all(exp.Anonymous))
    return bool(asked) or any(type_.this in TIMES_OF_DAY for type_ in tree.find_all(exp.DataType))


@lru_cache(maxsize=1024)
def inside(name: str) -> exp.Identifier:
    """A field within a struct, in quotes if it cannot be read without."""
    try:
        plain = PLAIN.fullmatch(name) is not None and isinstance(read(f"a.{name}"), exp.Column)
    except SqlglotError:
        plain = False
    return exp.to_identifier(name, quoted=not plain)
