"""Comparisons as a grid would give them, made up: for the tests of what is shown of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from weft.reports.comparison_record import CellRecord, ClassDifference, ComparisonRecord, PairRecord, Verdict


def cell(task: str = "urgency", variant: str = "label_attention", **changes: object) -> CellRecord:
    """A variant that is better by 2.1 points over 8 seeds, but for what is changed."""
    usual = {
        **{
            "task": task,
            "variant": variant,
            "seeds": 8,
            "metric": "f1_macro",
            "mean": 0.842,
            "low": 0.81,
            "high": 0.87,
        },
        **{"difference": 0.021, "difference_low": 0.008, "difference_high": 0.035, "p": 0.0078, "verdict": "better"},
        **{"seconds": 21.4, "parameters": 3_075, "trained_parameters": 22_716_291, "rows": 500},
        **{"p_seeds": 0.0078, "p_crossed": 0.004, "p_rows": 0.002},
        "by_seed": tuple(0.021 + 0.002 * (seed - 3.5) for seed in range(8)),
    }
    return CellRecord.model_validate(usual | changes)


def base(task: str = "urgency", variant: str = "plain", **changes: object) -> CellRecord:
    nothing = dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_seeds", "p_crossed", "p_rows"))
    usual = {"mean": 0.821, "low": 0.79, "high": 0.85, "verdict": "", "is_base": True, "by_seed": (), "seconds": 18.2}
    return cell(task, variant, **(nothing | usual | changes))


def record(*cells: CellRecord, **changes: object) -> ComparisonRecord:
    held = {"weft": "0.1.0", "created": "2026-03-01T10:00:00+00:00", "name": "methods", "seeds": tuple(range(8))}
    limits = {"smallest_p": 2 / 2**8, "seeds_needed": 6, "resamples": 2000}
    return ComparisonRecord.model_validate(held | limits | {"cells": cells} | changes)


def judged(difference: float, half: float, p: float) -> Verdict:
    low, high = difference - half, difference + half
    if low > -0.005 and high < 0.005:
        return "equivalent"
    return ("better" if difference > 0 else "worse") if p <= 0.05 and low * high > 0 else "cannot tell"


def grid(
    tasks: Sequence[str], variants: Sequence[str], sizes: Sequence[int | None] = (None,), labels: Sequence[str] = (),
    seeds: int = 8, together: Sequence[str] = (), **changes: object,
) -> ComparisonRecord:  # fmt: skip
    """A whole made-up table, the same each time; `together` names tasks of a matrix."""
    rng = random.Random(7)
    cells = []
    for task in tasks:
        level = rng.uniform(0.6, 0.85)
        for number, variant in enumerate(variants):
            effect = rng.choice((0.0, 0.0, 0.03, -0.02, 0.012))
            speed, size_of = rng.uniform(8, 60), rng.choice((1_539, 3_075, 150_000, 1_200_000))
            for place, size in enumerate(sizes):
                mean = level - 0.12 / (place + 1) + 0.12 / len(sizes) + effect * number / (number + 1)
                difference, half = effect + rng.gauss(0, 0.003), rng.choice((0.003, 0.01, 0.02))
                p = 0.0078 if abs(difference) > half else rng.uniform(0.06, 1)
                interval = {"mean": mean, "low": mean - 0.02, "high": mean + 0.022, "size": size, "seeds": seeds}
                cost = {"seconds": speed * (place + 1) / len(sizes), "parameters": size_of}
                if number == 0:
                    cells.append(base(task, variant, **interval, **cost))
                    continue
                ends = {
                    "difference": difference,
                    "difference_low": difference - half,
                    "difference_high": difference + half,
                }
                classes = {
                    label: ClassDifference(mean=0.7, difference=d, low=d - 0.05, high=d + 0.05)
                    for label in labels
                    for d in [difference + rng.gauss(0, 0.04)]
                }
                spread = tuple(difference + rng.gauss(0, half) for _ in range(seeds))
                verdict = judged(difference, half, p)
                found = {"p": p, "verdict": verdict, "by_seed": spread, "per_class": classes}
                cells.append(cell(task, variant, **interval, **ends, **cost, **found))
    baselines = {task: {"majority": 0.2, "tfidf": 0.61} for task in tasks}
    matrix = [
        PairRecord(
            task=one, other=two, difference=d, low=d - 0.01, high=d + 0.01, verdict=judged(d, 0.01, 0.01),
            agreement=rng.uniform(-0.3, 0.6),
        )
        for one in together
        for two in together
        if one != two
        for d in [rng.gauss(0, 0.02)]
    ]  # fmt: skip
    grouping = (tuple(together[:2]), tuple(together[2:])) if together else ()
    usual = {"baselines": baselines, "matrix": matrix, "grouping": grouping, "seeds": tuple(range(seeds))}
    return record(*cells, **(usual | changes))
