# No Python names: cimported by langid_encode.
