"""Validation of arguments against the JSON schema of their tool, with jsonschema, imported on first use."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

from ... import json_codec
from ...errors import MissingExtra
from ..errors import InvalidTool
from .exceptions import described

#: Maximum number of reported problems, and characters of each (a problem may quote the arguments).
_MOST = 5
_LONGEST = 300


def check_schema(tool: str, schema: dict[str, Any]) -> None:
    """Raises InvalidTool for an invalid JSON schema, and MissingExtra if jsonschema is not installed."""
    exceptions = _jsonschema().exceptions
    try:
        _judge(schema).check_schema(schema)
    except (exceptions.SchemaError, RecursionError) as error:
        message = getattr(error, "message", "it is nested too deep")
        raise InvalidTool(f"its parameters are no JSON schema: {message}"[:_LONGEST], where=tool) from None


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """Return the problems of the arguments, each with its path, or an empty list. No arguments make it raise."""
    try:
        found = islice(_validator(json_codec.text(schema)).iter_errors(arguments), _MOST)
        return [_told(error) for error in sorted(found, key=lambda error: [str(step) for step in error.absolute_path])]
    except RecursionError:
        return ["the arguments are nested too deep"]
    except import_module("referencing.exceptions").Unresolvable as error:
        return [f"the schema refers to what is not there: {error}"[:_LONGEST]]
    except Exception as error:  # an error in the schema that its metaschema does not find
        return [f"the schema cannot be applied: {described(error)}"[:_LONGEST]]


def _told(error: Any) -> str:
    place = error.json_path.removeprefix("$").lstrip(".")
    message = error.message if len(error.message) <= _LONGEST else error.message[:_LONGEST] + "…"
    return f"{place}: {message}" if place else message


def _judge(schema: dict[str, Any]) -> Any:
    jsonschema = _jsonschema()
    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """Return the validator of a schema, given as text to be hashable. References are never fetched."""
    registry = import_module("referencing").Registry()
    parsed = json_codec.decode(schema)
    return _judge(parsed)(parsed, registry=registry)


def _jsonschema() -> Any:
    try:
        return import_module("jsonschema")
    except ImportError:
        raise MissingExtra("tools with a schema need jsonschema", hint="pip install 'toolparity[turns]'") from None
