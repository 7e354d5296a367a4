"""Adapters to training loops; each needs its own framework, and none is imported here."""
