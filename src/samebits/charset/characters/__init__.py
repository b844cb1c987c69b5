"""Models of characters: one a language, for all encodings; what the package ships and ``samebits charset learn`` makes."""
