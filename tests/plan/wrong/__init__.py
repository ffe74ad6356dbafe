"""Jobs that are refused when they are built, one for each place that refuses. Each is wrong on a line of its own.

A file for each kind of mistake, in the order of the golden text.
"""

# ruff: noqa: I001, F401
from wrong.declare import ALL
from wrong import jobs_and_sources
from wrong import steps
from wrong import aggregates
from wrong import joins
from wrong import sinks
from wrong import windows
from wrong import enriching
from wrong import kafka_options
from wrong import python_code
