"""Who searches for what? Each search with the age group of the person who searched, as the shop's database knows it.

Asking the database for every search would be slow, and would bring it down on a busy day. So the job keeps its own copy
of the table, kept in step by change data capture: every change that is committed in Postgres arrives as a change of the
copy. A search is answered by what is known when it comes, and stays as it is when the person changes later.

    $ python examples/demographics.py
    ann, who is new, searches for boots
      boots: unknown
    the database tells of ann
      hats: 20 to 29
    ann has a birthday
      maps: 30 to 39
    ann asks to be forgotten
      rings: unknown
"""

import millstream as ms
from millstream import journal, postgres

job = ms.Job("demographics")

searches = job.stream(journal.source("searches"), schema="user STRING, term STRING")
people = job.table(postgres.changes("people"), schema="user STRING, age INT", key="user")

known = searches.as_("s").enrich(people.as_("p"), on="s.user = p.user")
groups = known.select("s.term", ages="coalesce(concat(p.age div 10 * 10, ' to ', p.age div 10 * 10 + 9), 'unknown')")
groups.to(journal.sink("groups"))

if __name__ == "__main__":
    from millstream.testing import Delete, run

    story: dict[str, tuple[list[dict[str, object] | Delete], str]] = {
        "ann, who is new, searches for boots": ([], "boots"),
        "the database tells of ann": ([{"user": "ann", "age": 29}], "hats"),
        "ann has a birthday": ([{"user": "ann", "age": 30}], "maps"),
        "ann asks to be forgotten": ([Delete({"user": "ann"})], "rings"),
    }
    result = run(
        job,
        {
            "people": [changes for changes, _ in story.values()],
            "searches": [[{"user": "ann", "term": term}] for _, term in story.values()],
        },
    )
    for line, rows in zip(story, result["groups"].epochs, strict=True):
        print(line)
        for row in rows:
            print(f"  {row['term']}: {row['ages']}")
