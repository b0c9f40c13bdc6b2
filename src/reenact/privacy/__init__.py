"""Privacy: the cleaning at the one write gate.

``make_redactor`` gives the redaction that every recording uses: credentials are destroyed before the first byte reaches
a disk, and leave a stand-in with a keyed digest. ``removed_before`` gives the values that were removed from the run
that another run continues.
"""

from __future__ import annotations

from reenact.privacy.redactor import CredentialRedactor, make_redactor
from reenact.privacy.removed_values import RemovedValues, removed_before

__all__ = ["CredentialRedactor", "RemovedValues", "make_redactor", "removed_before"]
