"""Adapters for training loops; each needs its framework, and none is imported here."""
