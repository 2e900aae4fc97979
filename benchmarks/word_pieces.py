"""How many tokens a text becomes with word pieces that were joined by count and by likelihood.

    python benchmarks/word_pieces.py --data ../shared/data

The folder holds sotu and wikitext, each with train.txt and valid.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.corpus.vocabulary import learn_vocabulary
from weft.corpus.vocabulary_stats import measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=["sotu", "wikitext"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 2000, 4000, 8000])
    options = parser.parse_args()
    print("| texts | pieces | in both | by count | by likelihood | ratio |\n|---|---|---|---|---|---|")
    for name in options.sets:
        for size in options.sizes:
            print(compare(options.data / name, size), flush=True)


def compare(folder: Path, size: int) -> str:
    """A row of the table: tokens per word of the texts that were not learned from."""
    count, likelihood = (
        learn_vocabulary([folder / "train.txt"], "wordpiece", size, criterion=criterion)
        for criterion in ("count", "likelihood")
    )
    both = len(count.backend.get_vocab().keys() & likelihood.backend.get_vocab().keys())
    found = [measure(tokenizer, [folder / "valid.txt"]) for tokenizer in (count, likelihood)]
    per_word = [counts.tokens / counts.words for counts in found]
    ratio = per_word[1] / per_word[0]
    return f"| {folder.name} | {size:,} | {both:,} | {per_word[0]:.3f} | {per_word[1]:.3f} | {ratio:.3f} |"


if __name__ == "__main__":
    main()
