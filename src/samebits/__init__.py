"""samebits takes raw text to trained models on every core, and the number of workers never changes the result."""

__version__ = "0.1.0"
