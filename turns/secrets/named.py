"""Values of named secrets in texts of any notation: programs, configurations, command lines, documents, sentences.

At each name of a secret, the notations are tried in order. A notation is what binds a name to its value, and what the
value must look like there: the less the notation says, the more must the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import names
from .forms import is_chosen
from .name_places import name_at, places
from .names import Certainty, is_mixed

#: What may close a name: a quote, which JSON in JSON escapes, brackets, Markdown's bold letters.
_CLOSED = r"(?:\\*[\"'`]|\[\]|\]|\*\*)*(?:[ \t]?\([\w \t]{1,30}\)|\))?"
#: An operator, also behind a type: ``: str =``, ``:=``, ``=>``, ``?=``, a full-width colon.
_OPERATOR = (
    r"(?:(?:[ \t]{1,4}[a-z]{3,12})?[ \t]{1,4}[a-z]{3,12}\d?\(\d{1,5}\)|[ \t]{1,4}[a-z]{3,12}"
    r"|[ \t]*:[ \t]*[&\w.\[\]']{2,30}(?:[ \t][\w.]{2,30})?(?=[ \t]+=))?"
    r"[ \t.]*(?::{0,3}=>?(?!=)|[?+.]=|<-|->|\u2192|[:\uff1a](?!:)|[!=]==?(?=[ \t]*[\"'`]))"
    r"(?:\*\*)?[ \t]*(?:\*\*|<\w+>|[\u00ab\u201c\u300c] ?)?"
)
#: What may be before a value: a call, a tag of YAML, a default, YAML's block, or the next line.
_WRAPPED = (
    r"(?:[A-Za-z_&][\w.:<>]{1,40}[({][ \t]*|convertto-securestring[ \t]+|![\w.-]+[ \t]+"
    r"|[^\s\"'`]{1,40}[ \t]*(?:\|\||\?\?|or)[ \t]*"
    r"|(?:[|>][-+]?[ \t]*)?\r?\n[ \t]*(?:(?<=[ \t])|:[ \t]+))"
)
_SCHEME = r"(?:(?:bearer|basic|token|apikey)[ \t]+)?"
_BEFORE_QUOTE = r"[rbufln@$]{0,2}(?P<slashes>\\+)?(?P<quote>[\"'`])(?:(?P=quote){2}|\\*[\"'])?"
#: Without double quotes, because a single one that nothing closes would lead into the next member.
_IN_QUOTES = r"(?:(?!(?P=quote))(?(slashes)[^\\\n\"]|(?:[^\\\n\"]|\\[\\\"'/bfnrtu])))"
#: Up to a blank, a quote or punctuation; an ampersand may begin the next member of a form.
_PLAIN = r"(?:[^\s\"'`\\<>|;,(){}\[\]&]|&(?![\w.%-]*=)(?=[^\s&]))"
_QUOTED = rf"{_BEFORE_QUOTE}{_SCHEME}(?P<it>{_IN_QUOTES}{{6,2000}})"
_VALUE = rf"(?:{_BEFORE_QUOTE})?{_SCHEME}(?P<it>(?(quote){_IN_QUOTES}{{6,2000}}|{_PLAIN}{{6,400}}))"
#: The rest of a line.
_LINE = r"(?P<it>[^\s\"'`\\][^\s\"'`\\]{5,200}?)[,;]?(?=[ \t]*(?:\r?\n|$|\\n))"
_LINE_BEGINS = re.compile(r"(?:^|[\n\r:]|\\n)[ \t]*(?:-[ \t]+)?(?:(?:export|set|env)[ \t]+)?\$?$", re.IGNORECASE)
#: The end of a tag, and what may be between it and the value: attributes, another tag, CDATA.
_TAGS = (
    r"(?:\\*[\"'])?(?:\s[^<>]{0,120})?(?:</[\w:.-]+>:?\s*<[\w:.-]+(?:\s[^<>]{0,80})?>|>(?:\s*<(?:value|string)>)?)(?:<!\[CDATA\[)?\s*"
    r"(?P<it>[^<>\s\\\"'][^<>\n\\\"']{4,200}?)\s*(?=</|\]\]>)"
)
#: Words between a name and its value in sentences of some languages.
_FOR = (
    r"[ \t](?:for|of|to|in|on|f\u00fcr|f\u00f6r|du|"
    r"de|del|do|da|della|per|para|pour|\u043e\u0442|\u0434\u043b\u044f)[ \t][^\n.:]{1,40}?"
)
_IS = (
    rf"(?:(?:{_FOR})?[ \t]+(?:is|was|has(?=[ \t]been)|ist|lautet|est|es|\u00e8|\u00e9|\u00e4r|jest)"
    r"(?:[ \t](?:now|(?:been )?(?:created|changed)(?: from)?))?[ \t]*:?[ \t]+"
    rf"|{_FOR}[ \t]*:[ \t]+|,[ \t]+c'est[ \t]+)[\u00ab\u201c\u201e]?[ \t]?"
)

#: A call, a member of an object, the next member of a form.
_EXPRESSION = re.compile(r"[\w.]*\w\(.*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|.*&[\w.%-]+=.*")
_SETTERS = frozenset({"set", "with", "add", "use"})


def _is_expression(value: str) -> bool:
    if _EXPRESSION.fullmatch(value) is None:
        return False
    named = names.certainty_of(value) is not Certainty.NOTHING
    return "(" in value or "&" in value or named or not any(map(str.isdigit, value))


class _Bound(NamedTuple):
    """A name at ``start`` of a text, its value, and whether the value has quotes."""

    name: str
    value: str
    quoted: bool
    text: str
    start: int

    @property
    def is_sure(self) -> bool:
        return names.certainty_of(self.name) is not Certainty.LIKELY

    @property
    def begins_line(self) -> bool:
        return _LINE_BEGINS.search(self.text, max(self.start - 40, 0), self.start) is not None

    @property
    def is_option(self) -> bool:
        return self.name[0] in "-/"


def _assigned(it: _Bound) -> bool:
    """An operator binds name and value."""
    if it.quoted:
        return _stated(it) or names.has_symbol(it.value) or not it.is_sure
    if not it.is_sure:
        return True
    return _stated(it) and (it.name.isupper() or not _is_expression(it.value))


def _in_a_line(it: _Bound) -> bool:
    return it.is_sure and is_mixed(it.value) and it.begins_line and not _is_expression(it.value)


def _stated(it: _Bound) -> bool:
    """A sentence, a tag or a table binds them."""
    return is_mixed(it.value) or it.value.isdecimal()


def _listed(it: _Bound) -> bool:
    """The value only follows: it must look like a password or a key, and not like a name."""
    likely = names.is_password(it.value) if it.is_sure else names.is_random(it.value)
    return likely and names.certainty_of(it.value) is Certainty.NOTHING


def _set(it: _Bound) -> bool:
    words = names.words(it.name.rpartition(".")[2])
    return _listed(it) and (len(words) < 2 or words[0] in _SETTERS or words[-1] == "str")


def _alone(it: _Bound) -> bool:
    return names.is_random(it.value) if not it.is_sure else _listed(it)


def _after_blank(it: _Bound) -> bool:
    if it.is_option or it.quoted:
        return is_mixed(it.value)
    return names.is_password(it.value) and names.is_irregular(it.value)


#: What binds a name to its value, and what the value must look like.
_NOTATIONS: tuple[tuple[re.Pattern[str], Callable[[_Bound], bool]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), is_plausible)
    for pattern, is_plausible in (
        (rf"\\*[\"']\s*:\s*{_QUOTED}", lambda it: True),  # "password": "…"
        (rf"{_CLOSED}{_OPERATOR}{_LINE}", _in_a_line),  # DB_PASSWORD=…
        (rf"{_CLOSED}{_OPERATOR}{_VALUE}", _assigned),  # password = '…', password: …, 'password' => '…'
        (rf"{_CLOSED}{_OPERATOR}{_WRAPPED}{_VALUE}", _listed),  # api_key=SecretStr('…'), and YAML's blocks
        (_TAGS, _stated),  # <password>…</password>
        (rf"\\*[\"'],?\s+(?:value|content|default)=\s*{_QUOTED}", _stated),  # <add key="password" value="…">
        (rf"[\])\"']*\.(?:fill|type|send_?keys|set_?value)\(\s*{_QUOTED}", _stated),  # getByLabel('password').fill('…')
        (rf"(?:\\*[\"'`][\])]{{1,2}})?[ \t]*(?:\|\||\?\?|\?:|or)[ \t]*{_QUOTED}", _listed),  # env.PASSWORD || '…'
        (r":?[ \t]*\r?\n[ \t]*(?P<it>[^\s\"'`\\<>]{8,200})(?=[ \t]*(?:\r?\n|$))", _alone),  # the next line
        (rf"\\*[\"'`][ \t]*[,)\]]*[ \t]*(?:[,:]|\|\||\?\?)\s*\(?{_QUOTED}", _listed),  # getenv('DB_PASSWORD', '…')
        (rf"[ \t]*,[ \t]*(?P<it>{_PLAIN}{{16,400}})", lambda it: names.is_random(it.value)),  # password,…
        (rf"[ \t]*\([ \t]*{_QUOTED}", _set),  # set_password('…')
        (
            rf"\)?\((?:[\w ]{{1,20}}:)?(?P<it>{_PLAIN}{{6,200}})\)",
            lambda it: _set(it) and names.is_irregular(it.value),
        ),  # password(…)
        (rf"[ \t`*\"']{{0,6}}\|[ \t`*\"']{{0,6}}{_VALUE}", _stated),  # | DB_PASSWORD | … |
        (rf"{_IS}{_VALUE}", _stated),  # the password is '…'
        (rf"[ \t]+[-\u2013\u2014]{{1,5}}[ \t]+{_VALUE}", _stated),  # Password - …
        (rf"(?:\\*[\"'],\s*(?=\\*[\"'])|[ \t]+){_VALUE}", _after_blank),  # --password …, and in lists of arguments
    )
)


def values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (name, start, end) of the values of named secrets."""
    done = 0
    for start in places(text):
        if start < done or (at := name_at(text, start)) is None:
            continue
        name, end = at
        for pattern, is_plausible in _NOTATIONS:
            found = pattern.match(text, end)
            if found is None:
                continue
            quoted = found.groupdict().get("quote") is not None
            value = found["it"] if quoted else found["it"].rstrip(".:?")
            plain = names.is_secret(name, value) and is_chosen(value)
            if (plain and is_plausible(_Bound(name, value, quoted, text, start))) or names.is_phrase(name, value):
                done = found.start("it") + len(value)
                yield name, found.start("it"), done
                break
