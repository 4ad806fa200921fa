"""Reading of a stream up to its end or the tool limit, where the source is closed to stop the generation.

    with client.stream("POST", url, json=body) as answer:
        reader = TextReader("tool-xml", StreamDecoder("openai.chat"), headers=answer.headers)
        response = read_stream(answer.iter_bytes(), reader, close=answer.close, on_event=show)

This module opens no connection. The caller passes ``close``: that of an HTTP response, or ``cancel`` of a gRPC call.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any

from ..events import Event
from ..model import Response
from .reader import TextReader

_log = logging.getLogger("toolparity")


def read_stream(
    chunks: Iterable[Any],
    reader: TextReader,
    *,
    close: Callable[[], object] | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Response:
    """Feed the chunks to the reader and return the response.

    ``close``: called when the tool limit ends the response or an exception is raised; by default ``pieces.close``, if
    it exists. ``on_event``: called with each event. It may raise, for example UserCancelled; the exception propagates.
    """
    closing = close if close is not None else getattr(chunks, "close", None)
    try:
        for chunk in chunks:
            _emit(reader.feed(chunk), on_event)
    except BaseException as error:
        _close(closing)
        if error is not reader.reached:
            raise
        _emit(reader.reached.events, on_event)
    return reader.finish()


async def aread_stream(
    chunks: AsyncIterable[Any],
    reader: TextReader,
    *,
    close: Callable[[], object | Awaitable[object]] | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Response:
    """Do the same as `read_stream` for an asynchronous iterable. ``close`` may be a coroutine function."""
    closing = close
    for name in ("aclose", "close"):
        closing = closing if closing is not None else getattr(chunks, name, None)
    try:
        async for chunk in chunks:
            _emit(reader.feed(chunk), on_event)
    except BaseException as error:
        await _aclose(closing)
        if error is not reader.reached:
            raise
        _emit(reader.reached.events, on_event)
    return reader.finish()


def _emit(events: Iterable[Any], on_event: Callable[[Event], object] | None) -> None:
    if on_event is not None:
        for event in events:
            on_event(event)


def _close(closing: Callable[[], object] | None) -> None:
    """Close the source. An error is only logged: it neither affects the response nor replaces another error."""
    try:
        if closing is not None:
            closing()
    except Exception as error:
        _log.warning("the source of a text could not be closed: %r", error)


async def _aclose(closing: Callable[[], object | Awaitable[object]] | None) -> None:
    try:
        if closing is not None and inspect.isawaitable(done := closing()):
            await done
    except Exception as error:
        _log.warning("the source of a text could not be closed: %r", error)
