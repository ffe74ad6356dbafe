"""Which searches led where? Every search, with the clicks of the same person in the ten minutes after it.

Searches and clicks are two streams, and a click may arrive before its search does. The bounds on time are part of the
join: a click an hour later has nothing to do with the search, and need not be kept for it.

    $ python examples/clicks.py
    ann searched for boots, and clicked on /boots/12
    ann searched for boots, and clicked on /boots/7
    bob searched for hats, and clicked on /hats/1
"""

import millstream as ms
from millstream import journal

job = ms.Job("clicks")

searches = job.stream(
    journal.source("searches"), schema="user STRING, term STRING, at TIMESTAMP", time="at", lateness="1 minute"
)
clicks = job.stream(
    journal.source("clicks"), schema="user STRING, page STRING, at TIMESTAMP", time="at", lateness="1 minute"
)

found = searches.as_("s").join(
    clicks.as_("c"), on="s.user = c.user AND c.at BETWEEN s.at AND s.at + INTERVAL 10 MINUTES"
)
found.select("s.user", "s.term", "c.page").to(journal.sink("found"))

if __name__ == "__main__":
    from millstream.testing import run

    def at(clock: str) -> str:
        return f"2026-01-01T{clock}:00Z"

    result = run(
        job,
        {
            "searches": [
                [{"user": "ann", "term": "boots", "at": at("12:00")}],
                [{"user": "bob", "term": "hats", "at": at("12:04")}],
            ],
            "clicks": [
                [{"user": "ann", "page": "/boots/7", "at": at("12:01")}],
                [{"user": "ann", "page": "/boots/12", "at": at("12:03")}],
                [{"user": "bob", "page": "/hats/1", "at": at("12:05")}],
                [{"user": "ann", "page": "/socks/3", "at": at("13:00")}],  # an hour later
            ],
        },
    )
    for row in result["found"].rows:
        print(f"{row['user']} searched for {row['term']}, and clicked on {row['page']}")
