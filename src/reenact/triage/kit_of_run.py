"""The replay kit of a run: three buckets of items with their evidence, judged from the run's own events."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.abc.store import Store
from reenact.facts.imported_runs import is_imported
from reenact.facts.kit import Bucket, Item, ItemState, Kit
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_traced
from reenact.triage import identity
from reenact.triage.file_kit import of_file
from reenact.triage.inputs import inputs
from reenact.triage.kit_effects import effects
from reenact.triage.kit_environment import surroundings
from reenact.triage.kit_models import models
from reenact.triage.scene import Scene, scene_of
from reenact.triage.toolservers import offered
from reenact.triage.trace_kit import traced
from reenact.triage.undecorated_tools import undecorated

_FIELDS = ("agent", "version")


def kit_of(store: Store, run: Run) -> Kit:
    """The kit of a run.

    Args:
        store: The store of the run.
        run: The run.

    Returns:
        The kit. Costs one pass over the run's events and the bodies of its model and tool calls.
    """
    return judge(scene_of(store, run))


def judge(scene: Scene) -> Kit:
    """The kit of a scene: pure."""
    if is_traced(scene.run):
        items = list(traced(scene))
    else:
        items = [*inputs(scene), *surroundings(scene), *models(scene), *offered(scene), *effects(scene)]
        items = list(of_file(scene.run, items)) if is_imported(scene.run) else [*items, *undecorated(scene)]
    items += _required(scene, {item.name for item in items})
    return Kit(scene.run.id, tuple(items))


def _required(scene: Scene, known: set[str]) -> Iterator[Item]:
    """Everything else that the policy requires: a field of the run, a tag, a note."""
    for name in identity.policy_fields(scene.run):
        if name in known or name in identity.IDENTITIES:
            continue
        value = getattr(scene.run, name) if name in _FIELDS else ""
        said, where = (str(value), "the run") if value else scene.said(name)
        yield Item(
            Bucket.INPUT,
            name,
            ItemState.CAPTURED if said else ItemState.MISSING,
            f"{said}, from {where}" if said else "required by the policy, and not said",
            value=said or None,
            capture=() if said else (f"reenact record --tag {name}=…", f'reenact.note("{name}", …)'),
        )
