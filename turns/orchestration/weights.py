"""The tokens of the messages of growing conversations: each message is counted once, not again in every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolparity.normalizer.conversation import Message

#: The number of conversations whose last messages are remembered. Turns that run at once can share a `ContextBuilder`.
_CONVERSATIONS = 64


class MessageWeights:
    """Sums the tokens of messages. ``weigh``: counts those of one message, which does not change afterwards."""

    def __init__(self, weigh: Callable[[Message], int]) -> None:
        self._weigh = weigh
        # By identity of the first message: the messages of the last request, by identity, with their tokens.
        self._known: dict[int, dict[int, tuple[Message, int]]] = {}

    def total(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a conversation, and remember those of its messages for the next request."""
        if not messages:
            return 0
        known = self._known.pop(id(messages[0]), {})  # it holds the messages, so their identities are not reused
        weighed = [known.get(id(message)) or (message, self._weigh(message)) for message in messages]
        self._known[id(messages[0])] = {id(message): (message, tokens) for message, tokens in weighed}
        if len(self._known) > _CONVERSATIONS:
            del self._known[next(iter(self._known))]
        return sum(tokens for _, tokens in weighed)
