"""Count the words of a text with the library, with one worker and with three, and compare the results."""

import tempfile
from pathlib import Path

import samebits

TEXT = "the cat sat on the mat\nthe dog ran\n" * 1000

with tempfile.TemporaryDirectory() as scratch:
    book = Path(scratch) / "book.txt"
    book.write_text(TEXT, encoding="utf-8")
    config = samebits.CountConfig(inputs=(str(book),), top=3)
    one = samebits.run("count", config, output=Path(scratch) / "one", options=samebits.RunOptions(workers=1))
    three = samebits.run(
        "count", config, output=Path(scratch) / "three", options=samebits.RunOptions(workers=3)
    )
    samebits.compare(Path(scratch) / "one", Path(scratch) / "three")
    assert one.artifact_digest == three.artifact_digest
    for row in one.metrics["top"]:
        print(row["count"], row["ngram"])
    print("digest", one.artifact_digest[:16], "with 1 and with 3 workers")
