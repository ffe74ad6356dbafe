"""Runs a kept epoch of a job again, in a sandbox: from its state and with its rows, and nothing is written."""

from millstream.replay.again import Replayed, replay

__all__ = ["Replayed", "replay"]
