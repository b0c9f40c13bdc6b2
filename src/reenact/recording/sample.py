"""What becomes of a run that is not in the sample: nothing is left of it, or its events alone."""

from __future__ import annotations

from reenact.abc.store import Store
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.sampling import leaves_out, share_of


def leave_out(store: Store, run: Run, policy: Policy) -> str:
    """Forget a run that is not in the sample, or keep its events alone, as the policy has it.

    Returns:
        What became of it, for its user; empty where it is kept as it is.
    """
    if not leaves_out(run, policy.sample, policy.sampling):
        return ""
    said = f"sample {share_of(run, policy.sample, policy.sampling):g}"
    if policy.unsampled == "events" and store.thin(run.id, said):
        return f"thinned: {said}"
    return f"not kept: {said}" if store.discard(run.id) else ""
