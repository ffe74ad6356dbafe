"""Ann likes Bob. A while later Bob likes Ann: that is a match, and both should hear of it at once.

    $ python examples/matches.py
    ann likes bob
    bob likes cyd
    bob likes ann
      a match: ann and bob, at 2026-01-01T12:00:05.000000Z

Live, likes stream in through a topic of the journal, matches stream out through another one:

    millstream journal create likes
    millstream journal create matches
    millstream run examples/matches.py

While it runs, send likes and watch the matches in two other terminals:

    echo '{"liker": "ann", "liked": "bob", "at": "2026-01-01T12:00:00Z"}' | millstream journal append likes
    echo '{"liker": "bob", "liked": "ann", "at": "2026-01-01T12:00:05Z"}' | millstream journal append likes

    millstream journal read matches --follow --isolation read_uncommitted
"""

import millstream as ms
from millstream import journal

job = ms.Job("matches")

likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING, at TIMESTAMP")

# Each like is held against all others. A match would be found from both sides: one of them is enough.
matches = (
    likes.as_("a")
    .join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
    .where("a.liker < a.liked")
    .select("a.liker", "a.liked", at="greatest(a.at, b.at)")
)
matches.to(journal.sink("matches"))

if __name__ == "__main__":
    from millstream.testing import run

    story = [
        {"liker": "ann", "liked": "bob", "at": "2026-01-01T12:00:00Z"},
        {"liker": "bob", "liked": "cyd", "at": "2026-01-01T12:00:01Z"},
        {"liker": "bob", "liked": "ann", "at": "2026-01-01T12:00:05Z"},
    ]
    result = run(job, {"likes": [[like] for like in story]})  # each like in an epoch of its own
    for like, found in zip(story, result["matches"].epochs, strict=True):
        print(f"{like['liker']} likes {like['liked']}")
        for match in found:
            print(f"  a match: {match['liker']} and {match['liked']}, at {match['at']}")
