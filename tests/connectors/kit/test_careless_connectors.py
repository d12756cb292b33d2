"""The suite finds what a careless author does: the scaffold with one line changed, and the sentence it then says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dexbridge.connectors.testing.conformance import ConnectorConformance, play_sequences
from dexbridge.connectors.testing.conformance.troubles import REFUSALS, UNCLEAR, Trouble

Suite = ConnectorConformance[Any]
Change = Callable[..., Suite]


def unclear(name: str) -> Trouble:
    return next(trouble for trouble in (*UNCLEAR, *REFUSALS) if trouble.name == name)


NO_NOTE = 'return dispatch.uncertain(FailureKind.PROTOCOL, "The provider said created, but named no note.")'
GET = 'answer = await provider.get(dispatch.credential("api_key"), dispatch.leave, path)'
POST = 'answer = await provider.post(dispatch.credential("api_key"), dispatch.leave, "/notes", body)'
UNDONE = "if answer.proof is not Proof.DONE:\n        return unsuccessful(dispatch, answer)\n"
CHECK_NOTE = "if note is None:\n        return dispatch.failed(INVALID_RESPONSE"
UNREAD = 'return unread(answer, "The notes could not be searched.")'
SENT = 'return read_answer(await self.send(api_key, leave, "GET", path, params=query), done=200)'
HEAD = "super().__init__(TITLE, configuration, http_timeout)"
OWN_FORM = 'if not 400 <= answer.status < 500 or not isinstance(payload, dict) or "error" not in payload:'


def undone(instead: str) -> str:
    """What an author may do with an answer that is not DONE, instead of `unsuccessful`."""
    return UNDONE.replace("return unsuccessful(dispatch, answer)", instead)


FAILED = 'return dispatch.failed("providerRejected", answer.kind, "no")'

REQUESTS: list[tuple[str, str, str, str, str, str]] = [
    (NO_NOTE, 'return dispatch.failed("providerRejected", FailureKind.PROTOCOL, "no note")', "addNote",
     "an empty JSON object", "must be uncertain", "an unreadable success called a failure"),
    (UNDONE, undone("return dispatch.retry(answer.kind, answer.reason)"), "addNote", "HTTP 503",
     "must be uncertain", "a write sent again after a 5xx"),
    (UNDONE, undone(FAILED), "addNote", "redirect", "must be uncertain", "a redirect called a failure"),
    (UNDONE, undone(FAILED), "addNote", "HTTP 408", "must be uncertain", "a timeout called a failure"),
    (POST, f"{POST}\n    {POST.replace('dispatch.leave', 'ANY_TIME')}", "addNote", "HTTP 500",
     "One dispatch is one request", "a second request"),
    (CHECK_NOTE, CHECK_NOTE.replace("note is None", "not note and not note.id"), "getNote", "an empty JSON object",
     "broke on 'an empty JSON object'", "an answer used unchecked"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "operation_id", "trouble", "says"), [row[:5] for row in REQUESTS], ids=[row[5] for row in REQUESTS]
)
def test_a_wrong_outcome_is_found(
    changed: Change,
    caplog: pytest.LogCaptureFixture,
    *,
    old: str,
    new: str,
    operation_id: str,
    trouble: str,
    says: str,
) -> None:
    suite = changed("connection.py", old, new)
    with pytest.raises(pytest.fail.Exception, match=says):
        suite.test_an_unclear_answer_is_never_a_success_and_never_sent_again(operation_id, unclear(trouble), caplog)


def test_a_row_that_takes_every_answer_for_a_no_is_found(changed: Change, caplog: pytest.LogCaptureFixture) -> None:
    suite = changed("answers.py", OWN_FORM, "if answer.status == 200:", ("answers.py", '"id" in payload', "False"))
    with pytest.raises(pytest.fail.Exception, match="must be uncertain"):
        suite.test_an_unclear_answer_is_never_a_success_and_never_sent_again(
            "addNote", unclear("a page of HTML"), caplog
        )


@pytest.mark.parametrize("name", ["HTTP 500", "HTTP 408", "redirect", "truncated"])
def test_no_row_of_an_author_can_make_an_unclear_answer_a_no(
    changed: Change, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    suite = changed("answers.py", OWN_FORM, "if answer.status == 200:", ("answers.py", '"id" in payload', "False"))
    suite.test_an_unclear_answer_is_never_a_success_and_never_sent_again("addNote", unclear(name), caplog)


def test_a_refusal_sent_again_is_found(changed: Change, caplog: pytest.LogCaptureFixture) -> None:
    suite = changed("answers.py", "return Finding(Proof.NOT_DONE_REFUSED", "return Finding(Proof.NOT_DONE_YET")
    with pytest.raises(pytest.fail.Exception, match="must not be sent again after HTTP 422"):
        suite.test_a_refusal_is_no_success_and_no_retry("addNote", unclear("HTTP 422"), caplog)


def test_a_wait_that_is_ignored_is_found(changed: Change) -> None:
    suite = changed("answers.py", ", reason, delay=answer.retry_after)", ", reason)")
    with pytest.raises(pytest.fail.Exception, match="asked for 2 s"):
        suite.test_a_limit_waits_as_long_as_the_provider_asks("addNote")


def test_a_request_without_leave_is_found(changed: Change) -> None:
    suite = changed("connection.py", POST, POST.replace("dispatch.leave", "ANY_TIME"))
    with pytest.raises(pytest.fail.Exception, match=r"leave=dispatch\.leave"):
        suite.test_after_its_deadline_a_call_is_not_sent("addNote")


def test_a_swallowed_connection_error_is_found(changed: Change) -> None:
    swallowed = "return dispatch.failed('refused', FailureKind.TRANSPORT, 'away')"
    wrapped = f"try:\n        {POST}\n    except Exception:\n        {swallowed}"
    suite = changed("connection.py", POST, wrapped)
    with pytest.raises(pytest.fail.Exception, match="Let HttpPool's errors through"):
        suite.test_what_could_not_be_sent_is_a_retry("addNote")


BRANCHES: list[tuple[str, str, str, str, str, str]] = [
    ("test_conformance.py", '"notFound": {"note_id": "n404"},', "", "getNote", "notFound", "Say how getNote takes"),
    ("connection.py", 'return dispatch.took("added", Note(note_id=note.id, text=note.text), dispatch.receipt(note.id))',
     'return dispatch.took("added", Note(note_id=note.id, text=note.text), dispatch.receipt())', "addNote", "added",
     "names the object"),
    ("answers.py", '"check note_id: there is no such note."', '"404"', "getNote", "notFound", "in plain words"),
    ("connection.py", "if answer.status == 404", "if answer.status == 405", "getNote", "notFound",
     "to take the branch 'notFound', but ended as the branch 'providerRejected' .*: correct what the Example's `br"),
    ("provider.py", "done: int = 201", "done: int = 299", "addNote", "added",
     "ended as uncertain .* HTTP 201.*compare the request that `send` makes"),
    ("local_provider.py", "self.notes.append(note)", "self.notes += [note, note]", "addNote", "added",
     "wrote 2 things"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "operation_id", "branch_id", "says"), BRANCHES)
def test_a_wrong_branch_is_found(
    changed: Change, *, file: str, old: str, new: str, operation_id: str, branch_id: str, says: str
) -> None:
    suite = changed(file, old, new)
    with pytest.raises(pytest.fail.Exception, match=says):
        suite.test_every_branch_is_reached(operation_id, branch_id)


def test_a_printed_or_logged_credential_is_found(
    changed: Change, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    suite = changed("provider.py", SENT, f"print(api_key.reveal())\n        {SENT}")
    with pytest.raises(pytest.fail.Exception, match="api_key shows in its output"):
        suite.test_an_echoed_credential_is_not_passed_on("getNote", 0, caplog, capfd)
    logged = (
        "import base64, logging\n        logging.error('%s', base64.b64encode(b'user:' + api_key.reveal().encode()))"
    )
    suite = changed("provider.py", SENT, f"{logged}\n        {SENT}")
    with pytest.raises(pytest.fail.Exception, match="api_key shows in its log"):
        suite.test_an_echoed_credential_is_not_passed_on("getNote", 0, caplog, capfd)
    caplog.clear()


def test_an_encoded_credential_in_a_result_is_found(
    changed: Change, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    encoded = '__import__("base64").b64encode(dispatch.credential("api_key").reveal().encode()).decode()'
    shown = f'return dispatch.failed("notFound", FailureKind.NOT_FOUND, {encoded})'
    suite = changed(
        "connection.py",
        "return unsuccessful(dispatch, answer, refusal",
        f"{shown}\n        return unsuccessful(dispatch, answer, refusal",
    )
    with pytest.raises(pytest.fail.Exception, match="api_key shows in its result"):
        suite.test_an_echoed_credential_is_not_passed_on("getNote", 404, caplog, capfd)


def test_a_kept_credential_is_found(changed: Change) -> None:
    suite = changed("provider.py", SENT, f"self._key = api_key.reveal()\n        {SENT}")
    with pytest.raises(pytest.fail.Exception, match=r"kept at .*\._key"):
        suite.test_nothing_keeps_a_credential_outside_of_a_secret("getNote")


def test_a_credential_that_is_read_once_is_found(changed: Change) -> None:
    keep = "globals().setdefault('_kept', api_key)\n        api_key = globals()['_kept']"
    post = 'return read_answer(await self.send(api_key, leave, "POST"'
    suite = changed("provider.py", post, f"{keep}\n        {post}")
    with pytest.raises(pytest.fail.Exception, match="still sent the old credential"):
        suite.test_a_rotated_credential_works_at_the_next_call("addNote")


def test_an_untrue_not_sent_is_found(changed: Change) -> None:
    suite = changed("connection.py", UNREAD, 'return FoundNotSent("It was not added.")')
    with pytest.raises(pytest.fail.Exception, match="must say CannotTell"):
        suite.test_what_cannot_be_read_proves_nothing("addNote", unclear("HTTP 500"))
    with pytest.raises(pytest.fail.Exception, match="must say CannotTell"):
        suite.test_what_may_not_be_read_proves_nothing("addNote", unclear("HTTP 403"))


def test_random_faults_bring_duplicates_and_untruths_to_light(changed: Change) -> None:
    suite = changed("connection.py", UNDONE, undone("return dispatch.retry(answer.kind, answer.reason)"))
    with pytest.raises(pytest.fail.Exception, match=r"duplicates [1-9]"):
        suite.test_random_faults_cause_no_duplicate_and_no_untruth("addNote")
    suite = changed("connection.py", UNREAD, 'return FoundNotSent("It was not added.")')
    tally = play_sequences(suite, "addNote", count=25, seed=1)
    assert tally.wrong
    assert all("told 'not sent'" in line and "written 1" in line for line in tally.wrong)


def test_a_find_of_something_else_is_found(changed: Change) -> None:
    suite = changed("local_provider.py", "if note.reference == wanted]", "if note.reference]")
    with pytest.raises(pytest.fail.Exception, match="Compare the Call ID"):
        suite.test_the_same_call_of_another_session_is_not_ours("addNote")
    with pytest.raises(pytest.fail.Exception, match=r"must find it.*Send the Call ID"):
        changed(
            "connection.py", '"reference": dispatch.call.call_id}', '"reference": "another"}'
        ).test_what_was_carried_out_is_found("addNote")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pool_left_open_is_found(changed: Change) -> None:
    own = "send=partial(get_note, Provider(self._configuration, timedelta(seconds=9)))"
    suite = changed("connection.py", "send=partial(get_note, self._api)", own)
    with pytest.raises(pytest.fail.Exception, match="left something open"):
        suite.test_closing_the_connection_closes_everything()


def test_a_live_check_that_accepts_anything_or_raises_is_found(changed: Change) -> None:
    refusal = 'return LiveCheck(ok=False, message=f"api_key: {answer.reason'
    suite = changed("definition.py", refusal, refusal.replace("False", "True"))
    with pytest.raises(pytest.fail.Exception, match="accepts a wrong credential"):
        suite.test_the_live_check_refuses_wrong_credentials()
    suite = changed("definition.py", "except (ConnectorError, ValueError) as error:", "except ValueError as error:")
    with pytest.raises(pytest.fail.Exception, match="check_live raised NotConnected"):
        suite.test_the_live_check_never_raises()


def test_a_loose_or_talkative_configuration_is_found(changed: Change) -> None:
    suite = changed("provider.py", "class Configuration(HttpConfiguration):", "class Configuration(BaseModel):")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        suite.test_configuration_is_strict_and_echoes_nothing()
    talkative = "class Configuration(BaseModel, extra='forbid', frozen=True):"
    suite = changed("provider.py", "class Configuration(HttpConfiguration):", talkative)
    with pytest.raises(pytest.fail.Exception, match="derive it from ConnectorConfiguration"):
        suite.test_configuration_is_strict_and_echoes_nothing()


def test_an_argument_without_a_description_is_found(changed: Change) -> None:
    suite = changed("operations.py", ', description="The note\'s ID, such as n1."', "")
    with pytest.raises(pytest.fail.Exception, match="needs a description"):
        suite.test_the_schema_has_the_form_agents_take("getNote")


def test_an_operation_without_an_example_or_a_binding_is_found(changed: Change) -> None:
    suite = changed(
        "connection.py",
        "return bind_operation(GET_NOTE, self._connection, GetNoteInput, send=partial(get_note, self._api))",
        "return self.add_note()",
    )
    with pytest.raises(pytest.fail.Exception, match="must return every operation"):
        suite.test_every_operation_is_bound_and_has_an_example()


def test_an_argument_that_changes_when_it_is_read_again_is_found(changed: Change) -> None:
    louder = '__import__("pydantic").PlainSerializer(lambda text: text.upper()), Advice("write 1 to 1000'
    suite = changed("operations.py", 'Advice("write 1 to 1000', louder)
    with pytest.raises(pytest.fail.Exception, match=r"does not read its own canonical form as the same: text: "):
        suite.test_what_is_approved_is_what_is_read_again("addNote")


@pytest.mark.parametrize("pattern", ["", r'pattern=r"^[A-Za-z0-9.-]{1,40}$", ', r'pattern=r"^[^/.?#]+$", '])
def test_an_argument_that_leads_to_another_place_is_found(changed: Change, pattern: str) -> None:
    suite = changed("operations.py", r'pattern=r"^[A-Za-z0-9-]{1,40}$", ', pattern)
    with pytest.raises(pytest.fail.Exception, match=r"note_id='.* needs a pattern without"):
        suite.test_no_argument_leads_to_another_place("getNote")


def test_a_text_that_is_escaped_or_in_a_query_may_hold_anything(changed: Change) -> None:
    query = 'path = "/notes"\n    answer = await provider.get(dispatch.credential("api_key"), dispatch.leave, path, '
    suite = changed(
        "connection.py",
        f'path = f"/notes/{{dispatch.input.note_id}}"\n    {GET}',
        query + '{"reference": dispatch.input.note_id})',
        ("operations.py", r'pattern=r"^[A-Za-z0-9-]{1,40}$", ', ""),
    )
    suite.test_no_argument_leads_to_another_place("getNote")
    suite.test_no_argument_leads_to_another_place("addNote")


def test_a_forgotten_endpoint_is_named_and_no_real_host_is_asked(changed: Change) -> None:
    suite = changed("test_conformance.py", 'configuration={"endpoint": server.url}, ', "")
    forgotten = r"reached for api\.example\.com.*does not give `endpoint`"
    with pytest.raises(pytest.fail.Exception, match=forgotten):
        suite.test_every_branch_is_reached("getNote", "found")
    with pytest.raises(pytest.fail.Exception, match=forgotten):
        suite.test_the_live_check_accepts_what_is_well()
    literal = ("provider.py", "https://api.example.com", "https://192.0.2.1")
    suite = changed("test_conformance.py", 'configuration={"endpoint": server.url}, ', "", literal)
    with pytest.raises(pytest.fail.Exception, match=r"reached for 192\.0\.2\.1"):
        suite.test_every_branch_is_reached("addNote", "added")
