"""The jobs whose plans are kept as golden texts."""

from __future__ import annotations

from collections.abc import Callable

import millstream as ms
from millstream import journal

ALL: dict[str, Callable[[], ms.Job]] = {}

LIKES = "liker STRING, liked STRING, at TIMESTAMP"
ORDERS = "id BIGINT, customer INT, price DECIMAL(10, 2), items ARRAY<STRING>, note STRING"


def plan(fill: Callable[[ms.Job], None]) -> None:
    def build() -> ms.Job:
        job = ms.Job(fill.__name__)
        fill(job)
        return job

    ALL[fill.__name__] = build


def likes(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("likes"), LIKES)


def orders(job: ms.Job) -> ms.Stream:
    return job.stream(journal.source("orders"), ORDERS)


def customers(job: ms.Job) -> ms.Table:
    return job.table(journal.source("customers"), "id INT, name STRING, city STRING, age INT", key="id")


@plan
def self_join(job: ms.Job) -> None:
    rows = likes(job)
    matches = (
        rows.as_("a")
        .join(rows.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
        .where("a.liker < a.liked")
        .select("a.liker", "a.liked", at="greatest(a.at, b.at)")
    )
    matches.to(journal.sink("matches"))


@plan
def stateless(job: ms.Job) -> None:
    rows = orders(job).where("price > 0").explode("items", as_="item")
    rows.select("id", "item", gross="price * 1.19").to(journal.sink("lines"))


@plan
def several_operators_in_a_stage(job: ms.Job) -> None:
    rows, people = (
        orders(job),
        job.table(journal.source("people", changelog=True), "id INT, name STRING", key="id"),
    )
    rows.group_by("customer").agg(n="count(*)", total="sum(price)").to(journal.sink("totals"))
    rows.group_by(cheap="price < 10").agg(n="count(*)", least="min(price)").to(journal.sink("cheap"))
    rows.as_("o").join(people.as_("p"), on="o.customer = p.id").select("o.id", "p.name").to(
        journal.sink("named", changelog=True)
    )


@plan
def several_sinks_of_one_node(job: ms.Job) -> None:
    totals = orders(job).group_by("customer").agg(n="count(*)", total="sum(price)").named("totals")
    totals.to(journal.sink("latest"))
    totals.to(journal.sink("history", changelog=True))
    totals.where("n > 10").select("customer", mean="total / n").to(journal.sink("regulars"))


@plan
def passing_a_level(job: ms.Job) -> None:
    rows, people = orders(job), customers(job)
    rows.as_("o").join(people.as_("c"), on="o.customer = c.id").group_by("c.city").agg(n="count(*)").to(
        journal.sink("per_city")
    )
    rows.where("note IS NOT NULL").select("id", "note").to(journal.sink("notes"))
    people.to(journal.sink("people"))


@plan
def union_below_a_join(job: ms.Job) -> None:
    old = job.stream(journal.source("old_orders"), "id BIGINT, customer INT, price INT")
    both = orders(job).select("id", "customer", "price").union(old)
    both.as_("o").join(customers(job).as_("c"), on="o.customer = c.id AND o.price > 5").select("o.id", "c.name").to(
        journal.sink("named", changelog=True)
    )


@plan
def union_with_itself(job: ms.Job) -> None:
    rows = orders(job).select("customer", "price")
    rows.union(rows).group_by("customer").agg(total="sum(price)").to(journal.sink("doubled"))


@plan
def filters_below_a_join(job: ms.Job) -> None:
    joined = (
        orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id AND o.price > 5 AND o.note <> c.name")
    )
    joined.where("c.city = 'Rome' AND length(o.note) < c.age").select("o.id", "c.name").to(
        journal.sink("out", changelog=True)
    )


@plan
def filters_stay_above_a_join_that_others_read(job: ms.Job) -> None:
    joined = orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id")
    joined.where("c.city = 'Rome'").select("o.id", "c.name").to(journal.sink("rome", changelog=True))
    joined.select("o.id", "c.age").to(journal.sink("ages", changelog=True))


@plan
def filters_around_a_left_join(job: ms.Job) -> None:
    """A condition of the join may filter the right only, one on the result the left only."""
    joined = (
        orders(job)
        .as_("o")
        .join(customers(job).as_("c"), on="o.customer = c.id AND o.price > 5 AND c.age > 18", how="left")
    )
    joined.where("o.note IS NOT NULL AND c.city = 'Rome'").select("o.id", "c.name").to(
        journal.sink("out", changelog=True)
    )


@plan
def outer_joins_by_key(job: ms.Job) -> None:
    """The key of a row without a partner is its own side's: from one task if that is what it is joined by."""
    people = customers(job)
    other = job.table(journal.source("accounts", changelog=True), "id INT, owner INT, sum INT", key="id")
    people.as_("c").join(other.as_("a"), on="c.id = a.id", how="full").select(one="c.id", other="a.id", sum="a.sum").to(
        journal.sink("by_id")
    )
    people.as_("c").join(other.as_("a"), on="c.id = a.owner", how="right").select(
        one="c.id", other="a.id", sum="a.sum"
    ).to(journal.sink("by_owner"))
    people.as_("c").join(other.as_("a"), on="c.id = a.owner", how="anti").to(journal.sink("without"))
    other.as_("a").join(people.as_("c"), on="a.owner = c.id", how="left").select(id="a.id", of="c.name").to(
        journal.sink("owned", key="id")
    )


@plan
def interval_join(job: ms.Job) -> None:
    """A chain of two, with a window upon it, whose rows may have waited for a partner."""
    searches = job.stream(journal.source("searches"), "user INT, term STRING, at TIMESTAMP", time="at")
    clicks = job.stream(journal.source("clicks"), "user INT, link STRING, at TIMESTAMP", time="at")
    orders = job.stream(journal.source("orders"), "user INT, price INT, at TIMESTAMP", time="at")
    found = (
        searches.as_("s")
        .join(
            clicks.as_("c"),
            on="s.user = c.user AND c.at BETWEEN s.at AND s.at + INTERVAL 10 MINUTES",
            how="left",
        )
        .select("s.user", "s.term", "c.link", "s.at")
    )
    bought = found.as_("f").join(
        orders.as_("o"), on="f.user = o.user AND o.at > f.at AND o.at - f.at < INTERVAL 1 HOUR"
    )
    assert isinstance(bought, ms.Stream)
    hours = bought.select("f.term", "f.at").window(ms.tumbling("1 hour"))
    hours.group_by("term").agg(n="count(*)").final().to(journal.sink("bought"))


@plan
def join_with_ttl(job: ms.Job) -> None:
    """Of a stream that has a time, and a table, which is kept."""
    rows = job.stream(journal.source("likes"), LIKES, time="at")
    rows.as_("l").join(customers(job).as_("c"), on="l.liker = c.name", ttl="1 day", how="left").select(
        "l.liked", "c.city"
    ).to(journal.sink("out", changelog=True))


@plan
def broadcast_join(job: ms.Job) -> None:
    orders(job).as_("o").join(customers(job).as_("c"), on="o.customer = c.id", broadcast=True).select(
        "o.id", "c.name"
    ).to(journal.sink("named", changelog=True))


@plan
def pruned_columns(job: ms.Job) -> None:
    people = customers(job)
    first = orders(job).as_("o").join(people.as_("c"), on="o.customer = c.id").select("o.id", "o.price", "c.city")
    first.as_("a").join(people.as_("b"), on="a.city = b.city").group_by("b.age").agg(n="count(*)").to(
        journal.sink("out")
    )


@plan
def dead_letters(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes", dead_letters="bad_likes"), LIKES)
    rows.group_by("liked").agg(n="count(*)").to(journal.sink("popular"))


@plan
def upserts_from_several_tasks(job: ms.Job) -> None:
    people = customers(job)
    pairs = people.as_("a").join(people.as_("b"), on="a.city = b.city AND a.id < b.id")
    pairs.select(one="a.id", other="b.id", city="a.city").to(journal.sink("neighbours"))


@plan
def aggregate_of_aggregate(job: ms.Job) -> None:
    per_customer = orders(job).group_by("customer").agg(n="count(*)", most="max(price)")
    per_customer.group_by("n").agg(customers="count(*)", most="max(most)").to(journal.sink("histogram"))


@plan
def figures(job: ms.Job) -> None:
    rows = orders(job)
    rows.group_by("customer").agg(
        cheap="count(*) FILTER (WHERE price < 10)",
        notes="count(DISTINCT note)",
        few_notes="count(DISTINCT note) FILTER (WHERE price < 10)",
        best="max_by(note, price)",
        spread="stddev(price)",
    ).to(journal.sink("figures"))


@plan
def tops(job: ms.Job) -> None:
    people = customers(job)
    people.top(3, by="age DESC, name", per="city").to(journal.sink("oldest"))
    people.top(3, by="age NULLS LAST", per="city", rank="place").to(journal.sink("youngest"))
    orders(job).dedup("customer", keep="last", by="id").to(journal.sink("last_orders"))
    changed = orders(job).to_table("id", delete="price IS NULL", by="customer")
    changed.group_by("customer").agg(n="count(*)").to(journal.sink("counts"))


@plan
def sets(job: ms.Job) -> None:
    ids, people = orders(job).select(id="customer"), customers(job).select("id")
    ids.distinct().to(journal.sink("ids"))
    ids.intersect(people).to(journal.sink("known"))
    people.except_(ids, all=True).to(journal.sink("unknown", changelog=True))
    people.agg(n="count(*)").to(journal.sink("how_many"))


@plan
def changes_and_having(job: ms.Job) -> None:
    totals = orders(job).group_by("customer").having("count(*) > 3").agg(total="sum(price)")
    totals.changes().where("op = 'delete'").to(journal.sink("gone"))


@plan
def having_of_windows(job: ms.Job) -> None:
    """A name goes to what keeps state, below the condition."""
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    busy = rows.window(ms.tumbling("1 hour")).group_by("liked").having("count(*) > 3").agg(last="max(at)").named("busy")
    busy.final(time="window_time").to(journal.sink("busy"))


@plan
def dedup_within(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    rows.dedup("liker", "liked", within="1 hour").to(journal.sink("once"))
    last = rows.dedup("liker", keep="last", within="10 minutes")
    last.window(ms.tumbling("1 hour")).agg(n="count(*)").final().to(journal.sink("hourly"))


@plan
def raw_records(job: ms.Job) -> None:
    rows = job.stream(journal.source("bytes", format="raw"))
    rows.where("partition = 0").select("key", "value").to(journal.sink("copy", format="raw"))


@plan
def event_time(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    rows.group_by("liked", day="date(at)").agg(n="count(*)").to(journal.sink("per_day"))


@plan
def time_of_several_sources(job: ms.Job) -> None:
    """A table without a lateness does not affect time; a source that may be idle does, until it is."""
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    more = job.stream(journal.source("more"), LIKES, time="at", idle_after="30 seconds")
    seen = job.stream(journal.source("seen"), "liked STRING", time=ms.processing_time("at"))
    prices = job.table(journal.source("prices"), "item STRING, price INT, since TIMESTAMP", key="item", time="since")
    moved = job.table(
        journal.source("moved"),
        "id STRING, at TIMESTAMP",
        key="id",
        time="at",
        lateness="1 minute",
        idle_after="1 hour",
    )
    both = rows.union(more).as_("l").enrich(moved.as_("p"), on="l.liker = p.id", as_of="l.at").select("l.liked", "l.at")
    known = both.as_("l").enrich(prices.as_("p"), on="l.liked = p.item", as_of="l.at").select("l.liked", "l.at")
    known.union(seen).window(ms.tumbling("1 hour")).agg(n="count(*)").final().to(journal.sink("hours"))


@plan
def windows(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    rows.window(ms.hopping("1 hour", every="10 minutes")).group_by("liked").agg(n="count(*)").final().to(
        journal.sink("hourly")
    )
    visits = rows.window(ms.session("5 minutes"), allowed_lateness="1 hour").group_by("liker")
    visits.agg(n="count(*)", last="max(at)").to(journal.sink("visits"))
    rows.window(ms.tumbling("1 hour"), allowed_lateness="1 minute").late().select("liker", "window_end").to(
        journal.sink("late")
    )
    hot = rows.window(ms.sliding("5 minutes")).group_by("liked").agg(n="count(*)", first="min(at)")
    hot.to(journal.sink("hot"))


@plan
def processing_time(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes"), LIKES, time=ms.processing_time("seen_at"))
    rows.window(ms.tumbling("10 seconds")).group_by("liked").agg(n="count(*)").final().to(journal.sink("counts"))


@plan
def enriched(job: ms.Job) -> None:
    people = customers(job)
    known = orders(job).as_("o").enrich(people.as_("c"), on="o.customer = c.id AND c.age > 17")
    known.select("o.id", "c.name").to(journal.sink("named"))
    known.where("o.price > 5").group_by("c.city").agg(n="count(*)").to(journal.sink("per_city"))


@plan
def looked_up(job: ms.Job) -> None:
    kinds = job.static(journal.source("kinds"), "id INT, kind STRING, note STRING").where("note IS NULL")
    known = orders(job).as_("o").enrich(kinds.as_("k"), on="o.customer = k.id AND o.price > 5")
    known.select("o.id", "k.kind").to(journal.sink("named"))
    known.group_by("k.kind").agg(n="count(*)").to(journal.sink("per_kind"))


@plan
def enriched_as_it_was(job: ms.Job) -> None:
    rows = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    prices = job.table(
        journal.source("prices"), "item STRING, price INT, since TIMESTAMP, note STRING", key="item", time="since"
    )
    people = job.table(
        journal.source("people", changelog=True),
        "id STRING, city STRING, moved TIMESTAMP",
        key="id",
        time="moved",
        lateness="1 minute",
    )
    on = "l.liker = p.id AND l.liked <> p.city"
    then = rows.as_("l").enrich(people.as_("p"), on=on, how="inner", as_of="l.at")
    then.where("l.liked > 'b' AND p.city > 'b'").select("l.liker", "p.city").to(journal.sink("cities"))
    bought = rows.as_("l").enrich(people.as_("p"), on="l.liker = p.id").select("l.liked", "l.at", "p.city")
    bought.as_("b").enrich(prices.as_("p"), on="b.liked = p.item", as_of="b.at").select("b.city", "p.price").to(
        journal.sink("bought")
    )


class Matcher(ms.Process):
    output = "liker STRING, liked STRING"
    outputs = {"alerts": "who STRING, why STRING"}  # noqa: RUF012
    seen = ms.MapState("STRING", "TIMESTAMP", ttl="30 days")
    count = ms.ValueState("n BIGINT, last TIMESTAMP")

    def on_row(self, key: object, row: object) -> None:
        """Nothing."""


@plan
def python_code(job: ms.Job) -> None:
    rows = likes(job)
    matches = rows.key_by("liked").process(Matcher, on_error=journal.sink("bad"))
    matches.to(journal.sink("matches"))
    matches.output("alerts").where("why > ''").to(journal.sink("alerts"))
    # The same text with other contents is other code.
    for letter in "ab":
        kept = rows.filter(lambda row, letter=letter: row.liker.startswith(letter), on_error="skip")  # type: ignore[misc]
        kept.flat_map(words, "word STRING", name=f"words_{letter}").group_by("word").agg(n="count(*)").to(
            journal.sink(f"counts_{letter}")
        )


def words(row: object) -> list[object]:
    return []


@plan
def windows_of_windows(job: ms.Job) -> None:
    """Closed windows have a time; joined by window, they are kept until it is closed."""
    timed = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    minutes = timed.window(ms.tumbling("1 minute")).group_by("liked").agg(n="count(*)").final(time="window_time")
    minutes.window(ms.tumbling("1 hour")).group_by("liked").agg(most="max(n)").final().to(journal.sink("hours"))
    best = minutes.group_by("window_end").agg(n="max(n)")
    popular = minutes.as_("m").join(best.as_("b"), on="m.window_end = b.window_end AND m.n = b.n")
    popular.select("m.liked", "m.window_end", "b.n").to(journal.sink("popular", changelog=True))


@plan
def rows_that_are_told_apart(job: ms.Job) -> None:
    """Whole rows forever: a warning. Few columns, or what a window bounds: none."""
    timed = job.stream(journal.source("likes"), LIKES, time="at", lateness="10 seconds")
    timed.where("liker <> liked").distinct().to(journal.sink("likes"))
    timed.select("liker").distinct().to(journal.sink("likers"))
    timed.dedup("liker", "liked", within="1 hour").to(journal.sink("once"))
    minutes = timed.window(ms.tumbling("1 minute")).group_by("liked").agg(n="count(*)").final()
    minutes.select("window_end", "n").distinct().to(journal.sink("counts"))
