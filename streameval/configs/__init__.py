"""What is counted: one frozen class of options for each accumulator."""
