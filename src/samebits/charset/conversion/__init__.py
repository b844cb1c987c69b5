"""Files of any encoding to UTF-8: which files, one at a time into another folder, or all of them as rows."""
