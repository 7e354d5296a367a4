"""What is raced against what, how it is timed, and how the ratios are laid out."""
