"""What is beside a value shows that it is a secret: the scrubber replaces it, and the scanner refuses it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from tests.cassettes.secrets.cassettes import answer, cassette, chat_stream, pieces, response_body
from tests.cassettes.secrets.fakes import HEX, fake, letters
from tests.cassettes.secrets.plant import json_leaves, parsed, streamed
from toolparity.cassettes.errors import InvalidAllowList, SecretsLeft
from toolparity.cassettes.secrets import Scrubber, refuse, scan
from toolparity.turns.secrets import scrubbed

_WORD, _RANDOM, _OTHER, _HEX = "Tr0ub4dor-x3", letters(32), letters(40, seed=2), letters(32, HEX, 3)
_PART = letters(30)

#: Text with § for the secret. Objects and lists are tried as bodies, too.
SHAPES = {
    '{"name": "DB_PASSWORD", "value": "§"}': _WORD,
    '{"value":"§","name":"DB_PASSWORD"}': _WORD,
    '{"name": "API_KEY", "type": "env", "secure": true, "value": "§"}': _WORD,
    '{"key":"MY_TOKEN","value":"§"}': _RANDOM,
    '{"key": "app.db_password", "value": {"stringValue": "§"}}': _WORD,
    '{"env":[{"name":"LOG","value":"debug"},{"name":"DB_PASSWORD","value":"§"}]}': _WORD,
    '{"headers":[{"name":"Authorization","value":"Bearer §"}]}': _RANDOM,
    '{"name":"Access Token","value":"§"}': _RANDOM,
    '{"API key": "§"}': _RANDOM,
    "env:\n  - name: DB_PASSWORD\n    value: §\n  - name: X\n    value: y": _WORD,
    '<add key="Password" value="§" />': _WORD,
    "it is {'name': 'DB_PASSWORD', 'value': '§'}": _WORD,
    f'{{"primaryKey": "{_OTHER}", "secondaryKey": "§"}}': _RANDOM,
    f'{{"primaryKey": "§", "secondaryKey": "{_OTHER}"}}': _RANDOM,
    f'{{"key1": "§", "key2": "{_OTHER}"}}': _RANDOM,
    '{"keys": [{"keyName": "key1", "permissions": "FULL", "value": "§"}]}': _RANDOM,
    f'{{"api_key": ["{_OTHER}", "§"]}}': _RANDOM,
    '{"tokens": {"alice": "§"}}': _RANDOM,
    '{"kind":"Secret","stringData":{"username":"adm","conn":"§"}}': _WORD,
    'kind: Secret\nstringData:\n  a: "§"\n  b: c\n': _WORD,
    "kind: Secret\nmetadata:\n  name: x\ndata:\n  a: §\n": "aHVudGVyMmh1bnRlcg==",
    "https://api.telegram.org/bot123456789:§/getMe": "AAE" + letters(32),
    "https://host/data?q=x&appid=§": _HEX,
    "https://host/login?user=bob&pass=§": "Tr0ub4dorx3pwd",
    "https://host/v1/api_key/§/x": _RANDOM,
    "it is §-us12 there": _HEX,
    "it is cfut_§ there": letters(48),
    "it is §JQQJ99BJACYeBjFXJ3w3AAABACOGabcd there": letters(52),
    "it is ydc-sk-§ there": letters(48),
    "it is 1//0§ there": letters(60),
    "it is ghs_1234_§ there": f"eyJ{_PART}.eyJ{_OTHER}.{letters(43)}",
    "it is § there": f"eyJ{_PART}.{_OTHER}.{letters(16)}.{letters(50)}.{letters(22)}",
    '{"passphrase": "§"}': "correct horse battery staple",
    '{"seed_phrase": "§"}': "witch collapse practice feed shame open",
    '{"password": "§"}': 'ab"cd\\ef\t12',
    '{"пароль": "§"}': _WORD,
    '{"密码": "§"}': _WORD,
    "run tool --db-password § --now": _WORD,
    '["tool", "--password", "§"]': _WORD,
    "mysql -u root -p§ mydb": _WORD,
    '["mysql", "-uroot", "-p§"]': _WORD,
    "PGPASSWORD=§ psql -h x": _WORD,
    "machine api.x.com\n  login bob\n  password §\n": _WORD,
    "db.host:5432:app:bob:§": _WORD,
    "Server=x;User Id=z;Password=§;Encrypt=true": _WORD,
    "redis://:§@host:6379/0": _WORD,
    'conn = connect(user="x", password="§")': _WORD,
    "DB_PASSWORD: §\nx: 1": _WORD,
    "password=§&grant_type=password": _WORD,
    '{"auth": {"user": "bob", "pass": "§"}}': _WORD,
    '{"Cookie": "theme=dark; §"}': "sessionid=" + letters(24),
    '{"Authorization": "Digest username=bob, response=§"}': _HEX,
    '{"Authorization": "Basic §"}': "Ym9iOmh1bnRlcg==",
    '{"auths": {"reg.io": {"auth": "§"}}}': "Ym9iOmh1bnRlcg==",
    "<password>§</password>": _WORD,
    "<key>dbPassword</key>\n  <string>§</string>": _WORD,
    "| DB_PASSWORD | `§` |": _WORD,
    "FROM x\nENV DB_PASSWORD §\nRUN y": _WORD,
    "the password for the wiki is §.": _WORD,
    "it is sk-ant-api03-§ there": letters(40) + "\n" + letters(50, seed=4),
    "SMTP_PASS=§\n": "hunter2&x(2",
    "mot de passe : §": _WORD,
    "密码\uff1a§": _WORD,
    "os.environ['DB_PASSWORD'] = '§'": _WORD,
    "setPassword('§')": _WORD,
    'x = Client(api_key=SecretStr("§"))': _RANDOM,
    "ALTER USER bob IDENTIFIED BY '§';": _WORD,
    "INSERT INTO users (name, password) VALUES ('bob', '§');": _WORD,
    "user,password\nbob,§\n": _WORD,
    '{"columns": ["user", "password"], "rows": [["bob", "§"]]}': _WORD,
    '{"Item": {"password": {"S": "§"}}}': _WORD,
    '{"key": "DB_URL_PART", "value": "§", "sensitive": true}': _WORD,
    'variable "db_password" {\n  default = "§"\n}': _WORD,
    "password: >-\n  §\n": _RANDOM,
    "<property><name>db.password</name><value>§</value></property>": _WORD,
    "openssl rsa -passin pass:§ -in k.pem": _WORD,
    "curl --proxy-user joe:§ https://x.io": _WORD,
    "username joe password 0 §": _WORD,
    'PASSWORD = getenv("PASSWORD") or "§"': "ir~~c05=JOv",
    'PASSWORD constant varchar2(30) := "§"': "SJ13P5ASy9.L",
    '<data name="db_password"><value>§</value></data>': _WORD,
    "echo §x | docker login --password-stdin": _WORD,
    "postgres://bob:§@db:5432/shop": "p@ss/w0rd!7",
    "API key § has expired": _HEX,
    "AKIAIDQJ6PTGDFFWYX7B, §": letters(40),
    "ghp_§": letters(16) + "\n" + letters(20, seed=5),
}

#: What only mentions a secret, replaces one, or has a similar form.
HARMLESS = [
    "const client = new Client({apiKey: process.env.MY_SERVICE_API_KEY_2, token: settings.HF_TOKEN_V2})",
    "use --token $TOKEN or --api-key <key>, --password-file /run/secrets/db1, --max-tokens 4096",
    '<div class="sk-container-id-12 sk-toggleable__content sk-text-repr-fallback2">',
    '{"name": "get_token", "value": "next-page", "pageToken": "' + letters(60) + '"}',
    '{"authorization": "Bearer test_openai_api_key", "cookie": "test_set_cookie", "api_key": "my-test-api-key-12"}',
    '{"nextToken": "' + letters(48) + '", "branch": "hf_dataset_2026_11_27_conversion"}',
    '{"name": "password", "type": "string", "default_value": "unset", "description": "The password of 12 letters"}',
    '{"tokens": {"prompt": "12", "model": "gpt-4o-mini-2024-07-18"}, "key1": "value1", "key2": "value2"}',
    "The password is required and the API key was invalid. <token>gpt-4o-mini</token> | tokens | 1200k |",
    'api_key = var.db_password; token = st.secrets["key"]; password = getpass.getpass("Password 2:")',
    "| token | count |\n|---|---|\n| foo2bar | 12 |\nuser,password\nsee,below2\n",
    '{"properties": {"password": {"type": "string", "enum": ["string2", "null"]}}, "required": ["password", "user1"]}',
]


def _whole(text: str, body: bool) -> list[tuple[dict[str, Any], Any]]:
    content = streamed("choices", 0, "delta", "content", only="content")
    request = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    return [
        (cassette(response=answer(text), request=request), parsed),
        (cassette(response=chat_stream(pieces(text, 5))), content),
        *(
            [(cassette(response=text.encode()), lambda whole: "\n".join(json_leaves(json.loads(response_body(whole)))))]
            * body
        ),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shape_of_a_container_shows_a_secret(shape: str) -> None:
    secret = SHAPES[shape]
    is_json = shape[0] in "{["
    text = shape.replace("§", json.dumps(secret, ensure_ascii=False)[1:-1] if is_json else secret)
    assert secret not in scrubbed(text)
    for given, read in _whole(text, is_json):
        clean = Scrubber({}).cassette(given)
        assert secret in read(given) or "\\" in secret
        assert not any(part in read(clean) for part in (secret, *secret.split("\n")))
        assert scan(given, {}) != []
        assert scan(clean, {}) == []
        assert Scrubber({}).cassette(clean)["responses"] == clean["responses"]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_mentions_a_secret_stays(text: str) -> None:
    for given, _ in _whole(text, text[0] == "{"):
        assert Scrubber({}).cassette(given)["responses"] == given["responses"]
        assert scan(given, {}) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "zstd"])
def test_wide_and_packed_bodies_are_scrubbed(encoding: str) -> None:
    text = answer(f"it is {fake('openai')}")
    given = cassette(response=zstd.compress(text) if encoding == "zstd" else text.decode().encode(encoding))
    clean = Scrubber({}).cassette(given)
    body = response_body(clean)
    assert fake("openai") not in (zstd.decompress(body).decode() if encoding == "zstd" else body.decode(encoding))
    assert scan(given, {}) != []
    assert scan(clean, {}) == []


def test_an_error_that_echoes_a_key_of_any_header() -> None:
    clean = Scrubber({}).cassette(cassette(request_headers={"x-mine": _RANDOM}, response=answer(f"bad: {_RANDOM}")))
    assert _RANDOM not in response_body(clean).decode()


def test_the_refusal_names_the_entry_that_allows_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = cassette(request=b'{"token": "%s"}' % _RANDOM.encode(), response=answer(f"token={_RANDOM}"))
    with pytest.raises(SecretsLeft) as caught:
        refuse(given, environ={})
    assert len(caught.value.leaks) == 1  # one value, in two places
    entry = re.search(r'\[tool.toolparity.allow-secrets\] (".*") = "reason"', str(caught.value))
    assert entry is not None
    assert "in pyproject.toml" in str(caught.value)
    for allowed in (entry[1], f'"{_RANDOM[:8]}*"'):
        table = f'[tool.toolparity.allow-secrets]\n{allowed} = "not a key"\n'
        (tmp_path / "allowed.toml").write_text(table)
        by_file = '[tool.toolparity]\nallow-secrets = "allowed.toml"\n'
        (tmp_path / "pyproject.toml").write_text(by_file if allowed == entry[1] else table)
        refuse(given, environ={})
        assert Scrubber({}).cassette(given)["responses"] == given["responses"]
    (tmp_path / "pyproject.toml").write_text('[tool.toolparity.allow-secrets]\n"abc*" = ""\n')
    with pytest.raises(InvalidAllowList, match="no reason"):
        refuse(given, environ={})
