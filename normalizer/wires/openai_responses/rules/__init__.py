"""Request rules of the Responses endpoints.

Sources are the API references and error messages of OpenAI and xAI, and failures reported from the field by id. A rule
without providers applies to every provider of the wire.
"""

from __future__ import annotations

from ...rule import rules_in
from . import items, options

RULES = (*rules_in(vars(items)), *rules_in(vars(options)))
