"""What `compute` gives: frozen results that read a state, print well and draw themselves."""
