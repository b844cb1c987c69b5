"""Equality with chardet 7.7.0's training function: golden results always, its own source where it was unpacked."""

from __future__ import annotations

import json
import unicodedata

import pytest
from benchmarks.chardet_peer import FOLDER, VERSION, find_icu
from tests.charset.golden_peer import CODECS, GOLDEN, digest_of_result, texts_for

from samebits.charset.block import block_of
from samebits.charset.recipes.recipe import Recipe
from samebits.charset.training.count import count_block
from samebits.charset.training.images import ImageTable
from samebits.charset.training.project import project_language


@pytest.mark.parametrize("codec", CODECS)
def test_counts_samples_bytes_and_retention_equal_the_peers(codec: str) -> None:
    recipe = Recipe(
        language="zxx",
        encoding=codec,
        codec=codec,
        substitute=_split_tones if codec == "cp1258" else str,
        substitutes_all=codec == "cp1258",
        collapse="[]{}|'",
        after=(lambda text: unicodedata.normalize("NFC", text)) if codec == "cp1258" else None,
    )
    tables = [ImageTable(recipe)]
    pair = project_language(count_block(tables, block_of(texts_for(codec))), tables)[codec]
    counts = dict(zip(pair.index.tolist(), pair.counts.tolist(), strict=True))
    found = digest_of_result(counts, pair.samples, pair.num_bytes, pair.retention)
    assert found == json.loads(GOLDEN.read_text())[codec]


def _split_tones(char: str) -> str:
    """Vietnamese vowels as letter and tone, the way both trainers store them on cp1258."""
    parts = unicodedata.normalize("NFD", char)
    for tone in "\u0300\u0301\u0303\u0309\u0323":
        if tone in parts and char.lower() in "àáảãạèéẻẽẹìíỉĩịòóỏõọùúủũụỳýỷỹỵấầẩẫậếềểễệốồổỗộắằẳẵặớờởỡợứừửữự":
            return unicodedata.normalize("NFC", parts.replace(tone, "")) + tone
    return char


@pytest.mark.slow
@pytest.mark.skipif(find_icu() is None, reason="the peer needs ICU for two of its pairs")
@pytest.mark.skipif(
    not (FOLDER / f"chardet-{VERSION}").is_dir(),
    reason="the peer's source is not unpacked; python -m benchmarks.charset_vs_chardet --quick fetches it",
)
def test_every_pair_of_the_peer_equals_its_own_function_on_fuzz_texts() -> None:
    from benchmarks.chardet_peer import PeerBook
    from benchmarks.charset_vs_chardet import differences, fuzz_texts

    book = PeerBook()
    pairs = book.peer.pairs()
    strings = ["Sample text only for fuzzing, with words, ÄÖÜ, Жук, 漢字 and [[brackets]]."]
    texts = {language: fuzz_texts(strings, 99, language, 15) for language in pairs}
    number, wrong = differences(book, pairs, texts, 6)
    assert (number, wrong) == (353, [])
