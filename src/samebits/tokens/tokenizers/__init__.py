"""The tokenizers behind ``--tokenizer``: plain tables, ``tokenizer.json``, SentencePiece and tiktoken files."""
