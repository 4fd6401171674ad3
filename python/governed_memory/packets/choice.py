"""Which groups enter under a budget (rule M9). The best-scored that fits is never traded away; the rest is filled so that the scores add up to most.

Of few groups that sum is the greatest there is. Of many it is the best that a bounded search finds, and never less than taking what fits in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Steps of the search: what it takes to settle some twenty groups, and a few milliseconds.
STEPS = 5_000
# Scores are compared as whole numbers, so that no order of adding changes a sum.
SCALE = 1_000_000


@dataclass(frozen=True, slots=True)
class Item:
    """A group as far as choosing goes; items are given in their order, the best-scored first.

    Attributes:
        score: what it adds to the sum.
        size: what it takes of the budget.
    """

    score: float
    size: int


def chosen(items: Sequence[Item], budget: int | None) -> list[int]:
    """The places of the items that enter, in their order.

    Args:
        items: the best-scored first.
        budget: what their sizes may add up to; None for no limit.
    """
    if budget is None:
        return list(range(len(items)))
    fitting = [place for place, item in enumerate(items) if item.size <= budget]
    if not fitting:
        return []
    best, rest = fitting[0], fitting[1:]
    left = budget - items[best].size
    return sorted([best, *_filled([(place, _whole(items[place].score), items[place].size) for place in rest if items[place].size <= left], left)])


def first_fit(items: Sequence[Item], budget: int) -> list[int]:
    """What enters where each is taken in its order if it still fits: what the choice is never worse than."""
    places, left = [], budget
    for place, item in enumerate(items):
        if item.size <= left:
            places.append(place)
            left -= item.size
    return places


def total(items: Sequence[Item], places: Sequence[int]) -> int:
    """The sum that the choice makes as great as it can, in whole numbers."""
    return sum(_whole(items[place].score) for place in places)


def _whole(score: float) -> int:
    return round(score * SCALE)


Sized = tuple[int, int, int]


def _filled(items: Sequence[Sized], budget: int) -> list[int]:
    """Branch and bound: by score for its size, the denser first; a branch is left where even parts of items could not make it better."""
    dense = sorted(items, key=lambda item: (-item[1] / max(item[2], 1), item[0]))
    found = max((_in_order(dense, budget), _in_order(items, budget)), key=lambda places: (_sum(items, places), [-place for place in places]))
    best, most = found, _sum(items, found)
    stack: list[tuple[int, int, int, tuple[int, ...]]] = [(0, budget, 0, ())]
    for _ in range(STEPS):
        if not stack:
            break
        depth, left, gained, taken = stack.pop()
        if gained > most:
            best, most = list(taken), gained
        if depth == len(dense) or gained + _bound(dense, depth, left) <= most:
            continue
        place, score, size = dense[depth]
        stack.append((depth + 1, left, gained, taken))
        if size <= left:
            stack.append((depth + 1, left - size, gained + score, (*taken, place)))
    return best


def _bound(dense: Sequence[Sized], depth: int, left: int) -> float:
    """What could still be gained if the last could enter in part."""
    gained = 0.0
    for _, score, size in dense[depth:]:
        if size > left:
            return gained + score * left / size
        left -= size
        gained += score
    return gained


def _in_order(items: Sequence[Sized], budget: int) -> list[int]:
    places = []
    for place, _, size in items:
        if size <= budget:
            places.append(place)
            budget -= size
    return places


def _sum(items: Sequence[Sized], places: Sequence[int]) -> int:
    entered = set(places)
    return sum(score for place, score, _ in items if place in entered)
