"""JSON of the pydantic models that official SDKs return. No SDK is imported here."""

from __future__ import annotations

from typing import Any

from .. import json_codec
from ..errors import MalformedBody


def model_json(source: Any, exclude: dict[str, Any] | None = None) -> bytes:
    """Return the JSON of a model without the members that the server did not send.

    ``exclude``: pydantic's description of the members that the SDK added. Raises MalformedBody if a value is not
    JSON-serializable.
    """
    options: dict[str, Any] = {"by_alias": True, "exclude_unset": True, "exclude": exclude or {}, "warnings": False}
    try:
        text: str = source.model_dump_json(**options)
    except (TypeError, ValueError, RecursionError):
        # Half a surrogate pair, which pydantic's JSON encoder rejects, or a value that is not JSON-serializable.
        return json_codec.bytes_of(_dumped(source, options))
    return text.encode("utf-8", "surrogatepass")


def _dumped(source: Any, options: dict[str, Any]) -> Any:
    try:
        return source.model_dump(**options)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedBody(f"a {type(source).__name__} cannot be written as JSON: {error}", body=source) from None
