"""The JSON of an audit is the model, whole and versioned, whatever the texts in it are."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from loopbook.audit.document import Document, write
from loopbook.audit.model import Audit
from tests.audit.samples import an_audit


def document(audit: Audit) -> str:
    stream = io.StringIO()
    write(Document(stream), audit)
    return stream.getvalue()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_document_reads_back_as_the_same_audit(text: str) -> None:
    audit = an_audit(text)
    assert Audit.model_validate_json(document(audit)) == audit


def test_the_document_is_versioned_and_keeps_the_order_of_the_model() -> None:
    keys = list(json.loads(document(an_audit())))
    assert keys[0] == "version"
    assert keys == [name for name in Audit.model_fields if name in keys]


def test_the_document_is_ascii_and_greppable() -> None:
    text = document(an_audit("\x9b31m 日本 \u202e"))
    assert text.isascii()
    assert [json.loads(line.rstrip("],"))["line"] for line in text.splitlines() if '"what"' in line] == [
        0,
        1,
        2,
    ]


def test_a_timeline_of_nothing_is_still_a_document() -> None:
    audit = an_audit(items=0)
    assert Audit.model_validate_json(document(audit)) == audit
