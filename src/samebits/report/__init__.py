"""PICTURES: records and artifacts to one self-contained page. A pure function of files; only the command line imports it."""
