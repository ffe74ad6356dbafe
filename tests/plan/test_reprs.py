"""What a job, a stream, a table say about themselves."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream import journal


def test_they_say_what_they_are() -> None:
    job = ms.Job("orders", checkpoint="/there", parallelism=3)
    assert repr(job) == "<Job orders: writes no sink yet; checkpoint /there, parallelism 3>"
    orders = job.stream(journal.source("orders"), "id INT, customer INT")
    assert repr(orders) == "<Stream orders(id, customer)>"
    people = job.table(journal.source("people"), "id INT, name STRING", key="id")
    assert repr(people) == "<Table latest_people(id, name) by id>"
    named = orders.as_("o").join(people.as_("p"), on="o.customer = p.id").named("named")
    assert repr(named) == "<Table named(o.id, o.customer, p.id, p.name)>"
    assert repr(job.static(journal.source("codes"), "code STRING")) == "<Static codes(code)>"
    counts = orders.group_by("customer").agg(n="count(*)").named("counts")
    assert repr(counts) == "<Table counts(customer, n) by customer>"
    counts.to(journal.sink("counts"))
    assert repr(job) == "<Job orders: writes counts; checkpoint /there, parallelism 3>"


def test_a_notebook_shows_an_error_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython asks an error how it wants to be shown, and shows the traceback if that fails."""
    monkeypatch.delenv("MILLSTREAM_VERBOSE", raising=False)
    orders = ms.Job("orders").stream(journal.source("orders"), "id INT, customer INT")
    with pytest.raises(ms.MillstreamError) as caught:
        orders.select("costumer")
    shown = caught.value._render_traceback_()
    assert shown == str(caught.value).splitlines()
    assert shown[0].startswith("MS-EXPR-")
    assert shown[-1] == "  hint:  did you mean customer?"
    monkeypatch.setenv("MILLSTREAM_VERBOSE", "1")
    with pytest.raises(NotImplementedError):
        caught.value._render_traceback_()
