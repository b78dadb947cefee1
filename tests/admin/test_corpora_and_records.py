"""Corpora by upload, and what is only read."""

from __future__ import annotations

import json

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiments.models import Activity, Corpus, CorpusUnit
from tests.admin.conftest import typed
from tests.admin.test_doors import address

UNITS: list[dict[str, object]] = [
    {"id": "hb", "parent": None, "title": "Handbook", "text": ""},
    {"id": "hb/art:1", "parent": "hb", "title": "Objection", "text": "<script>alert(1)</script> six weeks"},
]


def file_of(units: list[dict[str, object]], name: str = "units.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, "\n".join(json.dumps(unit) for unit in units).encode())


def test_a_corpus_file_becomes_a_version(author: Client) -> None:
    form = {"name": "handbook", "file": file_of(UNITS)}
    assert author.post(address("corpus", "add"), form).status_code == 302
    corpus = Corpus.objects.select_related("current").get()
    assert corpus.current is not None
    assert (corpus.current.number, corpus.current.unit_count) == (1, 2)
    url = address("corpus", "change", corpus.pk)
    author.post(url, {**typed(author, url), "file": file_of(UNITS[:1])})
    assert corpus.versions.count() == 2


def test_a_corpus_file_with_problems_is_refused_whole(author: Client) -> None:
    broken: list[dict[str, object]] = [
        *UNITS,
        {"id": "hb/art:1", "parent": "nowhere", "title": 3, "text": "x"},
        {"id": ""},
    ]
    answer = author.post(address("corpus", "add"), {"name": "handbook", "file": file_of(broken)})
    assert answer.status_code == 422
    said = answer.context["form"].errors["file"]
    assert len(said) > 1
    assert all("units.jsonl" in sentence.casefold() for sentence in said)
    assert not Corpus.objects.exists()


def test_a_corpus_without_a_file_or_with_a_taken_name_is_refused(author: Client) -> None:
    answer = author.post(address("corpus", "add"), {"name": "handbook"})
    assert answer.context["form"].errors["file"] == ["This field is required."]
    author.post(address("corpus", "add"), {"name": "handbook", "file": file_of(UNITS)})
    answer = author.post(address("corpus", "add"), {"name": "handbook", "file": file_of(UNITS[:1])})
    assert "already" in answer.context["form"].errors["name"][0]


def test_units_are_found_by_id_and_read_as_text(author: Client) -> None:
    author.post(address("corpus", "add"), {"name": "handbook", "file": file_of(UNITS)})
    assert "hb/art:1" in author.get(address("corpusunit") + "?q=objection").text
    unit = CorpusUnit.objects.get(unit_id="hb/art:1")
    text = author.get(address("corpusunit", "change", unit.pk)).text
    assert "&lt;script&gt;" in text
    assert "<script>alert" not in text


def test_the_activity_log_is_read_and_searched(author: Client) -> None:
    author.post(address("policy", "add"), {"name": "desk", "text_": "one"})
    line = Activity.objects.get()
    assert "desk" in author.get(address("activity") + "?q=desk").text
    text = author.get(address("activity", "change", line.pk)).text
    assert "version: 1" in text
    assert author.post(address("activity", "change", line.pk), {"verb": "x"}).status_code == 403
