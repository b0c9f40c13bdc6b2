"""Expectations: conditions that a run must meet, in one form for ``--expect``, for Python and for golden traces.

An ``Expectation`` is an expression over a run (``calls(search_docs) <= 3``); it is judged over a recording and gives a
``Verdict``. Builders without quoting are in ``reenact.testing.expecting``; ``strength`` tells whether expectations are
strong enough to be a test.
"""
