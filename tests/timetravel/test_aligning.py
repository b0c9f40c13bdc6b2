"""Calls are aligned by what they are: an inserted, removed or moved call shifts nothing, wherever it is and whatever it
holds; and the matching under it is a shortest edit script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reenact.timetravel.alignment import STREAMED, CallPair, Face, PairSort, align
from reenact.timetravel.sequence_pairs import matched

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


def changes(matches: list[CallPair]) -> Counter[PairSort | None]:
    return Counter(match.change for match in matches)


@given(runs, runs)
def test_every_call_is_told_of_once_and_every_pair_is_what_it_says(left: list[Node], right: list[Node]) -> None:
    (ours, _), (theirs, _) = faces_of(left), faces_of(right)
    found = align(ours, theirs)
    assert [match.left for match in found if match.left is not None] == [face.number for face in ours]
    assert sorted(match.right for match in found if match.right is not None) == [face.number for face in theirs]
    for match in found:
        if match.left is None or match.right is None:
            assert match.change is (PairSort.ADDED if match.left is None else PairSort.REMOVED)
            continue
        one, other = ours[match.left], theirs[match.right]
        assert one.call == other.call
        assert (match.change is PairSort.ARGUMENTS) == (one.asks != other.asks)


@given(runs)
def test_a_run_is_itself(run: list[Node]) -> None:
    faces, _ = faces_of(run)
    assert align(faces, faces) == [CallPair(face.number, face.number) for face in faces]


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
    assert changes(found) == Counter({None: len(before), PairSort.ADDED: 1})
    assert [match.right for match in found if match.change] == [numbers[id(new)]]
    turned = align(after, before)
    assert changes(turned) == Counter({None: len(before), PairSort.REMOVED: 1})


@given(runs, st.data())
def test_a_call_that_asks_something_else_is_one_difference(run: list[Node], data: st.DataObject) -> None:
    before, _ = faces_of(run)
    changed = deepcopy(run)
    where, at = data.draw(st.sampled_from(everything(changed)))
    where[at].asks = "something else"
    after, numbers = faces_of(changed)
    found = align(before, after)
    number = numbers[id(where[at])]
    assert [match for match in found if match.change is not None] == [CallPair(number, number, PairSort.ARGUMENTS)]


def test_two_calls_that_change_places_are_reordered() -> None:
    left, _ = faces_of([Node("tool f", "x"), Node("tool f", "y"), Node("tool g", "z")])
    right, _ = faces_of([Node("tool f", "y"), Node("tool f", "x"), Node("tool g", "z")])
    assert changes(align(left, right)) == Counter({None: 2, PairSort.REORDERED: 1})


def test_a_call_that_moved_into_a_task_takes_along_what_happens_in_it() -> None:
    left, _ = faces_of([Node("tool f", "x", [Node("tool g", "y"), Node("tool g", "z")])])
    right, _ = faces_of([Node("tool f", "x", [Node("tool g", "y"), Node("tool g", "z")], task=True)])
    assert align(left, right) == [CallPair(0, 0, PairSort.REORDERED), CallPair(1, 1), CallPair(2, 2)]


def test_an_added_task_of_the_same_name_shifts_no_other_task() -> None:
    tasks = [Node("tool f", asks, [Node("tool g", asks)], task=True) for asks in "abc"]
    left, _ = faces_of(tasks)
    right, _ = faces_of([Node("tool f", "new", task=True), *tasks])
    assert changes(align(left, right)) == Counter({None: 6, PairSort.ADDED: 1})


def strands(*paths: str) -> list[Face]:
    """Strands that are under way at once: each asks for its own, and then for its own again."""
    asked = [(path, f"{path.rpartition(':')[2]} {turn}") for turn in (1, 2) for path in paths]
    return [Face(n, None, path.partition(":")[0], "http GET", asks) for n, (path, asks) in enumerate(asked)]


def test_strands_of_renamed_functions_are_the_same_strands() -> None:
    left = strands("root/main#1/one#1:a", "root/main#1/one#2:b", "root/main#1/two#1:c", "root/work#1:d")
    right = strands("root/main#1/ask#1:a", "root/main#1/ask#2:b", "root/main#1/two#1:c", "root/think#1:d")
    assert align(left, right) == [CallPair(n, n) for n in range(8)]
    above = [replace(face, lane=face.lane.replace("/main#1", "/start#1")) for face in right]
    assert align(left, above) == [CallPair(n, n) for n in range(8)]


def test_a_strand_of_a_new_name_that_asks_something_else_is_another_one() -> None:
    left, right = strands("root/one#1:a", "root/two#1:b"), strands("root/one#1:a", "root/ask#1:c")
    assert changes(align(left, right)) == Counter({None: 2, PairSort.REMOVED: 2, PairSort.ADDED: 2})
    swapped = strands("root/two#1:a", "root/one#1:b")  # both names are known: calls changed places
    assert changes(align(left, swapped))[PairSort.REORDERED] == 4


def test_a_loop_that_ends_sooner_lost_its_last_rounds() -> None:
    left, _ = faces_of([Node("tool f", "same") for _ in range(20)])
    right, _ = faces_of([Node("tool f", "same") for _ in range(3)])
    found = align(left, right)
    assert changes(found) == Counter({None: 3, PairSort.REMOVED: 17})


def frozen(faces: list[Face], whole: set[int]) -> list[Face]:
    """A run as its replay has it: what happened inside some calls has no event, and the others have other numbers."""
    numbers: dict[int | None, int | None] = {None: None}
    inside: set[int | None] = set()
    out: list[Face] = []
    for face in faces:
        if face.parent in inside or face.parent in whole:
            inside.add(face.number)
            continue
        number = numbers[face.number] = len(out)
        out.append(replace(face, number=number, parent=numbers[face.parent], whole=face.number in whole))
    return out


@given(runs, st.data())
def test_what_happened_inside_a_call_that_was_answered_as_a_whole_is_unknown(
    run: list[Node], data: st.DataObject
) -> None:
    """On whichever side."""
    faces, _ = faces_of(run)
    whole = data.draw(st.sets(st.sampled_from([face.number for face in faces])))
    less = frozen(faces, whole)
    kept = [face for face in faces if not any(above in whole for above in parents(faces, face))]
    for left, right, side in ((faces, less, 0), (less, faces, 1)):
        found = align(left, right)
        assert set(changes(found)) <= {None}
        paired = [match for match in found if None not in (match.left, match.right)]
        assert [(match.left, match.right)[side] for match in paired] == [face.number for face in kept]


def parents(faces: list[Face], face: Face) -> Iterator[int]:
    """The calls around one."""
    above = face.parent
    while above is not None:
        yield above
        above = faces[above].parent


@given(runs, runs)
def test_what_was_added_is_told_in_order(left: list[Node], right: list[Node]) -> None:
    found = align(faces_of(left)[0], faces_of(right)[0])
    added = [match.right for match in found if match.change is PairSort.ADDED and match.right is not None]
    assert added == sorted(added)


QUESTIONS = {
    "first": {"model: m", "content: one", STREAMED},
    "again": {"model: m", "content: one, again", STREAMED},
    "later": {"model: m", "content: two"},
    "later now": {"model: m", "content: two", "content: now"},
}


def questions(*asked: str) -> list[Face]:
    return [Face(number, None, "root", "http POST", each) for number, each in enumerate(asked)]


def test_a_question_is_aligned_with_the_one_that_it_is_like() -> None:
    """After a retry of a streamed call there is one question more, and the one behind it asks something else."""

    def words(face: Face) -> frozenset[str]:
        return frozenset(QUESTIONS[face.asks])

    asked, retried = questions("first", "later"), questions("first", "again", "later now")
    assert align(asked, retried, (words, words)) == [
        CallPair(0, 0),
        CallPair(None, 1, PairSort.ADDED),
        CallPair(1, 2, PairSort.ARGUMENTS),
    ]
    assert align(retried, asked, (words, words)) == [
        CallPair(0, 0),
        CallPair(1, None, PairSort.REMOVED),
        CallPair(2, 1, PairSort.ARGUMENTS),
    ]
    stopped = questions("first", "again")
    assert changes(align(asked, stopped, (words, words))) == Counter({None: 1, PairSort.REMOVED: 1, PairSort.ADDED: 1})
    later, again = (questions(*(["first", name] * 70)) for name in ("later", "again"))
    assert PairSort.ARGUMENTS not in changes(align(later, again, (words, words)))
