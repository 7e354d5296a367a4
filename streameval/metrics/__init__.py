"""How counts are read: pure functions from states to numbers, one small function a metric."""
