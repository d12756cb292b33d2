"""Secrets where people really have them: mounts of Kubernetes, Docker and systemd, and a file of references in git."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dexbridge.config import Code, Inspection, Project, Sealed, inspect_file, open_project
from dexbridge.connectors import CredentialsUnavailable, installed_connectors
from tests.config.mended import mends
from tests.config.mounts import (
    GROUP,
    USER,
    KubernetesSecret,
    check_as,
    needs_mounts,
    open_folder,
    read_only,
    run_as,
    tmpfs,
)
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, VERSION, codes, document, record

REFERENCES = f"""\
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = {{ REFERENCE }} }}
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def put(path: Path, text: str, mode: int, owner: int = 0, group: int = 0) -> Path:
    path.write_text(text)
    os.chown(path, owner, group)
    path.chmod(mode)
    return path


def references(folder: Path, reference: str, mode: int = 0o644) -> Path:
    path = folder / "connections.toml"
    path.write_text(REFERENCES.replace("REFERENCE", reference))
    path.chmod(mode)
    return path


def look(path: Path, **environment: str) -> Inspection:
    return inspect_file(str(path), Sealed(environment), installed_connectors())


async def bot_token(project: Project) -> str:
    return (await project.connection("slack", "support-slack").read_credentials())["bot_token"].reveal()


@pytest.mark.parametrize("mode", [0o644, 0o664, 0o444, 0o755, 0o600])
def test_a_file_of_references_needs_no_mode(place: Path, mode: int) -> None:
    path = references(place, 'env = "SLACK_BOT_TOKEN"', mode)
    assert look(path, SLACK_BOT_TOKEN=BOT_TOKEN).diagnostics == ()


def test_a_file_of_references_that_everybody_can_write_is_a_warning_with_a_command(place: Path) -> None:
    path = references(place, 'env = "SLACK_BOT_TOKEN"', 0o666)
    (warning,) = look(path, SLACK_BOT_TOKEN=BOT_TOKEN).diagnostics
    assert (warning.severity, warning.code) == ("warning", "file-mode")
    subprocess.run(warning.mend.removeprefix("Run: "), shell=True, check=True)
    assert look(path, SLACK_BOT_TOKEN=BOT_TOKEN).diagnostics == ()


@pytest.mark.parametrize(
    "text",
    [
        REFERENCES.replace("{ REFERENCE }", f'"{BOT_TOKEN}"'),
        REFERENCES.replace("REFERENCE", f'env = "{BOT_TOKEN}"'),
        REFERENCES.replace("REFERENCE", f'value = "{BOT_TOKEN}"'),
        REFERENCES.replace("REFERENCE", 'env = "A"') + f'app_token = [["{BOT_TOKEN}"]]\n',
        REFERENCES.replace("REFERENCE", 'env = "A"').replace('"support-slack"', f'"{BOT_TOKEN}"'),
        REFERENCES.replace("REFERENCE", 'env = "A"') + '[credentials]\noauth_client_secret = "plain"\n',
        REFERENCES.replace("REFERENCE", 'env = "A"') + f"what {BOT_TOKEN}\n",
    ],
)
def test_a_credential_anywhere_makes_the_mode_count(place: Path, text: str) -> None:
    path = put(place / "connections.toml", text, 0o644)
    assert "file-mode" in codes(look(path, A=BOT_TOKEN))


def test_both_values_of_a_key_that_is_there_twice_are_looked_at(place: Path) -> None:
    text = json.dumps(document(record()))
    path = put(place / "c.json", text.replace('"triggerBindings"', '"connections": [], "triggerBindings"'), 0o644)
    assert codes(look(path)) == ["file-mode", "duplicate-key"]


@mends(Code.FILE_MODE, Code.FILE_OWNER, Code.FILE_UNREADABLE)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
@pytest.mark.parametrize(
    ("mode", "owner", "group", "code"),
    [
        (0o600, USER, USER, None),
        (0o400, USER, USER, None),
        (0o440, 0, USER, None),
        (0o640, 0, USER, None),
        (0o640, USER, USER, "file-mode"),
        (0o444, 0, 0, "file-mode"),
        (0o460, 0, USER, "file-mode"),
        (0o646, 0, 0, "file-mode"),
        (0o644, USER + 1, USER, "file-owner"),
        (0o400, 0, 0, "file-unreadable"),
    ],
)
def test_who_may_own_and_read_a_file_with_a_credential(
    place: Path, mode: int, owner: int, group: int, code: str | None
) -> None:
    path = put(place / "c.json", json.dumps(document(record())), mode, owner, group)
    found = check_as(path)
    assert [one["code"] for one in found] == ([] if code is None else [code])
    for fault in found:
        # There is no sudo here, and what it is for needs root: the test runs it as root.
        subprocess.run(fault["mend"].removeprefix("Run: ").replace("sudo ", ""), shell=True, check=True)
        assert check_as(path) == []


@needs_mounts
def test_a_folder_that_is_closed_is_named_with_what_opens_it(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    (closed / "inner").mkdir()
    path = put(closed / "inner" / "c.json", json.dumps(document(record())), 0o600, USER)
    (fault,) = check_as(path)
    assert f"the folder {closed} is closed" in fault["message"]
    subprocess.run(fault["mend"].partition("such as: ")[2].replace("sudo ", ""), shell=True, check=True)
    assert check_as(path) == []


@needs_mounts
async def test_a_kubernetes_secret_is_read_and_a_rotated_one_is_seen_at_the_next_call(place: Path) -> None:
    with tmpfs(place / "slack", 0o1777) as folder:
        secret = KubernetesSecret(folder, 0o400, GROUP)
        secret.put("2026_11_30", token=BOT_TOKEN + "\n")
        path = references(place, f'file = "{folder}/token"')
        assert check_as(path, groups=(GROUP,)) == []
        async with await open_project(path) as project:
            assert await bot_token(project) == BOT_TOKEN
            for turn in range(3):
                secret.put(f"2026_12_0{turn}", token=f"xoxb-9-{turn}")
                assert await bot_token(project) == f"xoxb-9-{turn}"


@needs_mounts
async def test_a_secret_is_whole_while_it_is_rotated_all_the_time(place: Path) -> None:
    tokens = ("xoxb-1-a", "xoxb-1-" + "b" * 3_000)
    with tmpfs(place / "slack", 0o1777) as folder:
        secret = KubernetesSecret(folder, 0o400)
        secret.put("first", token=tokens[0])
        ended = threading.Event()

        def rotate() -> None:
            turn = 0
            while not ended.wait(0.004):
                turn += 1
                secret.put(f"turn{turn}", token=tokens[turn % 2])

        thread = threading.Thread(target=rotate)
        thread.start()
        try:
            async with await open_project(references(place, f'file = "{folder}/token"')) as project:
                for _ in range(100):
                    assert await bot_token(project) in tokens
        finally:
            ended.set()
            thread.join()


@needs_mounts
async def test_a_whole_connection_file_in_a_kubernetes_secret_is_rotated(place: Path) -> None:
    with tmpfs(place / "dex", 0o1777) as folder:
        secret = KubernetesSecret(folder, 0o440)
        secret.put("one", **{"connections.json": json.dumps(document(record()))})
        async with await open_project(folder / "connections.json") as project:
            assert await bot_token(project) == BOT_TOKEN
            changed = record(credentials={"bot_token": "xoxb-9-new"})
            secret.put("two", **{"connections.json": json.dumps(document(changed))})
            assert await bot_token(project) == "xoxb-9-new"


@needs_mounts
@pytest.mark.parametrize("mode", [0o644, 0o400])
def test_the_mend_of_a_kubernetes_secret_is_one_of_the_pods_description(place: Path, mode: int) -> None:
    with tmpfs(place / "slack", 0o1777) as folder:
        KubernetesSecret(folder, mode).put("one", token=BOT_TOKEN)
        read_only(folder)
        path = references(place, f'file = "{folder}/token"')
        (fault,) = check_as(path)
        asked = re.search(r'"defaultMode: (0\d+)" on the volume and "fsGroup: (\d+)"', fault["mend"])
        assert asked, fault
        assert not re.search("chmod|chown", fault["mend"])
    mended = place / "mended"
    with tmpfs(mended, 0o1777) as folder:
        KubernetesSecret(folder, int(asked[1], 8), int(asked[2])).put("one", token=BOT_TOKEN)
        read_only(folder)
        assert check_as(references(place, f'file = "{folder}/token"'), groups=(int(asked[2]),)) == []


@needs_mounts
@pytest.mark.parametrize(("owner", "mode"), [(0, 0o444), (0, 0o400), (USER + 1, 0o444)])
def test_the_mend_of_a_docker_secret_is_one_of_the_services_description(place: Path, owner: int, mode: int) -> None:
    secrets = Path("/run/secrets")
    made = not secrets.exists()
    secrets.mkdir(exist_ok=True)
    folder = secrets / "dexbridge-test"
    try:
        with tmpfs(folder, 0o755):
            token = put(folder / "slack", BOT_TOKEN, mode, owner)
            path = references(place, f'file = "{token}"')
            (fault,) = check_as(path)
            asked = re.search(r"""set "uid: '(\d+)'" and "mode: (0\d+)";""", fault["mend"])
            assert asked, fault
            put(token, BOT_TOKEN, int(asked[2], 8), int(asked[1]))
            read_only(folder)
            assert check_as(path) == []
            subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
            put(token, BOT_TOKEN, mode, owner)
            command = fault["mend"].partition("run there: ")[2].replace("FILE", str(token))
            subprocess.run(command, shell=True, check=True)
            assert check_as(path) == []
    finally:
        folder.rmdir()
        if made:
            secrets.rmdir()


@needs_mounts
@pytest.mark.parametrize("mode", [0o644, 0o400])
def test_the_mend_of_another_read_only_mount_is_a_copy(place: Path, mode: int) -> None:
    with tmpfs(place / "mounted", 0o755) as folder:
        token = put(folder / "slack", BOT_TOKEN, mode)
        read_only(folder)
        (fault,) = check_as(references(place, f'file = "{token}"'))
        command = fault["mend"].partition("at the container's start: ")[2].replace(" /run/slack", f" {place}/run/slack")
        (place / "run").mkdir()
        os.chown(place / "run", USER, USER)
        if "made as root" in fault["mend"]:
            subprocess.run(command, shell=True, check=True)
        else:
            run_as(USER, command)
        assert check_as(references(place, f'file = "{place}/run/slack"')) == []


@needs_mounts
def test_a_systemd_credential_is_read(place: Path) -> None:
    with tmpfs(place / "credentials", 0o755) as folder:
        token = put(folder / "slack", BOT_TOKEN, 0o400, USER)
        of_root = put(folder / "user", USER_TOKEN, 0o440, 0, USER)
        read_only(folder)
        path = references(place, f'file = "{token}" }}, user_token = {{ file = "{of_root}"')
        assert check_as(path) == []


@needs_mounts
def test_the_mend_of_another_services_credential_is_to_check_as_that_service(place: Path) -> None:
    credentials = Path("/run/credentials")
    made = not credentials.exists()
    credentials.mkdir(exist_ok=True)
    folder = credentials / "dexbridge-test.service"
    try:
        with tmpfs(folder, 0o755):
            token = put(folder / "slack", BOT_TOKEN, 0o400, USER)
            os.chown(folder, USER, USER)
            folder.chmod(0o500)
            read_only(folder)
            path = references(place, f'file = "{token}"')
            for user in (0, USER + 1):
                (fault,) = check_as(path, user=user)
                told = re.fullmatch(
                    r"It is there for dexbridge-test\.service alone\. To check as that service, add to it: "
                    r'"ExecStartPre=(/\S+) config check"\.',
                    fault["mend"],
                )
                assert told, fault
            # What systemd does with that line: it runs the program as the service's user, with the unit's variables.
            privileges = ["--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
            command = ["setpriv", *privileges, told[1], "config", "check"]
            subprocess.run(command, env={"DEX_CONNECTOR_CONFIG_FILE": str(path)}, check=True)
    finally:
        folder.rmdir()
        if made:
            credentials.rmdir()


@needs_mounts
def test_a_file_of_references_that_its_owner_alone_may_read_is_opened_to_all(place: Path) -> None:
    path = references(place, 'env = "SLACK_BOT_TOKEN"', 0o600)
    (fault,) = check_as(path, SLACK_BOT_TOKEN=BOT_TOKEN)
    assert fault["code"] == "file-unreadable"
    mode = re.search(r"If it holds references only, let everybody read it .*--chmod=(\d+)", fault["mend"])
    assert mode
    path.chmod(int(mode[1], 8))
    assert check_as(path, SLACK_BOT_TOKEN=BOT_TOKEN) == []


@pytest.mark.parametrize("depth", [1, 3])
async def test_a_link_is_followed_and_its_target_judged(place: Path, depth: int) -> None:
    target = put(place / "target.json", json.dumps(document(record())), 0o600)
    link = target
    for turn in range(depth):
        (place / f"link{turn}.json").symlink_to(link)
        link = place / f"link{turn}.json"
    assert look(link).diagnostics == ()
    async with await open_project(link) as project:
        target.chmod(0o644)
        with pytest.raises(CredentialsUnavailable, match=f"a link to {target}, has mode 0644"):
            await bot_token(project)
    (fault,) = look(link).diagnostics
    assert fault.mend == f"Run: chmod 600 {target}"
    target.chmod(0o600)
    assert look(link).diagnostics == ()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_link_in_a_folder_that_others_can_write_is_refused(place: Path, mode: int) -> None:
    target = put(place / "target.json", json.dumps(document(record())), 0o600)
    folder = place / "folder"
    folder.mkdir()
    folder.chmod(mode)
    (folder / "inner.json").symlink_to(target)
    outer = place / "outer.json"
    outer.symlink_to(folder / "inner.json")
    for link in (folder / "inner.json", outer):
        (fault,) = look(link).diagnostics
        assert fault.code == "file-symlink"
        assert str(folder) in fault.message
    # "Name the file itself instead of the link."
    assert look(target).diagnostics == ()
    folder.chmod(0o1777)  # only who owns a link can replace it
    assert look(outer).diagnostics == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_another_users_link_in_a_sticky_folder_is_refused(place: Path) -> None:
    target = put(place / "target.json", json.dumps(document(record())), 0o600)
    folder = place / "folder"
    folder.mkdir()
    folder.chmod(0o1777)
    link = folder / "link.json"
    link.symlink_to(target)
    os.chown(link, USER, USER, follow_symlinks=False)
    assert codes(look(link)) == ["file-symlink"]


def test_a_link_that_leads_nowhere_is_named_with_what_mends_it(place: Path) -> None:
    link = place / "link.json"
    link.symlink_to("target.json")
    (fault,) = look(link).diagnostics
    assert (fault.code, fault.message) == ("file-absent", f"{link} is a link to target.json, and that does not exist.")
    put(place / "target.json", json.dumps(document(record())), 0o600)
    assert look(link).diagnostics == ()
    circle = place / "circle.json"
    circle.symlink_to(circle)
    assert "in a circle" in look(circle).diagnostics[0].message
