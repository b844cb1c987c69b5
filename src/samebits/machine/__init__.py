"""MACHINE: what this computer is and how it is used: cores, thread caps, memory, CPU type, signals, ranks of torchrun."""
