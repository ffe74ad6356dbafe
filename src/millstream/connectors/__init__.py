"""Connectors: what a job reads from and writes to. This says what a connector consists of, and how it is found.

A connector is a module with a function `source`, a function `sink`, or both. Its package names the module in the entry
point group `millstream.connectors`; then `from millstream import NAME` gives it.
"""

from millstream.connectors.registry import connector, jar_set, names
from millstream.plan.connectors import (
    Affected,
    Carried,
    CarriedSink,
    Carrier,
    ChecksWhatWasRead,
    ErrorPattern,
    Errors,
    ExplainsErrors,
    Format,
    HasIdentities,
    HasListeners,
    HasRecords,
    Jars,
    JarSet,
    KeepsSecrets,
    LimitsEpochs,
    Listener,
    NeedsJars,
    OnError,
    Reader,
    RowShape,
    SaysGuarantee,
    SinkOptions,
    SourceOptions,
    TellsLag,
    WriteMode,
)
from millstream.plan.options import OptionChecks, columns
from millstream.plan.received import ReceivedSource, Receiver

__all__ = [
    "Affected",
    "Carried",
    "CarriedSink",
    "Carrier",
    "ChecksWhatWasRead",
    "ErrorPattern",
    "Errors",
    "ExplainsErrors",
    "Format",
    "HasIdentities",
    "HasListeners",
    "HasRecords",
    "JarSet",
    "Jars",
    "KeepsSecrets",
    "LimitsEpochs",
    "Listener",
    "NeedsJars",
    "OnError",
    "OptionChecks",
    "Reader",
    "ReceivedSource",
    "Receiver",
    "RowShape",
    "SaysGuarantee",
    "SinkOptions",
    "SourceOptions",
    "TellsLag",
    "WriteMode",
    "columns",
    "connector",
    "jar_set",
    "names",
]
