"""From texts to scores and predictions: the one path that everything predicts through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, tee
from typing import Any

import torch

from weft.data.flat import flat_row
from weft.data.formats import Row
from weft.data.predictions import PlainPrediction, Prediction
from weft.data.records import Input
from weft.errors import DataError, DivergedError
from weft.model.answers import Answer, Tally
from weft.model.forms import AnswerForm, NestedForm, with_flags
from weft.model.inputs import Inputs, lacking_spans
from weft.model.limits import Limits, apply_limits
from weft.model.network import Network
from weft.tensors import Scores, batches_by_length
from weft.tokenization.cache import SharedTokenizer
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer

WINDOW = 1024  # rows looked at together, so that rows of similar length share a batch
_BATCH_TOKENS = 4096


def predict(network: Network, rows: Iterable[Mapping[str, Input]]) -> Iterator[Answer]:
    """An answer per row, in order; a row says for each of the tasks to answer what it reads.

    Tasks that read the same tokens share one pass of the encoder, as far as conditioning allows. All rows must name the
    same tasks.
    """
    network.eval()
    remaining = iter(rows)
    while window := list(islice(remaining, WINDOW)):
        tokenizer = SharedTokenizer(network.tokenizer)
        if problem := next(filter(None, (lacking_spans(network, row) for row in window)), None):
            raise DataError(problem)
        waiting = span_sources(network, window)
        answers, truncated = answer_all(
            network, [{task: row[task] for task in row if task not in waiting} for row in window], tokenizer
        )
        if waiting:
            asked = with_spans(network, window, waiting, answers, tokenizer)
            further, cut_further = answer_all(network, asked, tokenizer)
            answers = [{**first, **second} for first, second in zip(answers, further, strict=True)]
            truncated = [first | second for first, second in zip(truncated, cut_further, strict=True)]
        for row, answer, cut in zip(window, answers, truncated, strict=True):
            empty = (task for task, input in row.items() if not all(map(tokenizer.has_tokens, input.texts)))
            yield Answer({task: answer[task] for task in row}, frozenset(cut), frozenset(empty))


def answer_all(
    network: Network, window: Sequence[Mapping[str, Input]], tokenizer: Tokenizer
) -> tuple[list[dict[str, Prediction]], list[set[str]]]:
    """Each row's predictions, by task, and the tasks that did not read all of it."""
    answers: list[dict[str, Prediction]] = [{} for _ in window]
    truncated: list[set[str]] = [set() for _ in window]
    for tokenized in groups(network, window, tokenizer):
        for task, scores in score(network, tokenized).items():
            predictions = network.targets[task].decode(scores, tokenized[task])
            for row, (prediction, tokenized_example) in enumerate(zip(predictions, tokenized[task], strict=True)):
                answers[row][task] = prediction
                truncated[row] |= {task} if tokenized_example.dropped else set()
    return answers, truncated


def span_sources(network: Network, window: Sequence[Mapping[str, Input]]) -> dict[str, str]:
    """The tasks some of whose rows come without the spans they ask about, and the tasks that find these."""
    sources = {task: network.tasks[task].spans_source for task in window[0]}
    lacking = [task for task in sources if any(row[task].spans is None for row in window)]
    return {task: source for task in lacking if (source := sources[task]) is not None}


def with_spans(
    network: Network,
    window: Sequence[Mapping[str, Input]],
    waiting: Mapping[str, str],
    answers: Sequence[Mapping[str, Prediction]],
    tokenizer: Tokenizer,
) -> list[dict[str, Input]]:
    """The rows of tasks that wait for spans, with those that their source finds in the text of each task's own.

    A source that has answered about these very texts is not asked again.
    """
    known: dict[tuple[str, tuple[Input, ...]], Sequence[Mapping[str, Prediction]]] = {
        (source, _texts(window, source)): answers for source in waiting.values() if source in window[0]
    }
    asked: list[dict[str, Input]] = [{} for _ in window]
    for task, source in waiting.items():
        texts = _texts(window, task)
        if (source, texts) not in known:
            known[source, texts], _ = answer_all(network, [{source: input} for input in texts], tokenizer)
        for row, (inputs, found) in enumerate(zip(window, known[source, texts], strict=True)):
            input = inputs[task]
            spans = tuple(span.gold for span in found[source].spans or ())
            asked[row][task] = input if input.spans is not None else replace(input, spans=spans)
    return asked


def _texts(window: Sequence[Mapping[str, Input]], task: str) -> tuple[Input, ...]:
    """What a task reads of each row, without the spans."""
    return tuple(Input(row[task].texts, words=row[task].words) for row in window)


def groups(
    network: Network, window: Sequence[Mapping[str, Input]], tokenizer: Tokenizer
) -> list[dict[str, list[TokenizedExample]]]:
    """The tasks that may share a pass, and what each makes of the rows: the same tokens."""
    found: dict[Any, dict[str, list[TokenizedExample]]] = {}
    for task in window[0]:
        inputs = [row[task] for row in window]
        tokenized = network.tasks[task].encode(inputs, tokenizer, network.max_length(task))
        tokens = tuple(row.ids.tobytes() for tokenized_example in tokenized for row in tokenized_example.rows)
        found.setdefault((network.conditioner.encoder_key(task), tokens), {})[task] = tokenized
    return list(found.values())


@torch.inference_mode()
def score(network: Network, tokenized: Mapping[str, Sequence[TokenizedExample]]) -> dict[str, Scores]:
    """The scores of tasks that read the same tokens, in the order of the examples."""
    first = next(iter(tokenized.values()))
    device = next(network.parameters()).device
    parts: dict[str, list[Scores]] = {task: [] for task in tokenized}
    order: list[int] = []
    for indices in batches_by_length([example.tokens for example in first], _BATCH_TOKENS):
        batches = {
            task: network.collate(task, [examples[index] for index in indices]).to(device)
            for task, examples in tokenized.items()
        }
        for task, scores in network.scores(batches).items():
            check_finite(task, scores)
            examples = [tokenized[task][index] for index in indices]
            parts[task].append(network.targets[task].compact(scores.detached(), examples))
        order += indices
    return {task: Scores.join(scores_of_batches, order) for task, scores_of_batches in parts.items()}


def check_finite(task: str, scores: Scores) -> None:
    """Raise for scores among which none is the largest."""
    if not math.isfinite(float(scores.values.sum())):
        raise DivergedError(
            f"the scores of task {task!r} are not finite: the weights have diverged; train anew with a lower "
            "training.learning_rate"
        )


def by_task(answer: Answer, scores: bool) -> dict[str, Any]:
    """The answers of a row by task, and beside them its flags."""
    return with_flags({name: prediction.to_dict(scores) for name, prediction in answer.predictions.items()}, answer)


def of_task(answer: Answer, task: str, scores: bool) -> PlainPrediction:
    """The answer to a row that one task was asked about, with its flags; a list has none, see `Model.predict`."""
    return answer.predictions[task].to_dict(scores, answer.flags())


def flat_columns(
    network: Network, tasks: Sequence[str], answers: Sequence[Answer], scores: bool
) -> dict[str, list[Any]]:
    """The answers of these tasks and the flags as the columns of a table, all of them also where there is no answer."""
    if not answers:  # one about nothing shows which columns there would be
        nothing = {name: Input(("",) * network.tasks[name].text_count, spans=()) for name in tasks}
        return {name: [] for name in _flat(next(predict(network, [nothing])), scores)}
    rows = [_flat(answer, scores) for answer in answers]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _flat(answer: Answer, scores: bool) -> dict[str, Any]:
    return {**flat_row(answer.predictions, scores), **answer.flags()}


def predict_rows(
    network: Network,
    inputs: Inputs,
    form: AnswerForm | None = None,
    tally: Tally | None = None,
    limits: Limits | None = None,
) -> Iterator[dict[str, Any]]:
    """What is written about each row of the input, in the form asked for or nested; counted in `tally`."""
    form = form or NestedForm()
    for row, asked, answer in answer_rows(network, inputs, tally, limits):
        yield from form.rows(row, asked, answer)
    form.finish()


def answer_rows(
    network: Network, inputs: Inputs, tally: Tally | None = None, limits: Limits | None = None
) -> Iterator[tuple[Row, dict[str, Input], Answer]]:
    """Each row of the input with what the tasks read of it and its answer; counted in `tally`."""
    tally = tally or Tally()
    rows, again = tee(inputs)
    for (row, asked), answer in zip(rows, predict(network, (read for _, read in again)), strict=True):
        yield row, asked, apply_limits(tally.add(answer), limits or {})


def passes_note(network: Network, inputs: Inputs) -> str | None:
    """A sentence where tasks with the same columns still need a pass of the encoder each; None where they do not."""
    keys = {
        name: (network.conditioner.encoder_key(name), network.tasks[name].siamese, network.tasks[name].compares)
        for name in inputs.columns
    }
    passes = len({(columns, keys[name]) for name, columns in inputs.columns.items()})
    if passes == len(set(inputs.columns.values())):
        return None
    kind = network.conditioning.to_dict()["kind"]
    return f"{len(keys)} tasks need {passes} passes of the encoder, since {kind} or how they read tells them apart"
