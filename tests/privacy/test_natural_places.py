"""Credentials in the places where other programs put them: files of a fixed form, rows, commands, sentences."""

from __future__ import annotations

import base64
import gzip
import json
import random

import pytest

from reenact.facts.credential_search import spot
from reenact.facts.record import OutputPrinted, Record, SegmentArrived
from reenact.facts.text_spans import SearchExhausted
from tests.privacy.canaries import arrived
from tests.privacy.corpus_places import body
from tests.privacy.measuring import cleaned

KEY = "Vq8Zt3Lw0XnB5yRk2HcJ7mPd"
HEX = "3f9a1c07be52d846a0f1e9837c24b5d6"
WORD = "lantern-Orbit-4821"
LINES = "kX2fQ9" * 12

PLACES = {
    "a cookie jar": (f".shop.test\tTRUE\t/\tTRUE\t1799999999\tsid\t{KEY}\n", KEY),
    "a cookie that a browser exports": (
        json.dumps({"cookies": [{"name": "login", "value": KEY, "domain": "shop.test", "path": "/"}]}),
        KEY,
    ),
    "a line of pgpass": (f"db.test:5432:app:reader:{WORD}\n", WORD),
    "a shadow file": (f"me:$6$Ab3dEf9h${KEY}{KEY}:19800:0:99999:7:::\n", KEY),
    "a PuTTY key": (f"Public-Lines: 1\nAAAA\nPrivate-Lines: 2\n{LINES}\n{LINES[:40]}\nPrivate-MAC: 0\n", LINES[:40]),
    "redis, typed": (f"redis> AUTH reader {WORD}\nOK\n", WORD),
    "redis, as sent": (f"*2\r\n$4\r\nAUTH\r\n$18\r\n{WORD}\r\n", WORD),
    "a row in SQL": (f"INSERT INTO people (id, password) VALUES (7, '{WORD}');\n", WORD),
    "an Oracle address": (f"jdbc:oracle:thin:reader/{WORD}@//db.test:1521/APP\n", WORD),
    "a hook": (f"curl -d x https://hooks.test/webhook/{KEY}\n", KEY),
    "a Slack service": (f"POST /services/T0AB12CD3/B0AB12CD3/{KEY} failed\n", KEY),
    "a member in XML": (f"<member><name>password</name><value><string>{WORD}</string></value></member>", WORD),
    "a property list": (f"<key>API_KEY</key>\n\t<string>{KEY}</string>\n", KEY),
    "a session in XML": (f"<sessionId>{KEY}</sessionId>\n", KEY),
    "a fallback": (f'const k = process.env.API_KEY;\nAPI_KEY = process.env.API_KEY || "{WORD}";\n', WORD),
    "a default of an option": (f"add('--token', default='{KEY}')\n", KEY),
    "fish": (f"set -x SERVICE_SECRET '{KEY}'\n", KEY),
    "setx": (f'setx SERVICE_SECRET "{KEY}"\n', KEY),
    "a password that is piped": (f"echo '{WORD}' | sudo -S true\n", WORD),
    "a login of a command": (f"az login --service-principal -u me -p {KEY}\n", KEY),
    "a sentence": (f"please use this token {KEY} for it\n", KEY),
    "a sentence that begins with it": (f"{KEY} is the key, keep it\n", KEY),
    "a sentence about a place": (f"found the password in settings.ini: {WORD}9 today\n", WORD),
    "a device code": (json.dumps({"device_code": KEY, "user_code": "AB-CD"}), KEY),
    "a user alone in an address": (f"clone https://{KEY}@git.test/x.git now\n", KEY),
    "a name before a control character": (f"token={KEY}\x07 done\n", KEY),
    "a name before a bar": (f"| token={KEY}| x |\n", KEY),
    "a comparison": (f"if token == {KEY}:\n", KEY),
    "a triple quote": (f"password = r'''{WORD}'''\n", WORD),
    "a tag of YAML": (f"password: !!str {WORD}\n", WORD),
    "a form in which a space is a plus": (f"p=%7B%22secret_key%22%3A+%22{KEY}%22%7D&v=2", KEY),
    "hexadecimal with a prefix": ("0x" + f"Authorization: Bearer {KEY}\r\n".encode().hex(), KEY.encode().hex()[4:]),
    "words of a wallet": ('MNEMONIC="' + "amber candle river " * 3 + 'stone paper tower"\n', "candle river"),
    "a column of a table": (f"name,note,db_password\nfirst,x,{WORD}\n", WORD),
    "the second row of it": (f"user\tpassword\trole\nme\tsesame-Open-11\tx\nyou\t{WORD}\ty\n", WORD),
    "a table in a string": (json.dumps({"out": f"id,api_key\n1,{KEY}\n"}), KEY),
    "a web key": (json.dumps({"kty": "OKP", "crv": "Ed25519", "x": "public", "d": KEY}), KEY),
    "a setting of redis": (f"CONFIG SET requirepass {WORD}\n", WORD),
    "a soft end of a line": (
        f"Content-Transfer-Encoding: quoted-printable\r\n\r\nAPI key: sk-ant-{KEY[:12]}=\r\n{KEY[12:]}{HEX}\r\n",
        HEX,
    ),
    "chunks": (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"1c\r\ntoken=glpat-{KEY[:10]}\r\n10\r\n{KEY[10:]}\r\n0\r\n\r\n",
        KEY[10:],
    ),
    "an option of an application": (f"docker run -e APP_KEY='{HEX}' x\n", HEX),
    "a scheme of a vendor": (f"Authorization: SSWS 00{KEY}{KEY}\n", KEY),
}
HARMLESS = (
    "db.test:5432:app: connection refused\n",
    "shop.test\tTRUE\t/\tFALSE\t1799999999\ttheme\tdark\n",
    '{"name": "theme", "value": "lightest", "domain": "shop.test"}',
    "INSERT INTO people (id, name) VALUES (7, 'lantern-Orbit-4821');\n",
    "echo 'hello there' | sudo tee /etc/motd\n",
    "the token is the smallest unit, and this token begins a word\n",
    "git clone https://reader@git.test/x.git\n",
    "AUTH failed for the reader\n",
    "add('--token', default=None)\n",
    "set -x PATH /usr/bin\n",
    "see /services/T0AB12CD3/B0AB12CD3/ and .git/hooks/pre-commit\n",
    "name,kind\npassword,secret\ntoken,weak\n",
    f"API_KEY={'x' * 40}\nhome is where it is\n",
    f"{HEX}{HEX}\n{HEX}{HEX}\n",
    json.dumps({"kty": "OKP", "crv": "Ed25519", "x": KEY}),
    'def token() -> AccessToken:\n    """Ask once; after a 401 ask again."""\n',
    "the `thread_id` is the key\n",
    'assert headers["Authorization"] == "Bearer caller"\n',
    "a price of $2 and $6 is the new one\n",
    "<name>password</name><type><string></string></type>",
)


ASKED = ("{", '"pass', 'word": "lan', "tern-Orb", 'it-4821"', "}")
ENTRIES = {
    "lines": [json.dumps({"model": "m", "message": {"content": each}}) for each in ASKED],
    "encoded lines": [
        json.dumps({"chunk": {"bytes": base64.b64encode(json.dumps({"delta": each}).encode()).decode()}})
        for each in ASKED
    ],
}


@pytest.mark.parametrize("sort", ENTRIES)
def test_a_credential_that_is_cut_over_lines_of_json_is_found_whatever_the_media_type_says(sort: str) -> None:
    answer: list[Record] = [
        arrived(),
        *(SegmentArrived(0, n, f"{line}\n".encode()) for n, line in enumerate(ENTRIES[sort])),
    ]
    entries = [json.loads(line) for line in body(cleaned(answer)).splitlines()]
    if sort == "encoded lines":
        entries = [json.loads(base64.b64decode(entry["chunk"]["bytes"])) for entry in entries]
    whole = "".join(entry["delta"] if "delta" in entry else entry["message"]["content"] for entry in entries)
    assert whole == '{"password": "' + "~rx" + whole[17:-3] + '~"}' and WORD not in whole
    assert len(whole) == len("".join(ASKED))


def test_a_compressed_answer_behind_its_head_is_read() -> None:
    packed = gzip.compress(json.dumps({"api_key": KEY}).encode(), mtime=0)
    once = body(cleaned([OutputPrinted(1, 0, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + packed)]))
    assert KEY not in gzip.decompress(once.partition(b"\r\n\r\n")[2]).decode()
    assert body(cleaned([OutputPrinted(1, 0, once)])) == once


def dump(data: bytes) -> bytes:
    lines = []
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        digits = " ".join(f"{byte:02x}" for byte in part)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}  {digits:<48}  |{shown}|")
    return "\n".join(lines).encode() + b"\n"


def test_a_dump_of_a_file_is_read_and_made_again() -> None:
    data = f"name=me\nAPI_KEY=sk-ant-{KEY}{HEX}\nHOME=/srv\n".encode()
    assert body(cleaned([OutputPrinted(1, 0, dump(b"nothing in it, " * 9))])) == dump(b"nothing in it, " * 9)
    once = body(cleaned([OutputPrinted(1, 0, b"$ hexdump -C .env\n" + dump(data) + b"$ \n")]))
    plain = bytes.fromhex("".join(line[10:58].replace(" ", "") for line in once.decode().splitlines()[1:-1]))
    assert plain[:16] == data[:16] and plain[-10:] == data[-10:] and len(plain) == len(data)
    assert b"~rx" in plain and KEY.encode() not in plain and once == b"$ hexdump -C .env\n" + dump(plain) + b"$ \n"
    assert body(cleaned([OutputPrinted(1, 0, once)])) == once


def test_a_wide_table_of_passwords_is_looked_through_within_the_budget() -> None:
    table = (",".join(["pw"] * 150) + "\n" + (",".join(["a1b2c3d4"] * 150) + "\n") * 300).encode()
    with pytest.raises(SearchExhausted):
        spot(table)


def printed(text: str) -> list[Record]:
    return [OutputPrinted(1, 0, text.encode())]


@pytest.mark.parametrize("place", PLACES)
def test_a_credential_is_found_where_other_programs_put_it(place: str) -> None:
    text, secret = PLACES[place]
    once = body(cleaned(printed(text)))
    assert secret.encode() not in once, once
    assert body(cleaned([OutputPrinted(1, 0, once)])) == once


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_such_a_place_stays(text: str) -> None:
    assert body(cleaned(printed(text))) == text.encode()


@pytest.mark.parametrize("prefix", ("hf_", "xkeysib-", "glpat-"))
def test_a_key_behind_a_weak_name_is_cleaned_once(prefix: str) -> None:
    text = f"SERVICE_TOKEN={prefix}{'KfthcMCRHeGJAtNImdKYrKTCYkTsMfbkrW' if prefix == 'hf_' else KEY}\n"
    once = body(cleaned(printed(text)))
    assert text.encode() != once == body(cleaned([OutputPrinted(1, 0, once)]))


def test_bytes_that_are_no_text_hold_no_credentials() -> None:
    chance = random.Random(20)
    for _ in range(20):
        archive = chance.randbytes(200_000)
        assert spot(archive) == []
        for name in (b"pw:", b"PW=", b"pw|", b"-u :"):
            assert spot(archive[:1000] + name + bytes(chance.choices(_NO_TEXT, k=60)) + archive[1000:2000]) == []


_NO_TEXT = range(128, 192)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        (WORD, "ascii"),
        ("Käse-Brot-4821", "utf-8"),
        ("Käse-Brot-4821", "latin-1"),
        ("пароль-4821", "utf-8"),
        ("пароль-4821", "cp1251"),
    ],
)
def test_a_password_between_bytes_of_another_kind_is_found_up_to_where_it_ends(password: str, code: str) -> None:
    value = password.encode(code)
    block = b"\x07\x00HOME=/root\x00PASSWORD=" + value + b"\x00SHELL=/bin/sh\x00\xff\xfe\x00"
    assert [block[span.start : span.end] for span in spot(block)] == [value]
