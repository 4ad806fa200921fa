"""Members that formats share: dates, bodies as text or base64, and the members that another format has no place for.

What a format cannot hold under its own names goes into one more member, `EXTENSION`. Each tool ignores members that it
does not know, and HAR reserves names with an underscore for this purpose.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from ..errors import UnreadableSource
from ..sources.bodies import body_of
from ..sources.http import address_of, status_of
from .model import Headers, Interaction, Request, Response

EXTENSION = "toolparity"
HAR_EXTENSION = "_toolparity"

#: Written where a format requires a time and the source has none. It is read as "unknown".
UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)

_OPTIONAL = ("reason", "version", "recorded_at")


def request_of(request: dict[str, Any], body: bytes | None) -> Request:
    """Return the request of an interaction. Raises UnreadableSource."""
    method = str(request.get("method") or "GET").upper()
    return Request(method, uri_from(request), headers_from(request.get("headers")), body)


def interaction_of(item: dict[str, Any], request: dict[str, Any], response: dict[str, Any]) -> Interaction:
    """Return an interaction in the notation that vcrpy, VCR and Betamax share. Raises UnreadableSource."""
    status = response.get("status")
    return Interaction(
        request_of(request, body_of(request)),
        Response(
            status_from(response),
            headers_from(response.get("headers")),
            body_of(response) or b"",
            status.get("message") if isinstance(status, dict) else None,
            response.get("http_version"),
        ),
        rfc3339(moment(item.get("recorded_at"))),
    )


def extension(interaction: Interaction, own: str, held: Iterable[str] = ()) -> dict[str, Any]:
    """Return what the format ``own`` keeps in the extension. ``held``: the optional members that it has names for."""
    beside = {name: value for name, value in interaction.rest.items() if name != own}
    optional = {
        "reason": interaction.response.reason,
        "version": interaction.response.version,
        "recorded_at": interaction.recorded_at,
    }
    beside |= {name: value for name, value in optional.items() if name not in held and value is not None}
    return beside


def extended(interaction: Interaction, extension: Any, own: str, rest: dict[str, Any]) -> Interaction:
    """Return the interaction with the members of its extension, and with ``rest`` as what its format alone holds."""
    members = dict(extension) if isinstance(extension, dict) else {}
    if "reason" in members:
        interaction.response.reason = members.pop("reason")
    if "version" in members:
        interaction.response.version = members.pop("version")
    interaction.recorded_at = members.pop("recorded_at", interaction.recorded_at)
    interaction.rest = members | ({own: rest} if rest else {})
    return interaction


def without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the members that have none of these names."""
    return {name: value for name, value in members.items() if name not in names}


def combined(*parts: dict[str, Any] | None) -> dict[str, Any]:
    """Return mappings in one, recursively. A later one takes precedence."""
    whole: dict[str, Any] = {}
    for part in parts:
        for name, value in (part or {}).items():
            before = whole.get(name)
            whole[name] = combined(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return whole


def headers_from(value: Any) -> Headers:
    """Return the headers of a mapping from names to one value or several. Raises UnreadableSource for other values."""
    if value is None:
        return []
    if not isinstance(value, dict):
        raise UnreadableSource(f"headers must be a mapping, got {type(value).__name__}")
    pairs = []
    for name, values in value.items():
        for one in values if isinstance(values, list) else [values]:
            pairs.append((str(name), one.decode("latin-1") if isinstance(one, bytes) else str(one)))
    return pairs


def status_from(response: dict[str, Any]) -> int:
    """Return the status. Raises UnreadableSource if there is none."""
    status = status_of(response)
    if status is None:
        raise UnreadableSource("the response has no status")
    return status


def uri_from(request: dict[str, Any]) -> str:
    """Return the address. Raises UnreadableSource if there is none."""
    uri = address_of(request)
    if not uri:
        raise UnreadableSource("the request has no address")
    return uri


def text_or_base64(data: bytes) -> tuple[str | None, str | None]:
    """Return data as text, or if it is not UTF-8 as base64; the other is None."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        return None, base64.b64encode(data).decode()


def moment(text: Any) -> datetime | None:
    """Parse RFC 3339, a naive time in UTC, or the date of HTTP; None for anything else and for `UNKNOWN_TIME`."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            parsed = parse(str(text))
        except (ValueError, TypeError):
            continue
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        return None if parsed == UNKNOWN_TIME else parsed
    return None


def rfc3339(time: datetime | None) -> str | None:
    """Return a time as the common form has it."""
    return None if time is None else time.isoformat().replace("+00:00", "Z")


def http_date(time: datetime) -> str:
    """Return a time in the form of HTTP's headers, which has no fractions of a second."""
    return format_datetime(time.replace(microsecond=0), usegmt=True)


def nonempty(name: str, members: dict[str, Any]) -> dict[str, Any]:
    """Return the members under a name, or nothing if there are none."""
    return {name: members} if members else {}
