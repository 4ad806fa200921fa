"""The caller's settings for a turn, which its state holds."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Policy, Usage
from toolparity.normalizer.policies import policy_name

from ..option_values import NUMBER, unfit, unknown
from .prices import Prices

OnError = Literal["continue", "stop"]
OnAllFailed = Literal["stop", "answer", "continue"]

#: The settings that are numbers of at least 0.
_NUMBERS = (
    "max_rounds",
    "limit",
    "budget",
    "loop_after",
    "loop_limit",
    "max_pauses",
    "max_calls",
    "max_cost",
    "seconds",
)


class Settings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The caller's settings for a turn. The state holds them, so that a resumed turn keeps them.

    ``max_rounds``: how many answers may have calls, whether or not these run. Then the model is asked a last time and
    may not call; if it calls instead of answering, it is asked once more. Requests of the same round do not count, nor
    rounds without calls: a pause of the provider, a correction of the answer.
    ``limit``: maximum kept calls of one answer. ``on_error``: under the policy `batch`, whether the calls after a
    failed one run. ``on_all_failed``: after a round in which all tools failed, "continue" asks the model again with
    the errors, "answer" asks it a last time, and "stop" ends the turn. The default of a `Turn` is "continue". The
    default here is "stop", because earlier versions did not write the field.
    ``budget``: tokens of all rounds, estimated where the provider reports none; once they are used up, no call runs and
    no pause is continued. ``loop_after``: the
    number of identical calls from which on `loop_suspected` is emitted. ``loop_limit``: how many of them may run.
    ``max_pauses``: how many pauses of a provider the turn continues from. ``choice``: the index of the choice that the
    turn acts on. ``max_calls``: how many calls of all rounds run; then the model is asked a last time. ``max_cost``:
    the cost of all rounds by ``prices``, with the effect of ``budget``. ``seconds``: the time of one run of the turn,
    after which it is cancelled.
    """

    policy: Policy = "all"
    max_rounds: int = 8
    limit: int | None = None
    on_error: OnError = "continue"
    on_all_failed: OnAllFailed = "stop"
    budget: int | None = None
    loop_after: int = 3
    loop_limit: int | None = None
    max_pauses: int = 8
    choice: int = 0
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Raises PolicyError for an unknown name, an invalid or negative number, or a maximum cost without prices."""
        policy_name(self.policy)
        for name, allowed in (("on_error", OnError), ("on_all_failed", OnAllFailed)):
            problem = unknown(name, getattr(self, name), get_args(allowed))
            if problem is not None:
                raise PolicyError(problem)
        for name in _NUMBERS:
            value = getattr(self, name)
            problem = unfit(name, value, NUMBER)
            if problem is not None:
                raise PolicyError(problem)
            if value is not None and not value >= 0:
                raise PolicyError(f"{name} must be >= 0, got {value}")
        if self.max_cost is not None and self.prices is None:
            raise PolicyError("max_cost needs prices", hint="pass prices=Prices(input=…, output=…)")

    def is_spent(self, usage: Usage | None) -> bool:
        """Return whether this usage reaches ``budget`` or ``max_cost``."""
        if usage is None:
            return False
        cost = self.prices.cost(usage) if self.prices is not None else None
        if self.max_cost is not None and cost is not None and cost >= self.max_cost:
            return True
        return self.budget is not None and (usage.input_tokens or 0) + (usage.output_tokens or 0) >= self.budget
