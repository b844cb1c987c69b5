"""Encoding models: byte-pair counts of many (language, encoding) pairs from one pass over each language's text.

Files in the order data passes through them: ``pairs`` and ``codec`` (what to train), ``recipe``, ``default_book``, ``serbian``
and ``rtl`` (how text becomes bytes), ``slices`` and ``block`` (the texts), ``images``, ``count``, ``direct`` and ``tables``
(counting), ``project`` (byte pairs of each encoding), ``tasks`` and ``job`` (the training), ``model`` and ``detect`` (using it),
``chardet_files`` (export), ``evaluate`` and ``diff`` (judging it).
"""
