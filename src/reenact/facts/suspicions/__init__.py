"""Suspicious events: rules that look at the course of a run and mark what a person should look at first.

Each rule is a pure function of a ``Course``; ``RULES`` is the table of them. ``store.courses`` reads the course of a
recording.
"""

from reenact.facts.suspicions.rule_table import RULES, Rule, suspicions
from reenact.facts.suspicions.run_course import UNREAD, Act, Course, ModelTurn, Sort, Suspicion

__all__ = ["RULES", "UNREAD", "Act", "Course", "ModelTurn", "Rule", "Sort", "Suspicion", "suspicions"]
