"""Rank measures: the table, how their names are read, and what trec_eval calls them."""
