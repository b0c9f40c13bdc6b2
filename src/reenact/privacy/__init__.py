"""What may be kept: the cleaning that stands at the one write gate.

``make_redactor`` gives the redaction that every recording uses: credentials are destroyed before the first byte
reaches a disk, and leave a stand-in with a keyed digest.
"""

from __future__ import annotations

from reenact.privacy.gate import CredentialRedactor, make_redactor

__all__ = ["CredentialRedactor", "make_redactor"]
