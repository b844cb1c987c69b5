"""WATCH AND TRY: a small web server over a folder of runs. It reads what runs write anyway and writes nothing into them.

``places`` finds runs, ``follow`` reads a growing log, ``progress`` and ``thinned`` hold what it said in bounded memory,
``watch`` keeps one watcher a run and ``streams`` pushes increments to every page. ``pages`` answers people, ``api`` answers
programs, ``completions`` speaks like OpenAI's endpoint. Models run in one other process (``worker``, called by ``models``).
``guard`` stands in front of everything. Only the command line imports this room.
"""
