"""Byte-pair counts of many (language, encoding) pairs from one pass over each language's text."""
