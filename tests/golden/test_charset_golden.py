"""The charset models of fixed text: the same bytes on every machine; see ``test_golden.py`` for when they may change."""

from __future__ import annotations

from pathlib import Path

import samebits
from samebits.charset.config import CharsetConfig
from samebits.data.artifact import open_artifact

TEXTS = {
    "de": "Größere Häuser überraschten die „müden“ Gäste – aus Österreich…\n",
    "ja": "今日は天気がいいので、公園まで歩いて行きました。カタカナも。\n",
    "he": "היום בבוקר הלכנו לטייל (בפארק) הישן 12 פעמים ליד הנהר.\n",
    "ar": "ذهبنا هذا الصباح في نزهة إلى الحديقة القديمة، لا بأس؟\n",
    "sr": "Љубав и мир, ЊЕГОШ и Џеп, учитељ стиже у школу.\n",
    "vi": "Sáng nay chúng tôi đi dạo trong công viên cũ, việc gì cũng tốt.\n",
    "ro": "Astăzi dimineață am mers în parcul vechi și ne-am plimbat.\n",
}
GOLDEN = {
    "counts_idx.npy": "1a920476344ab87f584ee4b3fda39184f88f734a461747308e7e418233f2647f",
    "counts_ptr.npy": "b298bc60e73cc4c27abf862fc91c3df0479b372e885406f4a6c8f1a53f8897aa",
    "counts_val.npy": "ed24e9441b49dd9788cd3ed7035a696d0103c42722cf704184e37479b45b71d8",
    "pairs.jsonl": "11f44235e6acc992be5d3d021dc27c369af846fef638b486b8072f0da5bd6aca",
}


def test_the_counts_of_fixed_text_are_the_committed_ones(tmp_path: Path) -> None:
    for language, text in TEXTS.items():
        (tmp_path / "corpus" / language).mkdir(parents=True)
        (tmp_path / "corpus" / language / "t.txt").write_text(text * 3, encoding="utf-8", newline="")
    config = CharsetConfig(inputs=(str(tmp_path / "corpus"),))
    samebits.run("charset", config, output=tmp_path / "out")
    files = open_artifact(tmp_path / "out").files
    assert {name: files[name]["sha256"] for name in GOLDEN} == GOLDEN
