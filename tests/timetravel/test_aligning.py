"""Calls are aligned by what they are: an inserted, removed or moved call shifts nothing, wherever it is and whatever it
holds; and the matching under it is a shortest edit script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reenact.timetravel.aligning import Face, Match, Sort, align, matched

# --- tokens -----------------------------------------------------------------------------------------------------------

tokens = st.lists(st.sampled_from("abcdef"), max_size=14)
loops = st.lists(st.sampled_from("ab"), max_size=14)


def longest(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, by the textbook."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(tokens, tokens)
def test_matches_are_equal_tokens_in_order(left: list[str], right: list[str]) -> None:
    found = matched(left, right)
    assert all(left[at] == right[there] for at, there in found)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))


@given(loops | tokens, loops | tokens)
def test_as_many_are_matched_as_can_be(left: list[str], right: list[str]) -> None:
    assert len(matched(left, right)) == longest(left, right)


def test_beyond_its_bound_the_matching_still_ends_soon_and_keeps_the_order() -> None:
    left = [f"x{n % 7}" for n in range(3000)]
    right = [f"x{n % 5}" for n in range(3000)]
    found = matched(left, right)
    assert len(found) > 300
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))


# --- runs: trees of calls, as a recorder numbers them -----------------------------------------------------------------


@dataclass
class Node:
    """A call: its name, what it asks, what happens in it, and whether it runs in a task of its own."""

    name: str
    asks: str
    inside: list[Node] = field(default_factory=list)
    task: bool = False


def nodes_with(inside: st.SearchStrategy[list[Node]]) -> st.SearchStrategy[Node]:
    names = st.sampled_from(["tool f", "tool g", "step s"])
    return st.builds(Node, names, st.sampled_from("xyz"), inside, st.booleans())


nodes = st.recursive(nodes_with(st.just([])), lambda deeper: nodes_with(st.lists(deeper, max_size=3)), max_leaves=6)
runs = st.lists(nodes, min_size=1, max_size=5)


def faces_of(run: list[Node]) -> tuple[list[Face], dict[int, int]]:
    """The faces of a run, and the number of each node by its identity."""
    faces: list[Face] = []
    numbers: dict[int, int] = {}

    def play(parts: list[Node], lane: str, parent: int | None) -> None:
        counts: Counter[str] = Counter()
        for each in parts:
            own = lane
            if each.task:
                counts["task"] += 1
                own = f"{lane}/task#{counts['task']}"
            number = numbers[id(each)] = len(faces)
            faces.append(Face(number, parent, own, each.name, each.asks))
            name = each.name.partition(" ")[2]
            counts[own + name] += 1
            play(each.inside, f"{own}>{name}#{counts[own + name]}", number)

    play(run, "root", None)
    return faces, numbers


def everything(run: list[Node]) -> list[tuple[list[Node], int]]:
    """Each call of a run, as the list it stands in and its place there."""
    found: list[tuple[list[Node], int]] = []
    for at, each in enumerate(run):
        found += [(run, at), *everything(each.inside)]
    return found


def changes(matches: list[Match]) -> Counter[Sort | None]:
    return Counter(match.change for match in matches)


@given(runs, runs)
def test_every_call_is_told_of_once_and_every_pair_is_what_it_says(left: list[Node], right: list[Node]) -> None:
    (ours, _), (theirs, _) = faces_of(left), faces_of(right)
    found = align(ours, theirs)
    assert [match.left for match in found if match.left is not None] == [face.number for face in ours]
    assert sorted(match.right for match in found if match.right is not None) == [face.number for face in theirs]
    for match in found:
        if match.left is None or match.right is None:
            assert match.change is (Sort.ADDED if match.left is None else Sort.REMOVED)
            continue
        one, other = ours[match.left], theirs[match.right]
        assert one.call == other.call
        assert (match.change is Sort.ARGUMENTS) == (one.asks != other.asks)


@given(runs)
def test_a_run_is_itself(run: list[Node]) -> None:
    faces, _ = faces_of(run)
    assert align(faces, faces) == [Match(face.number, face.number) for face in faces]


@given(runs, nodes, st.data())
def test_an_inserted_call_shifts_nothing(run: list[Node], new: Node, data: st.DataObject) -> None:
    new.name, new.asks, new.task = data.draw(st.sampled_from(["tool f", "tool new"])), "never asked before", False
    new.inside = []
    before, _ = faces_of(run)
    changed = deepcopy(run)
    where, at = data.draw(st.sampled_from(everything(changed)))
    where.insert(data.draw(st.integers(at, len(where))), new)
    after, numbers = faces_of(changed)
    found = align(before, after)
    assert changes(found) == Counter({None: len(before), Sort.ADDED: 1})
    assert [match.right for match in found if match.change] == [numbers[id(new)]]
    turned = align(after, before)
    assert changes(turned) == Counter({None: len(before), Sort.REMOVED: 1})


@given(runs, st.data())
def test_a_call_that_asks_something_else_is_one_difference(run: list[Node], data: st.DataObject) -> None:
    before, _ = faces_of(run)
    changed = deepcopy(run)
    where, at = data.draw(st.sampled_from(everything(changed)))
    where[at].asks = "something else"
    after, numbers = faces_of(changed)
    found = align(before, after)
    number = numbers[id(where[at])]
    assert [match for match in found if match.change is not None] == [Match(number, number, Sort.ARGUMENTS)]


def test_two_calls_that_change_places_are_reordered() -> None:
    left, _ = faces_of([Node("tool f", "x"), Node("tool f", "y"), Node("tool g", "z")])
    right, _ = faces_of([Node("tool f", "y"), Node("tool f", "x"), Node("tool g", "z")])
    assert changes(align(left, right)) == Counter({None: 2, Sort.REORDERED: 1})


def test_an_added_task_of_the_same_name_shifts_no_other_task() -> None:
    tasks = [Node("tool f", asks, [Node("tool g", asks)], task=True) for asks in "abc"]
    left, _ = faces_of(tasks)
    right, _ = faces_of([Node("tool f", "new", task=True), *tasks])
    assert changes(align(left, right)) == Counter({None: 6, Sort.ADDED: 1})


def test_a_loop_that_ends_sooner_lost_its_last_rounds() -> None:
    left, _ = faces_of([Node("tool f", "same") for _ in range(20)])
    right, _ = faces_of([Node("tool f", "same") for _ in range(3)])
    found = align(left, right)
    assert changes(found) == Counter({None: 3, Sort.REMOVED: 17})
