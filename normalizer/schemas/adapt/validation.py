"""Validation of values against schemas, with jsonschema, imported on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from ... import json_codec
from ...errors import MissingExtra


def fits(schema: Any, value: Any) -> bool:
    """Return whether a schema accepts a value. Formats are not checked.

    A keyword that cannot be evaluated excludes no value: a pattern in a syntax that Python lacks, or a multiple of 0.

    Raises MissingExtra if jsonschema is not installed.
    """
    return bool(_validator(json_codec.text(schema)).is_valid(value))


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal, where true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    try:
        jsonschema = import_module("jsonschema")
    except ImportError:
        raise MissingExtra("adapting tools needs jsonschema", hint="pip install 'toolparity[schemas]'") from None
    return _class(jsonschema)(json_codec.decode(schema), registry=import_module("referencing").Registry())


@cache
def _class(jsonschema: Any) -> Any:
    """Return the validator of JSON Schema 2020-12 with keywords that do not raise."""
    known = jsonschema.Draft202012Validator
    keywords = {keyword: _lenient(check) for keyword, check in known.VALIDATORS.items()}
    return jsonschema.validators.extend(known, keywords)


def _lenient(check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def checked(*arguments: Any) -> Iterator[Any]:
        try:
            yield from check(*arguments) or ()
        except (re.error, ArithmeticError, TypeError):
            return

    return checked
