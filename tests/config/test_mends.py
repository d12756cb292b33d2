"""Each mend, followed to the letter, leads to a right file that still has its connection and its token."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dexbridge.config import Diagnostic, Inspection, Sealed, inspect_file
from dexbridge.connectors import installed_connectors
from tests.config.conftest import Inspect, Write
from tests.fakes.connection_files import BOT_TOKEN, VERSION, document, record

Mend = Callable[[str, Diagnostic], str]

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


def line_of(fault: Diagnostic) -> int:
    assert fault.place is not None
    return fault.place.line - 1


def line_replaced(text: str, fault: Diagnostic, new: str) -> str:
    lines = text.split("\n")
    lines[line_of(fault)] = new
    return "\n".join(lines)


def first_line(text: str, fault: Diagnostic) -> str:
    return fault.mend.partition("first line: ")[2].partition(" Or ")[0] + "\n" + text


def after_brace(text: str, fault: Diagnostic) -> str:
    """Adds a JSON member where the mend says: after the first brace of the file or of the connection."""
    member = fault.mend.partition(": ")[2].partition(" (")[0]
    at = 0 if "the first {" in fault.mend else text.index("{", text.index("connections"))
    return text[: at + 1] + member + "," + text[at + 1 :]


def below_header(text: str, fault: Diagnostic) -> str:
    lines = text.split("\n")
    assert lines[line_of(fault)] == "[[connections]]"
    lines.insert(line_of(fault) + 1, fault.mend.partition("[[connections]]: ")[2].partition(" (or")[0])
    return "\n".join(lines)


def above_line(text: str, fault: Diagnostic) -> str:
    lines = text.split("\n")
    lines.insert(line_of(fault), "[[connections]]")
    return "\n".join(lines)


def header(text: str, fault: Diagnostic) -> str:
    written = re.search(r"\[+[a-z.]+\]+", fault.mend)
    assert written
    return line_replaced(text, fault, written[0])


def every_header(text: str, fault: Diagnostic) -> str:
    return re.sub(r"^(\[+)connect[a-z]+", r"\1connections", text, flags=re.MULTILINE)


def straight(text: str, fault: Diagnostic) -> str:
    return re.sub("[“”„]", '"', text)


def reference(text: str, fault: Diagnostic) -> str:
    written = re.search(r'\{ (?:env|file) = "[^"]+" \}', fault.mend)
    assert written
    return line_replaced(text, fault, f"bot_token = {written[0]}")


def whole_path(text: str, fault: Diagnostic) -> str:
    return re.sub('file = "[^"]*"', 'file = "PLACE/token"', text)


def credential(text: str, fault: Diagnostic) -> str:
    return line_replaced(text, fault, f'bot_token = "{BOT_TOKEN}"')


def one_line(text: str, fault: Diagnostic) -> str:
    return text.replace("{\n", "{")


def removed(text: str, fault: Diagnostic) -> str:
    return text.replace("connections = []\n", "")


def second_connection(text: str, fault: Diagnostic) -> str:
    lines = text.split("\n")
    names = ['connectorId = "slack"', 'connectionName = "second"', "configuration = {}"]
    lines[line_of(fault) : line_of(fault)] = ["[[connections]]", *names]
    return "\n".join(lines)


def named(text: str, fault: Diagnostic) -> str:
    text = text.replace("[connections.main]", '[[connections]]\nconnectionName = "support-slack"')
    return text.replace("[connections.main.", "[connections.").replace('connectionName = "x"\n', "")


def renamed(text: str, fault: Diagnostic) -> str:
    found = re.search(r"Write (?:it|(\S+)) as (\w+)\.", fault.mend)
    assert found
    assert fault.place is not None
    if found[1]:
        return text.replace(found[1], found[2])
    lines = text.split("\n")
    line, column = lines[line_of(fault)], fault.place.column - 1
    lines[line_of(fault)] = line[:column] + re.sub(r'^"?[\w-]+"?', json.dumps(found[2]), line[column:])
    return "\n".join(lines)


def exact(text: str, fault: Diagnostic) -> str:
    """Puts the value the mend quotes where the fault is."""
    assert fault.place is not None
    value = re.search(r'"([^"]+)"', fault.mend)
    assert value
    lines = text.split("\n")
    line, column = lines[line_of(fault)], fault.place.column - 1
    lines[line_of(fault)] = line[:column] + re.sub(r'^("[^"]*"|[^\s,]+)', json.dumps(value[1]), line[column:])
    return "\n".join(lines)


def lower(text: str, fault: Diagnostic) -> str:
    return text.replace('"Slack"', '"slack"')


def without_line(text: str, fault: Diagnostic) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[: line_of(fault)], *lines[line_of(fault) + 1 :]])


def plain_space(text: str, fault: Diagnostic) -> str:
    return text.replace("\u00a0", " ")


def brackets(text: str, fault: Diagnostic) -> str:
    return text.replace('"connections": {', '"connections": [{').replace(' },\n  "triggerBindings"', ' }],\n  "x"', 1)


def moved(text: str, fault: Diagnostic) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[: line_of(fault)], *lines[line_of(fault) + 1 :], lines[line_of(fault)]])


BROKEN: dict[str, tuple[str, Mend]] = {
    "one bracket's worth of a name": (TOML.replace("[[connections]]", "[[connection]]"), every_header),
    "singular everywhere": (TOML.replace("[connections", "[connection"), every_header),
    "[connections]": (TOML.replace("[[connections]]", "[connections]"), header),
    "[connections]]": (TOML.replace("[[connections]]", "[connections]]"), header),
    "[[connections]": (TOML.replace("[[connections]]", "[[connections]"), header),
    "[credentials] at the top": (TOML.replace("[connections.credentials]", "[credentials]"), header),
    "[configuration] at the top": (TOML.replace("[connections.configuration]", "[configuration]"), header),
    "[[connections.credentials]]": (TOML.replace("[connections.cr", "[[connections.cr").replace("ls]", "ls]]"), header),
    "[connections.credentials]]": (TOML.replace("ls]", "ls]]"), header),
    "[connections.main]": (
        TOML.replace("[[connections]]", "[connections.main]")
        .replace("[connections.c", "[connections.main.c")
        .replace("support-slack", "x"),
        named,
    ),
    "no header": (TOML.replace("[[connections]]\n", ""), above_line),
    "no configuration": (TOML.replace(SETTINGS, ""), below_header),
    "no connectorId": (TOML.replace('connectorId = "slack"\n', ""), below_header),
    "no connectionName": (TOML.replace('connectionName = "support-slack"\n', ""), below_header),
    "no schemaVersion": (TOML.partition("\n")[2], first_line),
    "credential at the top": (
        TOML.replace("\n\n[[", f'\nbot_token = "{BOT_TOKEN}"\n[[', 1).replace(
            f'ls]\nbot_token = "{BOT_TOKEN}"\n', "ls]"
        ),
        moved,
    ),
    "closed list": (TOML.replace("[[connections]]", "connections = []\n[[connections]]"), removed),
    "a table twice": (TOML + '[connections.credentials]\nbot_token = "xoxb-2"\n', second_connection),
    "curly quotes": (TOML.replace('"slack"', "“slack”").replace('"support-slack"', '"support-slack”'), straight),
    "no-break space": (TOML.replace("connectorId =", "connectorId\u00a0="), plain_space),
    "inline table on two lines": (TOML.replace(f'"{BOT_TOKEN}"', '{\nenv = "SLACK_BOT_TOKEN" }'), one_line),
    "env: as text": (TOML.replace(BOT_TOKEN, "env:SLACK_BOT_TOKEN"), reference),
    "${} as text": (TOML.replace(BOT_TOKEN, "${SLACK_BOT_TOKEN}"), reference),
    "$ as text": (TOML.replace(BOT_TOKEN, "$SLACK_BOT_TOKEN"), reference),
    "file: as text": (TOML.replace(BOT_TOKEN, "file:PLACE/token"), reference),
    "$ in env": (TOML.replace(f'"{BOT_TOKEN}"', '{ env = "$SLACK_BOT_TOKEN" }'), reference),
    "${} in env": (TOML.replace(f'"{BOT_TOKEN}"', '{ env = "${SLACK_BOT_TOKEN}" }'), reference),
    "$ in file": (TOML.replace(f'"{BOT_TOKEN}"', '{ file = "$HOME/token" }'), whole_path),
    "list as credential": (TOML.replace(f'"{BOT_TOKEN}"', f'["{BOT_TOKEN}"]'), credential),
    "no quotes": (TOML.replace(f'"{BOT_TOKEN}"', BOT_TOKEN), credential),
    "other name": (TOML.replace("bot_token", "slack_api_key"), renamed),
    "credential for credentials": (TOML.replace("[connections.credentials]", "[connections.credential]"), renamed),
    "schemaVersion of another": (TOML.replace("v1alpha1", "v1"), exact),
    "blank name": (TOML.replace('"support-slack"', '" "'), exact),
    "name as a number": (TOML.replace('"support-slack"', "7"), exact),
    "capital letter": (TOML.replace('"slack"', '"Slack"'), lower),
    "time without a zone": (
        TOML.replace("\n\n[connections.con", "\ncredentialExpiresAt = 2999-01-01\n\n[connections.con"),
        exact,
    ),
    "setting too large": (TOML.replace("8000", "50000"), without_line),
    "setting that is not there": (TOML.replace("8000", "8000\ncolour = 1"), without_line),
    "setting in another case": (TOML.replace("maxMessageC", "maxmessagec"), renamed),
    "both auth methods": (TOML + 'auth_method = "bot"\nauth_methods = ["bot"]\n', without_line),
    "key twice": (TOML + 'bot_token = "xoxb-2"\n', without_line),
    "status that is no text": (
        TOML.replace("\n\n[connections.con", "\ncredentialStatus = 1\n\n[connections.con"),
        without_line,
    ),
    "bindings that are no list": (TOML.replace("\n\n", "\ntriggerBindings = 1\n\n", 1), without_line),
    "unknown word at the top": (TOML.replace("\n\n", "\ncolour = 1\n\n", 1), without_line),
    "JSON: no schemaVersion": (
        json.dumps({**document(record()), "schemaVersion": None}).replace('"schemaVersion": null, ', ""),
        after_brace,
    ),
    "JSON: no configuration": (json.dumps(document(record(configuration=None))), after_brace),
    "JSON: no provider": (json.dumps(document(record(provider=None))), after_brace),
    "JSON: connection": (JSON.replace('"connections"', '"connection"'), renamed),
    "JSON: curly quotes": (JSON.replace('"slack"', "“slack”"), straight),
    "JSON: wrong case": (JSON.replace("connectorId", "ConnectorID"), renamed),
}


def look(path: Path) -> Inspection:
    return inspect_file(str(path), Sealed({"SLACK_BOT_TOKEN": BOT_TOKEN}), installed_connectors())


@pytest.mark.parametrize("name", BROKEN)
def test_a_mend_done_to_the_letter_leaves_a_right_file(write: Write, tmp_path: Path, name: str) -> None:
    text, mend = BROKEN[name]
    text = text.replace("PLACE", str(tmp_path))
    write(BOT_TOKEN, "token")
    ending = "json" if text.lstrip().startswith("{") else "toml"
    inspection = look(write(text, f"connections.{ending}"))
    for _ in range(5):
        if inspection.diagnostics:
            assert BOT_TOKEN not in "".join(map(str, inspection.diagnostics))
            text = mend(text, inspection.diagnostics[0]).replace("PLACE", str(tmp_path))
            inspection = look(write(text, f"connections.{ending}"))
    assert inspection.diagnostics == ()
    tokens = [one.credentials.secrets["bot_token"].reveal() for one in inspection.connections]
    assert tokens == ([BOT_TOKEN, "xoxb-2"] if name == "a table twice" else [BOT_TOKEN])
    assert str(inspection.connections[0].reference) == "slack/support-slack"


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
