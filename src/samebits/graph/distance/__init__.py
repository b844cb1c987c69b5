"""Edit distances with a certificate: one pair, all pairs, nearest graphs, ordered trees."""
