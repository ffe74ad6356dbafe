"""The queries as Millstream jobs."""

from __future__ import annotations

from collections.abc import Callable

import millstream as ms
from bench.nexmark.source import Events

Query = Callable[[Events], ms.Stream | ms.Table]
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def q0(events: Events) -> ms.Stream:
    return events.bids.select("auction", "bidder", "price", "date_time", "extra")


def q1(events: Events) -> ms.Stream:
    return events.bids.select("auction", "bidder", "date_time", "extra", price="0.908 * price")


def q2(events: Events) -> ms.Stream:
    return events.bids.where("auction % 123 = 0").select("auction", "price")


def q3(events: Events) -> ms.Stream | ms.Table:
    sellers = events.persons.where("state IN ('OR', 'ID', 'CA')").as_("p")
    joined = events.auctions.where("category = 10").as_("a").join(sellers, on="a.seller = p.id")
    return joined.select("p.name", "p.city", "p.state", "a.id")


def offers(events: Events) -> ms.Stream | ms.Table:
    """Bids with their auction, made while it ran."""
    return events.auctions.as_("a").join(
        events.bids.as_("b"), on="a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
    )


def q4(events: Events) -> ms.Table:
    winning = offers(events).group_by(id="a.id", category="a.category").agg(final="max(b.price)")
    return winning.group_by("category").agg(average="avg(final)")


def q5(events: Events) -> ms.Stream | ms.Table:
    hops = events.bids.window(ms.hopping("10 seconds", every="2 seconds"))
    counts = hops.group_by("auction").agg(n="count(*)").final()
    most = counts.group_by("window_start").agg(n="max(n)")
    busiest = counts.as_("c").join(most.as_("m"), on="c.window_start = m.window_start AND c.n = m.n")
    return busiest.select("c.auction", "c.n", "c.window_start")


def q6(events: Events) -> ms.Table:
    by = {"id": "a.id", "seller": "a.seller", "expires": "a.expires"}
    winning = offers(events).group_by(**by).agg(final="max(b.price)")
    last = winning.top(10, by="expires DESC, id DESC", per="seller")
    return last.group_by("seller").agg(average="avg(final)")


def q7(events: Events) -> ms.Stream | ms.Table:
    bids = events.bids.with_columns(start="window(date_time, '10 seconds').start")
    highest = events.bids.window(ms.tumbling("10 seconds")).agg(price="max(price)").final()
    won = bids.as_("b").join(highest.as_("h"), on="b.start = h.window_start AND b.price = h.price")
    return won.select("b.auction", "b.price", "b.bidder", "b.date_time", "b.extra")


def q8(events: Events) -> ms.Stream | ms.Table:
    window = ms.tumbling("10 seconds")
    registered = events.persons.window(window).group_by("id", "name").agg(n="count(*)").final()
    selling = events.auctions.window(window).group_by("seller").agg(n="count(*)").final()
    both = registered.as_("p").join(selling.as_("a"), on="p.id = a.seller AND p.window_start = a.window_start")
    return both.select("p.id", "p.name", "p.window_start")


def q9(events: Events) -> ms.Table:
    columns = ("id", "item_name", "description", "initial_bid", "reserve", "date_time", "expires", "seller", "category")
    offered = offers(events).select(
        *(f"a.{name}" for name in (*columns, "extra")),
        *("b.auction", "b.bidder", "b.price"),
        bid_date_time="b.date_time",
        bid_extra="b.extra",
    )
    return offered.top(1, by="price DESC, bid_date_time", per="id")


def q10(events: Events) -> ms.Stream:
    day, minute = "date_format(date_time, 'yyyy-MM-dd')", "date_format(date_time, 'HH:mm')"
    return events.bids.select("auction", "bidder", "price", "date_time", "extra", day=day, minute=minute)


def q11(events: Events) -> ms.Stream:
    sessions = events.bids.window(ms.session("10 seconds"))
    return sessions.group_by("bidder").agg(n="count(*)").final().select("bidder", "n", "window_start", "window_end")


def q12(events: Events) -> ms.Table:
    """A row's window is that of the epoch that reads it: the clock is the same for all rows of an epoch."""
    bids = events.bids.with_columns(start="window(current_timestamp(), '10 seconds').start")
    return bids.group_by("bidder", "start").agg(n="count(*)")


def q13(events: Events) -> ms.Stream:
    enriched = events.bids.as_("b").enrich(events.side.as_("s"), on="b.auction % 10000 = s.key", how="inner")
    return enriched.select("b.auction", "b.bidder", "b.price", "b.date_time", "s.side")


def q14(events: Events) -> ms.Stream:
    hour = "hour(date_time)"
    return events.bids.where("0.908 * price > 1000000 AND 0.908 * price < 50000000").select(
        "auction",
        "bidder",
        "date_time",
        "extra",
        price="0.908 * price",
        bid_time=f"CASE WHEN {hour} BETWEEN 8 AND 18 THEN 'day' WHEN {hour} <= 6 OR {hour} >= 20 THEN 'night' "
        "ELSE 'other' END",
        c_counts="length(extra) - length(replace(extra, 'c', ''))",
    )


def ranked(name: str, value: str) -> dict[str, str]:
    """A figure in all, and for each price rank."""
    parts = {f"{rank}_{name}": f"{value} FILTER (WHERE {condition})" for rank, condition in RANKS.items()}
    return {f"total_{name}": value, **parts}


def statistics() -> dict[str, str]:
    bidders, auctions = "count(DISTINCT bidder)", "count(DISTINCT auction)"
    return ranked("bids", "count(*)") | ranked("bidders", bidders) | ranked("auctions", auctions)


def q15(events: Events) -> ms.Table:
    return events.bids.group_by(day="date(date_time)").agg(**statistics())


def q16(events: Events) -> ms.Table:
    grouped = events.bids.group_by("channel", day="date(date_time)")
    return grouped.agg(minute="max(date_format(date_time, 'HH:mm'))", **statistics())


def q17(events: Events) -> ms.Table:
    return events.bids.group_by("auction", day="date(date_time)").agg(
        **ranked("bids", "count(*)"),
        min_price="min(price)",
        max_price="max(price)",
        avg_price="avg(price)",
        sum_price="sum(price)",
    )


def q18(events: Events) -> ms.Table:
    return events.bids.dedup("bidder", "auction", keep="last", by="date_time")


def q19(events: Events) -> ms.Table:
    return events.bids.top(10, by="price DESC, date_time", per="auction")


def q20(events: Events) -> ms.Stream | ms.Table:
    auctions = events.auctions.where("category = 10").as_("a")
    return (
        events.bids.as_("b")
        .join(auctions, on="b.auction = a.id")
        .select(
            *("b.auction", "b.bidder", "b.price", "b.channel", "b.url", "b.date_time", "b.extra"),
            *("a.item_name", "a.description", "a.initial_bid", "a.reserve", "a.expires", "a.seller", "a.category"),
            auction_date_time="a.date_time",
            auction_extra="a.extra",
        )
    )


def q21(events: Events) -> ms.Stream:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    cases = " ".join(f"WHEN lower(channel) = '{name}' THEN '{id_}'" for name, id_ in known.items())
    named = events.bids.with_columns(
        channel_id=f"CASE {cases} ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END"
    )
    return named.where("channel_id <> ''").select("auction", "bidder", "price", "channel", "channel_id")


def q22(events: Events) -> ms.Stream:
    dirs = {f"dir{n}": f"split_part(url, '/', {n + 3})" for n in (1, 2, 3)}
    return events.bids.select("auction", "bidder", "price", "channel", **dirs)


def q23(events: Events) -> ms.Stream | ms.Table:
    with_person = events.bids.as_("b").join(events.persons.as_("p"), on="b.bidder = p.id")
    people = with_person.select(
        "b.auction", "b.bidder", "b.price", "b.channel", "b.date_time", "p.name", "p.city", "p.state"
    )
    joined = people.as_("b").join(events.auctions.as_("a"), on="b.bidder = a.seller")
    return joined.select("b.*", "a.id", "a.item_name", "a.category")


TIMED = ("q5", "q7", "q8", "q11")
"""Those with windows of event time: the others need no watermark."""

QUERIES: dict[str, Query] = {
    name: value for name, value in globals().items() if name[:1] == "q" and name[1:].isdigit() and callable(value)
}
