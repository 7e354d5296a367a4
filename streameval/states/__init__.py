"""What is stored: frozen values of integers, with an exact, commutative, associative sum."""
