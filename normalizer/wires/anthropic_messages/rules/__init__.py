"""Request rules of the Messages API.

Sources: the API's reference and guides ("documented"), its error messages ("refusal"), and the ids of failures.
Some older restrictions are not rules, because recorded requests show that the API accepts such input: a space as text,
an assistant message at the start, forced tools with adaptive thinking, consecutive messages of one role.
"""

from __future__ import annotations

from ...rule import rules_in
from . import features, messages

RULES = (*rules_in(vars(messages)), *rules_in(vars(features)))
