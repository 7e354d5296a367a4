"""The accumulators: the public base, one class a subject, reading of batches, checkpoints."""
