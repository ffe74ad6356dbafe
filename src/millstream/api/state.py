"""What a process keeps for each key: a value, a list, a map. Declared as attributes of its class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from millstream.plan.modes import milliseconds

if TYPE_CHECKING:
    import pyarrow as pa


class Store(Protocol):
    """Where the items of the current key are; set while a process runs."""

    def get(self, key: Any) -> Any:
        """The item under a key, or None. A value is kept under the key None."""

    def put(self, key: Any, value: Any) -> None: ...

    def remove(self, key: Any) -> None: ...

    def items(self) -> list[tuple[Any, Any]]: ...

    def clear(self) -> None: ...


class ColumnStore(Protocol):
    """Where the values of all keys of a batch are; set while `on_batch` runs."""

    def column(self) -> pa.Array: ...

    def set_column(self, values: Any) -> None: ...


class State:
    """Something that is kept per key. `ttl`: how long an item can be read after it was last written."""

    kind = ""

    def __init__(self, type: str, *, ttl: str | None = None) -> None:
        self.type = type
        self.key_type: str | None = None
        self.ttl_ms = milliseconds(ttl) if ttl is not None else None
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            raise RuntimeError(
                "state can only be used in on_row, on_timer and on_processing_timer; in on_batch, as columns"
            )
        return self._store

    def clear(self) -> None:
        """Removes all of it."""
        self.store.clear()


class ValueState(State):
    """One value per key: `count = ms.ValueState("BIGINT")`."""

    kind = "value"
    _columns: ColumnStore | None = None

    @property
    def columns(self) -> ColumnStore:
        if self._columns is None:
            raise RuntimeError("state can only be used as a column in on_batch")
        return self._columns

    def column(self) -> pa.Array:
        """In `on_batch`: the value of every key of the batch, in the order of its keys; NULL where there is none."""
        return self.columns.column()

    def set_column(self, values: Any) -> None:
        """In `on_batch`: an Arrow array, or a list, with a new value for every key; NULL clears a key's value."""
        self.columns.set_column(values)

    def get(self, default: Any = None) -> Any:
        found = self.store.get(None)
        return default if found is None else found

    def set(self, value: Any) -> None:
        self.store.put(None, value)

    def exists(self) -> bool:
        return self.store.get(None) is not None


class ListState(State):
    """A list per key: `recent = ms.ListState("STRING")`."""

    kind = "list"

    def get(self) -> list[Any]:
        return [value for _, value in self.store.items()]

    def append(self, value: Any) -> None:
        self.store.put(None, value)

    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.store.put(None, value)

    def set(self, values: Iterable[Any]) -> None:
        """In place of what was there."""
        new = list(values)
        self.store.clear()
        self.extend(new)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self.store.items())

    def __bool__(self) -> bool:
        return len(self) > 0


class MapState(State):
    """A map per key: `seen = ms.MapState("STRING", "TIMESTAMP", ttl="30 days")`."""

    kind = "map"

    def __init__(self, key_type: str, type: str, *, ttl: str | None = None) -> None:
        super().__init__(type, ttl=ttl)
        self.key_type = key_type

    def get(self, key: Any, default: Any = None) -> Any:
        found = self.store.get(key)
        return default if found is None else found

    def put(self, key: Any, value: Any) -> None:
        self.store.put(key, value)

    def remove(self, key: Any) -> None:
        """Nothing happens if it is not there."""
        self.store.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        return self.store.items()

    def keys(self) -> list[Any]:
        return [key for key, _ in self.store.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.store.items()]

    def __getitem__(self, key: Any) -> Any:
        found = self.store.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.store.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.store.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.store.get(key) is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.store.items())

    def __bool__(self) -> bool:
        return len(self) > 0
