"""VERIFICATION: check that results are what they say, by their bytes or by computing parts of them again."""
