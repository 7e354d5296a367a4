"""The results of `compute`: frozen objects that read a state, print it and plot it."""
