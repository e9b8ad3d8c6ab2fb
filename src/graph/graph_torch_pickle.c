/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle of a graph, opcode by opcode as torch writes it. What is named twice is put into the memo once. */
#include <string.h>

#include "base/endian.h"
#include "graph/graph_torch.h"

enum { VERSION_NUMBER = 6199, N_STORAGES = 16 };

struct pickler {
    struct buf *dst;
    grebe_error *err;
    grebe_status st; /* the first failure; nothing is put after it */
    uint32_t n_memo;
    uint32_t rebuild, storage, cpu, ordered; /* 1 + place in the memo; 0: not yet named */
    uint32_t storages[N_STORAGES];
    uint64_t n_keys;
};

static void put(struct pickler *p, const void *bytes, size_t n)
{
    p->st = p->st == GREBE_OK ? buf_put(p->dst, bytes, n, p->err) : p->st;
}

static void op(struct pickler *p, char c)
{
    put(p, &c, 1);
}

/* An opcode with a place in the memo: one byte, or four. */
static void memo_op(struct pickler *p, char narrow, char wide, uint32_t i)
{
    unsigned char four[4];
    op(p, i < 256 ? narrow : wide);
    store_le32(four, i);
    put(p, four, i < 256 ? 1 : 4);
}

static uint32_t memoize(struct pickler *p)
{
    memo_op(p, 'q', 'r', p->n_memo);
    return ++p->n_memo;
}

static void text(struct pickler *p, const char *s)
{
    unsigned char four[4];
    size_t n = strlen(s);
    op(p, 'X');
    store_le32(four, (uint32_t)n);
    put(p, four, 4);
    put(p, s, n);
}

static void new_text(struct pickler *p, const char *s)
{
    text(p, s);
    memoize(p);
}

/* A text or global that is named many times. */
static void known_text(struct pickler *p, const char *s, uint32_t *place)
{
    if (*place > 0) {
        memo_op(p, 'h', 'j', *place - 1);
        return;
    }
    text(p, s);
    *place = memoize(p);
}

static void known_global(struct pickler *p, const char *module, const char *name, uint32_t *place)
{
    if (*place > 0) {
        memo_op(p, 'h', 'j', *place - 1);
        return;
    }
    op(p, 'c');
    put(p, module, strlen(module));
    op(p, '\n');
    put(p, name, strlen(name));
    op(p, '\n');
    *place = memoize(p);
}

static void integer(struct pickler *p, uint64_t v)
{
    unsigned char bytes[9];
    if (v < 1u << 8) {
        op(p, 'K');
        bytes[0] = (unsigned char)v;
        put(p, bytes, 1);
    } else if (v < 1u << 16) {
        op(p, 'M');
        store_le16(bytes, (uint16_t)v);
        put(p, bytes, 2);
    } else if (v <= INT32_MAX) {
        op(p, 'J');
        store_le32(bytes, (uint32_t)v);
        put(p, bytes, 4);
    } else { /* the fewest bytes of two's complement */
        unsigned char n = 8;
        store_le64(bytes, v);
        while (n > 1 && bytes[n - 1] == 0 && bytes[n - 2] < 0x80) {
            n--;
        }
        op(p, '\x8a');
        put(p, &n, 1);
        put(p, bytes, n);
    }
}

static void begin_dims(struct pickler *p, unsigned rank)
{
    if (rank > 3) {
        op(p, '(');
    }
}

static void end_dims(struct pickler *p, unsigned rank)
{
    static const char ops[] = { ')', '\x85', '\x86', '\x87', 't' };
    op(p, ops[rank > 3 ? 4 : rank]);
    if (rank > 0) {
        memoize(p);
    }
}

static const char *storage_name(int type)
{
    static const char *const names[] = { "FloatStorage",        "HalfStorage",
                                         "BFloat16Storage",     "DoubleStorage",
                                         "CharStorage",         "ByteStorage",
                                         "ShortStorage",        NULL,
                                         "IntStorage",          NULL,
                                         "LongStorage",         NULL,
                                         "BoolStorage",         "ComplexFloatStorage",
                                         "ComplexDoubleStorage" };
    return type >= 0 && (size_t)type < sizeof names / sizeof names[0] ? names[type] : NULL;
}

static void put_tensor(struct pickler *p, const struct graph_torch_tensor *t)
{
    char key[24];
    const char *storage = storage_name(t->type);
    uint64_t n = 1;
    if (storage == NULL) {
        p->st = p->st != GREBE_OK ? p->st
                                  : GREBE_FAIL(p->err, GREBE_EUNSUPPORTED, "torch files have no storage for %s",
                                               tensor_type_name(t->type));
        return;
    }
    for (unsigned i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    known_global(p, "torch._utils", "_rebuild_tensor_v2", &p->rebuild);
    op(p, '(');
    op(p, '(');
    known_text(p, "storage", &p->storage);
    known_global(p, "torch", storage, &p->storages[t->type]);
    size_t len = 0;
    for (uint64_t k = p->n_keys, unit = 1; len == 0; unit *= 10) { /* digits of the key */
        if (k / unit < 10) {
            for (; unit > 0; unit /= 10) {
                key[len++] = (char)('0' + k / unit % 10);
            }
            break;
        }
    }
    key[len] = '\0';
    p->n_keys++;
    new_text(p, key);
    known_text(p, "cpu", &p->cpu);
    integer(p, n);
    op(p, 't');
    memoize(p);
    op(p, 'Q');
    integer(p, 0);
    begin_dims(p, t->rank);
    for (unsigned i = 0; i < t->rank; i++) {
        integer(p, t->shape[i]);
    }
    end_dims(p, t->rank);
    begin_dims(p, t->rank);
    for (unsigned i = 0; i < t->rank; i++) {
        uint64_t stride = 1;
        for (unsigned k = i + 1; k < t->rank; k++) {
            stride *= t->shape[k] > 0 ? t->shape[k] : 1;
        }
        integer(p, stride);
    }
    end_dims(p, t->rank);
    op(p, '\x89');
    known_global(p, "collections", "OrderedDict", &p->ordered);
    op(p, ')');
    op(p, 'R');
    memoize(p);
    op(p, 't');
    memoize(p);
    op(p, 'R');
    memoize(p);
}

/* ---- dictionaries: one pair is set alone, more in batches of a thousand ---- */

static void begin_dict(struct pickler *p)
{
    op(p, '}');
    memoize(p);
}

static void before_pair(struct pickler *p, size_t i, size_t n)
{
    if (n > 1 && i % 1000 == 0) {
        op(p, '(');
    }
}

static void after_pair(struct pickler *p, size_t i, size_t n)
{
    if (n == 1) {
        op(p, 's');
    } else if (i + 1 == n || i % 1000 == 999) {
        op(p, 'u');
    }
}

static void put_ids(struct pickler *p, const char *const *types, size_t n)
{
    const struct graph_torch_tensor id = { .type = ARRAY_I64 };
    begin_dict(p);
    for (size_t i = 0; i < n; i++) {
        before_pair(p, i, n);
        new_text(p, types[i]);
        put_tensor(p, &id);
        after_pair(p, i, n);
    }
}

static void put_entries(struct pickler *p, const struct graph_torch_entry *entries, size_t n)
{
    begin_dict(p);
    for (size_t i = 0; i < n; i++) {
        before_pair(p, i, n);
        new_text(p, entries[i].name);
        put_tensor(p, &entries[i].tensor);
        after_pair(p, i, n);
    }
}

static void put_independent(struct pickler *p, const struct graph_torch_state *s)
{
    const struct graph_torch_tensor version = { .type = ARRAY_I64, .rank = 1, .shape = { 1 } };
    size_t n = s->n_tensors + 1;
    begin_dict(p);
    before_pair(p, 0, n);
    new_text(p, "version_number");
    put_tensor(p, &version);
    for (size_t i = 0; i < s->n_tensors; i++) {
        new_text(p, s->tensors[i].name);
        put_tensor(p, &s->tensors[i].tensor);
    }
    after_pair(p, n - 1, n);
}

static void put_state(struct pickler *p, const struct graph_torch_state *s)
{
    size_t n = 1 + (s->n_node_types > 0 ? 2u : 0u) + (s->n_node_attributes > 0 ? 1u : 0u) +
               (s->n_edge_attributes > 0 ? 1u : 0u);
    begin_dict(p);
    before_pair(p, 0, n);
    new_text(p, "independent_tensors");
    put_independent(p, s);
    if (s->n_node_types > 0) {
        new_text(p, "node_type_to_id");
        put_ids(p, s->node_types, s->n_node_types);
        new_text(p, "edge_type_to_id");
        put_ids(p, s->edge_types, s->n_edge_types);
    }
    if (s->n_node_attributes > 0) {
        new_text(p, "node_attributes");
        put_entries(p, s->node_attributes, s->n_node_attributes);
    }
    if (s->n_edge_attributes > 0) {
        new_text(p, "edge_attributes");
        put_entries(p, s->edge_attributes, s->n_edge_attributes);
    }
    after_pair(p, n - 1, n);
}

grebe_status graph_torch_pickle(const struct graph_torch_state *state, struct buf *dst, grebe_error *err)
{
    struct pickler p = { .dst = dst, .err = err };
    uint32_t graph = 0, script = 0;
    put(&p, "\x80\x02", 2);
    known_global(&p, "dgl.graphbolt.impl.fused_csc_sampling_graph", "FusedCSCSamplingGraph", &graph);
    put(&p, ")\x81", 2);
    memoize(&p);
    begin_dict(&p);
    new_text(&p, "_c_csc_graph");
    known_global(&p, "torch", "ScriptObject", &script);
    put(&p, ")\x81", 2);
    memoize(&p);
    put_state(&p, state);
    new_text(&p, "__torch__.torch.classes.graphbolt.FusedCSCSamplingGraph");
    op(&p, '\x86');
    memoize(&p);
    put(&p, "bsb.", 4);
    return p.st;
}
