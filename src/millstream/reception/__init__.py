"""The front of systems that cannot be read again: append, sync, acknowledge, deduplicate. Connectors add a client."""

from millstream.reception.front import Front, Limits
from millstream.reception.message import PART, Client, ConnectionLost, Message, System

__all__ = ["PART", "Client", "ConnectionLost", "Front", "Limits", "Message", "System"]
