"""The states of a run, and the moves between them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class State(Enum):
    CREATED = "created"
    RUNNING = "running"
    FAILING = "failing"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    FINISHED = "finished"


MOVES: dict[State, frozenset[State]] = {
    State.CREATED: frozenset({State.RUNNING, State.FAILED}),
    State.RUNNING: frozenset({State.FAILING, State.RESTARTING, State.STOPPING, State.FINISHED}),
    State.FAILING: frozenset({State.RESTARTING, State.FAILED}),
    State.RESTARTING: frozenset({State.RUNNING, State.FAILING, State.STOPPING}),
    State.STOPPING: frozenset({State.STOPPED, State.FAILED}),
    State.STOPPED: frozenset(),
    State.FAILED: frozenset(),
    State.FINISHED: frozenset(),
}


class Life:
    """Where a run is; an illegal move is a bug of ours."""

    def __init__(self, when_over: Callable[[], None] = lambda: None) -> None:
        self.state = State.CREATED
        self._when_over = when_over

    def move(self, to: State) -> None:
        if to not in MOVES[self.state]:
            raise AssertionError(f"a run cannot go from {self.state.value} to {to.value}")
        self.state = to
        if self.over:
            self._when_over()

    def fail(self) -> None:
        """To the end, whatever it was doing."""
        if self.state is State.RUNNING:
            self.move(State.FAILING)
        self.move(State.FAILED)

    @property
    def over(self) -> bool:
        return not MOVES[self.state]
