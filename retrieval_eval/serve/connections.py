"""Connections that send no whole request are closed, so that they never keep others out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

SECONDS_TO_ASK: Final = 10.0
"""What a connection gets for the head of a request, however it drips."""

MOST_WAITING: Final = 64
"""So many connections may be without a whole request; one more, and the oldest is closed."""

MOST: Final = 256
"""Of more connections at once, the rest is told to come back later (status 503)."""


def bounded_protocol(seconds: float = SECONDS_TO_ASK) -> type[H11Protocol]:
    """Return Uvicorn's protocol with a deadline for the head of each request.

    Uvicorn closes connections that are idle between two requests; to one that never asks, or asks
    without end, it listens for ever.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedProtocol(H11Protocol):
        _waiting: dict[BoundedProtocol, asyncio.TimerHandle] = {}  # noqa: RUF012  all share it

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _watch(self) -> None:
            cycle: RequestResponseCycle | None = self.cycle
            is_answering = cycle is not None and not cycle.response_complete
            if is_answering or self.transport.is_closing():
                self._forget()
            elif self not in self._waiting:
                self._waiting[self] = self.loop.call_later(seconds, self.give_up)
                if len(self._waiting) > MOST_WAITING:
                    next(iter(self._waiting)).give_up()

        def _forget(self) -> None:
            timer = self._waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

        def give_up(self) -> None:
            """Close the connection; what is on its way to the client still arrives."""
            self._forget()
            self.transport.close()

    return BoundedProtocol
