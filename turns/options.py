"""The keyword arguments of a turn. A `Turn`, an `Agent` and a `Coordinator` accept the same ones.

Each group is a struct, so that a part of a turn receives the options that concern it. All options have a default.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar

from msgspec import Struct

from toolparity.normalizer.model import Policy

from .backoff import DEFAULT, Backoff
from .execution.executor import Executor
from .instrument import Instrument
from .machine.inputs import Input
from .machine.prices import Prices
from .machine.settings import OnAllFailed, OnError, Settings
from .machine.state import TurnState
from .model_call import Prepare, WrapDecoder
from .observer import Observer
from .performer import Acknowledger, Approver
from .provider import Provider
from .tokens import Counter, estimated

_S = TypeVar("_S", bound=Struct)

#: Middleware over the machine's inputs: maps an input to the inputs that the machine gets in its place.
Middleware = Callable[[TurnState, Input], Awaitable[list[Input]]]


class Hooks(Struct, frozen=True):
    """The code that a turn calls.

    ``approve`` decides on calls that need approval. Without it, or where it returns None, the turn waits: call
    `Turn.decide`, then run the turn again. ``acknowledge`` returns the text for the user while calls run. ``observers``
    record each step before its effects run (`Observer`). ``executor``: pass one to share threads among turns, or to
    wrap calls. ``inject``: the object that the tools' `Injected` parameters receive (an ``executor`` that is passed has
    a separate one). ``prepare`` changes each request before it is sent, and ``reader`` wraps the decoder of its answer
    (`model_call`). ``backoff``: when to retry an overloaded provider, None for never. ``fallback``: the providers with
    which the turn continues if the first one fails (`providers`). ``count_tokens``: returns the number of tokens of a
    text, for answers whose usage the provider does not report (`Usage.estimated`). ``direct``: middleware over the
    machine's inputs. ``telemetry``: measures the turn (`telemetry.Telemetry`).
    """

    approve: Approver | None = None
    acknowledge: Acknowledger | None = None
    observers: Sequence[Observer] = ()
    executor: Executor | None = None
    inject: Any = None
    prepare: Prepare | None = None
    reader: WrapDecoder | None = None
    backoff: Backoff | None = DEFAULT
    count_tokens: Counter = estimated
    fallback: Provider | Sequence[Provider] = ()
    direct: Middleware | None = None
    telemetry: Instrument | None = None


class AgentOptions(TypedDict, total=False):
    """The keyword arguments that several turns can share.

    They are fields of `settings.Settings`, `request.RequestOptions` and `Hooks`, and described there. The default of
    ``on_all_failed`` is "continue". ``output``: the type of the final answer, or a JSON schema (`output`).
    """

    policy: Policy
    max_rounds: int
    limit: int | None
    on_error: OnError
    on_all_failed: OnAllFailed
    budget: int | None
    loop_after: int
    loop_limit: int | None
    max_calls: int | None
    max_cost: float | None
    prices: Prices | None
    seconds: float | None

    instructions: str | None
    round_guidance: bool | None
    temperature: float | None
    max_tokens: int | None
    top_p: float | None
    stop: str | Sequence[str] | None
    seed: int | None
    params: Mapping[str, Any]
    tool_choice: Literal["auto", "none", "required"] | str | None
    parallel: bool | None
    output: Any

    approve: Approver | None
    acknowledge: Acknowledger | None
    observers: Sequence[Observer]
    executor: Executor | None
    inject: Any
    prepare: Prepare | None
    reader: WrapDecoder | None
    backoff: Backoff | None
    count_tokens: Counter
    fallback: Provider | Sequence[Provider]
    direct: Middleware | None
    telemetry: Instrument | None


class TurnOptions(AgentOptions, total=False):
    """The keyword arguments of a turn. ``id``: of the turn, random by default. ``state``: a saved state to resume, of
    any wire; its own settings then apply.
    """

    id: str | None
    state: TurnState | None


def check_options(options: Mapping[str, Any], known: type, what: str) -> None:
    """Raises TypeError for an option that the TypedDict ``known`` does not have."""
    unknown = [name for name in options if name not in known.__annotations__]
    if unknown:
        raise TypeError(f"{what} got an unexpected keyword argument {unknown[0]!r}")


def settings_of(options: Mapping[str, Any], provider: Provider) -> Settings:
    """Return the settings among the options of a turn. Raises PolicyError.

    The default of ``limit`` is the provider's ``call_limit``, if it has one (`NarratingProvider`).
    """
    defaults = {"on_all_failed": "continue", "limit": getattr(provider, "call_limit", None)}
    return group(Settings, {**defaults, **options})


def group(kind: type[_S], options: Mapping[str, Any]) -> _S:
    """Return the struct with those options that are its fields."""
    return kind(**{name: options[name] for name in kind.__struct_fields__ if name in options})
