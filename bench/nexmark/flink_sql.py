"""The queries in Flink SQL."""

from __future__ import annotations

PERSON = "id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING"
AUCTION = "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT"
AUCTION_REST = "expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING"
BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING"
TIME = "date_time TIMESTAMP(3)"

EVENTS = f"""CREATE TABLE events (
  kind INT,
  {TIME},
  person ROW<{PERSON}, {TIME}, extra STRING>,
  auction ROW<{AUCTION}, {TIME}, {AUCTION_REST}>,
  bid ROW<{BID}, {TIME}, extra STRING>%s
) WITH ('connector' = 'nexmark-events', 'folder' = '%s', 'subtasks' = '%d')"""

WATERMARK = ",\n  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND"
TIMED = ("q5", "q7", "q8", "q11", "q18")
"""Those with windows of event time, and the last rows by event time, for which Flink has a special operator."""

VIEWS = (
    """CREATE VIEW person AS SELECT person.id, person.name, person.email, person.credit_card, person.city, person.state,
  date_time, person.extra FROM events WHERE kind = 0""",
    """CREATE VIEW auction AS SELECT auction.id, auction.item_name, auction.description, auction.initial_bid,
  auction.reserve, date_time, auction.expires, auction.seller, auction.category, auction.extra
FROM events WHERE kind = 1""",
    """CREATE VIEW bid AS SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, date_time, bid.extra
FROM events WHERE kind = 2""",
    "CREATE TABLE side (key BIGINT, `value` STRING) WITH ('connector' = 'nexmark-side')",
)

OFFERS = "auction A JOIN bid B ON A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires"
RANKS = (("rank1", "price < 10000"), ("rank2", "price >= 10000 AND price < 1000000"), ("rank3", "price >= 1000000"))
TUMBLING = "DESCRIPTOR(date_time), INTERVAL '10' SECOND"


def ranked(name: str, value: str) -> str:
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
HOPS = """SELECT auction, count(*) AS n, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end"""

SQL = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, date_time, extra, 0.908 * price AS price FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": """SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id
WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""SELECT category, AVG(CAST(final AS DOUBLE)) AS average
FROM (SELECT A.id, A.category, MAX(B.price) AS final FROM {OFFERS} GROUP BY A.id, A.category) GROUP BY category""",
    "q5": f"""SELECT C.auction, C.n, C.window_start FROM ({HOPS}) C JOIN
  (SELECT MAX(n) AS n, window_start, window_end FROM ({HOPS}) GROUP BY window_start, window_end) M
  ON C.window_start = M.window_start AND C.window_end = M.window_end AND C.n = M.n""",
    "q7": f"""SELECT B.auction, B.price, B.bidder, B.date_time, B.extra FROM bid B JOIN
  (SELECT MAX(price) AS price, window_time, window_end FROM TABLE(TUMBLE(TABLE bid, {TUMBLING}))
   GROUP BY window_start, window_end, window_time) H
  ON B.price = H.price AND B.date_time BETWEEN H.window_time - INTERVAL '9.999' SECOND AND H.window_time""",
    "q8": f"""SELECT P.id, P.name, P.window_start FROM
  (SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE person, {TUMBLING}))
   GROUP BY id, name, window_start, window_end) P JOIN
  (SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, {TUMBLING}))
   GROUP BY seller, window_start, window_end) A
  ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end""",
    "q9": f"""SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category, extra,
  auction, bidder, price, bid_date_time, bid_extra FROM (
  SELECT A.*, B.auction, B.bidder, B.price, B.date_time AS bid_date_time, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.date_time ASC) AS place FROM {OFFERS})
WHERE place = 1""",
    "q10": """SELECT auction, bidder, price, date_time, extra, DATE_FORMAT(date_time, 'yyyy-MM-dd') AS `day`,
  DATE_FORMAT(date_time, 'HH:mm') AS `minute` FROM bid""",
    "q11": """SELECT bidder, count(*) AS n, window_start, window_end
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
    "q12": """SELECT bidder, count(*) AS n, window_start, window_end
FROM TABLE(TUMBLE((SELECT *, PROCTIME() AS now FROM bid), DESCRIPTOR(now), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
    "q13": """SELECT B.auction, B.bidder, B.price, B.date_time, S.`value` AS side
FROM (SELECT *, PROCTIME() AS now FROM bid) B JOIN side FOR SYSTEM_TIME AS OF B.now AS S
ON MOD(B.auction, 10000) = S.key""",
    "q14": """SELECT auction, bidder, date_time, extra, 0.908 * price AS price,
  CASE WHEN HOUR(date_time) BETWEEN 8 AND 18 THEN 'day' WHEN HOUR(date_time) <= 6 OR HOUR(date_time) >= 20 THEN 'night'
    ELSE 'other' END AS bid_time,
  CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"SELECT CAST(date_time AS DATE) AS `day`, {DAY} FROM bid GROUP BY CAST(date_time AS DATE)",
    "q16": f"""SELECT channel, CAST(date_time AS DATE) AS `day`,
  MAX(DATE_FORMAT(date_time, 'HH:mm')) AS `minute`, {DAY}
FROM bid GROUP BY channel, CAST(date_time AS DATE)""",
    "q17": f"""SELECT auction, CAST(date_time AS DATE) AS `day`, {ranked("bids", "count(*)")}, MIN(price) AS min_price,
  MAX(price) AS max_price, AVG(CAST(price AS DOUBLE)) AS avg_price, SUM(price) AS sum_price
FROM bid GROUP BY auction, CAST(date_time AS DATE)""",
    "q18": """SELECT auction, bidder, price, channel, url, date_time, extra FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid)
WHERE place <= 1""",
    "q19": """SELECT auction, bidder, price, channel, url, date_time, extra FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, date_time ASC) AS place FROM bid)
WHERE place <= 10""",
    "q20": """SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.date_time, B.extra, A.item_name, A.description,
  A.initial_bid, A.reserve, A.expires, A.seller, A.category, A.date_time AS auction_date_time, A.extra AS auction_extra
FROM bid B JOIN auction A ON B.auction = A.id WHERE A.category = 10""",
    "q21": """SELECT auction, bidder, price, channel, CASE
  WHEN LOWER(channel) = 'apple' THEN '0' WHEN LOWER(channel) = 'google' THEN '1'
  WHEN LOWER(channel) = 'facebook' THEN '2' WHEN LOWER(channel) = 'baidu' THEN '3'
  ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
  OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1,
  SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid""",
    "q23": """SELECT B.auction, B.bidder, B.price, B.channel, B.date_time, P.name, P.city, P.state, A.id, A.item_name,
  A.category FROM bid B JOIN person P ON B.bidder = P.id JOIN auction A ON B.bidder = A.seller""",
}
"""q6 is missing: Flink has no OVER window that takes rows back."""

FILES = """CREATE TABLE sunk (auction BIGINT, bidder BIGINT, price BIGINT, date_time TIMESTAMP(3), extra STRING,
  `day` STRING, `minute` STRING) PARTITIONED BY (`day`, `minute`)
WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""


def tables(query: str, events: str, subtasks: int) -> list[str]:
    return [EVENTS % (WATERMARK if query in TIMED else "", events, subtasks), *VIEWS]
