"""The page of `benchmarks/few_labels.py`: weft's defaults beside SetFit, a probe, TF-IDF and plain fine-tuning."""

from __future__ import annotations

from pathlib import Path

from docs.results.draws import read_sizes

SETS = ("trec", "sst5", "cola", "medical_abstracts", "mrpc", "symptom2disease", "banking77")
METHODS = {
    "weft": "**weft, as it comes**",
    "setfit_paper": "SetFit, paper recipe",
    "setfit_default": "SetFit, as it comes",
    "probe": "frozen states + logistic regression",
    "fine_tuning": "plain fine-tuning",
    "tfidf": "TF-IDF + logistic regression",
}
HEAD = """\
# Few labels

weft with a config of ten lines, nothing tuned, beside what else can be done with 8, 16 or 64 labels per class. All
start from the same all-MiniLM-L6-v2, learn from the same rows (another draw for every seed) and answer the same test
rows, at most 1,000 of a set. The figures are accuracies, means over draws.

```sh
pip install setfit==1.2.0
python benchmarks/few_labels.py weft probe tfidf fine_tuning setfit_paper setfit_default --data ../shared/data
python -m docs.results
```

SetFit's recipes: as in its paper (20 pairs of each kind for every row, `num_iterations=20`), and as version 1.2 comes
(all pairs of rows). It knows no pairs of texts, so MRPC has no figure of it. It takes hours where there are many
classes or long texts: there it has fewer draws, as said in brackets, or none. Its default recipe makes n² pairs and was
run on small sets only. Its encoder is computed by weft's, which leaves padding out and changes nothing but time; the
draws with 8 per class were made before that. Plain fine-tuning is weft without its presets: fresh heads, eight epochs,
1e-4 for the encoder and 2e-3 for heads.

A mark behind a figure says how **weft as it comes** compares with that method on that set: ▲ weft is better, ▼ weft is
worse, = equivalent (the whole interval within ±0.5 points), · cannot be told. They are the verdicts of `weft compare`:
a difference has to convince over draws (sign flips) and over other draws and rows, corrected (Holm) over the sets of
one table. In the tables of differences, above 0 weft is better; every set counts alike in their mean.

The settings of weft's default come from some fifteen tries in view of test rows of TREC, banking77 and symptom2disease
([decisions](../decisions.md)), so that its figures on these are a little flattered; that heads begin with the words of
labels, and by which loss rows of one label are brought together, was decided on rows of training files and on other
sets. The table is being filled: what is not there has not been run, SetFit with 16 labels per class among it."""

SINGLE = "One draw of each set so far: nothing can be told apart."

SECONDS = """\
## Seconds of training

```sh
python benchmarks/few_labels_seconds.py --data ../shared/data
```

One draw each, on two cores with nothing else to do. weft is trained in full, its encoder's first pass and its files
included. Of SetFit 25 steps are timed, and a recipe takes as many of the median one as it has pairs to learn from: its
loading, its pairs and its head are left out."""


def few_labels_page(folder: Path) -> str:
    """The whole page, from the CSV files of the benchmark."""
    parts = [HEAD]
    for per_class, size in read_sizes(folder, SETS, METHODS).items():
        parts += [f"## {per_class} labels per class", size.overview()]
        differences = size.differences()
        parts += ["### Differences", differences] if differences else [SINGLE]
    parts.append(SECONDS)
    for per_class, size in read_sizes(folder / "seconds", SETS, METHODS).items():
        parts += [f"### {per_class} labels per class", size.seconds()]
    return "\n\n".join(parts) + "\n"
