"""WHAT is computed: plans, shards, folds, digests, seeds and the engine. Pure: nothing here knows where work runs.

Read in the order data passes: ``config`` -> ``plan`` -> ``ports.executor`` -> ``engine`` -> ``fold`` -> ``observing.record``.
"""
