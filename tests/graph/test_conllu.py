"""CoNLL-U: nothing but HEAD and DEPREL ever changes, and what is not CoNLL-U is refused with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.graph.anchored import ROOT
from samebits.graph.formats.conllu import ConlluError, graph_of, read_sentences, with_graph

TEXT = (
    "# sent_id = 1\n"
    "# text = Don't stop\n"
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "1\tDo\tdo\tAUX\t_\tMood=Imp\t3\taux\t3:aux\t_\n"
    "2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_\n"
    "3\tstop\tstop\tVERB\t_\t_\t0\troot\t0:root\tNote=a\u2028b\n"
    "3.1\tnow\tnow\tADV\t_\t_\t_\t_\t3:advmod\t_\n"
    "\n"
    "# a comment, CRLF below\n"
    "1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\r\n"
    "\r\n"
)


def test_a_file_comes_back_byte_for_byte() -> None:
    sentences = list(read_sentences(TEXT))
    assert "".join("".join(sentence.raw) for sentence in sentences) == TEXT
    assert "".join(with_graph(sentence, graph_of(sentence)) for sentence in sentences) == TEXT
    assert [sentence.forms for sentence in sentences] == [("Do", "n't", "stop"), ("Yes",)]
    assert graph_of(sentences[0]).heads == (2, 2, ROOT)


def test_only_head_and_relation_change() -> None:
    sentence = next(read_sentences(TEXT))
    graph = graph_of(sentence)
    changed = with_graph(sentence, type(graph)(graph.at, graph.labels, (ROOT, 0, 0), ("root", "x", "y")))
    before, after = TEXT.split("\n"), changed.split("\n")
    for k, (old, new) in enumerate(zip(before, after, strict=False)):
        if k in (3, 4, 5):
            a, b = old.split("\t"), new.split("\t")
            assert (a[:6], a[8:]) == (b[:6], b[8:])
            assert a[6:8] != b[6:8]
        elif k < 7:
            assert old == new


def test_a_file_without_a_last_newline_or_with_blank_lines_around_is_read() -> None:
    text = "\n\n1\tYes\t_\t_\t_\t_\t0\troot\t_\t_"
    (sentence,) = read_sentences(text)
    assert "".join(sentence.raw) == text
    assert sentence.forms == ("Yes",)
    assert list(read_sentences("")) == []
    assert "".join(read.raw[-1] for read in read_sentences(text + "\n\n\n\n")) == "\n"
    assert "".join("".join(read.raw) for read in read_sentences(text + "\n\n\n\n")) == text + "\n\n\n\n"


def word(number: str, head: str, relation: str = "dep") -> str:
    return f"{number}\tw\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1\tw\t_\n\n", 0, "3 columns instead of 10"),
        (word("1", "0") + word("3", "1") + "\n", 1, "word id 3 instead of 2"),
        (word("1", "0") + word("2", "5") + "\n", 1, "HEAD '5' is not one of 0 to 2"),
        (word("1", "0") + word("2", "x") + "\n", 1, "HEAD 'x'"),
    ],
)
def test_what_is_not_conllu_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(ConlluError, match=reason) as caught:
        list(read_sentences(text))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (word("1", "0") + word("2", "0"), "2 roots"),
        (word("1", "2") + word("2", "1"), "0 roots"),
        (word("1", "0") + word("2", "3") + word("3", "2"), "cycle"),
        (word("1", "0") + word("2", "2"), "own head"),
        (word("1", "0") + word("2", "_"), "without HEAD"),
    ],
)
def test_what_is_no_tree_is_not_learned(text: str, reason: str) -> None:
    (sentence,) = read_sentences(text)
    with pytest.raises(ConlluError, match=reason):
        graph_of(sentence)


def test_subtypes_can_be_left_out() -> None:
    (sentence,) = read_sentences(word("1", "0", "root") + word("2", "1", "nsubj:pass"))
    assert graph_of(sentence).arcs == ("root", "nsubj:pass")
    assert graph_of(sentence, subtypes=False).arcs == ("root", "nsubj")


@given(st.text(alphabet="12\t_\n\r#ax.-", max_size=80))
def test_any_text_is_read_or_refused_and_never_lost(text: str) -> None:
    errors: list[ConlluError] = []
    sentences = list(read_sentences(text, on_error=errors))
    joined = "".join("".join(sentence.raw) for sentence in sentences)
    if not errors and text.strip("\r\n"):
        assert joined == text
