"""What each client of an SDK reads anew, and all clients of a test run share.

That takes longer than most requests of the tests: the certificates of the web, which a client of google-genai reads
three times although the tests talk to loopback, and the data of botocore.
"""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any

import certifi
import httpcore2
from botocore.loaders import JSONFileLoader

_create_default_context: Any = ssl.create_default_context
_load_file: Any = JSONFileLoader.load_file


@cache
def _of_the_web() -> ssl.SSLContext:
    return _create_default_context(cafile=certifi.where())  # type: ignore[no-any-return]


def _shared_context(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **sources: Any) -> ssl.SSLContext:
    given = {name: source for name, source in sources.items() if source is not None}
    if purpose is ssl.Purpose.SERVER_AUTH and given == {"cafile": certifi.where()}:
        return _of_the_web()
    return _create_default_context(purpose, **sources)  # type: ignore[no-any-return]


@cache
def _shared_file(path: str) -> Any:
    return _load_file(JSONFileLoader(), path)


def share() -> None:
    """Let clients share it from here on."""
    ssl.create_default_context = _shared_context
    httpcore: Any = httpcore2
    httpcore.default_ssl_context = cache(httpcore.default_ssl_context)
    loader: Any = JSONFileLoader
    loader.load_file = lambda self, path: _shared_file(path)
