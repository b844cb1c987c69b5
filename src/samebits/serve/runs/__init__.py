"""What finished and running runs left in their folders, read when it is asked for."""
