"""The only door for inputs: arrays, labels and batches of any library, checked."""
