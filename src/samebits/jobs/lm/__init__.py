"""lm: a small GPT trained on every core, with the same weights for any number of workers.

Read in the order of a run: ``config`` and ``recipe`` (settings to numbers) -> ``sources`` and ``batches`` (tokens) -> ``arch`` and
``passes`` (the model, forward and backward) -> ``objective`` (what lockstep trains) -> ``job`` (the artifact). ``model`` loads it
again; ``generate``, ``evaluate`` and ``export`` use it.
"""
