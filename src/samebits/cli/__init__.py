"""FACE: the only place that prints, parses flags, exits and configures logging.

``app`` holds the table of commands and turns errors into exit codes; ``sections`` the help in sections; ``flags`` makes
flags from the fields of a Config; ``job_command`` makes the command of a job; ``progress`` shows one line; the rest is one
file a command.
"""
