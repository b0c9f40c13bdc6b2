"""Expectations: what a run must have done, said once for ``--expect``, for Python and for golden traces.

An ``Expectation`` is an expression over a run (``calls(search_docs) <= 3``); it is judged over a recording and gives a
``Verdict``. Builders that spare the quoting are in ``reenact.testing.expecting``; whether expectations are strong
enough to be a test is told by ``strength``.
"""
