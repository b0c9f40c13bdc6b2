"""Identity: whether user, tenant and session of a run reach its tool calls.

A tool without a user searches the data of all users. The policy says which identities calls must carry; without such a
rule, a run must give its tools the user and the tenant that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reenact.facts.call import Kind
from reenact.facts.kit import Bucket, Item, ItemState
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run
from reenact.triage.scene import Scene, SceneCall

IDENTITIES: Mapping[str, str] = {"user_id": "user", "tenant_id": "tenant", "session_id": "session"}
"""The identities that a tool call may carry, and the fields of the run for them."""

_NAMES: Mapping[str, frozenset[str]] = {
    "user_id": frozenset(
        (
            *(
                "userid",
                "user",
                "uid",
                "xuserid",
                "xuser",
                "enduserid",
                "endusername",
                "onbehalfof",
                "actor",
                "actorid",
            ),
            *(
                "customerid",
                "customer",
                "accountuser",
                "principal",
                "principalid",
                "subject",
                "sub",
                "ownerid",
                "owner",
            ),
        )
    ),
    "tenant_id": frozenset(
        (
            *("tenantid", "tenant", "xtenantid", "xtenant", "orgid", "org", "organizationid", "organization"),
            *("organisationid", "organisation", "workspaceid", "workspace", "companyid", "company", "xorgid"),
        )
    ),
    "session_id": frozenset(
        ("sessionid", "session", "xsessionid", "conversationid", "conversation", "threadid", "thread", "chatid")
    ),
}
_PLAIN = lazy_regex(r"[^a-z0-9]+")
_STANDIN = "~rx"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _IdentityRelation:
    """The relation of one tool call to one identity: ``right`` carries it, ``wrong`` carries another identity,
    ``hidden`` may carry it."""

    act: SceneCall
    how: str
    value: str = ""


def required(scene: Scene) -> tuple[str, ...]:
    """Identities that every tool call must carry, as far as they are known."""
    policy = policy_fields(scene.run)
    if policy:
        return tuple(name for name in IDENTITIES if name in policy)
    return tuple(name for name in ("user_id", "tenant_id") if getattr(scene.run, IDENTITIES[name]) is not None)


def policy_fields(run: Run) -> tuple[str, ...]:
    """The identities that the policy of a run requires, in the kit's own names."""
    fields = run.capture.get("require")
    names = [str(name) for name in fields] if isinstance(fields, (list, tuple)) else []
    long = {short: name for name, short in IDENTITIES.items()}
    return tuple(dict.fromkeys(long.get(name, name) for name in names))


def named(scene: Scene) -> Iterator[Item]:
    """The identities of the run itself."""
    must = policy_fields(scene.run)
    for name, field in IDENTITIES.items():
        value = getattr(scene.run, field)
        said, where = scene.said(name, field)
        if value is not None:
            yield Item(Bucket.INPUT, field, ItemState.CAPTURED, f"{value}", value=value)
        elif said:
            yield Item(Bucket.INPUT, field, ItemState.CAPTURED, f"{said}, from {where}", value=said)
        else:
            carried = _carried_by_some(scene, name)
            yield Item(
                Bucket.INPUT,
                field,
                ItemState.MISSING,
                f"its tool calls carry a {name}, the run names none" if carried else f"the run names no {field}",
                events=carried,
                capture=(f"reenact record --{field} …", f"reenact.record({field}=…)"),
                expected=bool(carried) or name in must,
            )


def carried(scene: Scene) -> Iterator[Item]:
    """The identities in the tool calls."""
    if not scene.acts:
        return
    must = required(scene)
    for name, field in IDENTITIES.items():
        found = [_look(act, name, getattr(scene.run, field)) for act in scene.acts]
        right = [each for each in found if each.how == "right"]
        if name in must or len(right) == len(found):
            yield _item(name, field, getattr(scene.run, field), found)


def _item(name: str, field: str, value: str | None, found: list[_IdentityRelation]) -> Item:
    lacking = [each for each in found if each.how != "right"]
    if not lacking:
        about = f"carried by every tool call ({len(found)})"
        return Item(Bucket.EFFECTS, name, ItemState.CAPTURED, about, _numbers(found))
    wrong = [each for each in lacking if each.how == "wrong"]
    hidden = [each for each in lacking if each.how == "hidden"]
    whose = f"the run's {field} is {value}" if value is not None else f"the run names no {field} either"
    calls = ", ".join(f"{each.act.label} at #{each.act.event.number}" for each in lacking[:_SHOWN])
    if len(lacking) > _SHOWN:
        calls += f" and {len(lacking) - _SHOWN} more"
    if wrong:
        words = f"{wrong[0].act.label} at #{wrong[0].act.event.number} carries {wrong[0].value!r}; {whose}"
    elif hidden:
        words = f"{calls}: an argument that could not be stored may hold it; {whose}"
    else:
        words = f"not in {calls}; {whose}"
    whole = len(lacking) == len(found) and not wrong and not hidden
    return Item(
        Bucket.EFFECTS,
        name,
        ItemState.MISSING if whole else ItemState.PARTIAL,
        words,
        _numbers(lacking),
        capture=_capture(name, lacking[0].act),
    )


def _capture(name: str, act: SceneCall) -> tuple[str, ...]:
    header = f"send it with the request: a header X-{name.replace('_', '-').title()}, a query parameter {name}"
    parameter = f"give the tool a parameter {name} that your code fills in, not the model"
    if act.event.call.kind is Kind.HTTP:
        return header, parameter
    return f'reenact.note("{name}", …) inside the tool, where it knows it by another way', parameter, header


def _numbers(found: list[_IdentityRelation]) -> tuple[int, ...]:
    return tuple(each.act.event.number for each in found)


def _carried_by_some(scene: Scene, name: str) -> tuple[int, ...]:
    """Tool calls that carry an identity under its own name."""
    own = _plain(name)
    return tuple(
        act.event.number
        for act in scene.acts
        if any(_plain(key) == own and value not in (None, "") for key, value in act.request.pairs())
    )


def _look(act: SceneCall, name: str, value: str | None) -> _IdentityRelation:
    """The relation of one tool call to one identity."""
    noted = act.event.attributes.get(name)
    if noted not in (None, ""):
        return _IdentityRelation(act, "right" if value in (None, str(noted)) else "wrong", str(noted))
    other = ""
    for key, part in act.request.pairs():
        if part is None or isinstance(part, bool) or part == "":
            continue
        text = str(part)
        if value is not None and text == value:
            return _IdentityRelation(act, "right", text)
        if _plain(key) in _NAMES[name]:
            if value is None or _STANDIN in text or _STANDIN in value:
                return _IdentityRelation(act, "right", text)
            other = other or text
    if other:
        return _IdentityRelation(act, "wrong", other)
    return _IdentityRelation(act, "hidden" if act.request.opaque else "absent")


def _plain(name: str) -> str:
    return _PLAIN.sub("", name.lower())
