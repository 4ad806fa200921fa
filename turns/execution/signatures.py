"""Check of a tool's function against its schema: the function must accept every call that the schema allows.

The model knows a tool by its schema only. If the function requires other parameters, even a correct call fails.
Therefore the declaration of such a tool raises an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from ..errors import InvalidTool
from .typed.callables import is_generator, signature_of

_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def check_function(
    name: str, function: Callable[..., Any], parameters: Any, *, kind: str = "function", mapping: bool = False
) -> None:
    """Raises InvalidTool for a function that cannot accept the calls that its tool declares.

    ``mapping`` and the kind "custom" pass one positional argument, and the kind "function" passes keywords. Not
    checked are other kinds, whose provider defines the arguments, and builtins without a signature.
    """
    if not callable(function):
        raise InvalidTool(f"its function is not callable: {function!r}", where=name, hint="pass a function")
    if is_generator(function):
        raise InvalidTool(f"its function is a generator: {function!r}", where=name, hint="return a list of the values")
    signature = signature_of(function)
    if signature is None or kind not in ("function", "custom"):
        return
    if mapping or kind == "custom":
        try:
            signature.bind(None)
        except TypeError:
            what = f"its function {signature} cannot be called with one positional argument"
            raise InvalidTool(what, where=name, hint="let it take exactly one argument") from None
        return
    positional = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and _is_required(parameter)
    ]
    if positional:
        what = f"its function {signature} takes {_quoted(positional)} by position only, and arguments come as keywords"
        raise InvalidTool(what, where=name, hint="let the function take keywords, or one mapping (mapping=True)")
    if isinstance(parameters, Mapping):
        _check_declared(name, signature, _declared(parameters, parameters, frozenset()))


def misfit(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """Return why a function cannot accept these keywords, or None if it can or has no signature."""
    signature = signature_of(function)
    if signature is None:
        return None
    keywords, takes_any = _keywords(signature)
    unknown = [name for name in arguments if name not in keywords and not takes_any]
    if unknown:
        return f"it does not take {_quoted(unknown)}"
    missing = [name for name, parameter in keywords.items() if _is_required(parameter) and name not in arguments]
    return f"it requires {_quoted(missing)}" if missing else None


def _keywords(signature: inspect.Signature) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the parameters that can be passed by keyword, and whether the function accepts any other keyword."""
    parameters = signature.parameters
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in _KEYWORD}, takes_any


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty and parameter.kind not in _VARIADIC


def _check_declared(name: str, signature: inspect.Signature, declared: _Declared) -> None:
    keywords, takes_any = _keywords(signature)
    unknown = [property for property in declared.properties if property not in keywords and not takes_any]
    if unknown:
        what = f"its parameters declare {_quoted(unknown)}, which its function {signature} does not take"
        raise InvalidTool(what, where=name, hint="name the same parameters in both, or take one mapping (mapping=True)")
    if not declared.is_known:
        return
    optional = [
        keyword
        for keyword, parameter in keywords.items()
        if _is_required(parameter) and keyword not in declared.required
    ]
    missing = [keyword for keyword in optional if keyword not in declared.properties]
    if missing:
        what = f"its function requires {_quoted(missing)}, which its parameters do not declare"
        raise InvalidTool(what, where=name, hint="add them to the schema's properties, or give them defaults")
    if optional:
        what = f"its function requires {_quoted(optional)}, which its parameters let the model leave out"
        raise InvalidTool(what, where=name, hint='add them to the schema\'s "required", or give them defaults')


class _Declared(Struct, frozen=True):
    """The declarations of an object schema. ``properties``: those that arguments may have. ``required``: those that
    all arguments have. ``is_known``: False if a part of the schema cannot be resolved here.
    """

    properties: dict[str, None] = {}
    required: frozenset[str] = frozenset()
    is_known: bool = True


def _declared(schema: Any, root: Any, references: frozenset[str]) -> _Declared:
    """Collect the declarations of a schema. ``references``: those on the path to it, to stop at cycles."""
    if not isinstance(schema, Mapping):
        return _Declared()

    def declared(schemas: Any) -> list[_Declared]:
        return [_declared(inner, root, references) for inner in schemas] if isinstance(schemas, list) else []

    own, required = schema.get("properties"), schema.get("required")
    names = [name for name, value in own.items() if value is not False] if isinstance(own, Mapping) else []
    required_names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    parts = [
        _Declared(dict.fromkeys(names), frozenset(required_names), "$dynamicRef" not in schema),
        *declared(schema.get("allOf")),
    ]
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in references:
        parts.append(_referred(reference, root, references))
    for keyword in ("anyOf", "oneOf"):
        branches = declared(schema.get(keyword))
        if branches:
            common = frozenset.intersection(*(branch.required for branch in branches))
            parts.append(_Declared(_properties(branches), common, all(branch.is_known for branch in branches)))
    conditional = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
    dependent = schema.get("dependentSchemas")
    conditional += dependent.values() if isinstance(dependent, Mapping) else []
    parts.append(_Declared(_properties(declared(conditional))))
    every = frozenset[str]().union(*(part.required for part in parts))
    return _Declared(_properties(parts), every, all(part.is_known for part in parts))


def _properties(parts: Iterable[_Declared]) -> dict[str, None]:
    return {name: None for part in parts for name in part.properties}


def _referred(reference: str, root: Any, references: frozenset[str]) -> _Declared:
    if not reference.startswith("#"):
        return _Declared(is_known=False)
    target = root
    for step in filter(None, reference[1:].split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, Mapping) or key not in target:
            return _Declared(is_known=False)
        target = target[key]
    return _declared(target, root, references | {reference})


def _quoted(names: list[str]) -> str:
    return ", ".join(map(repr, names))
