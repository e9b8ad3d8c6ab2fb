# SPDX-License-Identifier: Apache-2.0
"""The engines of ann.py: Grebe and its peers behind the same calls."""
import json, os, tempfile

import numpy as np

from ann_sets import csr


def unit(x):
    n = np.linalg.norm(x, axis=1, keepdims=True)
    return np.ascontiguousarray(x / np.where(n == 0, 1, n), dtype=np.float32)


def file_bytes(save):
    with tempfile.NamedTemporaryFile() as f:
        save(f.name)
        return os.path.getsize(f.name)


class Engine:
    """build(data, threads) -> prepared; prepare(data) -> queries; set(p); batch(q, k) -> ids or None; one(q, i, k) -> ids."""
    sparse = False
    sweep = [{}]
    options = {}
    def prepare(self, data): return data.test
    def set(self, p): ...
    batch = None
    one = None
    def bytes(self): return file_bytes(self.save)
    def save(self, path): raise NotImplementedError
    def load(self, d, path): raise NotImplementedError


class Hnswlib(Engine):
    sweep = [dict(ef=e) for e in (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 480, 800, 1200)]
    options = dict(M=16, ef_construction=200)
    def build(self, d, threads):
        import hnswlib
        self.ix = hnswlib.Index(space={"angular": "cosine", "euclidean": "l2", "ip": "ip"}[d.metric], dim=d.dim)
        self.ix.init_index(max_elements=d.n, ef_construction=200, M=16, random_seed=100)
        self.ix.add_items(d.train, np.arange(d.n), num_threads=threads)
    def set(self, p): self.ix.set_ef(p["ef"])
    def batch(self, q, k): return self.ix.knn_query(q, k, num_threads=1)[0]
    def one(self, q, i, k): return self.ix.knn_query(q[i], k, num_threads=1)[0][0]
    def save(self, path): self.ix.save_index(path)
    def load(self, d, path):
        import hnswlib
        self.ix = hnswlib.Index(space={"angular": "cosine", "euclidean": "l2", "ip": "ip"}[d.metric], dim=d.dim)
        self.ix.load_index(path)


class Faiss(Engine):
    factory = ""
    def build(self, d, threads):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(threads)
        x = unit(d.train) if d.metric == "angular" else d.train
        m = faiss.METRIC_L2 if d.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        self.ix = faiss.index_factory(d.dim, self.factory.replace("{h}", str(d.dim // 2)), m)
        self.tune()
        self.ix.train(x); self.ix.add(x)
        faiss.omp_set_num_threads(1)
    def tune(self): ...
    def prepare(self, d): return unit(d.test) if d.metric == "angular" else d.test
    def batch(self, q, k): return self.ix.search(q, k)[1]
    def one(self, q, i, k): return self.ix.search(q[i:i + 1], k)[1][0]
    def save(self, path): self.faiss.write_index(self.ix, path)
    def load(self, d, path):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(1)
        self.ix = faiss.read_index(path)


class FaissHnsw(Faiss):
    factory = "HNSW32"; options = dict(M=32, efConstruction=200)
    sweep = [dict(efSearch=e) for e in (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 640, 1000)]
    def tune(self): self.ix.hnsw.efConstruction = 200
    def set(self, p): self.ix.hnsw.efSearch = p["efSearch"]


class FaissHnsw16(FaissHnsw):
    factory = "HNSW16"; options = dict(M=16, efConstruction=200)


class FaissIvf(Faiss):
    factory = "IVF1024,Flat"; options = dict(nlist=1024)
    sweep = [dict(nprobe=p) for p in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
    def set(self, p): self.ix.nprobe = p["nprobe"]


class FaissIvfPq(Faiss):
    factory = "IVF1024,PQ{h}x4fs,RFlat"; options = dict(nlist=1024, pq="dim/2 codes of 4 bits, fast scan", refine="float32")
    sweep = [dict(nprobe=p, k_factor=f) for f in (4, 10, 30) for p in (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
    def set(self, p):
        self.faiss.extract_index_ivf(self.ix).nprobe = p["nprobe"]
        self.ix.k_factor = p["k_factor"]


class FaissIvfRabitq(FaissIvfPq):
    factory = "IVF1024,RaBitQfs,RFlat"; options = dict(nlist=1024, code="RaBitQ 1 bit, fast scan", refine="float32")


class FaissIvfRabitq4(FaissIvfPq):
    factory = "IVF1024,RaBitQfs4,RFlat"; options = dict(nlist=1024, code="RaBitQ 4 bits, fast scan", refine="float32")
    sweep = [dict(nprobe=p, k_factor=f) for f in (1, 2, 4) for p in (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)]


class FaissHnswSq8(FaissHnsw):
    factory = "HNSW32_SQ8,RFlat"; options = dict(M=32, efConstruction=200, storage="SQ8", refine="float32")
    def tune(self): self.faiss.downcast_index(self.ix.base_index).hnsw.efConstruction = 200
    def set(self, p):
        self.faiss.downcast_index(self.ix.base_index).hnsw.efSearch = p["efSearch"]; self.ix.k_factor = 4


class FaissFlat(Faiss):
    factory = "Flat"


class Usearch(Engine):
    dtype = "f32"
    sweep = [dict(expansion=e) for e in (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 640, 1000)]
    options = dict(connectivity=16, expansion_add=200)
    def fit(self, d, x):
        """i8 holds [-1, 1]: rows are normalised (angular) or all divided by the largest absolute value (euclidean)."""
        if self.dtype != "i8": return x
        return unit(x) if d.metric != "euclidean" else x * np.float32(1.0 / float(np.abs(d.train).max()))
    def new(self, d):
        from usearch.index import Index
        self.ix = Index(ndim=d.dim, metric={"angular": "cos", "euclidean": "l2sq", "ip": "ip"}[d.metric], dtype=self.dtype,
                        connectivity=16, expansion_add=200, expansion_search=64)
    def build(self, d, threads):
        self.new(d)
        self.ix.add(np.arange(d.n), self.fit(d, d.train), threads=threads)
    def load(self, d, path): self.new(d); self.ix.load(path)
    def save(self, path): self.ix.save(path)
    def prepare(self, d): return self.fit(d, d.test)
    def set(self, p): self.ix.expansion_search = p["expansion"]
    def batch(self, q, k): return self.ix.search(q, k, threads=1).keys
    def one(self, q, i, k): return self.ix.search(q[i], k, threads=1).keys


class UsearchI8(Usearch):
    dtype = "i8"; options = dict(connectivity=16, expansion_add=200, dtype="i8, no second pass")


class UsearchBf16(Usearch):
    dtype = "bf16"; options = dict(connectivity=16, expansion_add=200, dtype="bf16")


class Vsag(Engine):
    kind, quant, extra = "hgraph", "fp32", {}
    sweep = [dict(ef_search=e) for e in (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 480, 800, 1000)]       # above 1000 it fails in silence
    degree, efc = 32, 200
    def params(self, d, threads):
        p = dict(base_quantization_type=self.quant, max_degree=self.degree, ef_construction=self.efc, build_thread_count=threads)
        if self.quant != "fp32":
            p.update(use_reorder=True, precise_quantization_type="fp32")
        p.update(self.extra)
        return p
    def new(self, d, threads):
        import pyvsag
        pyvsag.set_logger_off()
        m = {"angular": "cosine", "euclidean": "l2", "ip": "ip"}[d.metric]
        self.options = self.params(d, threads)
        self.ix = pyvsag.Index(self.kind, json.dumps(dict(dtype="float32", metric_type=m, dim=d.dim, index_param=self.options)))
    def load(self, d, path): self.new(d, 1); self.ix.load(path)
    def save(self, path): self.ix.save(path)
    def build(self, d, threads):
        self.new(d, threads)
        self.ix.build(vectors=d.train.ravel(), ids=np.arange(d.n, dtype=np.int64), num_elements=d.n, dim=d.dim)
    def set(self, p): self.p = json.dumps({self.kind: p})
    def one(self, q, i, k): return self.ix.knn_search(q[i], k, self.p)[0]


class VsagSq8(Vsag): quant = "sq8"
class VsagSq8u(Vsag): quant = "sq8_uniform"
class VsagSq4u(Vsag): quant = "sq4_uniform"
class VsagRabitq(Vsag): quant = "rabitq"
class VsagFp16(Vsag): quant = "fp16"


class VsagIvf(Vsag):
    kind = "ivf"
    sweep = [dict(scan_buckets_count=p, factor=f) for f in (4.0, 10.0) for p in (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)]
    def params(self, d, threads):
        return dict(buckets_count=1024, ivf_train_type="kmeans", base_quantization_type="pqfs", base_pq_dim=d.dim // 2,
                    use_reorder=True, precise_quantization_type="fp32", thread_count=threads)


class Blas(Engine):
    """Exact scan: one matrix product for each block of queries, then argpartition."""
    def build(self, d, threads):
        self.x = unit(d.train) if d.metric == "angular" else d.train
        self.sq = (self.x * self.x).sum(1) if d.metric == "euclidean" else None
    def prepare(self, d): return unit(d.test) if d.metric == "angular" else d.test
    def batch(self, q, k, block=64):
        out = []
        for s in range(0, len(q), block):
            e = q[s:s + block] @ self.x.T
            e = self.sq - 2 * e if self.sq is not None else -e
            p = np.argpartition(e, k, axis=1)[:, :k]
            out.append(np.take_along_axis(p, np.argsort(np.take_along_axis(e, p, 1), 1), 1))
        return np.concatenate(out)
    def one(self, q, i, k): return self.batch(q[i:i + 1], k)[0]
    def bytes(self): return self.x.nbytes


def grebe_index():
    import grebe, importlib                                           # ImportError: the engine is skipped
    return (getattr(grebe, "ann", None) or importlib.import_module("grebe.ann")).Index


class Grebe(Engine):
    """The planned binding: Index(kind, metric, **options).build(x).search(q, k, **params) -> (ids, distances)."""
    kind = "hnsw"; opt = dict(M=16, ef_construction=200); sweep = [dict(ef=p["ef"]) for p in Hnswlib.sweep]
    def build(self, d, threads):
        self.options = dict(self.opt)
        self.ix = grebe_index()(kind=self.kind, metric=d.metric, threads=threads, **self.opt)
        self.ix.build(d.train)
    def set(self, p): self.p = p
    def batch(self, q, k): return self.ix.search(q, k, threads=1, **self.p)[0]
    def one(self, q, i, k): return self.ix.search(q[i], k, threads=1, **self.p)[0]
    def save(self, path): self.ix.save(path)
    def load(self, d, path): self.ix = grebe_index().load(path)


class GrebeSq8(Grebe): opt = dict(M=16, ef_construction=200, quant="sq8", rerank="f32")
class GrebeFlat(Grebe): kind = "flat"; opt = {}; sweep = [{}]
class GrebeIvf(Grebe):
    kind = "ivf"; opt = dict(lists=1024, quant="sq8", rerank="f32"); sweep = FaissIvf.sweep
class GrebeIvfSq4(GrebeIvf): opt = dict(lists=1024, quant="sq4", rerank="f32")
class GrebeIvfNone(GrebeIvf): opt = dict(lists=1024, quant="none", rerank="f32")
class GrebeIvfRabitq(GrebeIvf): opt = dict(lists=1024, quant="rabitq", rerank="f32"); sweep = FaissIvfRabitq.sweep
class GrebeIvfPq4(GrebeIvf): opt = dict(lists=1024, quant="pq4", rerank="f32"); sweep = FaissIvfPq.sweep
class GrebeGraphSq8(Grebe): kind = "graph"; opt = dict(quant="sq8", rerank="f32")


class ScipyCsr(Engine):
    sparse = True
    def build(self, d, threads): self.a = csr(d.train, d.vocab).astype(np.float32)
    def prepare(self, d): return csr(d.test, d.vocab).astype(np.float32)
    def one(self, q, i, k):
        e = (self.a @ q[i].toarray().ravel())
        p = np.argpartition(-e, k)[:k]
        return p[np.argsort(-e[p])]
    def bytes(self): return self.a.data.nbytes + self.a.indices.nbytes + self.a.indptr.nbytes


class VsagSindi(Engine):
    sparse = True; kind = "sindi"
    sweep = [dict(query_prune_ratio=a, term_prune_ratio=t, n_candidate=c) for c, t in ((20, 0.0), (60, 0.0), (200, 0.0), (60, 0.1))
             for a in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)]
    def params(self, d): return dict(term_id_limit=d.vocab, window_size=50000, doc_prune_ratio=0.0, use_reorder=True)
    def new(self, d):
        import pyvsag
        pyvsag.set_logger_off()
        self.options = self.params(d)
        self.ix = pyvsag.Index(self.kind, json.dumps(dict(dtype="sparse", metric_type="ip", dim=d.dim, index_param=self.options)))
    def load(self, d, path): self.new(d); self.ix.load(path)
    def save(self, path): self.ix.save(path)
    def build(self, d, threads):
        self.new(d)
        ptr, ids, vals = d.train
        self.ix.build(index_pointers=ptr.astype(np.uint32), indices=ids, values=vals, ids=np.arange(d.n, dtype=np.int64))
    def prepare(self, d):
        ptr, ids, vals = d.test
        return [(np.array([0, ptr[i + 1] - ptr[i]], np.uint32), ids[ptr[i]:ptr[i + 1]].copy(), vals[ptr[i]:ptr[i + 1]].copy()) for i in range(d.q)]
    def set(self, p): self.p = json.dumps({self.kind: p})
    def one(self, q, i, k): return self.ix.knn_search(index_pointers=q[i][0], indices=q[i][1], values=q[i][2], k=k, parameters=self.p)[0][0]


class VsagSindiPruned(VsagSindi):
    def params(self, d): return dict(term_id_limit=d.vocab, window_size=50000, doc_prune_ratio=0.4, use_reorder=True)


class VsagSindiQuant(VsagSindi):
    def params(self, d): return dict(term_id_limit=d.vocab, window_size=50000, doc_prune_ratio=0.0, use_reorder=True, use_quantization=True)


class VsagSparseScan(VsagSindi):
    kind = "sparse_index"; sweep = [{}]
    def params(self, d): return dict(need_sort=False)


class GrebeSparse(Grebe):
    """Rows as (pointers int64, ids uint32, values float32); a single query is the same with one row."""
    sparse = True; kind = "sparse"; opt = {}
    sweep = [dict(query_prune=x, candidates=c) for c in (20, 60) for x in (0.8, 0.6, 0.4, 0.2, 0.0)]
    def prepare(self, d):
        ptr, ids, vals = d.test
        rows = [(np.array([0, b - a], np.int64), ids[a:b].copy(), vals[a:b].copy()) for a, b in zip(ptr[:-1], ptr[1:])]
        return d.test, rows
    def batch(self, q, k): return self.ix.search(q[0], k, threads=1, **self.p)[0]
    def one(self, q, i, k): return self.ix.search(q[1][i], k, threads=1, **self.p)[0][0]


ENGINES = {
    "hnswlib": Hnswlib, "faiss-hnsw32": FaissHnsw, "faiss-hnsw16": FaissHnsw16, "faiss-hnsw32-sq8-refine": FaissHnswSq8,
    "faiss-ivf1024-flat": FaissIvf, "faiss-ivf1024-pq4fs-refine": FaissIvfPq, "faiss-ivf1024-rabitqfs-refine": FaissIvfRabitq,
    "faiss-ivf1024-rabitqfs4-refine": FaissIvfRabitq4,
    "faiss-flat": FaissFlat, "usearch-f32": Usearch, "usearch-bf16": UsearchBf16, "usearch-i8": UsearchI8,
    "vsag-hgraph-fp32": Vsag, "vsag-hgraph-fp16": VsagFp16, "vsag-hgraph-sq8": VsagSq8, "vsag-hgraph-sq8u": VsagSq8u,
    "vsag-hgraph-sq4u": VsagSq4u, "vsag-hgraph-rabitq": VsagRabitq, "vsag-ivf1024-pqfs-refine": VsagIvf,
    "numpy-blas": Blas,
    "grebe-hnsw": Grebe, "grebe-hnsw-sq8": GrebeSq8, "grebe-graph-sq8": GrebeGraphSq8, "grebe-ivf": GrebeIvf,
    "grebe-ivf-sq4": GrebeIvfSq4, "grebe-ivf-none": GrebeIvfNone, "grebe-ivf-rabitq": GrebeIvfRabitq, "grebe-ivf-pq4": GrebeIvfPq4, "grebe-flat": GrebeFlat,
    "scipy-csr": ScipyCsr, "vsag-sindi": VsagSindi, "vsag-sindi-pruned": VsagSindiPruned, "vsag-sindi-quant": VsagSindiQuant,
    "vsag-sparse-scan": VsagSparseScan, "grebe-sparse": GrebeSparse,
}
