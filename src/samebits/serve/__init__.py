"""WATCH AND TRY: a small web server over a folder of runs. It reads what runs write anyway and writes nothing into them.

``runs`` finds runs and reads what they left; ``live`` keeps one watcher for each run somebody looks at, in bounded memory,
and pushes increments to every page; ``trying`` asks models, which run in a process of their own; ``answers`` writes pages for
people, JSON for programs and completions like OpenAI's endpoint. ``guard`` stands in front of everything, ``server`` listens.
Only the command line imports this room.
"""
