"""Conversion of English gerunds to their verbs: "looking up" -> "look up", "planning" -> "plan", "making" -> "make".

The rules are spelling rules (letters doubled, dropped or changed before "-ing"), each with its exceptions. `base`
returns None for a word that is not a gerund.
"""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


#: Gerunds that no rule gets right.
_IRREGULAR = {
    "tying": "tie",
    "untying": "untie",
    "lying": "lie",
    "dying": "die",
    "vying": "vie",
    "owing": "owe",
    "awing": "awe",
    "axing": "axe",
    "being": "be",
    "ageing": "age",
    "routeing": "route",
    "quizzing": "quiz",
    "revving": "rev",
    "panicking": "panic",
    "mimicking": "mimic",
    "trafficking": "traffic",
    "picnicking": "picnic",
    "persuading": "persuade",
    "dissuading": "dissuade",
    "guiding": "guide",
    "misguiding": "misguide",
    "routing": "route",
    "rerouting": "reroute",
    "creating": "create",
    "recreating": "recreate",
    "delineating": "delineate",
    "permeating": "permeate",
}

#: Words in -ing that are never verbs.
_NEVER = word_set(
    """according anything ceiling concerning darling during evening everything excluding existing following incoming
    inning including missing morning nothing notwithstanding ongoing outgoing outstanding pending regarding remaining
    sibling something upcoming"""
)
#: Words in -ing that are mostly nouns. They are verbs only before an article, a pronoun or the like.
_NOUNS = word_set(
    """accounting advertising banking billing booking branding briefing building clothing engineering funding
    hearing housing landing lighting manufacturing marketing meeting onboarding opening packaging parking pricing
    programming roaming seating shipping spending staffing standing string ticketing trading training understanding
    warning wedding weighting"""
)
#: Words that precede or replace a noun, and show that the word before them is a verb.
_BEFORE_NOUNS = word_set(
    """a an the this that these those my your his her its our their me you him us them it some any all each every both
    no whether what which who how when where if another one"""
)

_DOUBLED = re.compile(r"([bdgkmnprtv])\1$")
#: Verbs that end in a double letter themselves.
_KEEP_DOUBLE = word_set("""add readd egg err purr butt boycott ebb""")
#: Verbs in -l that double it before "-ing": British spelling, or a stressed last syllable.
_UNDOUBLE_L = re.compile(
    r"(cance|trave|labe|relabe|mode|remode|chan+e|tunne|fue|refue|counse|unrave|leve|exce|expe|prope|repe|rebe|compe|"
    r"impe|dispe|quarre|parce|contro|patro|exto|signa|tota|equa|initia|marsha|dia|tria|journa|reta|pena|penci|stenci)ll$"
)

#: Stem endings, and whether the verb adds an "e". The first matching pattern decides. V is a vowel, C a consonant or
#: "qu".
_ENDINGS: tuple[tuple[str, bool], ...] = tuple(
    (pattern.replace("V", "[aeiouy]").replace("C", "(?:[bcdfghjklmnpqrstvwxz]|qu|^)"), wants)
    for pattern, wants in (
        # v, c, u, z and a single s never end such a verb
        (r"(^|re)sync$", False),
        (r"[vcu]$", True),
        (r"(focu|bia|canva)s$", False),
        (r"[^s]s$", True),
        (r"[^z]z$", True),
        # -nge: change, challenge, plunge; but bring, hang, prolong
        (r"^(over)?(h|b|cl|g|t)ang$", False),
        (r"[aeu]ng$", True),
        (r"(h|cr|fr|inf?r|imp|t|s)ing$", True),
        (r"ng$", False),
        (r"[^g]g$", True),
        # -th, -ch
        (r"^(breath|bath|unbath|cloth|sooth|writh|seeth|loath)$", True),
        (r"^(re|pre)?cach$|^ach$", True),
        (r"h$", False),
        # -Cle: handle, schedule; but curl, crawl
        (r"[^aeioulrwy]l$", True),
        # no "e" after two vowels and a consonant, except in -iate and -uate
        (r"[iu]at$|[^aeiou]uad$", True),
        (r"eatur$|(^|[^o])leagu$", True),
        (r"(^|[^q])[aeiouy][aeiouy][bdfgklmnprtw]$", False),
        # a single vowel before b, d, k, m, p
        (r"(blosso|fatho|botto|ranso|custo|diagra|progra|syste)m$", False),
        (r"(develo|redevelo|envelo|gallo|scallo|gossi|worshi|kidna)p$", False),
        (r"C[aeiouy][bdkmp]$", True),
        # -l: scale, compile, schedule, style; but cancel, total
        (r"^(C*a|(up|down|re|ex|in)?(sc|h)a)l$", True),
        (r"(penci|stenci|counci)l$", False),
        (r"[iouy]l$", True),
        # -n: combine, tune, clone; but open, reason
        (r"(conv|interv|supersc)en$", True),
        (r"^[^aeiou]+[oa]n$|(postp|cond|at|teleph|dethr|enthr|cycl)on$", True),
        (r"[eoa]n$", False),
        (r"(robi|margi|cousi|resi)n$", False),
        (r"[iuy]n$", True),
        # -r: share, hire, measure, explore; but enter, monitor
        (r"(interf|adh|coh|persev|rev)er$", True),
        (r"er$", False),
        (r"(murmu|sulfu|augu)r$", False),
        (r"(pl|st|gn|sc|ad|sn|sh)or$|^[^aeiou]+or$", True),
        (r"or$", False),
        (r"(colla|dolla|pilla)r$", False),
        (r"[aiuy]r$", True),
        (r"(nt|ac|fib)r$", True),
        # -t: update, delete, write, note, compute; but target, edit, pilot
        (r"(comba|forma)t$", False),
        (r"at$", True),
        (r"(^|[^a-z]|un|re|auto)?(compl|del|comp|depl|secr|excr|obsol)et$", True),
        (r"et$", False),
        (r"(^[^aeiou]+|wr|v|c|un|ign|ped)it$", True),
        (r"it$", False),
        (r"(pil|piv|ball|all|jack|bigg)ot$", False),
        (r"[ou]t$", True),
        (r"^(copy-?)?(past|tast|wast|bast|hast)$", True),
    )
)
_SOFT = frozenset(
    ("elicit", "solicit", "visit", "profit", "benefit", "outfit", "limit", "deficit", "orbit", "retrofit")
)
_VOWEL = re.compile(r"[aeiouy]")


def base(word: str) -> str | None:
    """Return the verb of a gerund in lower case, or None for a word that is not a gerund.

    >>> base("planning"), base("re-running"), base("string")
    ('plan', 're-run', None)
    """
    word = word.lower()
    head, hyphen, last = word.rpartition("-")
    if not re.fullmatch(r"[a-z]+ing", last) or last in _NEVER:
        return None
    if last in _IRREGULAR:
        return head + hyphen + _IRREGULAR[last]
    stem = last[:-3]
    if not _VOWEL.search(stem):  # string, thing, king
        return None
    return head + hyphen + _verb(stem)


def starts_verb(word: str, after: str) -> bool:
    """Return whether a word is a gerund used as a verb, unlike "billing" in "billing history".

    ``after``: the next word, or "".

    >>> starts_verb("booking", "a"), starts_verb("booking", "details"), starts_verb("checking", "prices")
    (True, False, True)
    """
    if base(word) is None:
        return False
    return word.lower().rpartition("-")[2] not in _NOUNS or after.lower() in _BEFORE_NOUNS


def before_noun(word: str) -> bool:
    """Return whether the word is an article, a pronoun or the like."""
    return word.lower() in _BEFORE_NOUNS


def _verb(stem: str) -> str:
    if _DOUBLED.search(stem) and stem not in _KEEP_DOUBLE:
        return stem[:-1]
    if stem.endswith("ll"):
        return stem[:-1] if _UNDOUBLE_L.search(stem) else stem
    if stem in _SOFT:
        return stem
    for pattern, wants in _ENDINGS:
        if re.search(pattern, stem):
            return stem + "e" if wants else stem
    return stem
