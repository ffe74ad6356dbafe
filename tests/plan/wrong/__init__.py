"""Jobs that are refused when they are built, one for each place that refuses. Each is wrong on its own line.

A file for each kind of mistake, in the order of the golden text.
"""

# ruff: noqa: I001, F401
from tests.plan.wrong.declare import ALL as ALL
from tests.plan.wrong import jobs_and_sources
from tests.plan.wrong import steps
from tests.plan.wrong import changing
from tests.plan.wrong import aggregates
from tests.plan.wrong import joins
from tests.plan.wrong import sinks
from tests.plan.wrong import windows
from tests.plan.wrong import enriching
from tests.plan.wrong import kafka_options
from tests.plan.wrong import queue_options
from tests.plan.wrong import python_code
from tests.plan.wrong import clusters
