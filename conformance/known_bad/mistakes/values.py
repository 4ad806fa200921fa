"""Mistakes of readers of any wire: values that change, ids and names that are replaced, and figures that are wrong."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from ...subjects import SubjectExchange
from ..mutate import CanonicalForm, blocks, calls, keep_only

Answer = Callable[[CanonicalForm, SubjectExchange], None]


def _walked(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each scalar changed."""
    if isinstance(value, dict):
        return {key: _walked(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_walked(member, change) for member in value]
    return change(value)


def _arguments(change: Callable[[Any], Any]) -> Answer:
    """Change the parsed arguments; the argument text follows them."""
    from toolparity.normalizer import json_codec

    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        for call in calls(form):
            if isinstance(call["arguments"], dict):
                new = change(call["arguments"])
                if json_codec.text(new) != json_codec.text(call["arguments"]) or repr(new) != repr(call["arguments"]):
                    call["arguments"], call["arguments_text"] = new, json_codec.text(new)

    return answer


def _scalars(change: Callable[[Any], Any]) -> Answer:
    return _arguments(lambda arguments: _walked(arguments, change))


def _members(keep: Callable[[str, Any], bool]) -> Answer:
    """Remove members of the arguments, at any depth."""

    def filtered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filtered(member) for key, member in value.items() if keep(key, member)}
        return [filtered(member) for member in value] if isinstance(value, list) else value

    return _arguments(filtered)


def _keys(rename: Callable[[str], str]) -> Answer:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {rename(key): renamed(member) for key, member in value.items()}
        return [renamed(member) for member in value] if isinstance(value, list) else value

    return _arguments(renamed)


def _texts(change: Callable[[str], str]) -> Answer:
    """Change the text of an answer."""

    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        for block in blocks(form):
            if block["type"] == "text":
                block["text"] = change(block["text"])

    return answer


def _both(change: Callable[[str], str]) -> Answer:
    """Change the texts in arguments, and the text."""
    arguments, texts = _scalars(lambda value: change(value) if isinstance(value, str) else value), _texts(change)

    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        arguments(form, exchange)
        texts(form, exchange)

    return answer


def _renamed(member: str, change: Callable[[Any], Any]) -> Answer:
    """Change the id or the name of each call, and that of the references."""

    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        for call in calls(form):
            call[member] = change(call[member])
        for group in ("kept", "dropped", "rejected"):
            for ref in form["selection"][group]:
                ref[member] = change(ref[member])

    return answer


def _usage(change: Callable[[dict[str, Any]], None]) -> Answer:
    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        if form["response"]["usage"] is not None:
            change(form["response"]["usage"])

    return answer


def _add(usage: dict[str, Any], to: str, *names: str, sign: int = 1) -> None:
    if usage[to] is not None:
        usage[to] = max(0, usage[to] + sign * sum(usage[name] or 0 for name in names))


def _swapped(usage: dict[str, Any]) -> None:
    usage["input_tokens"], usage["output_tokens"] = usage["output_tokens"], usage["input_tokens"]


def _integer_first(value: Any) -> Any:
    """Order the members as JavaScript does: integers first."""
    if isinstance(value, dict):
        numbers = sorted((key for key in value if key.isdigit() and str(int(key)) == key), key=int)
        return {key: _integer_first(value[key]) for key in [*numbers, *(key for key in value if key not in numbers)]}
    return [_integer_first(member) for member in value] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(member) for member in value] if isinstance(value, list) else value


def _whole(value: Any) -> Any:
    """Write a float without a fraction as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _negative_zero(value: Any) -> Any:
    return 0 if isinstance(value, float) and value == 0 and str(value) == "-0.0" else value


def _fixed(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def _coerced(value: Any) -> Any:
    if isinstance(value, str):
        if value in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[value]
        if re.fullmatch(r"-?[1-9][0-9]{0,14}", value):
            return int(value)
    return value


def _parsed(value: Any) -> Any:
    from toolparity.normalizer import json_codec

    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json_codec.decode(value)
        except ValueError:
            return value
    return value


def _unwrapped(arguments: Any) -> Any:
    """Use the only argument's object as the arguments."""
    inner = next(iter(arguments.values()), None) if len(arguments) == 1 else None
    return inner if isinstance(inner, dict) else arguments


def _dated(value: Any) -> Any:
    match = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value)
    return f"{value}T00:00:00.000Z" if match else value


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), key)


def _camel(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda match: match[1].upper(), key)


def _nothing_of_cut_streams(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if exchange.stream and not form["response"]["complete"] and form["response"]["error"] is None:
        form["response"]["choices"], form["response"]["usage"] = [], None
        form["selection"].update(kept=[], dropped=[], rejected=[])


def _calls_of_cut_streams(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if exchange.stream and not form["response"]["complete"] and calls(form):
        keep_only(form, [])


def _text_of_cut_streams(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if exchange.stream and not form["response"]["complete"]:
        for block in blocks(form):
            if block["type"] == "text":
                block["text"] = ""


def _custom_is_object(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for call in calls(form):
        if call["kind"] != "function":
            call.update(arguments={}, arguments_text="{}", kind="function")


def _error_has_no_message(form: CanonicalForm, exchange: SubjectExchange) -> None:
    if form["response"]["error"] is not None:
        form["response"]["error"]["message"] = "the request failed"


def _statuses(retryable: bool, *statuses: int) -> Answer:
    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        error = form["response"]["error"]
        if error is not None and (exchange.status in statuses or error["status"] in statuses):
            error["retryable"] = retryable

    return answer


def _errors_are_empty(form: CanonicalForm, exchange: SubjectExchange) -> None:
    form["response"]["error"] = None
    for choice in form["response"]["choices"]:
        if choice["stop"]["reason"] == "error":
            choice["stop"]["reason"] = "end_turn"


def _later_error_wins(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Return nothing of a response that ended with an error."""
    if form["response"]["error"] is not None and blocks(form):
        form["response"]["choices"] = []
        form["selection"].update(kept=[], dropped=[], rejected=[])


def _stop(*pairs: str) -> Answer:
    table = dict(zip(pairs[::2], pairs[1::2], strict=True))

    def answer(form: CanonicalForm, exchange: SubjectExchange) -> None:
        for choice in form["response"]["choices"]:
            choice["stop"]["reason"] = table.get(choice["stop"]["reason"], choice["stop"]["reason"])

    return answer


def _calls_end(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Any answer with calls ended with calls."""
    for choice in form["response"]["choices"]:
        if any(block["type"] == "tool_call" for block in choice["blocks"]):
            choice["stop"]["reason"] = "tool_calls"


def _texts_joined(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Put a line break between the text blocks."""
    texts = [block for block in blocks(form) if block["type"] == "text"]
    for block in texts[1:]:
        block["text"] = "\n" + block["text"]


def _first_text(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for block in [block for block in blocks(form) if block["type"] == "text"][1:]:
        block["text"] = ""


def _think_tags(text: str) -> str:
    return re.sub(r"(?s)<think>.*?</think>\s*", "", text)


def _later_ids(form: CanonicalForm, exchange: SubjectExchange) -> None:
    """Only the first call keeps its id."""
    for call in calls(form)[1:]:
        call["id"] = ""


def _add_calls_to_text(form: CanonicalForm, exchange: SubjectExchange) -> None:
    for call in calls(form):
        for block in blocks(form):
            if block["type"] == "text" and call["name"] not in block["text"]:
                block["text"] += f"[{call['name']}]"


_SPACES = re.compile(r"[ \t]+")
ANSWERS: dict[str, Answer] = {
    "reads -0.0 as 0": _scalars(_negative_zero),
    "reads 1.0 as 1": _scalars(_whole),
    "rounds floats to six digits": _scalars(_fixed),
    "reads integers beyond 2^53 as floats": _scalars(lambda v: float(v) if type(v) is int and abs(v) > 2**53 else v),
    'reads "true", "null" and "12" in arguments as values': _scalars(_coerced),
    "parses texts in arguments that are JSON": _scalars(_parsed),
    "reads a date in arguments as a time": _scalars(_dated),
    "drops members of the arguments that are null": _members(lambda key, value: value is not None),
    "drops empty texts, lists and objects in arguments": _members(lambda key, value: value not in ("", [], {})),
    "drops members of the arguments that are false or 0": _members(
        lambda key, value: value is None or not (value is False or (value == 0 and not isinstance(value, str)))
    ),
    "loses a key __proto__, as JavaScript objects do": _members(lambda key, value: key != "__proto__"),
    "loses keys of the object prototype: constructor and toString": _members(
        lambda key, value: key not in ("constructor", "toString", "hasOwnProperty", "prototype")
    ),
    "puts integer keys first, as JavaScript objects do": _arguments(_integer_first),
    "sorts the keys of the arguments": _arguments(_sorted),
    "writes the keys of arguments in snake case": _keys(_snake),
    "writes the keys of arguments in camel case": _keys(_camel),
    "trims the keys of arguments, and loses empty ones": _keys(str.strip),
    "takes the object in the only argument for the arguments": _arguments(_unwrapped),
    "reads a list with one element as the element": _arguments(
        lambda a: {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in a.items()}
    ),
    "ends a text at its first NUL": _both(lambda text: text.split("\0")[0]),
    "removes NUL from texts": _both(lambda text: text.replace("\0", "")),
    "reads CRLF inside a text as LF": _both(lambda text: text.replace("\r\n", "\n")),
    "removes CR from texts": _both(lambda text: text.replace("\r", "")),
    "reads tabs in texts as spaces": _both(lambda text: text.replace("\t", "    ")),
    "reads several spaces as one": _both(lambda text: _SPACES.sub(" ", text)),
    "trims the texts in arguments": _scalars(lambda v: v.strip() if isinstance(v, str) else v),
    "trims the text of an answer": _texts(str.strip),
    "removes the line breaks at the beginning of a text": _texts(lambda text: text.lstrip("\n")),
    "normalizes texts to composed characters": _both(lambda text: unicodedata.normalize("NFC", text)),
    "normalizes texts to compatible characters": _both(lambda text: unicodedata.normalize("NFKC", text)),
    "removes a byte order mark inside a text": _both(lambda text: text.replace("\ufeff", "")),
    "removes characters without width": _both(lambda text: re.sub("[\u200b\u200c\u200d]", "", text)),
    "decodes HTML entities in texts": _both(
        lambda text: text.replace("&lt;", "<").replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", '"')
    ),
    "decodes \\n in texts a second time": _both(lambda text: text.replace("\\n", "\n")),
    "removes backslashes from texts": _both(lambda text: text.replace("\\", "")),
    "replaces characters beyond the basic plane": _both(lambda text: re.sub("[\U00010000-\U0010ffff]", "\ufffd", text)),
    "removes what looks like thinking from the text": _texts(_think_tags),
    "removes code fences from the text": _texts(lambda text: text.replace("```", "")),
    "puts a line break between text blocks": _texts_joined,
    "returns the first text block": _first_text,
    "adds the names of calls to the text": _add_calls_to_text,
    "gives every call the id 'same'": _renamed("id", lambda id: "same"),
    "returns calls without ids": _renamed("id", lambda id: ""),
    "returns ids in lower case": _renamed("id", str.lower),
    "cuts ids after 40 characters": _renamed("id", lambda id: id[:40]),
    "replaces characters of ids other than letters and digits": _renamed(
        "id", lambda id: re.sub("[^A-Za-z0-9_]", "_", id)
    ),
    "returns the id of the first call only": _later_ids,
    "trims ids": _renamed("id", str.strip),
    "returns names in lower case": _renamed("name", str.lower),
    "writes underscores for hyphens and dots in names": _renamed(
        "name", lambda name: name.replace("-", "_").replace(".", "_")
    ),
    "removes the prefix of a name before a dot or two underscores": _renamed(
        "name", lambda name: re.split(r"\.|__", name)[-1] or name
    ),
    "cuts names after 64 characters": _renamed("name", lambda name: name[:64]),
    "trims names": _renamed("name", str.strip),
    "returns free text calls as functions with {}": _custom_is_object,
    "returns nothing of a stream that broke": _nothing_of_cut_streams,
    "returns no calls of a stream that broke": _calls_of_cut_streams,
    "returns no text of a stream that broke": _text_of_cut_streams,
    "returns nothing that came before an error in a stream": _later_error_wins,
    "returns an empty answer for an error": _errors_are_empty,
    "loses the message of an error": _error_has_no_message,
    "reports an overloaded server as final": _statuses(False, 503, 529),
    "reports a rate limit as final": _statuses(False, 429),
    "reports a refused request as retryable": _statuses(True, 400, 401, 403, 404),
    "reports an error of the server as final": _statuses(False, 500, 502, 504),
    "reports a full context window as the limit of tokens": _stop("context_window", "max_tokens"),
    "reports a stop sequence as the end": _stop("stop_sequence", "end_turn"),
    "reports a pause as the end": _stop("pause", "end_turn", "compaction", "end_turn"),
    "reports a filtered answer as the end": _stop("content_filter", "end_turn"),
    "reports an unknown stop reason as the end": _stop("unknown", "end_turn"),
    "reports a malformed call as the end": _stop("malformed_call", "end_turn"),
    "reports every answer with calls as ended with calls": _calls_end,
    "exchanges input and output": _usage(_swapped),
    "subtracts the cached tokens from the input": _usage(
        lambda usage: _add(usage, "input_tokens", "cached_input_tokens", sign=-1)
    ),
    "adds the cached tokens to an input that includes them": _usage(
        lambda usage: _add(usage, "input_tokens", "cached_input_tokens")
    ),
    "adds the tokens written to the cache to an input that includes them": _usage(
        lambda usage: _add(usage, "input_tokens", "cache_write_tokens")
    ),
    "subtracts the tokens of reasoning from the output": _usage(
        lambda usage: _add(usage, "output_tokens", "reasoning_tokens", sign=-1)
    ),
    "adds the tokens of reasoning to an output that includes them": _usage(
        lambda usage: _add(usage, "output_tokens", "reasoning_tokens")
    ),
    "returns tokens written to the cache as read": _usage(
        lambda usage: usage.update(
            cached_input_tokens=(usage["cached_input_tokens"] or 0) + (usage["cache_write_tokens"] or 0)
        )
    ),
}
