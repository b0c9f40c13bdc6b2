"""The second bucket of a kit: the environment of the run, and the parties that answered it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reenact.facts.call import Json, Kind, Value
from reenact.facts.conventions import is_traceparent
from reenact.facts.file_notes import ABSENT, NOTE
from reenact.facts.kit import Bucket, Item, ItemState
from reenact.facts.run import Run
from reenact.triage.scene import Scene

_SHORT = 12
_FEW = 5


def surroundings(scene: Scene) -> Iterator[Item]:
    """The process: identity, code, packages, interpreter, place."""
    yield _lineage(scene)
    yield _trace(scene)
    yield _commit(scene)
    yield _sources(scene)
    yield _packages(scene)
    yield from _interpreter(scene)
    yield from _place(scene)
    yield _variables(scene)
    yield from _files(scene)
    yield from _flags(scene)


def _item(name: str, standing: ItemState, about: str, value: Json = None, capture: Sequence[str] = ()) -> Item:
    return Item(Bucket.ENVIRONMENT, name, standing, about, value=value, capture=tuple(capture))


def _lineage(scene: Scene) -> Item:
    run = scene.run
    parent = f", {run.relation or 'child'} of {run.parent}" if run.parent else ", no parent"
    return _item("run", ItemState.CAPTURED, f"{run.id}{parent}", {"run": run.id, "parent": run.parent})


def _trace(scene: Scene) -> Item:
    """The trace that the run is a part of."""
    inherited = scene.environment.get("traceparent")
    said, where = scene.said("traceparent")
    for value, origin in ((inherited, "the environment"), (said, where), (scene.handed_in, "the input")):
        if is_traceparent(value):
            return _item("traceparent", ItemState.CAPTURED, f"{value}, from {origin}", value)
    return Item(
        Bucket.ENVIRONMENT,
        "traceparent",
        ItemState.MISSING,
        "none was handed in",
        capture=("TRACEPARENT=… in the environment", 'reenact.note("traceparent", request.headers["traceparent"])'),
        expected=False,
    )


def _commit(scene: Scene) -> Item:
    """The revision of the code."""
    commit = scene.revision.get("commit")
    if isinstance(commit, str) and commit:
        branch = scene.revision.get("branch")
        dirty = scene.revision.get("dirty")
        state = {True: ", with changes", False: ", clean"}.get(dirty, "") if isinstance(dirty, bool) else ""
        about = f"{commit[:_SHORT]}{f' on {branch}' if branch and branch != 'HEAD' else ''}{state}"
        return _item("commit", ItemState.CAPTURED, about, commit)
    said, where = scene.said("commit")
    if said:
        return _item("commit", ItemState.PINNED, f"{said[:_SHORT]}, from {where}", said)
    return _item(
        "commit",
        ItemState.MISSING,
        "the program does not run inside a git repository",
        capture=(
            "run it inside its repository",
            "GIT_COMMIT=$(git rev-parse HEAD) in the environment of the image or job",
            'reenact record --tag commit=…, or reenact.record(tags={"commit": …})',
        ),
    )


def _sources(scene: Scene) -> Item:
    """The code that ran in addition to the commit, or in its place: the dirty diff, and files that git does not
    know."""
    digests = _mapping(scene.process.get("sources"))
    texts = _mapping(scene.process.get("texts"))
    diff, whole = scene.revision.get("diff"), scene.revision.get("whole")
    untracked = _listed(scene.revision.get("untracked"))
    value: dict[str, Json] = {"files": sorted(digests), "untracked": untracked}
    parts = []
    if isinstance(diff, str) and diff:
        value["diff"] = diff
        files = len(_listed(scene.revision.get("changed")))
        parts.append(f"the diff of {files} changed files{'' if whole else ', cut off'}")
    loaded_untracked = [path for path in untracked if path in texts]
    if loaded_untracked:
        parts.append(f"{_few(loaded_untracked)} that git does not know")
    if digests:
        parts.append(f"{len(texts)} of the {len(digests)} source files that ran, byte for byte")
    held = scene.process.get("held_by")
    if held and not digests:
        about = f"in run {held}, which is not in this store any more"
        return _item("sources", ItemState.PARTIAL, about, value, ("keep the first run of a process",))
    if not parts:
        if scene.revision.get("dirty") is False:
            return _item("sources", ItemState.CAPTURED, "as in the commit", value)
        return _item(
            "sources",
            ItemState.MISSING,
            "the run ended before they were read",
            value,
            ("let the program end by itself",),
        )
    clean = scene.revision.get("dirty") is False
    complete = len(texts) == len(digests) and (whole is not False or not diff)
    standing = ItemState.CAPTURED if complete or clean else ItemState.PARTIAL
    if held:
        parts.append(f"held by run {held}")
    capture = () if standing is ItemState.CAPTURED else ("commit before recording",)
    return _item("sources", standing, "; ".join(parts), value, capture)


def _packages(scene: Scene) -> Item:
    packages = scene.process.get("packages")
    if isinstance(packages, (list, tuple)) and packages:
        return _item("packages", ItemState.CAPTURED, f"{len(packages)} with their versions", list(packages))
    capture = ("let the program end by itself", 'reenact.note("packages", …)')
    return _item("packages", ItemState.MISSING, "the run ended before they were listed", capture=capture)


def _interpreter(scene: Scene) -> Iterator[Item]:
    """Python and its hash seed."""
    facts = scene.environment
    if facts.get("python"):
        about = f"{facts.get('implementation')} {facts.get('python')} on {facts.get('system') or facts.get('platform')}"
        value = {name: facts.get(name) for name in ("python", "implementation", "build", "platform", "machine")}
        yield _item("python", ItemState.CAPTURED, about, value)
    else:
        yield _item("python", ItemState.MISSING, "the recorder of this run did not say", capture=("reenact record --",))
    yield _hash_seed(scene.run, scene.environment)


def _hash_seed(run: Run, facts: Mapping[str, Json]) -> Item:
    seed = run.entry.hash_seed
    if seed:
        return _item("hash_seed", ItemState.CAPTURED, seed, seed)
    if facts.get("hash_randomisation") is False:
        return _item("hash_seed", ItemState.CAPTURED, "hashes are not randomised", "0")
    return _item(
        "hash_seed",
        ItemState.MISSING,
        "the interpreter chose a secret one: sets may iterate in another order in a replay",
        capture=("reenact record -- …, which sets one", "PYTHONHASHSEED=0 in the program's environment"),
    )


def _place(scene: Scene) -> Iterator[Item]:
    """Locale and time zone."""
    locale = _mapping(scene.environment.get("locale"))
    encoding = _mapping(scene.environment.get("encoding"))
    if "locale" in scene.environment:
        words = ", ".join(f"{name}={value}" for name, value in locale.items()) or "C, no variable is set"
        yield _item("locale", ItemState.CAPTURED, words, {**locale, **encoding})
    else:
        yield _item("locale", ItemState.MISSING, "the recorder of this run did not say", capture=("reenact record --",))
    zone = _mapping(scene.environment.get("time_zone"))
    name = zone.get("TZ") or zone.get("link")
    names = _listed(zone.get("names"))
    if name:
        yield _item("time_zone", ItemState.CAPTURED, str(name), dict(zone))
    elif names and set(names) == {"UTC"}:
        yield _item("time_zone", ItemState.CAPTURED, "UTC", dict(zone))
    elif names:
        about = f"known by its abbreviations alone ({', '.join(names)})"
        yield _item("time_zone", ItemState.PARTIAL, about, dict(zone), ("TZ=Europe/Berlin in the environment",))
    else:
        yield _item("time_zone", ItemState.MISSING, "the recorder of this run did not say", capture=("TZ=…",))


def _variables(scene: Scene) -> Item:
    """Environment variables: all names, and the values that may be kept."""
    names = _listed(scene.environment.get("env_names"))
    values = _mapping(scene.environment.get("env"))
    secret = _listed(scene.environment.get("env_secret"))
    if not names:
        return _item(
            "variables", ItemState.MISSING, "the recorder of this run did not say", capture=("reenact record --",)
        )
    about = f"{len(names)} names, {len(values)} values; {len(secret)} credentials are placeholders in a replay"
    read = sorted(source.partition("/")[2] for source in scene.ambient if source.startswith("env/"))
    if read:
        about += f"; {len(read)} were read: {_few(read)}"
    return _item("variables", ItemState.CAPTURED, about, {"names": names, "values": dict(values), "read": read})


def _files(scene: Scene) -> Iterator[Item]:
    """Files that were read below the root, and folders that were listed."""
    notes = {name[len(NOTE) :]: _mapping(note) for name, note in scene.notes.items() if name.startswith(NOTE)}
    read = {name: note for name, note in notes.items() if note.get("digests") != [ABSENT]}
    supplied = {event.name for event in scene.of_kind(Kind.FILE) if isinstance(event.outcome, Value)}
    if read or supplied:
        hashed = sorted(read.keys() - supplied)
        parts = [f"{len(supplied)} with their content: {_few(sorted(supplied))}"] if supplied else []
        parts += [f"{len(hashed)} by their hash: {_few(hashed)}"] if hashed else []
        if hashed:
            capture = ("file_contents = [pattern] in the settings, and a replay supplies what they held",)
            yield _item("files_read", ItemState.PINNED, "; ".join(parts), dict(read), capture)
        else:
            yield _item("files_read", ItemState.CAPTURED, "; ".join(parts), dict(read))
    listed = sorted({source.partition(" ")[2] for source in scene.ambient if source.startswith("listing/")})
    if listed:
        yield _item("listings", ItemState.CAPTURED, f"{len(listed)} folders, in their order: {_few(listed)}", listed)


def _flags(scene: Scene) -> Iterator[Item]:
    """Feature flags that were asked for, or noted."""
    events = scene.of_kind(Kind.FLAG)
    noted = {name: value for name, value in scene.notes.items() if name.startswith("flag.")}
    for event in scene.events:
        noted.update({name: value for name, value in event.attributes.items() if name.startswith("flag.")})
    if events or noted:
        about = f"{len(events)} evaluations, {len(noted)} notes"
        numbers = tuple(event.number for event in events)
        yield Item(Bucket.ENVIRONMENT, "flags", ItemState.CAPTURED, about, numbers, noted or None)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: Json) -> list[str]:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
