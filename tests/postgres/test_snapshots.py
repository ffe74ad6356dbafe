"""Which transactions a snapshot holds."""

from __future__ import annotations

from millstream.connectors.postgres.begun import Snapshot

HIGH, END = 1000, 5000


def test_what_a_snapshot_holds() -> None:
    snapshot = Snapshot(f"990:{HIGH}:990,995", END)
    held = [xid for xid in range(985, 1005) if snapshot.holds(xid, END - 1)]
    assert held == [*range(985, 990), *range(991, 995), *range(996, 1000)]


def test_transactions_that_wrap() -> None:
    """Numbers come again after 2³² transactions, and look old after half of that: the log goes on meanwhile."""
    snapshot = Snapshot(f"990:{HIGH}:990", END)
    assert not any(snapshot.holds((HIGH + n) % 2**32, END + n) for n in (0, 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32))
    beyond = Snapshot(f"{2**32 + 5}:{2**32 + 10}:{2**32 + 5}", END)
    assert [xid for xid in (2**32 - 1, 4, 5, 6, 9, 10) if beyond.holds(xid, END - 1)] == [2**32 - 1, 4, 6, 9]
