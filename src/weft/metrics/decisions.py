"""What a report and `weft evaluate` show of decisions: what they cost, and how much work finds the rows of a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from weft.metrics.bootstrap import intervals_of
from weft.metrics.classification import Floats
from weft.metrics.outcomes import unknown
from weft.metrics.outcomes.means import MeanOutcomes
from weft.metrics.sections import CostTable, DecisionTable
from weft.metrics.workload import SEEN, measure_workload

UNTOLD = 0.5  # the width of an interval, as a share of all rows, from which a workload is not known
_FROM_TO = ("95 % from", "to")


def cost_table(costs: Mapping[str, Floats]) -> CostTable:
    """The mean cost per row of several ways to decide, by name, with intervals of the same resamples.

    Args:
        costs: of every row, (R,), by the way to decide.
    """
    rows = len(next(iter(costs.values())))
    outcomes = MeanOutcomes(lines=np.arange(rows), scores=unknown(rows), values=costs)
    ends = intervals_of(outcomes, outcomes.metrics)
    lines = [(name, float(outcomes.measure(name)[0]), *ends[name]) for name in costs]
    note = "What an answer costs on average; less is better. A wrong answer that no cost is named for costs 1."
    return CostTable("Cost per row", ("Decision", "Cost", *_FROM_TO), lines, note)


def workload_table(label: str, ranks: Sequence[float], wanted: Sequence[bool], ranked_by: str) -> DecisionTable:
    """The recall of a label at several workloads.

    Args:
        label: what is looked for.
        ranks: how far to the front each row belongs, (R,).
        wanted: whether each row has the label, (R,).
        ranked_by: what the ranks are, in words.
    """
    heading, columns = f"Recall of {label} by workload", ("Rows read", "Recall", *_FROM_TO)
    if not any(wanted):
        return DecisionTable(heading, columns, (), f"None of the {len(wanted):,} rows is {label}.")
    found = measure_workload(ranks, wanted)
    share, low, high = (f"{100 * end:.1f} %" for end in found.needed)
    wide = found.needed[2] - found.needed[1] > UNTOLD
    doubt = f" With so wide an interval, these rows cannot tell it: measure on more that are {label}." if wide else ""
    note = (
        f"Rows are read by their {ranked_by}, the highest first. To see {100 * SEEN:g} % of the {sum(wanted):,} rows "
        f"that are {label}, {share} of all {len(wanted):,} have to be read (95 % interval {low} to {high})."
        f"{doubt}"
    )
    lines = [(f"{100 * share:g} %", *estimate) for share, estimate in found.recalls.items()]
    return DecisionTable(heading, columns, lines, note)
