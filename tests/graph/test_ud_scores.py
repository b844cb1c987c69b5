"""Scores of the CoNLL 2018 task by hand, words cut differently, plain text in and CoNLL-U out."""

from __future__ import annotations

from pathlib import Path

import pytest

import samebits
from samebits.graph import GraphModel, predict_files
from samebits.graph.config import EvalConfig, TrainConfig
from samebits.graph.evaluation.ud_scores import score
from samebits.graph.formats.conllu import read_sentences
from samebits.graph.parser.plain_text import sentences_of, words_of

SENTENCES = Path(__file__).parent / "sentences.conllu"


def conllu(*rows: str) -> str:
    """Rows of ``id form upos head relation [feats]``."""
    out = []
    for row in rows:
        number, form, upos, head, relation, *feats = row.split()
        out.append(
            f"{number}\t{form}\t_\t{upos}\tX\t{feats[0] if feats else '_'}\t{head}\t{relation}\t_\t_\n"
        )
    return "".join(out) + "\n"


GOLD = conllu(
    "1 She PRON 2 nsubj Case=Nom", "2 left VERB 0 root", "3 very ADV 4 advmod", "4 late ADV 2 advmod:tmod"
)


def test_one_word_of_four_each() -> None:
    found = score(
        GOLD,
        conllu(
            "1 She PRON 2 obj Case=Acc", "2 left NOUN 0 root", "3 very ADV 2 advmod", "4 late ADV 2 advmod"
        ),
    )
    assert found == {
        "Words": 1.0,
        "UPOS": 0.75,
        "XPOS": 1.0,
        "UFeats": 0.75,
        "UAS": 0.75,  # very
        "LAS": 0.5,  # very, and She by its relation; the subtype of late does not count
        "CLAS": 0.5,
    }


def test_features_that_are_not_universal_do_not_count() -> None:
    assert score(GOLD, GOLD.replace("Case=Nom", "Case=Nom|Style=Slng"))["UFeats"] == 1.0


def test_function_words_do_not_count_for_clas() -> None:
    gold = conllu("1 the DET 2 det", "2 cat NOUN 0 root")
    assert score(gold, conllu("1 the DET 0 root", "2 cat NOUN 0 root"))["CLAS"] == pytest.approx(2 / 3)


def test_words_cut_differently_count_against_both_sides() -> None:
    gold = conllu("1 can AUX 3 aux", "2 not PART 3 advmod", "3 go VERB 0 root")
    found = score(gold, conllu("1 cannot AUX 2 aux", "2 go VERB 0 root"))
    assert found["Words"] == pytest.approx(2 * 1 / 5)
    assert found["LAS"] == pytest.approx(2 * 1 / 5)


def test_words_of_a_multiword_token_are_aligned_by_their_forms() -> None:
    gold = "1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_\n" + conllu(
        "1 do AUX 3 aux", "2 not PART 3 advmod", "3 go VERB 0 root"
    )
    predicted = conllu("1 dont AUX 2 aux", "2 go VERB 0 root")
    assert score(gold, gold)["LAS"] == 1.0
    assert score(gold, predicted)["Words"] == pytest.approx(2 * 1 / 5)
    other = gold.replace("2\tnot", "2\tn't")
    assert score(gold, other)["Words"] == pytest.approx(2 / 3)


def test_other_characters_are_refused() -> None:
    with pytest.raises(ValueError, match="same characters"):
        score(GOLD, GOLD.replace("late", "soon"))


def test_sentences_and_words_of_plain_text() -> None:
    line = 'He said "I won\'t go." Then Mr. Smith (of the U.S. Army) paid $3.50... Really? Yes!'
    cut = [[word for word, _ in sentence] for sentence in sentences_of(line, {"n't"})]
    assert [len(sentence) for sentence in cut] == [9, 13, 2, 2]
    assert cut[0] == ["He", "said", '"', "I", "wo", "n't", "go", ".", '"']
    assert cut[1][:3] == ["Then", "Mr.", "Smith"]
    assert "".join(word + " " * space for word, space in words_of(line)) == line
    assert list(sentences_of("   ")) == []


@pytest.mark.slow
def test_eval_is_what_the_task_counts_and_text_becomes_conllu(tmp_path: Path) -> None:
    model = tmp_path / "model"
    config = TrainConfig(inputs=(str(SENTENCES),), steps=12, batch=16, width=32, layers=1, warmup=2, lr=0.02)
    samebits.run("graph_train", config, output=model, options=samebits.RunOptions(workers="1"))
    judged = samebits.run(
        "graph_eval",
        EvalConfig(inputs=(str(SENTENCES),), model=str(model)),
        output=tmp_path / "judged",
        options=samebits.RunOptions(executor="serial"),
    )
    predicted = "".join(line for line, _ in predict_files(model, SENTENCES, workers=1))
    official = score(SENTENCES.read_text(), predicted)
    assert 0 < official["LAS"] <= official["UAS"] < 1
    assert judged.metrics["las"] == pytest.approx(official["LAS"])
    assert judged.metrics["uas"] == pytest.approx(official["UAS"])
    (tmp_path / "text.txt").write_text("The old cat sees a dog. A dog hears the cat!\nNothing else.\n")
    lines = "".join(line for line, _ in predict_files(model, tmp_path / "text.txt", workers=1))
    found = list(read_sentences(lines))
    assert [len(sentence.words) for sentence in found] == [7, 6, 3]
    assert found[0].raw[0] == "# text = The old cat sees a dog.\n"
    assert found[0].raw[6].endswith("\tSpaceAfter=No\n")
    (text,) = GraphModel.load(model).predict_texts(["The cat sees a dog."])
    assert len(text.graph.at) == len(text.tags[0]) == 6
