"""What ``tokens build`` begins on a second core while its command is still being imported."""
