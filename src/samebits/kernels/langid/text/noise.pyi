# No Python names: cimported by langid_clean.
