"""The token that connects a request at the upstream with the conversation that it belongs to.

Gateways let different parts of a request through. The client therefore writes the token into a header, into the user's
first message and, if the gateway routes by pattern, into the model name. The upstream takes the first token that it
finds. Every token has the same length, and no recorded response contains one.
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Mapping

_RUN = secrets.token_hex(4)
_COUNTER = itertools.count()
HEADER = "x-toolparity-case"
_TOKEN = re.compile(r"tpcase[0-9a-f]{16}")
_TOKEN_IN_BYTES = re.compile(_TOKEN.pattern.encode())


def new_token() -> str:
    """Return a new token. Its first half is random for each process, so that two runs never share one."""
    return f"tpcase{_RUN}{next(_COUNTER):08x}"


def marked(text: str, token: str) -> str:
    """Return a user's text with the token."""
    return f"{text}\n\n(case {token})"


def model_name(pattern: str, token: str) -> str:
    """Return the model name for a pattern, with the token in place of *."""
    return pattern.replace("*", token)


def find(headers: Mapping[str, str], body: bytes) -> str | None:
    """Return the token of a request: from its header, else from its body; None if it has none."""
    header = _TOKEN.search(headers.get(HEADER, ""))
    if header is not None:
        return header[0]
    found = _TOKEN_IN_BYTES.search(body)
    return None if found is None else found[0].decode()
