"""Descriptions of parameters in docstrings of the Google, NumPy and Sphinx styles.

They are read with docstring_parser, imported on first use.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from toolparity.normalizer.errors import MissingExtra

from .callables import documented


def summary(function: Callable[..., Any]) -> str | None:
    """Return the first paragraph of the docstring in one line, None if there is none."""
    return " ".join((documented(function).__doc__ or "").split("\n\n")[0].split()) or None


def parameter_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the text of each parameter that the docstring describes, by the parameter's name.

    Raises MissingExtra if there is a docstring and docstring_parser is not installed.
    """
    docstring = inspect.getdoc(documented(function))
    if not docstring:
        return {}
    parser = _parser()
    try:
        parsed = parser.parse(docstring)
    except parser.ParseError:  # a malformed section: the docstring is prose
        return {}
    return {
        name.strip().lstrip("*"): " ".join(described.description.split())
        for described in parsed.params
        if described.description
        for name in described.arg_name.split(",")
    }


def _parser() -> Any:
    try:
        return import_module("docstring_parser")
    except ImportError:
        hint = "pip install 'toolparity[turns]'"
        raise MissingExtra("schemas from docstrings need docstring_parser", hint=hint) from None
