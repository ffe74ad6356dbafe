"""For tests: `run` runs a whole job with given rows. There are also the batch oracle, faults and random cases."""

from millstream.testing.given import Delete, Inputs, Record, Watermark
from millstream.testing.jobs import Runner, run
from millstream.testing.written import Output, Result

__all__ = ["Delete", "Inputs", "Output", "Record", "Result", "Runner", "Watermark", "run"]
