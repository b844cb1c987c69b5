"""graph: labelled graphs, their certified edit distances, and models that turn text into graphs."""
