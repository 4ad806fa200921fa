"""Arguments against the schema of their tool. jsonschema is the judge; it is loaded when a schema is first met."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

from .. import json_codec
from ..errors import InvalidTool, MissingExtra
from .raised import described

#: How much is said of what does not fit: problems, and characters of each (it may quote the arguments).
_MOST = 5
_LONGEST = 300


def check_schema(tool: str, schema: dict[str, Any]) -> None:
    """Raises InvalidTool for what is no JSON schema, MissingExtra without jsonschema."""
    exceptions = _jsonschema().exceptions
    try:
        _judge(schema).check_schema(schema)
    except (exceptions.SchemaError, RecursionError) as error:
        message = getattr(error, "message", "it is nested too deep")
        raise InvalidTool(f"its parameters are no JSON schema: {message}"[:_LONGEST], where=tool) from None


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """What does not fit, each with its place; empty where all does. Never raises for any arguments."""
    try:
        found = islice(_validator(json_codec.text(schema)).iter_errors(arguments), _MOST)
        return [_told(error) for error in sorted(found, key=lambda error: [str(step) for step in error.absolute_path])]
    except RecursionError:
        return ["the arguments are nested too deep"]
    except import_module("referencing.exceptions").Unresolvable as error:
        return [f"the schema refers to what is not there: {error}"[:_LONGEST]]
    except Exception as error:  # a part of the schema that its metaschema lets through
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
    """``schema`` as its text: dicts have no hash. Nothing that it refers to is fetched from anywhere."""
    registry = import_module("referencing").Registry()
    parsed = json_codec.decode(schema)
    return _judge(parsed)(parsed, registry=registry)


def _jsonschema() -> Any:
    try:
        return import_module("jsonschema")
    except ImportError:
        raise MissingExtra("tools with a schema need jsonschema", hint="pip install 'toolparity[turns]'") from None
