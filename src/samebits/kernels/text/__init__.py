"""Hot loops over text: lines, rows of formats, n-grams."""
