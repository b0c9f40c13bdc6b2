"""The treatment of a run that is not in the sample: it is removed, or only its events are kept."""

from __future__ import annotations

from reenact.abc.store import Store
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.sampling import leaves_out, share_of


def leave_out(store: Store, run: Run, policy: Policy) -> str:
    """Remove a run that is not in the sample, or keep only its events, as the policy says.

    Returns:
        A text for the user; empty where the run is kept as it is.
    """
    if not leaves_out(run, policy.sample, policy.sampling):
        return ""
    said = f"sample {share_of(run, policy.sample, policy.sampling):g}"
    if policy.unsampled == "events" and store.thin(run.id, said):
        return f"thinned: {said}"
    return f"not kept: {said}" if store.discard(run.id) else ""
