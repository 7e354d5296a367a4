"""Adapters to engines that count on many workers; each needs its own, and none is imported here."""
