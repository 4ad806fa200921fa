"""Keys of vendors: the scrubber removes each form, and without it the scanner refuses each.

The places of a cassette are the subject of ``test_planted``. No file holds anything that looks like a key: each row
lists the pieces that a key is put together from.
"""

from __future__ import annotations

import copy
import json
import string

import pytest

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, pieces, response_body, written
from tests.cassettes.secrets.fakes import ALNUM, HEX, letters
from tests.cassettes.secrets.plant import json_leaves
from toolparity.cassettes.errors import SecretsLeft
from toolparity.cassettes.secrets import Scrubber, refuse, scan

UPPER = string.ascii_uppercase + string.digits
WIDE = ALNUM + "-_"

_Part = str | tuple[int, str]
#: Vendor's form -> its fixed letters, and how many random ones of which alphabet.
FORMS: dict[str, list[_Part]] = {
    "google": ["AQ", ".Ab8", (44, WIDE)],
    "bedrock": ["AB", "SK", (110, ALNUM)],
    "bedrock-short": ["bedrock", "-api-key-", (120, ALNUM)],
    "openai-session": ["se", "ss-", (40, ALNUM)],
    "openai-client-secret": ["e", "k_", (32, HEX)],
    "vercel": ["vc", "k_", (56, ALNUM)],
    "together": ["tgp", "_v1_", (43, WIDE)],
    "elevenlabs": ["s", "k_", (48, HEX)],
    "huggingface-letters": ["h", "f_", (34, string.ascii_letters)],
    "huggingface-organisation": ["api", "_org_", (34, ALNUM)],
    "jina": ["jin", "a_", (60, ALNUM)],
    "firecrawl": ["f", "c-", (32, HEX)],
    "llamacloud": ["ll", "x-", (48, ALNUM)],
    "apify": ["apify", "_api_", (36, ALNUM)],
    "runpod": ["rp", "a_", (42, UPPER)],
    "posthog": ["ph", "x_", (43, ALNUM)],
    "azure-client-secret": ["aB", "38", "Q~", (34, ALNUM)],
    "alibaba": ["LT", "AI5t", (18, ALNUM)],
    "tencent": ["AK", "ID", (32, ALNUM)],
    "supabase": ["sb", "p_", (40, HEX)],
    "supabase-secret": ["sb_", "secret_", (31, WIDE)],
    "planetscale": ["pscale", "_tkn_", (43, ALNUM)],
    "neon": ["np", "g_", (16, ALNUM)],
    "fly": ["fo", "1_", (43, ALNUM)],
    "heroku": ["HR", "KU-AA", (58, ALNUM)],
    "render": ["rn", "d_", (28, ALNUM)],
    "netlify": ["nf", "p_", (36, ALNUM)],
    "tailscale": ["ts", "key-auth-", (12, ALNUM), "-", (32, ALNUM)],
    "openshift": ["sha", "256~", (43, WIDE)],
    "vault-service": ["hv", "s.", (95, WIDE)],
    "vault-batch": ["hv", "b.", (140, WIDE)],
    "vault-legacy": ["s", ".", (24, ALNUM)],
    "doppler": ["d", "p.pt.", (43, ALNUM)],
    "doppler-service": ["d", "p.st.prd.", (43, ALNUM)],
    "1password": ["op", "s_eyJ", (260, ALNUM)],
    "1password-secret": ["A", "3-", (6, UPPER), "-", (6, UPPER), "-", (5, UPPER), "-AAAA1-", (5, UPPER), "-BB2B2"],
    "terraform": [(14, ALNUM), ".atlas", "v1.", (64, ALNUM)],
    "pulumi": ["pu", "l-", (40, HEX)],
    "infracost": ["ic", "o-", (32, ALNUM)],
    "octopus": ["AP", "I-", (26, UPPER)],
    "artifactory": ["AK", "Cp", (69, ALNUM)],
    "docker": ["dck", "r_pat_", (27, ALNUM)],
    "rubygems": ["ruby", "gems_", (48, HEX)],
    "gitlab-runner": ["gl", "rt-", (20, ALNUM)],
    "gitlab-trigger": ["gl", "ptt-", (40, HEX)],
    "sourcegraph": ["sg", "p_", (40, HEX)],
    "postman": ["PM", "AK-", (24, HEX), "-", (34, HEX)],
    "circleci": ["CCI", "PAT_", (22, ALNUM), "_", (40, HEX)],
    "prefect": ["pn", "u_", (36, ALNUM)],
    "sonarqube": ["sq", "p_", (40, HEX)],
    "grafana-cloud": ["gl", "c_", (60, ALNUM)],
    "grafana-service": ["gl", "sa_", (32, ALNUM), "_", (8, HEX)],
    "sentry-user": ["snt", "ryu_", (64, HEX)],
    "sentry-organisation": ["snt", "rys_eyJ", (60, ALNUM), "_", (43, ALNUM)],
    "new-relic": ["NR", "AK-", (27, UPPER)],
    "dynatrace": ["dt0", "c01.", (24, UPPER), ".", (64, UPPER)],
    "slack-app": ["xa", "pp-1-", (11, UPPER), "-1234567890123-", (64, HEX)],
    "slack-webhook": ["https://hooks.sl", "ack.com/services/T", (10, UPPER), "/B", (10, UPPER), "/", (24, ALNUM)],
    "discord-webhook": ["https://disc", "ord.com/api/webhooks/123456789012345678/", (68, WIDE)],
    "airtable": ["pa", "t", (14, ALNUM), ".", (64, HEX)],
    "hubspot": ["pa", "t-na1-", (8, HEX), "-0a1b-2c3d-4e5f-", (12, HEX)],
    "figma": ["fig", "d_", (40, ALNUM)],
    "resend": ["r", "e_", (8, ALNUM), "_", (24, ALNUM)],
    "brevo": ["xkey", "sib-", (64, HEX), "-", (16, ALNUM)],
    "mailgun": ["ke", "y-", (32, HEX)],
    "stripe-webhook": ["wh", "sec_", (32, ALNUM)],
    "square": ["EA", "AA", (60, WIDE)],
    "plaid": ["access-", "sandbox-", (8, HEX), "-0a1b-2c3d-4e5f-", (12, HEX)],
    "duffel": ["duf", "fel_test_", (43, ALNUM)],
    "shippo": ["shi", "ppo_live_", (40, HEX)],
    "mapbox": ["s", "k.eyJ", (60, ALNUM), ".", (22, ALNUM)],
    "adobe": ["p8", "e-", (32, ALNUM)],
}


def fake(form: str) -> str:
    """One key of a form."""
    return "".join(part if isinstance(part, str) else _random(*part, (form, at)) for at, part in enumerate(FORMS[form]))


def _random(length: int, alphabet: str, seed: object) -> str:
    made = letters(length, alphabet, seed)
    return made.upper() if alphabet is UPPER else made


@pytest.mark.parametrize("form", FORMS)
def test_a_vendors_key_is_scrubbed_and_without_the_scrubber_refused(form: str) -> None:
    secret, text = fake(form), f"it is {fake(form)} there"
    for body in (answer(text), chat_stream(pieces(text, 5))):
        given = cassette(request=json.dumps({"input": text}).encode(), response=body)
        clean = Scrubber({}).cassette(copy.deepcopy(given))
        assert secret not in written(clean)
        assert scan(clean, {}) == []
        assert len(response_body(clean)) == len(body)
        assert written(Scrubber({}).cassette(copy.deepcopy(given))) == written(clean)  # so that replay finds a request
        with pytest.raises(SecretsLeft) as caught:
            refuse(cassette(response=body), environ={})
        assert secret not in str(caught.value)


@pytest.mark.parametrize("glue", ["key=", "token-", "api_key_", "SECRET_"])
@pytest.mark.parametrize("form", ["together", "vercel", "vault-service", "sentry-user", "supabase"])
def test_a_key_that_a_word_precedes_without_a_gap(form: str, glue: str) -> None:
    given = cassette(response=answer(f"it is {glue}{fake(form)} there"))
    clean = Scrubber({}).cassette(given)
    assert fake(form) not in "\n".join(json_leaves(json.loads(response_body(clean))))
    assert scan(clean, {}) == []
    assert scan(given, {}) != []
