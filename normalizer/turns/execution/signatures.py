"""Check of a tool's function against its schema: the function must accept every call that the schema allows.

The model knows a tool by its schema only. If the function requires other parameters, even a correct call fails.
Therefore the declaration of such a tool raises an error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..errors import InvalidTool

_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: The schema of a tool without parameters, for hints.
_NOTHING = '{"type": "object", "properties": {}}'


def check_function(
    name: str, function: Callable[..., Any], parameters: Any, *, kind: str = "function", mapping: bool = False
) -> None:
    """Raises InvalidTool for a function that cannot accept the calls that its tool declares.

    ``mapping`` and the kind "custom" pass one positional argument, and the kind "function" passes keywords. Not
    checked are other kinds, whose provider defines the arguments, and builtins without a signature.
    """
    if not callable(function):
        raise InvalidTool(f"its function is not callable: {function!r}", where=name, hint="pass a function")
    if kind not in ("function", "custom"):
        return
    taken = _signature(function)
    if taken is None:
        return
    if mapping or kind == "custom":
        _check_one_argument(name, taken)
        return
    _check_by_keyword(name, taken)
    bound = _bound_keywords(function)
    if parameters is None:
        _check_nothing_undeclared(name, taken, bound)
    elif isinstance(parameters, Mapping):
        _check_declared(name, taken, _declared(parameters, parameters, frozenset()))


def misfit(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """Return why a function cannot accept these keywords, or None if it can or has no signature."""
    taken = _signature(function)
    if taken is None:
        return None
    keywords, anything = _keywords(taken)
    unknown = [name for name in arguments if name not in keywords and not anything]
    if unknown:
        return f"it does not take {_quoted(unknown)}"
    missing = [one.name for one in keywords.values() if _is_required(one) and one.name not in arguments]
    return f"it requires {_quoted(missing)}" if missing else None


def _keywords(taken: inspect.Signature) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the parameters that can be passed by keyword, and whether the function accepts any other keyword."""
    parameters = taken.parameters.values()
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    return {one.name: one for one in parameters if one.kind in _KEYWORD}, anything


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):  # a builtin
        return None


def _bound_keywords(function: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters that a partial binds by keyword."""
    return frozenset(function.keywords) if isinstance(function, functools.partial) else frozenset()


def _is_required(parameter: inspect.Parameter) -> bool:
    variadic = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and not variadic


def _check_one_argument(name: str, taken: inspect.Signature) -> None:
    try:
        taken.bind(None)
    except TypeError:
        said = f"its function {taken} cannot be called with the one positional argument that it gets"
        raise InvalidTool(said, where=name, hint="let it take exactly one argument") from None


def _check_by_keyword(name: str, taken: inspect.Signature) -> None:
    """Raises InvalidTool for required positional-only parameters, because arguments are passed as keywords."""
    positional = [
        one.name
        for one in taken.parameters.values()
        if one.kind is inspect.Parameter.POSITIONAL_ONLY and _is_required(one)
    ]
    if positional:
        said = f"its function {taken} takes {_quoted(positional)} by position only, and arguments come as keywords"
        raise InvalidTool(said, where=name, hint="let the function take keywords, or one mapping (mapping=True)")


def _check_nothing_undeclared(name: str, taken: inspect.Signature, bound: frozenset[str]) -> None:
    """Raises InvalidTool for named parameters without a schema, because the model then passes no arguments."""
    undeclared = [name for name in _keywords(taken)[0] if name not in bound]
    if undeclared:
        said = f"its function takes {_quoted(undeclared)}, and no parameters are declared, so the model passes none"
        hint = f"pass parameters= with the JSON schema of {_quoted(undeclared)}; for a tool without any, {_NOTHING}"
        raise InvalidTool(said, where=name, hint=hint)


def _check_declared(name: str, taken: inspect.Signature, declared: _Declared) -> None:
    keywords, anything = _keywords(taken)
    unknown = [property for property in declared.properties if property not in keywords and not anything]
    if unknown:
        said = f"its parameters declare {_quoted(unknown)}, which its function {taken} does not take"
        raise InvalidTool(said, where=name, hint="name the same parameters in both, or take one mapping (mapping=True)")
    if not declared.is_known:
        return
    required = [one.name for one in keywords.values() if _is_required(one)]
    missing = [one for one in required if one not in declared.properties and one not in declared.required]
    if missing:
        said = f"its function requires {_quoted(missing)}, which its parameters do not declare"
        raise InvalidTool(said, where=name, hint="add them to the schema's properties, or give them defaults")
    optional = [one for one in required if one not in declared.required]
    if optional:
        said = f"its function requires {_quoted(optional)}, which its parameters let the model leave out"
        raise InvalidTool(said, where=name, hint='add them to the schema\'s "required", or give them defaults')


class _Declared(Struct, frozen=True):
    """The declarations of an object schema. ``properties``: those that arguments may have. ``required``: those that
    all arguments have. ``is_known``: False if a part of the schema cannot be resolved here.
    """

    properties: dict[str, None] = {}
    required: frozenset[str] = frozenset()
    is_known: bool = True


def _declared(schema: Any, root: Any, above: frozenset[str]) -> _Declared:
    """Collect the declarations of a schema. ``above``: the references on the way here, to stop at cycles."""
    if not isinstance(schema, Mapping):
        return _Declared()
    own = schema.get("properties")
    properties = {name: None for name, value in (own if isinstance(own, Mapping) else {}).items() if value is not False}
    required = _names(schema.get("required"))
    known = "$dynamicRef" not in schema
    every = [_declared(one, root, above) for one in _list(schema.get("allOf"))]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        every.append(_referred(reference, root, above))
    for word in ("anyOf", "oneOf"):
        some = [_declared(one, root, above) for one in _list(schema.get(word))]
        if some:
            every.append(_either(some))
    conditional = [schema[word] for word in ("if", "then", "else") if word in schema]
    dependent = schema.get("dependentSchemas")
    conditional += dependent.values() if isinstance(dependent, Mapping) else []
    every += [_Declared(_declared(one, root, above).properties) for one in conditional]
    for one in every:
        properties.update(one.properties)
        required |= one.required
        known = known and one.is_known
    return _Declared(properties, required, known)


def _either(some: list[_Declared]) -> _Declared:
    properties = {name: None for one in some for name in one.properties}
    required = frozenset.intersection(*(one.required for one in some))
    return _Declared(properties, required, all(one.is_known for one in some))


def _referred(reference: str, root: Any, above: frozenset[str]) -> _Declared:
    if reference in above:
        return _Declared()
    found = root
    if not reference.startswith("#"):
        return _Declared(is_known=False)
    for step in filter(None, reference[1:].split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return _Declared(is_known=False)
        found = found[key]
    return _declared(found, root, above | {reference})


def _names(value: Any) -> frozenset[str]:
    return frozenset(name for name in _list(value) if isinstance(name, str))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _quoted(names: list[str]) -> str:
    return ", ".join(map(repr, names))
