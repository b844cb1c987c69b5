"""Texts as code points: clean, fold, cut and number their words; the form every model of the room reads."""
