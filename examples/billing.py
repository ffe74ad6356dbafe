"""Bills that are right at any time, though orders are changed, and customers change their names.

Orders and customers are two tables of a shop's database. A change of either one changes the bill that it is on, and no
other: what was written before is corrected.

    $ python examples/billing.py
    two orders of customer 1
      {'id': 1, 'name': 'Ann', 'orders': 2, 'total': 42.0}
    one of them is cancelled
      {'id': 1, 'name': 'Ann', 'orders': 1, 'total': 30.0}
    Ann marries
      Delete(row={'id': 1, 'name': 'Ann'})
      {'id': 1, 'name': 'Ann Marie', 'orders': 1, 'total': 30.0}
    the other order is cancelled, too
      Delete(row={'id': 1, 'name': 'Ann Marie'})
"""

import millstream as ms
from millstream import journal

job = ms.Job("billing")

# Tables by upserts: the last row of a key counts, a record without a value deletes it.
orders = job.table(journal.source("orders"), schema="id BIGINT, customer INT, price DOUBLE", key="id")
customers = job.table(journal.source("customers"), schema="id INT, name STRING", key="id")

bills = (
    orders.as_("o")
    .join(customers.as_("c"), on="o.customer = c.id")
    .group_by("c.id", "c.name")
    .agg(orders="count(*)", total="sum(o.price)")
)
bills.to(journal.sink("bills"))

if __name__ == "__main__":
    from millstream.testing import Delete, run

    result = run(
        job,
        {
            "customers": [[{"id": 1, "name": "Ann"}], [], [{"id": 1, "name": "Ann Marie"}], []],
            "orders": [
                [{"id": 10, "customer": 1, "price": 30.0}, {"id": 11, "customer": 1, "price": 12.0}],
                [Delete({"id": 11})],
                [],
                [Delete({"id": 10})],
            ],
        },
    )
    told = [
        "two orders of customer 1",
        "one of them is cancelled",
        "Ann marries",
        "the other order is cancelled, too",
    ]
    for line, changes in zip(told, result["bills"].epochs, strict=True):
        print(line, *changes, sep="\n  ")
