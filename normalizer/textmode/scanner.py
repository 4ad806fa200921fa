"""Incremental scanner that separates the text of one response into text, reasoning and calls.

Text passes immediately; only a possible beginning of a tag is held back. Markup counts as a call except in code
(`markdown`), in reasoning and inside another call (failures TXT-05, TXT-07).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .dialect import Dialect
from .markdown import Markdown
from .parsers.call_parser import Body
from .parsers.coercion import Tools
from .scan_events import Began, Doubted, Ended, Grew, Noted, Over, Step, Thought, ThoughtEnd, Withdrawn, Words
from .tags import HOLD, Hit, Hold, any_literal, finder

THINKING = ("think", "thinking")
_OPEN = tuple(f"<{name}>" for name in THINKING)
_CLOSE = tuple(f"</{name}>" for name in THINKING)
#: Maximum length of white space next to markup that counts as layout; longer white space is kept as text.
_MOST_LAYOUT = 4096


class Scanner:
    """Scanner of one text.

    ``dialects``: the candidates; the first call determines `dialect`. ``limit``: the maximum number of calls; None for
    no limit. ``count``: the number of calls before this text. ``thinking``: the text begins inside reasoning whose
    opening tag is in the prompt. `over` is true once a call beyond the limit began; then the scanner ignores the rest.
    """

    def __init__(
        self,
        dialects: Sequence[Dialect],
        tools: Tools,
        limit: int | None = None,
        count: int = 0,
        thinking: bool = False,
    ) -> None:
        self.tools = tools
        self.limit = limit
        self.count = count
        self.before = count
        self.over = False
        self.marked = False
        self.broke_off = False
        self.dialect: Dialect | None = dialects[0] if len(dialects) == 1 else None
        self.longest_held = 0
        self.taken = 0  # number of processed characters, up to the call over the limit
        self._dialects = tuple(dialects)
        self._steps: list[Step] = []
        self._buf = ""
        self._body: Body | None = None
        self._tag = ""  # opening tag of the body
        self._in_section = False
        self._thinking = ""  # the closing tag of the open reasoning
        self._began = 0
        self._ended = False
        self._doubt = self._coming = ""
        self._fresh = True
        self._pending: list[str] = []
        self._pending_size = 0
        self._source: list[str] = []
        self._markdown = Markdown()
        self._within: int | None = None  # number of calls before the first call in the open span of code
        self._behind: int | None = None  # number of calls before the call that directly follows a backquote
        self._told: set[str] = set()
        self._aim()
        if thinking:
            self._thinking, self.marked = _CLOSE[0], True

    def _aim(self) -> None:
        known = self._dialects
        heads = [head for dialect in known for head in dialect.heads]
        ends = [text for dialect in known for text in (*dialect.ends, *dialect.tails)]
        strays = [tag.head for dialect in known for tag in dialect.strays]
        self._heads = frozenset(heads)
        self._in_words = finder(*heads, *ends, *strays, *_OPEN, *_CLOSE, "`", "~~~")
        self._in_thinking = {close: finder(close, *heads) for close in _CLOSE}

    def feed(self, text: str) -> list[Step]:
        """Process the next chunk and return the steps that it completes."""
        self._buf += text
        self._run(final=False)
        return self._told_so_far()

    def finish(self, closers: Iterable[str] = ()) -> list[Step]:
        """Return the last steps at the end of the text.

        ``closers``: closing tags that a stop sequence may have cut off.
        """
        body = self._body
        missing = next((tag for tag in closers if body is not None and body.awaits(tag.strip(), self._buf)), None)
        if missing is not None:
            self._buf += missing
            self._note("closer-cut", f"the stop sequence {missing} cut the end of the call off; it was put back")
        self._run(final=True)
        if self._body is not None:
            self._body.finish()
            self._leave_body()
        if self._pending and not self.marked:
            self._flush()
        if self._thinking:
            self._steps.append(ThoughtEnd())
        return self._told_so_far()

    def _told_so_far(self) -> list[Step]:
        steps, self._steps = self._steps, []
        return steps

    def _run(self, final: bool) -> None:
        buf, at, size = self._buf, 0, len(self._buf)
        while at < size and not self.over:
            if self._body is not None:
                new = self._body.feed(buf, at, final)
                self._source.append(buf[at:new])
                waiting = new == at and not self._body.done
                at = new
                if self._body.done:
                    self._leave_body()
                elif waiting or new == size:
                    break
                continue
            step = self._think(buf, at, final) if self._thinking else self._read(buf, at, final)
            if step is None:
                break
            at = step
        self.taken += at
        self._buf = "" if self.over else buf[at:]
        self.longest_held = max(self.longest_held, len(self._buf) + self._pending_size)

    # text

    def _read(self, buf: str, at: int, final: bool) -> int | None:
        place, found = self._in_words.find(buf, at, final)
        if place > at:
            self._say(buf[at:place])
            return place
        if not found:
            return None
        if found in ("`", "~~~"):
            return self._code(buf, at, final)
        if found in self._heads:
            hit, dialect = self._opening(buf, at, final)
            if hit is HOLD:
                return None
            if isinstance(hit, Hit) and dialect is not None:
                return self._open(buf, at, hit, dialect, final)
        if not self._markdown.quoting:
            if found in _OPEN and (self._markdown.at_start or self._fresh):
                self._mark(buf[at : at + len(found)])
                self._thinking = _CLOSE[_OPEN.index(found)]
                self._source.clear()
                return at + len(found)
            if found in _CLOSE:
                return self._orphan(buf, at, found, final)
            closed = self._closing(buf, at, final)
            if closed is not None:
                return None if isinstance(closed, Hold) else closed
        self._say(buf[at])
        return at + 1

    def _opening(self, buf: str, at: int, final: bool) -> tuple[Hit | Hold | None, Dialect | None]:
        for dialect in self._dialects:
            hit = dialect.opening(buf, at, final)
            if hit is not None:
                return hit, dialect
        return None, None

    def _open(self, buf: str, at: int, hit: Hit, dialect: Dialect, final: bool) -> int | None:
        shown = self._is_example(buf, hit.end, final)
        if shown is None:
            return None
        if shown:
            self._once("markup-in-code", f"a call in the dialect {dialect.name} stands in code; it was left as words")
            self._say(buf[at : hit.end])
            return hit.end
        if self.limit is not None and self.count >= self.limit:
            self.admit(hit.name)
            return at
        if self.dialect is None:
            self.dialect = dialect
            self._dialects = (dialect,)
            self._aim()
            self._note("dialect-detected", f"the first call is written in the dialect {dialect.name}")
        if not dialect.several:
            self.admit(hit.name)
        behind = self._began if self._markdown.last == "`" else None
        self._mark(buf[at : hit.end])
        self._behind = behind
        if self._markdown.span and self._within is None:
            self._within = self._began
        self._in_section = self._in_section or hit.wrapped
        self._tag = buf[at : hit.end]
        self._body = dialect.body(self, hit, self.tools)
        if self._body.done:
            self._leave_body()
        return hit.end

    def _is_example(self, buf: str, end: int, final: bool) -> bool | None:
        """Return whether the opening tag that ends at an index is in code; None if the next chunk decides."""
        markdown = self._markdown
        if markdown.quoting or markdown.last != "`":
            return markdown.quoting
        return None if end == len(buf) and not final else buf.startswith("`", end)

    def _leave_body(self) -> None:
        self.broke_off = self.over  # the limit was reached between two calls that share their tags
        self._body = None
        self._markdown.interrupt()

    def _closing(self, buf: str, at: int, final: bool) -> int | Hold | None:
        """Return the index after a closing tag or control token outside calls; None if there is none."""
        for dialect in self._dialects:
            tail = any_literal(dialect.tails, buf, at, final)
            end = any_literal(dialect.ends, buf, at, final)
            if tail is HOLD or end is HOLD:
                return HOLD
            if isinstance(end, int) and self._in_section:
                self._in_section = False
                self._mark(buf[at:end])
                return end
            if isinstance(tail, int) and self._ended and self._fresh:
                self._mark(buf[at:tail])
                return tail
            for tag in dialect.strays:
                hit = tag.match(buf, at, final)
                if isinstance(hit, Hit):
                    return self._stray(buf, at, hit.end, dialect)
                if hit is HOLD:
                    return HOLD
        return None

    def _stray(self, buf: str, at: int, end: int, dialect: Dialect) -> int:
        tag = buf[at:end]
        self._once("stray-markup", f"{tag} closes nothing")
        if self._ended and dialect.doubts:
            self._ended = False
            self._steps.append(Doubted(f"{tag} follows it, which closes nothing: it may have ended there"))
            self._coming = f"{tag} stands before it, which closes nothing: it may be text of a call that ends there"
        self._say(tag)
        return end

    def _say(self, text: str) -> None:
        if not text:
            return
        self._markdown.say(text)
        self._behind = None
        if not self._markdown.span:
            self._within = None
        self._words(text)

    def _words(self, text: str) -> None:
        self._source.append(text)
        if not self._fresh:
            self._steps.append(Words(text))
            return
        self._pending.append(text)
        self._pending_size += len(text)
        if not text.isspace() or self._pending_size > _MOST_LAYOUT:
            self._flush()

    def _flush(self) -> None:
        self._steps.append(Words("".join(self._pending)))
        self._pending.clear()
        self._fresh, self._pending_size = False, 0

    def _mark(self, text: str) -> None:
        """Process markup. White space next to it is layout."""
        self._source.append(text)
        self._pending.clear()
        self._fresh, self._pending_size, self.marked = True, 0, True

    def _code(self, buf: str, at: int, final: bool) -> int | None:
        within, behind = self._within, self._behind
        end = self._markdown.run(buf, at, final)
        if end is None:
            return None
        since = within if within is not None and not self._markdown.span else behind if buf[at] == "`" else None
        if since is not None and self._began > since:
            self._steps.append(Doubted("it stands between backquotes, as an example does", self._began - since))
        self._within = self._within if self._markdown.span else None
        self._behind = None
        self._words(buf[at:end])
        return end

    # reasoning

    def _think(self, buf: str, at: int, final: bool) -> int | None:
        place, found = self._in_thinking[self._thinking].find(buf, at, final)
        if place > at:
            self._steps.append(Thought(buf[at:place]))
            return place
        if not found:
            return None
        if found == self._thinking:
            self._steps.append(ThoughtEnd())
            self._thinking = ""
            self._boundary()
            return at + len(found)
        hit, dialect = self._opening(buf, at, final)
        if hit is HOLD:
            return None
        end = at + 1
        if isinstance(hit, Hit) and dialect is not None:
            end = hit.end
            self._once(
                "call-in-reasoning", f"a call{_named(hit.name)} in the dialect {dialect.name} stands in thinking"
            )
        self._steps.append(Thought(buf[at:end]))
        return end

    def _orphan(self, buf: str, at: int, tag: str, final: bool) -> int | None:
        """Process the end of reasoning whose beginning the chat template put in the prompt."""
        end = at + len(tag)
        if end == len(buf) and not final:
            return None
        if not (self._markdown.at_start or self._fresh or end == len(buf) or buf[end] == "\n"):
            self._say(tag)
            return end
        if self._began:
            self._once("call-in-reasoning", f"{self._began} calls stand before {tag}; they were drafts")
            self.count -= self._began
        self._steps.append(Withdrawn("".join(self._source)))
        self._mark(tag)
        self._boundary()
        return end

    def _boundary(self) -> None:
        self._source.clear()
        self._began, self._ended, self._in_section = 0, False, False
        self._doubt = self._coming = ""
        self._within = self._behind = None
        self._fresh = True
        self._markdown.interrupt()

    # interface for bodies (`bodies.Site`)

    def admit(self, name: str) -> bool:
        if self.limit is not None and self.count >= self.limit:
            self._steps.append(Over(self.count + 1, name))
            self.over = True
            return False
        self.count += 1
        return True

    def begin(self, name: str | None, id: str | None) -> None:
        self._doubt = self._coming
        self._began += 1
        self._steps.append(Began(name, id))

    def grow(self, text: str) -> None:
        self._steps.append(Grew(text))

    def end(self, ended: Ended) -> None:
        self._ended = True
        self._steps.append(ended)
        if self._doubt:
            self._steps.append(Doubted(self._doubt))

    def doubt(self, message: str) -> None:
        self._coming = message

    def unread(self, text: str) -> None:
        self.count -= 1
        self._once("stray-markup", f"{self._tag} opens nothing that can be read")
        self._markdown.say(self._tag + text)
        self._pending.append(self._tag + text)
        self._flush()

    def mistrust(self, message: str) -> None:
        self._steps.append(Doubted(message))

    def note(self, code: str, message: str) -> None:
        self._note(code, message)

    def _note(self, code: str, message: str) -> None:
        self._steps.append(Noted(code, message))

    def _once(self, code: str, message: str) -> None:
        if code not in self._told:
            self._told.add(code)
            self._note(code, message)


def _named(name: str) -> str:
    return f" of {name}" if name else ""
