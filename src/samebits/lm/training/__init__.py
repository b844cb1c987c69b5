"""What lockstep trains, on which windows, and what is told on the way."""
