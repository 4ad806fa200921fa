"""What a session returns while messages arrive."""

from __future__ import annotations

from msgspec import Struct

from ..events import Event
from ..model import Response


class CallsCancelled(Struct, tag="calls_cancelled", tag_field="type", frozen=True, gc=False):
    """The provider cancelled calls of earlier responses. Stop those that run, and send no results for them."""

    ids: list[str]


class InputTranscript(Struct, tag="input_transcript", tag_field="type", frozen=True, gc=False):
    """Words of the user, as the provider heard them. ``whole``: the text replaces the parts before it."""

    text: str
    whole: bool = False


class AudioOutput(Struct, tag="audio_output", tag_field="type", frozen=True, gc=False):
    """Sound of the model, which is not kept. ``size``: in bytes. ``mime_type``: None if the message does not say it."""

    size: int
    mime_type: str | None = None


class SessionEvent(Struct, frozen=True, gc=False):
    """One event of a session. ``response``: the key of the response that it belongs to, None for the session.

    The last event of a response is the canonical `Response`. Only its calls may run.
    """

    response: str | None
    event: Event | Response | CallsCancelled | InputTranscript | AudioOutput
