"""Somebody who has a file, a diagnostic and the credentials, and does what the mend says: its words, at its place.

No rule knows which fault it is for. A mend whose words no rule understands fails the test that meets it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from dexbridge.config import Diagnostic
from tests.config.page import Page
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, to_toml

GITHUB_TOKEN = "github_pat_" + "A1b2C3d4E5f6G7h8I9"
WHOLE_PATH = '{ file = "PLACE/token" }'
_CREDENTIALS = {"bot_token": BOT_TOKEN, "user_token": USER_TOKEN, "token": GITHUB_TOKEN}
_ENDINGS = (" What follows was not checked.", " Nothing but the syntax was checked, and that only up to here.")

Rule = Callable[[Page, re.Match[str]], str]


def follow(text: str, fault: Diagnostic) -> str:
    """The file's text after the mend was done."""
    assert fault.place is not None
    said = fault.mend
    for ending in _ENDINGS:
        said = said.removesuffix(ending)
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[: fault.place.line - 1]) + fault.place.column - 1
    for words, rule in RULES:
        found = re.fullmatch(words, said)
        if found:
            return rule(Page(text, at), found)
    raise AssertionError(f"Nobody knows what to do when told: {said}")


def _first_line(page: Page, said: re.Match[str]) -> str:
    return f"{said[1]}\n{page.text}"


def _after_brace(page: Page, said: re.Match[str]) -> str:
    brace = page.text.index("{", 0 if said[1] == "the first" else page.at) + 1
    comma = "" if page.text[brace:].lstrip().startswith("}") else ", "
    return page.text[:brace] + said[2] + comma + page.text[brace:]


def _add_text(page: Page, said: re.Match[str]) -> str:
    if not page.is_json:
        return page.below("[[triggerBindings]]", f'{said[1]} = "main"')
    brace = page.text.index("{", page.at) + 1
    return f'{page.text[:brace]}"{said[1]}": "main", {page.text[brace:]}'


def _every_header(page: Page, said: re.Match[str]) -> str:
    key = re.match(r"\[+([A-Za-z]+)", page.text[page.line[0] :])
    assert key
    return re.sub(rf"^(\[+){key[1]}(?=[.\]])", rf"\1{said[1]}", page.text, flags=re.MULTILINE)


def _named_tables(page: Page, _said: re.Match[str]) -> str:
    text = re.sub(r"^\[connections\.([\w-]+)\]", r'[[connections]]\nconnectionName = "\1"', page.text, flags=re.M)
    return re.sub(r"^\[connections\.[\w-]+\.(\w+)\]", r"[connections.\1]", text, flags=re.MULTILINE)


def _named_members(page: Page, _said: re.Match[str]) -> str:
    whole = json.loads(page.text)
    whole["connections"] = [{**one, "connectionName": name} for name, one in whole["connections"].items()]
    return json.dumps(whole, indent=2)


def _move_line(page: Page, said: re.Match[str]) -> str:
    return page.without_line().replace(said[1], f"{said[1]}\n{page.text[slice(*page.line)]}", 1)


def _move_member(page: Page, said: re.Match[str]) -> str:
    whole = json.loads(page.text)
    one = whole["connections"][0]
    one[said[1]] = whole.pop(said[1])
    return json.dumps(whole, indent=2)


def _move_credential(page: Page, _said: re.Match[str]) -> str:
    whole = json.loads(page.text)
    whole["connections"][0]["credentials"][page.key()] = whole.pop(page.key())
    return json.dumps(whole, indent=2)


def _line_written_before(page: Page, _said: re.Match[str]) -> str:
    name = re.match(r"\[+(\w+)", page.text[page.line[0] :])
    assert name
    return re.sub(rf"^{name[1]} = \[\]\n", "", page.text, flags=re.MULTILINE)


def _straight(page: Page, _said: re.Match[str]) -> str:
    def is_typographic(one: str) -> bool:
        return not one.isascii() and "QUOTATION MARK" in unicodedata.name(one, "")

    return "".join('"' if is_typographic(one) else one for one in page.text)


def _on_one_line(page: Page, _said: re.Match[str]) -> str:
    start = page.text.rfind("{", 0, page.line[1] + 1)
    end = page.text.index("}", start)
    return page.text[:start] + " ".join(page.text[start:end].split()) + page.text[end:]


def _closing_quote(page: Page, _said: re.Match[str]) -> str:
    start, end = page.line
    kept = page.text[start:end].rstrip().removesuffix(",")
    return page.text[:start] + kept + '"' + page.text[start + len(kept) :]


def _named_value(page: Page, _said: re.Match[str]) -> str:
    value = page.text[slice(*page.value)]
    return page.with_value(f'{{ "bot_token": {value} }}' if page.is_json else f"{{ bot_token = {value} }}")


def _swapped(page: Page, said: re.Match[str]) -> str:
    value, right = page.text[slice(*page.value)], json.dumps(_CREDENTIALS[said[2]])
    if page.is_json:
        return page.with_value(f'{right}, "{said[1]}": {value}')
    return page.with_line(f"{said[1]} = {value}", f"{said[2]} = {right}")


def _credential(page: Page, _said: re.Match[str]) -> str:
    return page.with_value(json.dumps(_CREDENTIALS[page.key()]))


def _told_value(page: Page, said: re.Match[str]) -> str:
    return page.with_value(said[1])


def _removed(page: Page, _said: re.Match[str]) -> str:
    return page.removed()


def _value(new: str) -> Rule:
    return lambda page, _said: page.with_value(new)


_HERE = r"(?: \(or the text that is right here\)\.)?"
RULES: list[tuple[str, Rule]] = [
    # What is missing.
    (r"Add as the first line: (.*?)(?: Or .*)?", _first_line),
    (rf"Add right after (the first|its) \{{: (.*?) \(and a comma, if more follows\)\.?{_HERE}(?: Or .*)?",
     _after_brace),
    (rf"Add the next line right below its (\[\[\w+\]\]): (.*?){_HERE}",
     lambda page, said: page.below(said[1], said[2])),
    (r"Add: (\w+), a text\.", _add_text),
    (r'Add it\. A fine-grained token starts with "github_pat_".*',
     lambda page, _said: page.below("[connections.credentials]", f'token = "{GITHUB_TOKEN}"')),
    (r"Put the line (\[\[connections\]\]) above the first of them\.", lambda page, said: page.above(said[1])),
    (r"Add above it: the line \[\[connections\]\], and below that its connectorId and connectionName\.",
     lambda page, _said: page.above('[[connections]]\nconnectorId = "slack"\nconnectionName = "support-slack"')),
    # Headers and keys.
    (r"Write its header with (?:two brackets|one bracket) on each side: (\[+[a-z.]+\]+)",
     lambda page, said: page.with_line(said[1])),
    (r"Write it with (?:two|one) on each side: (\[+[a-z.]+\]+)", lambda page, said: page.with_line(said[1])),
    (r"Write its header as (\[[a-z.]+\]), and put it below the \[\[connections\]\] it belongs to\.",
     lambda page, said: page.with_line(said[1])),
    (r"Write (\w+) in every header: .*", _every_header),
    (r"Write \[\[connections\]\] for \[connections\.NAME\], and .*; NAME becomes its connectionName\.", _named_tables),
    (r"Write a list, and the name of each as its connectionName: \[\{ … \}, \{ … \}\]", _named_members),
    (r'Write \[ and \] around it: "connections": \[\{ … \}\]',
     lambda page, _said: page.with_value(f"[{page.text[slice(*page.value)]}]")),
    (r"Write (?!it )(\w+) as (\w+)\.", lambda page, said: re.sub(rf"(?<!\w){said[1]}(?!\w)", said[2], page.text)),
    (r"Write it as (\w+)(?: or \w+)*\.", lambda page, said: page.with_key(said[1])),
    # What stands in the wrong place, or should not stand at all.
    (r"Move it into (\[connections\.credentials\])\.", _move_line),
    (r"Move them below the (\[\[connections\]\]) they belong to\.", _move_line),
    (r'Move it into the connection it belongs to: "connections": \[\{ …, "(\w+)": \{ … \} \}\]', _move_member),
    (r"Move it into credentials of its connection\.", _move_credential),
    (r"Remove it; known are .*", _removed),
    (r"Correct it, or leave it out for the default; .*", _removed),
    (r"A connection file needs five levels; remove what does not belong in it\.",
     lambda page, _said: page.without_member_around()),
    (r"Write it as \{ … \} with its four names, or remove it\.", _removed),
    (r"Remove one of the two\.", lambda page, _said: page.without_object()),
    (r"Add that connection, or remove the binding\.", lambda page, _said: page.without_object()),
    (r"Keep one of the two\.", _removed),
    (r"Keep one of the two; a second connection begins with a (\[\[connections\]\]) of its own\.",
     lambda page, said: page.above(said[1])),
    (r"Move what is added into that line, or move that line's values here and remove it\.", _line_written_before),
    (r"Keep auth_method for one way to sign in, auth_methods for several\.", _removed),
    # Values.
    (r'(?:It must be exactly|Write a text such as|Write a text in quotes, such as) ("[^"]+")\.', _told_value),
    (r'Write it as ("[^"]+"), or leave it out .*', _told_value),
    (r'Write (""); calls are then made again\.', _told_value),
    (r"Write a list; of none: (\[\])", _told_value),
    (r"Use lower case letters, digits and hyphens, as in slack\.",
     lambda page, _said: page.with_value(page.text[slice(*page.value)].lower())),
    (r"If (\S+) is meant, write that; else .*", lambda page, said: page.with_value(f'"{said[1]}"')),
    (r"Give one of them another connectionName, or remove it\.", _value('"second"')),
    (r"Name one way to sign in\.", _value('"bot"')),
    (r"Name the ways to sign in\.", _value('["bot"]')),
    (r"Put new credentials there, with their own credentialExpiresAt\.", _value('"2999-12-31T00:00:00Z"')),
    (r"Sign in to the provider again \(.*\) and clear credentialStatus\.", _value('""')),
    (r"Write it with the name of each value: .*", _named_value),
    # Syntax.
    (r'Write a straight one \("\) in its place, here and wherever else the file has one\.', _straight),
    (r"Write a plain space in its place\.", lambda page, _said: page.with_characters(1, " ")),
    (r"Write all of it, from \{ to \}, on one line\.", _on_one_line),
    (r"Remove the comma\.", lambda page, _said: page.with_characters(1, "")),
    (r"Add the comma\.", lambda page, _said: page.with_characters(0, ", ")),
    (r"Start a new line after the value\.", lambda page, _said: page.with_characters(0, "\n")),
    (r"Add the closing quote\.", _closing_quote),
    (r"Remove the comment, or write the file as TOML\.",
     lambda page, _said: page.with_characters(page.line[1] - page.at, "")),
    (r"Remove what follows it\.", lambda page, _said: page.text[: page.at]),
    (r"Write \"…\" instead of '…'\.", lambda page, _said: re.sub(r"'([^'\n]*)'", r'"\1"', page.text)),
    (r"Write a number\.", _value("8000")),
    (r'Text stands in quotes: key = "text"\.|Write it in quotes\.',
     lambda page, _said: page.with_value(json.dumps(page.text[slice(*page.value)]))),
    # Credentials.
    (r"Write the text alone, in quotes\.", lambda page, _said: page.with_value(page.text[slice(*page.value)][1:-1])),
    (r"Write it without the outer quotes: (\{ .* \})", _told_value),
    (r'Write (\{ env = "[^"]+" \})\.', _told_value),
    (r'Write (\{ env = )"VARIABLE" \} or \{ file = "path" \}\.', _value('{ env = "SLACK_BOT_TOKEN" }')),
    (r"Put the variable's name there, not its value\.", _value('{ env = "SLACK_BOT_TOKEN" }')),
    (r"Write the (?:file's )?whole path(?: alone, such as /run/secrets/token)?\.", _value(WHOLE_PATH)),
    (r"Put the file's path there, not the credential\.", _value(WHOLE_PATH)),
    (r"JSON has no references: write the credential here, or the file as TOML, where it is .*", _credential),
    (r"Write the file as TOML to use one\.", lambda page, _said: to_toml(json.loads(page.text))),
    (r"Move it to (\w+)(?: or \w+)*, and put the right one into (\w+)\. .*", _swapped),
    (r"(?:Write it on one line\. |Copy it again\. )?An? (?:bot|user) token starts with .*", _credential),
]  # fmt: skip
"""The words of mends, and what is done when they are read."""
