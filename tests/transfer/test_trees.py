"""YAML and JSON with the line of every value."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from experiments.transfer.problems import FileRefusedError
from experiments.transfer.trees import MAX_DEPTH, read_tree

TEXT = st.text(st.characters(codec=None, categories=None), max_size=20)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


def refused(text: str, file: str = "s.yaml") -> str:
    with pytest.raises(FileRefusedError) as error:
        read_tree(text, file)
    return str(error.value)


@given(st.dictionaries(TEXT.filter(lambda key: key != "<<"), PLAIN, max_size=4))
def test_what_is_written_as_yaml_reads_back_the_same(value: dict[str, Any]) -> None:
    written = yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100)
    assert read_tree(written, "s.yaml").value == value


@given(PLAIN, st.sampled_from([None, 2]))
def test_what_is_written_as_json_reads_back_the_same(value: Any, indent: int | None) -> None:
    assert read_tree(json.dumps({"a": value}, indent=indent), "s.json").value == {"a": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("6:162", "6:162"),
        ("2024-01-01", "2024-01-01"),
        ("007", "007"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("12", 12),
        ("-0.5", -0.5),
        ("true", True),
        ("~", None),
        ("", None),
        ("'true'", "true"),
        ("!!str 12", "12"),
    ],
)
def test_plain_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    found = read_tree(f"a: {text}", "s.yaml").value["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("file", ["s.yaml", "s.json"])
def test_every_value_knows_its_line(file: str) -> None:
    text = '{\n "a": {"b": [1,\n  {"c": "x,:{"}]},\n "d": 2\n}'
    tree = read_tree(text, file)
    assert [tree.line(path) for path in [("a",), ("a", "b", 0), ("a", "b", 1, "c"), ("d",)]] == [2, 2, 3, 4]
    assert tree.line(("a", "b", 7, "nowhere")) == 2


def test_a_merged_key_stands_where_it_was_written() -> None:
    tree = read_tree("base: &b {x: 1,\n  y: 2}\nuse:\n  <<: *b\n  y: 3\n", "s.yaml")
    assert tree.value["use"] == {"x": 1, "y": 3}
    assert (tree.line(("use", "x")), tree.line(("use", "y"))) == (1, 5)


def test_every_duplicate_key_is_named_with_its_line() -> None:
    said = refused("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert said.splitlines() == [
        "s.yaml:2: b.c: the key stands there twice",
        "s.yaml:3: a: the key stands there twice",
    ]
    assert "a: the key stands there twice" in refused('{"a": 1, "a": 2}', "s.json")


def test_aliases_that_expand_without_measure_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "expand to more" in refused("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [*x]", "refers to itself"),
        ("a: *nowhere", "undefined alias|refers to itself"),
        ("a: !!python/object/apply:os.system [x]", "tag"),
        ("a: !secret x", "tag !secret is not allowed"),
        ("a: 1\n---\nb: 2", "s.yaml:2: holds more than one document"),
        ("? [1]\n: 2", "a key must be text"),
        ("a: [1\nb: 2", "is not YAML"),
        ("a:\n\t- x", "is not YAML"),
        ("[" * (MAX_DEPTH + 1), "nested deeper"),
        ("- " * 50_000, "nested deeper|nesting depth"),
        ('{"a":' * 5_000, "nested deeper|nesting depth"),
        ('a: "\\uD800\n  b', "is not YAML"),
    ],
)
def test_what_no_suite_needs_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(FileRefusedError, match=reason):
        read_tree(text, "s.yaml")


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1,}', "{a: 1}", '{"a": 1} x', "[" * 100_000])
def test_a_json_file_must_be_json(text: str) -> None:
    refused(text, "s.json")
