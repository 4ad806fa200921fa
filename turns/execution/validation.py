"""Validation of arguments against the JSON schema of their tool, with jsonschema, imported on first use."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MissingExtra

from ..errors import InvalidTool
from .exceptions import described

#: Maximum number of reported problems, and characters of each (a problem may quote the arguments).
_MAX_PROBLEMS = 5
_MAX_LENGTH = 300


def check_schema(tool: str, schema: dict[str, Any]) -> None:
    """Raises InvalidTool for an invalid JSON schema, and MissingExtra if jsonschema is not installed."""
    exceptions = _jsonschema().exceptions
    try:
        _validator_class(schema).check_schema(schema)
    except (exceptions.SchemaError, RecursionError) as error:
        message = getattr(error, "message", "it is nested too deep")
        raise InvalidTool(f"its parameters are not a JSON schema: {message}"[:_MAX_LENGTH], where=tool) from None


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """Return the problems of the arguments, each with its path, or an empty list. Never raises."""
    try:
        errors = islice(_validator(json_codec.text(schema)).iter_errors(arguments), _MAX_PROBLEMS)
        return [
            _problem(error) for error in sorted(errors, key=lambda error: [str(step) for step in error.absolute_path])
        ]
    except RecursionError:
        return ["the arguments are nested too deep"]
    except import_module("referencing.exceptions").Unresolvable as error:
        return [f"the schema has an unresolvable reference: {error}"[:_MAX_LENGTH]]
    except Exception as error:  # an error in the schema that its metaschema does not find
        return [f"the schema cannot be applied: {described(error)}"[:_MAX_LENGTH]]


def _problem(error: Any) -> str:
    path = error.json_path.removeprefix("$").lstrip(".")
    message = error.message if len(error.message) <= _MAX_LENGTH else error.message[:_MAX_LENGTH] + "…"
    return f"{path}: {message}" if path else message


def _validator_class(schema: dict[str, Any]) -> Any:
    jsonschema = _jsonschema()
    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """Return the validator of a schema, given as text to be hashable. References are never fetched."""
    registry = import_module("referencing").Registry()
    parsed = json_codec.decode(schema)
    return _validator_class(parsed)(parsed, registry=registry)


def _jsonschema() -> Any:
    try:
        return import_module("jsonschema")
    except ImportError:
        raise MissingExtra("tools with a schema need jsonschema", hint="pip install 'toolparity[turns]'") from None
