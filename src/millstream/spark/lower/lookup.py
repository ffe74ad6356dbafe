"""Looking rows up: a function of Spark SQL that gives the rows of a key, read once when the job starts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.plan.expressions import field
from millstream.plan.lookup import Lookup
from millstream.spark import jvm
from millstream.spark.lower.ports import Place
from millstream.spark.lower.types import as_key, cast, common_type, named_struct, types_of

FOUND = "_found"
"""A row that was found."""


class Known:
    """The table's function, created for the rows that ask; `name`, and the type of its result."""

    def __init__(self, node: Lookup, rows: DataFrame, table: DataFrame) -> None:
        """`rows`: the stream's, by themselves."""
        spark = rows.sparkSession
        self.node = node
        self.name = f"millstream_{node.digest}"
        self.left, self.right = node.pairing.carried
        asked = [pair[0].sql for pair in node.on]
        answers = [pair[1].sql for pair in node.on]
        types = zip(types_of(rows, asked), types_of(table, answers), strict=True)
        self.keys = [common_type(rows, one, other) for one, other in types]
        row = named_struct([(new, field(old)) for old, new in self.right.items()])
        key = named_struct([(f"k{i}", self.key(sql, i)) for i, sql in enumerate(answers)])
        both = table.selectExpr(f"{key} AS `k`", f"{row} AS `r`")
        type_ = both.schema["r"].dataType
        assert isinstance(type_, StructType)
        self.type = type_
        tables = jvm.named("millstream.lookup.LookupTable")
        if not tables.registered(spark._jsparkSession, self.name):
            tables.register(spark._jsparkSession, self.name, both._jdf)

    def key(self, sql: str, number: int) -> str:
        type_ = self.keys[number]
        return cast(as_key(sql, type_), type_)

    def ask(self, place: Place) -> str:
        """SQL for all rows of a row's key. `place` says where a field of that row is."""
        return f"{self.name}({', '.join(self.key(pair[0].over(place), i) for i, pair in enumerate(self.node.on))})"

    def met(self, listed: str, place: Place) -> str:
        """SQL for those of them that meet the other conditions."""
        if self.node.residual is None:
            return listed
        places = {new: place(old) for old, new in self.left.items()}
        places |= {new: f"`{FOUND}`.{field(new)}" for new in self.right.values()}
        return f"filter({listed}, `{FOUND}` -> {self.node.residual.over(places)})"

    def answers(self, listed: str, place: Place) -> str:
        """SQL for the same, with a missing row where nothing was found, if such rows are wanted."""
        met = self.met(listed, place)
        if not self.node.outer:
            return met
        # A missing row behind all others, which stays if it is the first: so the condition is asked once.
        more = f"concat({met}, array({cast('NULL', self.type)}))"
        return f"filter({more}, (`{FOUND}`, `_n`) -> `_n` = 0 OR `{FOUND}` IS NOT NULL)"

    def fields(self, place: Place) -> list[tuple[str, str]]:
        """A row of the result: name and SQL."""
        own = [(new, place(old)) for old, new in self.left.items()]
        return own + [(new, f"`{FOUND}`.{field(new)}") for new in self.right.values()]


def looked_up(frame: DataFrame, node: Lookup, table: DataFrame, riding: list[str]) -> DataFrame:
    """The step by itself, on rows that stand in their own columns. `riding`: columns that go along."""
    known = Known(node, frame, table)
    listed = frame.selectExpr("*", f"{known.ask(field)} AS `_listed`")
    explode = "explode_outer" if node.outer else "explode"
    exploded = listed.selectExpr("*", f"{explode}({known.met('`_listed`', field)}) AS `{FOUND}`")
    return exploded.selectExpr(*riding, *(f"{sql} AS {field(name)}" for name, sql in known.fields(field)))
