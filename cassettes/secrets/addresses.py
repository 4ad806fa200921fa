"""Credentials in the address of a request, where a name alone suffices: the scrubber and the scanner read them here."""

from __future__ import annotations

import re
from urllib.parse import unquote

from toolparity.turns.secrets import names

_QUERY = re.compile(r"[?&;#](?P<name>[^=&#;]{1,80})=(?P<value>[^&#;]{6,})")
#: Last words that need no random value.
_SURE = re.compile(
    r"(?:.*[-_.])?(?:key|api-?key|apikey|token|secret|auth|authorization|sig|signature|credentials?|session|code"
    r"|awsaccesskeyid|appid|pass|user|email)",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"^[a-z][a-z0-9+.-]*://(?P<it>[^/?#@]+)@", re.IGNORECASE)


def credentials(uri: str) -> list[tuple[int, int]]:
    """Return the spans of the user info and of each member of the query that is a credential."""
    user_info = _USER_INFO.match(uri)
    spans = [user_info.span("it")] if user_info else []
    for found in _QUERY.finditer(uri):
        name, value = unquote(found["name"]), unquote(found["value"])
        sure = _SURE.fullmatch(name) is not None and not names.is_harmless(name)
        if sure or names.is_secret(name, value):
            spans.append(found.span("value"))
    return spans
