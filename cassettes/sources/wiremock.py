"""Mappings of WireMock: patterns of a request, and a response whose body can be a file.

A mapping is a file below ``mappings``; the file that ``bodyFileName`` names is below ``__files`` beside that folder
(https://wiremock.org/docs/stubbing/).
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from ..errors import UnreadableSource
from .bodies import from_base64, plain
from .files import is_readable, opened

_MAPPINGS, _FILES = "mappings", "__files"
_BODY_FILE = re.compile(rb'"bodyFileName"\s*:\s*"([^"\\]+)"')


def halves(folder: str, request: dict[str, Any], response: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a request and a response with their bodies. ``folder``: that of the mapping. Raises UnreadableSource."""
    patterns = request.get("bodyPatterns")
    if isinstance(patterns, list):
        request = {**request, "body": next((body for one in patterns if (body := _sent(one)) is not None), None)}
    if response.get("bodyFileName") is not None:
        response = {**response, "body": _content(folder, str(response["bodyFileName"]))}
    return request, response


def is_body_of_mapping(path: str, root: str) -> bool:
    """Return whether a file below ``root`` is read with the mapping that names it, which is also below ``root``."""
    before, files, name = path.rpartition(f"{os.sep}{_FILES}{os.sep}")
    return bool(files) and len(before) >= len(root.rstrip(os.sep)) and name.encode() in _named(before)


@lru_cache(maxsize=16)
def _named(folder: str) -> frozenset[bytes]:
    names: set[bytes] = set()
    for below, _, mappings in os.walk(os.path.join(folder, _MAPPINGS)):
        for mapping in (os.path.join(below, name) for name in mappings if name.endswith(".json")):
            if is_readable(mapping):
                with opened(mapping) as file:
                    names.update(_BODY_FILE.findall(file.read_all()))
    return frozenset(names)


def _sent(pattern: Any) -> bytes | None:
    if not isinstance(pattern, dict):
        return None
    if "binaryEqualTo" in pattern:
        return from_base64(pattern["binaryEqualTo"])
    return plain(pattern.get("equalToJson", pattern.get("equalTo")))


def _content(folder: str, name: str) -> bytes:
    folder = os.path.abspath(folder)
    while not os.path.isdir(os.path.join(folder, _FILES)) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    files = os.path.realpath(os.path.join(folder, _FILES))
    path = os.path.realpath(os.path.join(files, name))
    if os.path.commonpath((files, path)) != files or not is_readable(path):
        raise UnreadableSource(f"the body is in a file that is not in {_FILES}: {name!r}")
    with opened(path) as file:
        return file.read_all()
