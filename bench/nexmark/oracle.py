"""What each query must give, by DuckDB, from all events at once."""

from __future__ import annotations

from pathlib import Path

import duckdb

PASSED = "(SELECT max(date_time) - INTERVAL 4 SECONDS FROM events)"
CLOSED = f"window_start + INTERVAL 10 SECONDS <= {PASSED}"
"""Windows that the watermark has passed: the others are still open when the input ends."""

OFFERS = "auctions a JOIN bids b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
TUMBLING = "time_bucket(INTERVAL 10 SECONDS, date_time)"
RANKS = (("rank1", "price < 10000"), ("rank2", "price >= 10000 AND price < 1000000"), ("rank3", "price >= 1000000"))


def ranked(name: str, value: str) -> str:
    """A figure in all, and for each price rank."""
    parts = [f"{value} AS total_{name}"]
    parts += [f"{value} FILTER (WHERE {condition}) AS {rank}_{name}" for rank, condition in RANKS]
    return ", ".join(parts)


DAY = ", ".join(
    (
        ranked("bids", "count(*)"),
        ranked("bidders", "count(DISTINCT bidder)"),
        ranked("auctions", "count(DISTINCT auction)"),
    )
)

SQL = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bids",
    "q1": "SELECT auction, bidder, date_time, extra, (0.908 * price)::DOUBLE AS price FROM bids",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN persons p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""SELECT category, avg(final) AS average
        FROM (SELECT a.id, a.category, max(b.price) AS final FROM {OFFERS} GROUP BY ALL) GROUP BY category""",
    "q5": f"""WITH hops AS (
            SELECT auction, unnest(range(time_bucket(INTERVAL 2 SECONDS, date_time) - INTERVAL 8 SECONDS,
                time_bucket(INTERVAL 2 SECONDS, date_time) + INTERVAL 1 MILLISECOND, INTERVAL 2 SECONDS))
                AS window_start
            FROM bids),
        counts AS (SELECT auction, count(*) AS n, window_start FROM hops WHERE {CLOSED} GROUP BY ALL)
        SELECT auction, n, window_start FROM counts QUALIFY n = max(n) OVER (PARTITION BY window_start)""",
    "q6": f"""WITH won AS (
            SELECT a.id, a.seller, a.expires, max(b.price) AS final FROM {OFFERS} GROUP BY ALL)
        SELECT seller, avg(final) AS average FROM (
            SELECT * FROM won QUALIFY row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) <= 10)
        GROUP BY seller""",
    "q7": f"""SELECT auction, price, bidder, date_time, extra FROM (SELECT *, {TUMBLING} AS window_start FROM bids)
        WHERE {CLOSED} QUALIFY price = max(price) OVER (PARTITION BY window_start)""",
    "q8": f"""SELECT p.id, p.name, p.window_start FROM
        (SELECT DISTINCT id, name, {TUMBLING} AS window_start FROM persons) p JOIN
        (SELECT DISTINCT seller, {TUMBLING} AS window_start FROM auctions) a
        ON p.id = a.seller AND p.window_start = a.window_start WHERE p.{CLOSED}""",
    "q9": f"""SELECT a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.date_time, a.expires,
        a.seller, a.category, a.extra, b.auction, b.bidder, b.price,
        b.date_time AS bid_date_time, b.extra AS bid_extra FROM {OFFERS}
        QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time ASC) = 1""",
    "q10": """SELECT auction, bidder, price, date_time, extra, strftime(date_time, '%Y-%m-%d') AS day,
        strftime(date_time, '%H:%M') AS minute
        FROM bids""",
    "q11": f"""WITH steps AS (
            SELECT bidder, date_time,
                coalesce(date_time - lag(date_time) OVER b >= INTERVAL 10 SECONDS, true)::INT AS new
            FROM bids WINDOW b AS (PARTITION BY bidder ORDER BY date_time)),
        numbered AS (
            SELECT bidder, date_time, sum(new) OVER (PARTITION BY bidder ORDER BY date_time) AS session FROM steps)
        SELECT bidder, count(*) AS n, min(date_time) AS window_start, max(date_time) + INTERVAL 10 SECONDS AS window_end
        FROM numbered GROUP BY bidder, session
        HAVING max(date_time) + INTERVAL 10 SECONDS <= {PASSED}""",
    "q12": "SELECT bidder, count(*) AS n FROM bids GROUP BY bidder",
    "q13": """SELECT auction, bidder, price, date_time, 'value-' || (auction % 10000)::VARCHAR AS side FROM bids""",
    "q14": """SELECT auction, bidder, date_time, extra, (0.908 * price)::DOUBLE AS price,
        CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'day'
            WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'night' ELSE 'other' END
            AS bid_time,
        length(extra) - length(replace(extra, 'c', '')) AS c_counts
        FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"SELECT date_time::DATE AS day, {DAY} FROM bids GROUP BY day",
    "q16": f"""SELECT channel, date_time::DATE AS day, max(strftime(date_time, '%H:%M')) AS minute, {DAY}
        FROM bids GROUP BY channel, day""",
    "q17": f"""SELECT auction, date_time::DATE AS day, {ranked("bids", "count(*)")}, min(price) AS min_price,
        max(price) AS max_price, avg(price) AS avg_price, sum(price)::BIGINT AS sum_price
        FROM bids GROUP BY auction, day""",
    "q18": """SELECT auction, bidder, price, channel, url, date_time, extra FROM bids
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) = 1""",
    "q19": """SELECT auction, bidder, price, channel, url, date_time, extra FROM bids
        QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time ASC) <= 10""",
    "q20": """SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra, a.item_name, a.description,
        a.initial_bid, a.reserve, a.expires, a.seller, a.category, a.date_time AS auction_date_time,
        a.extra AS auction_extra
        FROM bids b JOIN auctions a ON b.auction = a.id WHERE a.category = 10""",
    "q21": """SELECT * FROM (SELECT auction, bidder, price, channel, CASE lower(channel)
            WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bids)
        WHERE channel_id <> ''""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
        split_part(url, '/', 6) AS dir3 FROM bids""",
    "q23": """SELECT b.auction, b.bidder, b.price, b.channel, b.date_time, p.name, p.city, p.state, a.id,
        a.item_name, a.category
        FROM bids b JOIN persons p ON b.bidder = p.id JOIN auctions a ON b.bidder = a.seller""",
}


TAKEN = {"q12": "SELECT bidder, sum(n * weight)::BIGINT AS n, -1 AS weight FROM changes GROUP BY bidder"}
"""How results are made comparable: windows of processing time depend on the clock, but their counts add up."""


class Verdict:
    """Whether the rows are right: how many were expected, how many are missing, how many too many."""

    def __init__(self, expected: int, missing: int, extra: int, example: str) -> None:
        self.expected = expected
        self.missing = missing
        self.extra = extra
        self.example = example

    @property
    def right(self) -> bool:
        return self.expected > 0 and self.missing == 0 and self.extra == 0

    def __str__(self) -> str:
        if self.right:
            return f"{self.expected:,} rows"
        if not self.expected + self.extra:
            return "no result from so few events: --judged N takes more"
        return f"{self.missing:,} of {self.expected:,} rows missing, {self.extra:,} too many: {self.example}"


class Oracle:
    """DuckDB over the events of a folder."""

    def __init__(self, folder: Path) -> None:
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'; SET threads = 2")
        for kind in ("persons", "auctions", "bids"):
            self.db.execute(f"CREATE VIEW {kind} AS SELECT * FROM '{folder}/{kind}-*.parquet'")
        kinds = " UNION ALL ".join(
            f"SELECT max(date_time) AS date_time FROM {kind}" for kind in ("persons", "auctions", "bids")
        )
        self.db.execute(f"CREATE TABLE events AS {kinds}")

    def judge(self, query: str, changes: Path) -> Verdict:
        """Compares the sum of changes, one JSON object per line with an `op`, with what the query must give."""
        columns = self.wanted(query)
        listed = ", ".join(f"{name!r}: {type_!r}" for name, type_ in {"op": "VARCHAR", **columns}.items())
        read = f"read_json('{changes}', format = 'newline_delimited', columns = {{{listed}}})"
        weight = "CASE WHEN op = 'delete' THEN -1 ELSE 1 END AS weight"
        return self.compare(query, columns, f"SELECT * EXCLUDE (op), {weight} FROM {read}")

    def judge_files(self, query: str, files: str) -> Verdict:
        """Compares the rows of Parquet files in Hive's layout."""
        read = f"read_parquet('{files}', hive_partitioning = true, hive_types_autocast = false)"
        return self.compare(query, self.wanted(query), f"SELECT * EXCLUDE (epoch), 1 AS weight FROM {read}")

    def judge_flink(self, query: str, changes: Path) -> Verdict:
        """Compares the sum of changes, one per line with tabs, the op first. At the end Flink closes all windows."""
        columns = self.wanted(query, SQL[query].replace(PASSED, "now()::TIMESTAMP"))
        listed = ", ".join(f"{name!r}: {type_!r}" for name, type_ in {"op": "VARCHAR", **columns}.items())
        read = f"read_csv('{changes}', delim = '\t', header = false, quote = '', escape = '', columns = {{{listed}}})"
        weight = "CASE WHEN op LIKE '+%' THEN 1 ELSE -1 END AS weight"
        return self.compare(query, columns, f"SELECT * EXCLUDE (op), {weight} FROM {read}")

    def wanted(self, query: str, sql: str | None = None) -> dict[str, str]:
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE wanted AS {sql or SQL[query]}")
        return {name: type_ for name, type_, *_ in self.db.execute("DESCRIBE wanted").fetchall()}

    def compare(self, query: str, columns: dict[str, str], changes: str) -> Verdict:
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE changes AS {changes}")
        taken = TAKEN.get(query, "SELECT * REPLACE (-weight AS weight) FROM changes")
        chosen = ", ".join(shown(name, type_) for name, type_ in columns.items())
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE off AS SELECT {chosen}, sum(weight) AS weight FROM ("
            f"SELECT *, 1 AS weight FROM wanted UNION ALL BY NAME {taken}) "
            "GROUP BY ALL HAVING sum(weight) <> 0"
        )
        return self.verdict()

    def verdict(self) -> Verdict:
        def number(sql: str) -> int:
            row = self.db.execute(sql).fetchone()
            assert row is not None
            return int(row[0] or 0)

        example = self.db.execute("SELECT * FROM off LIMIT 1").fetchone()
        return Verdict(
            number("SELECT count(*) FROM wanted"),
            number("SELECT sum(weight) FROM off WHERE weight > 0"),
            number("SELECT -sum(weight) FROM off WHERE weight < 0"),
            str(example),
        )


def shown(name: str, type_: str) -> str:
    """Averages may differ in their last digits."""
    return f"round({name}, 3) AS {name}" if type_ in ("DOUBLE", "FLOAT") else name
