"""Each mend, followed to the letter, leads to a right file that still has its connection and its token."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from dexbridge.config import Code, Inspection, Sealed, inspect_file
from dexbridge.connectors import installed_connectors
from tests.config.conftest import Inspect, Write
from tests.config.following import GITHUB_TOKEN, follow
from tests.config.mended import mends
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, VERSION, document, record

TOML = f"""\
schemaVersion = "{VERSION}"

[[connections]]
connectorId = "slack"
connectionName = "support-slack"

[connections.configuration]
maxMessageCharacters = 8000

[connections.credentials]
bot_token = "{BOT_TOKEN}"
"""
SETTINGS = "[connections.configuration]\nmaxMessageCharacters = 8000\n"
JSON = json.dumps(document(record()), indent=2)
BINDING = {"connectorId": "slack", "connectionName": "support-slack", "triggerName": "t", "bindingName": "b"}
BINDINGS = """
[[triggerBindings]]
connectorId = "slack"
connectionName = "support-slack"
triggerName = "message"
bindingName = "main"
"""
GITHUB = (
    TOML.replace('"slack"', '"github"').replace(SETTINGS, "[connections.configuration]\n").partition("bot_token")[0]
)


@dataclass(frozen=True)
class Row:
    """A broken file: the code of its first diagnostic, and what it holds once every mend was followed."""

    code: Code
    text: str
    tokens: tuple[str, ...] = (BOT_TOKEN,)
    connections: tuple[str, ...] = ("slack/support-slack",)


def bot(value: str) -> str:
    """The TOML file with something else as its token."""
    return TOML.replace(f'"{BOT_TOKEN}"', value)


def below_name(line: str) -> str:
    """The TOML file with one more line in its connection."""
    return TOML.replace("\n\n[connections.con", f"\n{line}\n\n[connections.con")


def with_bindings(*bindings: object) -> str:
    return json.dumps(document(record(), triggerBindings=list(bindings)), indent=2)


BROKEN: dict[str, Row] = {
    # Headers and keys of TOML.
    "one bracket's worth of a name": Row(Code.UNKNOWN_KEY, TOML.replace("[[connections]]", "[[connection]]")),
    "singular everywhere": Row(Code.UNKNOWN_KEY, TOML.replace("[connections", "[connection")),
    "[connections]": Row(Code.WRONG_TYPE, TOML.replace("[[connections]]", "[connections]")),
    "[connections]]": Row(Code.SYNTAX, TOML.replace("[[connections]]", "[connections]]")),
    "[[connections]": Row(Code.SYNTAX, TOML.replace("[[connections]]", "[[connections]")),
    "[connections.credentials": Row(Code.SYNTAX, TOML.replace("credentials]", "credentials")),
    "[credentials] at the top": Row(Code.UNKNOWN_KEY, TOML.replace("[connections.credentials]", "[credentials]")),
    "[configuration] at the top": Row(Code.UNKNOWN_KEY, TOML.replace("[connections.configuration]", "[configuration]")),
    "[[connections.credentials]]": Row(
        Code.WRONG_TYPE, TOML.replace("[connections.cr", "[[connections.cr").replace("ls]", "ls]]")
    ),
    "[connections.credentials]]": Row(Code.SYNTAX, TOML.replace("ls]", "ls]]")),
    "[connections.NAME]": Row(
        Code.WRONG_TYPE,
        TOML.replace("[[connections]]", "[connections.support-slack]")
        .replace("[connections.c", "[connections.support-slack.c")
        .replace('connectionName = "support-slack"\n', ""),
    ),
    "no header": Row(Code.UNKNOWN_KEY, TOML.replace("[[connections]]\n", "")),
    "no header and no names": Row(
        Code.WRONG_TYPE, TOML.replace('[[connections]]\nconnectorId = "slack"\nconnectionName = "support-slack"\n', "")
    ),
    "names above the header": Row(
        Code.UNKNOWN_KEY,
        TOML.replace('\n\n[[connections]]\nconnectorId = "slack"\n', '\nconnectorId = "slack"\n\n[[connections]]\n'),
    ),
    "no configuration": Row(Code.MISSING_KEY, TOML.replace(SETTINGS, "")),
    "no connectorId": Row(Code.MISSING_KEY, TOML.replace('connectorId = "slack"\n', "")),
    "no connectionName": Row(Code.MISSING_KEY, TOML.replace('connectionName = "support-slack"\n', "")),
    "no schemaVersion": Row(Code.MISSING_KEY, TOML.partition("\n")[2]),
    "credential at the top": Row(
        Code.UNKNOWN_KEY,
        TOML.replace("\n\n[[", f'\nbot_token = "{BOT_TOKEN}"\n[[', 1).replace(
            f'ls]\nbot_token = "{BOT_TOKEN}"\n', "ls]\n"
        ),
    ),
    "closed list": Row(Code.DUPLICATE_KEY, TOML.replace("[[connections]]", "connections = []\n[[connections]]")),
    "a table twice": Row(
        Code.DUPLICATE_KEY,
        TOML + '[connections.credentials]\nbot_token = "xoxb-2"\n',
        (BOT_TOKEN, "xoxb-2"),
        ("slack/support-slack", "slack/second"),
    ),
    "key twice": Row(Code.DUPLICATE_KEY, TOML + 'bot_token = "xoxb-2"\n'),
    "other name": Row(Code.UNKNOWN_CREDENTIAL, TOML.replace("bot_token", "slack_api_key")),
    "credential that is not there": Row(Code.UNKNOWN_CREDENTIAL, TOML + 'colour = "x"\n'),
    "credential for credentials": Row(
        Code.MISSING_KEY, TOML.replace("[connections.credentials]", "[connections.credential]")
    ),
    "unknown word at the top": Row(Code.UNKNOWN_KEY, TOML.replace("\n\n", "\ncolour = 1\n\n", 1)),
    # Characters.
    "curly quotes": Row(Code.SYNTAX, TOML.replace('"slack"', "“slack”").replace('"support-slack"', '"support-slack”')),
    "no-break space": Row(Code.SYNTAX, TOML.replace("connectorId =", "connectorId\u00a0=")),
    "inline table on two lines": Row(Code.SYNTAX, bot('{\nenv = "SLACK_BOT_TOKEN" }')),
    "no quotes": Row(Code.SYNTAX, bot(BOT_TOKEN)),
    "no closing quote": Row(Code.SYNTAX, TOML.replace('"support-slack"', '"support-slack')),
    "two on one line": Row(Code.SYNTAX, TOML.replace('"slack"\n', '"slack" ')),
    # Credentials.
    "env: as text": Row(Code.CREDENTIAL_REFERENCE, bot('"env:SLACK_BOT_TOKEN"')),
    "${} as text": Row(Code.CREDENTIAL_REFERENCE, bot('"${SLACK_BOT_TOKEN}"')),
    "$ as text": Row(Code.CREDENTIAL_REFERENCE, bot('"$SLACK_BOT_TOKEN"')),
    "file: as text": Row(Code.CREDENTIAL_REFERENCE, bot('"file:PLACE/token"')),
    "$ in env": Row(Code.CREDENTIAL_REFERENCE, bot('{ env = "$SLACK_BOT_TOKEN" }')),
    "${} in env": Row(Code.CREDENTIAL_REFERENCE, bot('{ env = "${SLACK_BOT_TOKEN}" }')),
    "the token in env": Row(Code.CREDENTIAL_REFERENCE, bot(f'{{ env = "{BOT_TOKEN}" }}')),
    "$ in file": Row(Code.CREDENTIAL_REFERENCE, bot('{ file = "$HOME/token" }')),
    "the token in file": Row(Code.CREDENTIAL_REFERENCE, bot(f'{{ file = "{BOT_TOKEN}" }}')),
    "another kind of reference": Row(Code.CREDENTIAL_REFERENCE, bot('{ vault = "slack" }')),
    "an empty reference": Row(Code.CREDENTIAL_REFERENCE, bot('{ env = "" }')),
    "list as credential": Row(Code.CREDENTIAL_REFERENCE, bot(f'["{BOT_TOKEN}"]')),
    "number as credential": Row(Code.CREDENTIAL_REFERENCE, bot("7")),
    "the user's token": Row(Code.CREDENTIAL_SHAPE, bot(f'"{USER_TOKEN}"')),
    "blank token": Row(Code.CREDENTIAL_SHAPE, bot('" "')),
    "token with a blank": Row(Code.CREDENTIAL_SHAPE, bot(f'" {BOT_TOKEN}"')),
    "token with a line break": Row(Code.CREDENTIAL_SHAPE, bot(f'"{BOT_TOKEN}\\nx"')),
    "no credential that is always needed": Row(
        Code.MISSING_CREDENTIAL, GITHUB, (GITHUB_TOKEN,), ("github/support-slack",)
    ),
    "both auth methods": Row(Code.AUTH_METHOD, TOML + 'auth_method = "bot"\nauth_methods = ["bot"]\n'),
    "auth method that is no text": Row(Code.AUTH_METHOD, TOML + "auth_method = 1\n"),
    "auth methods that are no list": Row(Code.AUTH_METHOD, TOML + 'auth_methods = "bot"\n'),
    "expired": Row(Code.CREDENTIALS_EXPIRED, below_name("credentialExpiresAt = 2020-01-01T00:00:00Z")),
    "signed out": Row(Code.REAUTHORIZATION_REQUIRED, below_name('credentialStatus = "reauthorization_required"')),
    # Values.
    "schemaVersion of another": Row(Code.SCHEMA_VERSION, TOML.replace("v1alpha1", "v1")),
    "blank name": Row(Code.BLANK_VALUE, TOML.replace('"support-slack"', '" "')),
    "name as a number": Row(Code.WRONG_TYPE, TOML.replace('"support-slack"', "7")),
    "capital letter": Row(Code.BAD_VALUE, TOML.replace('"slack"', '"Slack"')),
    "time without a zone": Row(Code.BAD_VALUE, below_name("credentialExpiresAt = 2999-01-01")),
    "status that is no text": Row(Code.WRONG_TYPE, below_name("credentialStatus = 1")),
    "credentials that are one text": Row(
        Code.WRONG_TYPE,
        TOML.partition("[connections.credentials]")[0].replace(SETTINGS, f'credentials = "{BOT_TOKEN}"\n' + SETTINGS),
    ),
    "setting too large": Row(Code.CONFIGURATION, TOML.replace("8000", "50000")),
    "setting that is not there": Row(Code.CONFIGURATION, TOML.replace("8000", "8000\ncolour = 1")),
    "setting in another case": Row(Code.CONFIGURATION, TOML.replace("maxMessageC", "maxmessagec")),
    "a Connector's name mistyped": Row(Code.CONNECTOR_NOT_INSTALLED, TOML.replace('"slack"', '"slak"')),
    "deep": Row(Code.NESTING, below_name(f"extra = {'[' * 70}{']' * 70}")),
    "two of one name": Row(
        Code.DUPLICATE_CONNECTION,
        TOML + TOML.partition("\n")[2].replace(BOT_TOKEN, "xoxb-2"),
        (BOT_TOKEN, "xoxb-2"),
        ("slack/support-slack", "slack/second"),
    ),
    # Trigger bindings.
    "bindings that are no list": Row(Code.WRONG_TYPE, TOML.replace("\n\n", "\ntriggerBindings = 1\n\n", 1)),
    "binding of another": Row(Code.TRIGGER_CONNECTION, TOML + BINDINGS.replace("support-slack", "sales")),
    "binding twice": Row(Code.DUPLICATE_TRIGGER, TOML + BINDINGS + BINDINGS),
    "binding without a name": Row(Code.MISSING_KEY, TOML + BINDINGS.replace('bindingName = "main"\n', "")),
    "JSON: binding of another": Row(
        Code.TRIGGER_CONNECTION, with_bindings(BINDING, {**BINDING, "connectionName": "sales"})
    ),
    "JSON: binding twice": Row(Code.DUPLICATE_TRIGGER, with_bindings(BINDING, BINDING)),
    "JSON: binding without names": Row(
        Code.MISSING_KEY, with_bindings({"connectorId": "slack", "connectionName": "support-slack"})
    ),
    "JSON: binding that is a text": Row(Code.WRONG_TYPE, with_bindings(BINDING, "message")),
    # JSON.
    "JSON: no schemaVersion": Row(
        Code.MISSING_KEY,
        json.dumps({**document(record()), "schemaVersion": None}).replace('"schemaVersion": null, ', ""),
    ),
    "JSON: no configuration": Row(Code.MISSING_KEY, json.dumps(document(record(configuration=None)))),
    "JSON: no provider": Row(Code.MISSING_KEY, json.dumps(document(record(provider=None)))),
    "JSON: connection": Row(Code.UNKNOWN_KEY, JSON.replace('"connections"', '"connection"')),
    "JSON: one connection, not a list": Row(
        Code.WRONG_TYPE, json.dumps({**document(), "connections": record()}, indent=2)
    ),
    "JSON: connections by name": Row(
        Code.WRONG_TYPE,
        json.dumps({**document(), "connections": {"support-slack": record(connectionName=None)}}, indent=2),
    ),
    "JSON: configuration at the top": Row(
        Code.UNKNOWN_KEY, json.dumps({**document(record(configuration=None)), "configuration": {}}, indent=2)
    ),
    "JSON: token at the top": Row(
        Code.UNKNOWN_KEY, json.dumps({**document(record(credentials={})), "bot_token": BOT_TOKEN}, indent=2)
    ),
    "JSON: wrong case": Row(Code.KEY_CASE, JSON.replace("connectorId", "ConnectorID")),
    "JSON: two of one name": Row(
        Code.DUPLICATE_CONNECTION,
        json.dumps(document(record(), record(credentials={"bot_token": "xoxb-2"})), indent=2),
        (BOT_TOKEN, "xoxb-2"),
        ("slack/support-slack", "slack/second"),
    ),
    "JSON: key twice": Row(
        Code.DUPLICATE_KEY, JSON.replace('"provider": "slack",', '"provider": "slack",\n      "provider": "slack",')
    ),
    "JSON: a reference": Row(
        Code.CREDENTIAL_REFERENCE, json.dumps(document(record(credentials={"bot_token": {"env": "SLACK_BOT_TOKEN"}})))
    ),
    "JSON: a reference as text": Row(Code.CREDENTIAL_REFERENCE, JSON.replace(BOT_TOKEN, "env:SLACK_BOT_TOKEN")),
    "JSON: the user's token": Row(Code.CREDENTIAL_SHAPE, JSON.replace(BOT_TOKEN, USER_TOKEN)),
    "JSON: credentials that are one text": Row(
        Code.WRONG_TYPE, json.dumps(document(record(credentials=BOT_TOKEN)), indent=2)
    ),
    "JSON: deep": Row(
        Code.NESTING, json.dumps(document(record(extra="DEEP")), indent=2).replace('"DEEP"', "[" * 70 + "]" * 70)
    ),
    "JSON: curly quotes": Row(Code.SYNTAX, JSON.replace('"slack"', "“slack”")),
    "JSON: single quotes": Row(Code.SYNTAX, JSON.replace('"slack"', "'slack'")),
    "JSON: a comma too many": Row(
        Code.SYNTAX, JSON.replace('"support-slack",', '"support-slack",').replace("}\n    }", "},\n    }")
    ),
    "JSON: a comma too few": Row(Code.SYNTAX, JSON.replace('"provider": "slack",', '"provider": "slack"')),
    "JSON: a comment": Row(Code.SYNTAX, JSON.replace('"provider"', '// who\n      "provider"')),
    "JSON: more than one value": Row(Code.SYNTAX, JSON + "\n{}\n"),
    "JSON: no closing quote": Row(Code.SYNTAX, JSON.replace('"provider": "slack",', '"provider": "slack,')),
    "JSON: NaN": Row(Code.SYNTAX, json.dumps(document(record(extra=float("nan"))), indent=2)),
}


def look(path: Path) -> Inspection:
    return inspect_file(str(path), Sealed({"SLACK_BOT_TOKEN": BOT_TOKEN}), installed_connectors())


@mends(*(row.code for row in BROKEN.values()))
@pytest.mark.parametrize("name", BROKEN)
def test_a_mend_done_to_the_letter_leaves_a_right_file(write: Write, tmp_path: Path, name: str) -> None:
    row = BROKEN[name]
    write(BOT_TOKEN, "token")
    text = row.text.replace("PLACE", str(tmp_path))
    inspection = look(write(text, _named(text)))
    assert inspection.diagnostics[0].code == row.code
    for _ in range(9):
        if inspection.diagnostics:
            said = "".join(f"{one}{one.source}" for one in inspection.diagnostics)
            assert not [one for one in (BOT_TOKEN, USER_TOKEN) if one in said]
            text = follow(text, inspection.diagnostics[0]).replace("PLACE", str(tmp_path))
            inspection = look(write(text, _named(text)))
    assert inspection.diagnostics == ()
    secrets = [one.credentials.secrets for one in inspection.connections]
    assert tuple((held.get("bot_token") or held["token"]).reveal() for held in secrets) == row.tokens
    assert tuple(str(one.reference) for one in inspection.connections) == row.connections


def _named(text: str) -> str:
    return f"connections.{'json' if text.lstrip().startswith('{') else 'toml'}"


@pytest.mark.parametrize(("text", "name"), [(JSON, "c.toml"), (TOML, "c.json"), ("# note\n" + TOML, "c.json")])
def test_a_file_with_the_other_formats_name_is_told_the_right_name(
    inspect: Inspect, write: Write, text: str, name: str
) -> None:
    (fault,) = inspect(text, name).diagnostics
    ending = re.search(r"with (\.\w+) in", fault.mend)
    assert ending
    assert inspect(text, "c" + ending[1]).diagnostics == ()


@pytest.mark.parametrize("secret", ["$ecret", "%40abc", "env", "$Ab_c", "pass%word%", "file:x", "$1A_B"])
def test_a_password_that_begins_like_a_reference_is_taken(inspect: Inspect, secret: str) -> None:
    text = TOML + f'oauth_client_secret = "{secret}"\n'
    assert inspect(text, "connections.toml").diagnostics == ()


@pytest.mark.parametrize("text", ["env:SLACK_SECRET", "${slack_secret}", "$(SLACK_SECRET)", "%SLACK_SECRET%"])
def test_a_reference_as_text_is_never_taken_for_the_credential(inspect: Inspect, text: str) -> None:
    (fault,) = inspect(TOML + f'oauth_client_secret = "{text}"\n', "connections.toml").diagnostics
    assert fault.code == "credential-reference"
    (fault,) = inspect(document(record(credentials={"oauth_client_secret": text}))).diagnostics
    assert "JSON has no references" in fault.mend


def test_a_token_in_the_place_of_a_variables_name_is_not_shown(inspect: Inspect) -> None:
    for text in (f"${{{'A1b2C3d4E5f6G7h8I9'}}}", "env:A1b2C3d4E5f6G7h8I9", f"file:/run/{BOT_TOKEN}"):
        (fault,) = inspect(TOML.replace(BOT_TOKEN, text), "connections.toml").diagnostics
        assert not [one for one in ("A1b2C3d4", BOT_TOKEN) if one in f"{fault}{fault.source}"]
