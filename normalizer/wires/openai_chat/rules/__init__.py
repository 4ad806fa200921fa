"""Request rules of the Chat Completions providers.

Sources are the providers' documentation and error messages. Ids like ORD-04 are failures reported from the field. A
rule without providers is OpenAI's, and compatible providers enforce it more or less strictly.
"""

from __future__ import annotations

from ...rule import rules_in
from . import messages, options

RULES = (*rules_in(vars(messages)), *rules_in(vars(options)))
