"""Known-bad subjects made by systematic mutation of the output and of the input handling of the reference.

There are three kinds: of answers (`mutants`), of the input (`inputs`), and of requests (`bodies`).

Each is named by its mutation: ``drop:usage.cached_input_tokens``, ``swap:tool_call.id``, ``alter:text.text@stream``.
The prefix ``brief/`` marks a subject that returns the brief form, as adapters of other libraries do.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from .answers import AnswerMutant, answer_mutants
from .brief import is_shown
from .inputs import InputMutant, input_mutants

__all__ = ["AnswerMutant", "InputMutant", "answer_mutants", "equivalents", "inputs", "mutants"]


@cache
def mutants() -> dict[str, AnswerMutant]:
    """Return all mutants of answers by name: in the canonical form, and those that the brief form may show."""
    canonical = {mutant.name: mutant for mutant in answer_mutants()}
    brief = {f"brief/{name}": mutant for name, mutant in canonical.items() if "@" not in name and is_shown(mutant)}
    return canonical | {name: mutant._replace(name=name, brief=True) for name, mutant in brief.items()}


@cache
def inputs() -> dict[str, InputMutant]:
    """Return all mutants of the input by name."""
    return {mutant.name: mutant for mutant in input_mutants()}


@cache
def equivalents() -> dict[str, str]:
    """Return the subjects that no law has to fail, each with the kind of its proof (``equivalents.toml``)."""
    text = (resources.files(__package__) / "equivalents.toml").read_text("utf-8")
    return {name: kind for kind, table in tomllib.loads(text).items() for name in table["names"]}
