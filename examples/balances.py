"""An account is its history: deposits and withdrawals are the truth, and the balance is only their sum.

The bank keeps the events forever and derives two stores from them, each in the form that its readers need: a Postgres
table with the balance of every account, for anyone who asks now, and a history of all balances in Parquet files, for
auditors. One job with one checkpoint writes both, each exactly once, so they do not drift apart.

    $ python examples/balances.py
    ann puts in 100, bob 50
      balances: ann 100, bob 50
      history:  + ann 100, + bob 50
    ann takes out 30 and puts in 5
      balances: ann 75
      history:  - ann 100, + ann 75
    bob takes out 50
      balances: bob 0
      history:  - bob 50, + bob 0
"""

import millstream as ms
from millstream import files, journal, postgres

job = ms.Job("balances")

events = job.stream(journal.source("events"), schema="account STRING, kind STRING, cents BIGINT")

balances = (
    events.with_columns(change="CASE kind WHEN 'deposit' THEN cents WHEN 'withdrawal' THEN -cents ELSE 0 END")
    .group_by("account")
    .agg(cents="sum(change)")
)
balances.to(postgres.sink("balances"))  # by key: the balance as it is now
balances.to(files.sink("history", format="parquet", changelog=True))  # every change: what was, and what is

if __name__ == "__main__":
    from millstream.testing import Delete, run

    story = {
        "ann puts in 100, bob 50": [("ann", "deposit", 100), ("bob", "deposit", 50)],
        "ann takes out 30 and puts in 5": [("ann", "withdrawal", 30), ("ann", "deposit", 5)],
        "bob takes out 50": [("bob", "withdrawal", 50)],
    }
    names = ("account", "kind", "cents")
    result = run(job, {"events": [[dict(zip(names, event, strict=True)) for event in part] for part in story.values()]})
    for epoch, told in enumerate(story):
        now = [f"{row['account']} {row['cents']}" for row in result["balances"].epochs[epoch]]
        changes = [
            f"- {change.row['account']} {change.row['cents']}"
            if isinstance(change, Delete)
            else f"+ {change['account']} {change['cents']}"
            for change in result["history"].epochs[epoch]
        ]
        print(told, f"  balances: {', '.join(now)}", f"  history:  {', '.join(changes)}", sep="\n")
