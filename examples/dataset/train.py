#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training loop that is stopped and goes on: from the vector of a word, whether the word is one of the 5,000 most frequent.

    train.py [words.parquet]        PYTHONPATH=build/python; numpy, and torch where it is installed

Rows are loaded once into a cache, a label is computed by an expression, the set is split, and the training rows are read as a
shuffled stream. After 150 steps the state of the stream is written down; a second stream takes it up, and what it gives is
compared, row by row, with what the first one gives on."""
import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np

import grebe.dataset as gd

WORDS = pathlib.Path(__file__).resolve().parent.parent / "data" / "glove_20k.parquet"
BATCH, STEPS, STOP = 64, 400, 150


def data(path, cache):
    rows = gd.load("parquet", data_files=str(path), split="train", cache_dir=cache)
    rows = rows.map({"label": "rank < 5000"}).select_columns(["word", "vector", "label"])
    return rows.train_test_split(test_size=0.2, seed=7)


def stream_of(train):
    return train.to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=2000).with_format("numpy")


def model():
    """step(x, y) and guess(x) of a logistic regression: torch's, or the same by hand."""
    try:
        import torch
    except ImportError:
        w = np.zeros(51)

        def guess(x):
            return 1 / (1 + np.exp(-(x @ w[:-1] + w[-1])))

        def step(x, y):
            error = guess(x) - y
            w[:-1] -= 0.1 * error @ x / len(y)
            w[-1] -= 0.1 * error.mean()
        return "numpy", step, guess
    torch.manual_seed(0)
    layer = torch.nn.Linear(50, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(layer(torch.tensor(x)).squeeze(1), torch.tensor(y, dtype=torch.float32))
        loss.backward()
        optimizer.step()

    def guess(x):
        with torch.no_grad():
            return torch.sigmoid(layer(torch.tensor(x))).squeeze(1).numpy()
    return "torch", step, guess


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else WORDS)
    with tempfile.TemporaryDirectory() as cache:
        parts = data(path, cache)
        print(f"{len(parts['train'])} rows to train with, {len(parts['test'])} to test; fingerprint {parts['train'].fingerprint}")
        name, step, guess = model()
        stream, n = stream_of(parts["train"]), 0
        batches = itertools.chain.from_iterable(stream.iter(BATCH) for _ in itertools.count())
        for batch in itertools.islice(batches, STOP):
            step(batch["vector"], np.asarray(batch["label"], np.float64))
        state = json.dumps(stream.state_dict())
        print(f"stopped after {STOP} steps; the state is {len(state)} bytes of JSON")

        again = stream_of(data(path, cache)["train"])  # found in the cache, as another process would
        again.load_state_dict(json.loads(state))
        for n, (ours, theirs) in enumerate(itertools.islice(zip(batches, again.iter(BATCH)), 20), 1):
            assert list(ours["word"]) == list(theirs["word"])
        print(f"the {n} batches behind it are the same from both")
        for _ in range(4):
            for batch in again.iter(BATCH):
                step(batch["vector"], np.asarray(batch["label"], np.float64))
        test = parts["test"].with_format("numpy")[:]
        right = ((guess(test["vector"]) > 0.5) == np.asarray(test["label"])).mean()
        print(f"{right:.1%} of the test rows are judged right ({name})")
        assert right > 0.85


if __name__ == "__main__":
    main()
