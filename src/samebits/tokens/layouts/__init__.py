"""The files of a store, in each layout that readers want."""
