"""Runs: sources read in blocks, counted by one process or many, and merged into totals."""
