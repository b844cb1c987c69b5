"""A model recorded once: its operations, the way back, and the program that runs them in C."""
