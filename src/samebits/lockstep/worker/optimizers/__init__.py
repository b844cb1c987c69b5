"""Updates of parameters: one file for each rule, a table of optimizers, and who updates what.

To add an optimizer, write one file with its rule, give it a row in ``table`` and its name to ``problem.config.Optimizer``.
"""
