"""What a Connector's configuration is made of, and reading an answer into a model."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import BaseModel, Field, ValidationError

from dexbridge.connectors import (
    ConnectorConfiguration,
    HttpAnswer,
    HttpEndpoint,
    InvalidConfiguration,
    check_endpoint,
    read_configuration,
)
from dexbridge.connectors.testing import MemoryConnection


class Settings(ConnectorConfiguration):
    endpoint: HttpEndpoint = "https://api.example.com"
    page_size: int = Field(default=5, alias="pageSize", ge=1)


class Note(BaseModel):
    id: int
    text: str


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.example.com/v1//", "https://api.example.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://localhost/x", "http://localhost/x"),
        ("http://[::1]:1", "http://[::1]:1"),
    ],
)
def test_an_endpoint_is_kept_without_slashes_at_its_end(given: str, kept: str) -> None:
    assert check_endpoint(given) == Settings.model_validate({"endpoint": given}).endpoint == kept


@pytest.mark.parametrize(
    "given",
    [
        "http://example.com",
        "http://127.0.0.2",
        "https://u:p@example.com",
        "https://x?q",
        "https://x#f",
        "x",
        "",
        "https://a b",
    ],
)
def test_what_is_no_endpoint_is_refused_and_not_echoed(given: str) -> None:
    with pytest.raises(ValueError, match="must") as refused:
        check_endpoint(given)
    assert "u:p" not in str(refused.value)
    with pytest.raises(ValidationError):
        Settings.model_validate({"endpoint": given})


def test_a_wrong_configuration_names_connection_and_fields_and_no_value() -> None:
    held = MemoryConnection("acme", "main", configuration={"pageSize": "hunter2", "color": "hunter3"})
    with pytest.raises(InvalidConfiguration) as refused:
        read_configuration(held, Settings)
    text = str(refused.value)
    assert [word in text for word in ("acme/main", "pageSize", "color", "Mend it")] == [True] * 4
    assert "hunter" not in text
    assert refused.value.__cause__ is None
    right = MemoryConnection("acme", "main", configuration={"pageSize": 7})
    assert read_configuration(right, Settings).page_size == 7


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"id":1', b'{"id":"x","text":"t"}', b"[" * 30_000, b"\xff", b"<html>"]
)
def test_what_is_not_of_the_models_shape_reads_as_nothing(body: bytes) -> None:
    assert HttpAnswer(200, {}, body).read(Note) is None


def test_an_answer_reads_itself_and_its_wait() -> None:
    body = b'{"id":1,"text":"t","more":true}'
    assert HttpAnswer(200, {}, body).read(Note) == Note(id=1, text="t")
    assert HttpAnswer(200, {}, body, "cut off").read(Note) is None
    assert HttpAnswer(429, {"retry-after": "7"}, b"").retry_after == timedelta(seconds=7)
    assert HttpAnswer(429, {}, b"").retry_after is None
