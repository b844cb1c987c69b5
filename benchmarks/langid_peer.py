"""Code that runs in the peers' own environments, as text: nothing here may import samebits.

``TRAIN_VOCABULOUS`` takes DATA DUMP SAVED SENTENCES CYCLES CONFIDENCE MARGIN: reads a JSON lines file, trains, saves its model
(all three are timed, imports are not) and dumps everything it computed. SENTENCES is ``punkt``, or ``none`` to take rows
whole, which is what it does without Punkt's data, minus the failed look-up for every row: the faster peer.
``PREDICT`` takes PEER TRAIN TEST, with PEER one of lingua, py3langid, fasttext (trained there), and prints texts per CPU
second and accuracy: over all rows, and over the rows of the languages that the peer has a name for. A peer that comes with
a model of more languages is told which ones to choose from, as its users would.
"""

from __future__ import annotations

__all__ = ["PREDICT", "TRAIN_VOCABULOUS"]

TRAIN_VOCABULOUS = r"""
import json
import logging
import sys
import time

import nltk
import pandas as pd

logging.disable(logging.CRITICAL)
nltk.download = lambda *_, **__: False  # at import it would wait for a network
import vocabulous.vocabulous as package
from vocabulous import Vocabulous

data, dump, saved, sentences, cycles, confidence, margin = sys.argv[1:]
if sentences == "none":
    package.nltk.sent_tokenize = lambda text: [text]
started = time.perf_counter()
with open(data, encoding="utf-8") as file:
    frame = pd.DataFrame([json.loads(line) for line in file])[["text", "lang"]]
read = time.perf_counter()
model, report = Vocabulous().train(
    frame.copy(),
    frame.copy(),
    cycles=int(cycles),
    base_confidence=float(confidence),
    confidence_margin=float(margin),
)
trained = time.perf_counter()
model.save(saved)
seconds = time.perf_counter() - started
left = report["train_data"]
found = {
    "seconds": seconds,
    "train_seconds": trained - read,
    "words": model.word_lang_freq,
    "kept": [
        list(row) for row in zip(left["lang"], left["top_lang"], left["top_score"], left["second_score"])
    ],
    "removed": [cycle["removed_samples"] for cycle in report["cycle_reports"]],
    "metrics": [
        [cycle[name] for name in ("f1", "accuracy", "precision", "recall", "confusion", "confidence_margin")]
        for cycle in report["cycle_reports"]
    ],
}
with open(dump, "w", encoding="utf-8") as file:
    json.dump(found, file, default=float)
"""

PREDICT = r"""
import json
import sys
import time

peer, train, test = sys.argv[1:]


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def make_fasttext():
    import tempfile

    import fasttext

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"__label__{row['lang']} {row['text'].lower()}\n" for row in rows(train))
        file.flush()
        model = fasttext.train_supervised(
            file.name, dim=32, minn=1, maxn=4, epoch=25, lr=0.5, loss="softmax", thread=1, verbose=0
        )
    names = {label.removeprefix("__label__") for label in model.get_labels()}
    return lambda text: model.f.predict(text.lower(), 1, 0.0, "strict")[0][1].removeprefix("__label__"), names


def make_lingua():
    from lingua import Language, LanguageDetectorBuilder

    known = {language.iso_code_639_1.name.lower(): language for language in Language.all()}
    detector = LanguageDetectorBuilder.from_languages(*(known[name] for name in sorted(known.keys() & wanted))).build()

    def predict(text):
        found = detector.detect_language_of(text)
        return found.iso_code_639_1.name.lower() if found else "und"

    return predict, known.keys() & wanted


def make_py3langid():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    ours = {"no": "nb"}  # it has one Norwegian beside Nynorsk, the data call it nb
    names = [name for name in identifier.labels if ours.get(name, name) in wanted]
    identifier.set_languages(names)

    def predict(text):
        found = identifier.classify(text)[0]
        return ours.get(found, found)

    return predict, {ours.get(name, name) for name in names}


tests = rows(test)
wanted = {row["lang"] for row in tests}  # every peer is told which languages there are
predict, names = {"fasttext": make_fasttext, "lingua": make_lingua, "py3langid": make_py3langid}[peer]()
started = time.process_time()
right = [predict(row["text"]) == row["lang"] for row in tests]
seconds = time.process_time() - started
known = [was for was, row in zip(right, tests) if row["lang"] in names]
found = {"accuracy": sum(right) / len(tests), "texts_per_second": len(tests) / seconds}
found["known_accuracy"] = sum(known) / len(known)
found["known_languages"] = len(names & {row["lang"] for row in tests})
print(json.dumps(found))
"""
