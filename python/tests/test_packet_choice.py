"""Rule M9: which groups enter under a budget, held against the exact optimum and against taking what fits in order."""

from __future__ import annotations

import time
from random import Random

from generated import examples

from governed_memory.packets.choice import SCALE, Item, chosen, first_fit, total


def case(source: Random) -> tuple[list[Item], int]:
    """Up to 20 groups, the best-scored first: scores as they are, some alike, and sizes that have nothing to do with them."""
    items = [Item(source.choice((source.random(), source.randint(1, 4) / 4)), source.randint(20, 400)) for _ in range(source.randint(1, 20))]
    return sorted(items, key=lambda item: -item.score), source.randint(10, 2500)


def optimum(items: list[Item], budget: int) -> int:
    """The greatest sum there is once the best-scored that fits has entered; by every reachable size."""
    fitting = [item for item in items if item.size <= budget]
    if not fitting:
        return 0
    best, rest = fitting[0], fitting[1:]
    sums = {budget - best.size: round(best.score * SCALE)}
    for item in rest:
        for left, gained in list(sums.items()):
            if item.size <= left:
                sums[left - item.size] = max(sums.get(left - item.size, 0), gained + round(item.score * SCALE))
    return max(sums.values())


def test_the_choice_is_the_optimum_on_a_thousand_cases_and_never_less_than_first_fit() -> None:
    shares = []
    for items, budget in examples(1000, case):
        places = chosen(items, budget)
        assert sum(items[place].size for place in places) <= budget
        assert places == sorted(set(places))
        best = optimum(items, budget)
        gained = total(items, places)
        assert gained >= total(items, first_fit(items, budget))
        shares.append(gained / best if best else 1.0)
    assert min(shares) >= 0.99
    assert shares.count(1.0) == len(shares)


def test_the_best_scored_that_fits_is_never_traded_away() -> None:
    items = [Item(1.0, 100), *(Item(0.9, 10) for _ in range(10))]
    assert chosen(items, 100) == [0]
    assert chosen(items, 99) == list(range(1, 10))


def test_many_groups_are_chosen_from_in_a_bounded_number_of_steps_and_no_worse_than_in_order() -> None:
    source = Random(1)
    items = sorted((Item(source.random(), source.randint(50, 60)) for _ in range(2000)), key=lambda item: -item.score)
    started = time.monotonic()
    places = chosen(items, 20_000)
    assert time.monotonic() - started < 60
    assert total(items, places) >= total(items, first_fit(items, 20_000))


def test_without_a_budget_everything_enters() -> None:
    assert chosen([Item(0.1, 10**9), Item(0.0, 1)], None) == [0, 1]
