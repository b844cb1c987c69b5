"""WHICH: the jobs. Each is a file or folder of this package; its name is also the CLI group and the guide page."""
