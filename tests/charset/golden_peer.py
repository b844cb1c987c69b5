"""Golden results of chardet 7.7.0's training function; made again with ``python -m tests.charset.golden_peer``.

Made from texts whose every character the codec has, under the peer's pseudo-language without web pages, so that its result
does not depend on its substitution tables and can be checked without its source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from samebits.charset.codec import encodable

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "charset_peer.json"
SAMPLES = Path(__file__).resolve().parents[2] / "src" / "samebits" / "samples"
#: codec -> language of the text
CODECS = {
    "big5hkscs": "zh", "cp1250": "cs", "cp1251": "ru", "cp1252": "de", "cp1253": "el", "cp1254": "tr", "cp1255": "he",
    "cp1256": "ar", "cp1258": "vi", "cp437": "fr", "cp500": "de", "cp866": "ru", "cp874": "th", "cp932": "ja", "cp949": "ko",
    "euc_jis_2004": "ja", "gb18030": "zh", "hz": "zh", "iso2022_jp_2": "ja", "iso2022_kr": "ko", "iso8859-2": "pl", "johab": "ko",
    "koi8-u": "uk", "mac-roman": "it", "shift_jis_2004": "ja", "utf-8": "hi",
}  # fmt: skip


def texts_for(codec: str) -> list[str]:
    """Sample lines as the codec can hold them, then short texts and repeated signs."""
    lines = (SAMPLES / f"{CODECS[codec]}.txt").read_text("utf-8").splitlines()[:40]
    known = {char: encodable(char, codec) for char in sorted(set("".join(lines)))}
    texts = ["".join(char for char in line if known[char]) for line in lines]
    return [
        *texts,
        "\n".join(texts),
        "",
        "x",
        "1234567890",
        "12345678901",
        "a[[b]]  c{{d}}\t\te||f''g\n\n\nh [ ] i",
    ]


def digest_of_result(counts: Mapping[int, int], samples: int, num_bytes: int, retention: float | None) -> str:
    """Digest of everything the peer's function returns."""
    plain = [sorted(counts.items()), samples, num_bytes, retention]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def main() -> None:
    """Ask the peer and write the file."""
    from benchmarks.chardet_peer import load_peer

    peer = load_peer()
    out = {}
    for codec in CODECS:
        _, counts, samples, num_bytes, retention = peer.build("zxx", codec, codec, texts_for(codec))
        flat = {first * 256 + second: number for (first, second), number in counts.items()}
        out[codec] = digest_of_result(flat, samples, num_bytes, retention)
    GOLDEN.write_text(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
