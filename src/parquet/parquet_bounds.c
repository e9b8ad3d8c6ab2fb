/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What statistics may be believed: the decision list of spec 8.2. When in doubt nothing is
 * said; a missing bound costs time, a wrong one costs rows.
 */
#include "parquet/parquet_bounds.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "parquet/parquet_format.h"

static bool is_unsigned(enum arrow_kind kind)
{
    return kind >= ARROW_UINT8 && kind <= ARROW_UINT64;
}

/* Whether the file's own annotation makes the stored integers unsigned. */
static bool is_stored_unsigned(const struct pq_schema_element *e)
{
    if (e->logical.kind == PQ_LOGICAL_INTEGER) {
        return !e->logical.is_signed;
    }
    return e->logical.kind == PQ_LOGICAL_NONE && e->converted >= PQ_CONV_UINT_8 &&
           e->converted <= PQ_CONV_UINT_64;
}

/* Types whose order is known and whose stored form is the Arrow form (or begins with it). */
static bool has_usable_order(const struct pq_leaf *leaf, const struct pq_schema_element *e)
{
    const struct pq_node *n = leaf->node;
    switch (e->logical.kind) {
    case PQ_LOGICAL_NONE:
        if (e->converted == PQ_CONV_INTERVAL) {
            return false;
        }
        break;
    case PQ_LOGICAL_STRING:
    case PQ_LOGICAL_ENUM:
    case PQ_LOGICAL_DATE:
    case PQ_LOGICAL_TIME:
    case PQ_LOGICAL_TIMESTAMP:
    case PQ_LOGICAL_INTEGER:
    case PQ_LOGICAL_JSON:
    case PQ_LOGICAL_BSON:
    case PQ_LOGICAL_UUID:
    case PQ_LOGICAL_FLOAT16: break;
    default: return false;
    }
    bool is_kept = n->convert == PQ_CONVERT_COPY || n->convert == PQ_CONVERT_NARROW ||
                   n->convert == PQ_CONVERT_BOOL || n->convert == PQ_CONVERT_BYTES;
    bool is_int = n->arrow >= ARROW_INT8 && n->arrow <= ARROW_UINT64;
    if (!is_kept || leaf->type == PQ_INT96 || leaf->unreadable != NULL) {
        return false;
    }
    /* A hint that changes the sign changes the order. */
    return !is_int || is_unsigned(n->arrow) == is_stored_unsigned(e);
}

static bool is_signed_order(const struct pq_leaf *leaf, const struct pq_schema_element *e)
{
    return leaf->type <= PQ_DOUBLE && leaf->type != PQ_INT96 && !is_stored_unsigned(e);
}

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023;
    double v = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(fraction + 1024, exponent - 25);
    return h & 0x8000 ? -v : v;
}

/* NaN is no bound, and a zero may stand for either zero: widened to the outer one. */
static bool fix_float(enum arrow_kind kind, bool is_min, const void **p)
{
    static const uint16_t half_zeros[2] = { 0x0000, 0x8000 };
    static const float zeros32[2] = { 0.0F, -0.0F };
    static const double zeros64[2] = { 0.0, -0.0 };
    double v = 0;
    if (kind == ARROW_FLOAT16) {
        v = half_to_double(load_le16(*p));
    } else if (kind == ARROW_FLOAT32) {
        float f;
        memcpy(&f, *p, sizeof f);
        v = (double)f;
    } else {
        memcpy(&v, *p, sizeof v);
    }
    if (isnan(v)) {
        return false;
    }
    if (v == 0) {
        *p = kind == ARROW_FLOAT16   ? (const void *)&half_zeros[is_min]
             : kind == ARROW_FLOAT32 ? (const void *)&zeros32[is_min]
                                     : (const void *)&zeros64[is_min];
    }
    return true;
}

bool pq_bound_take(const struct pq_leaf *leaf, struct pq_bytes b, bool is_min, const void **value,
                   size_t *len)
{
    const struct pq_node *n = leaf->node;
    size_t stored = leaf->type == PQ_BOOLEAN ? 1 : (size_t)n->width_in;
    if (b.data == NULL || (n->convert != PQ_CONVERT_BYTES && b.len != stored)) {
        return false;
    }
    *value = b.data;
    *len = n->convert == PQ_CONVERT_BYTES  ? b.len
           : n->convert == PQ_CONVERT_BOOL ? 1
                                           : (size_t)n->width_out;
    bool is_float =
        n->arrow == ARROW_FLOAT16 || n->arrow == ARROW_FLOAT32 || n->arrow == ARROW_FLOAT64;
    if (n->convert == PQ_CONVERT_BOOL && b.data[0] > 1) {
        return false;
    }
    return !is_float || fix_float(n->arrow, is_min, value);
}

bool pq_bounds_are_within(enum arrow_kind kind, const struct column_bounds *page,
                          const struct column_bounds *chunk)
{
    double p[2] = { 0, 0 }, c[2] = { 0, 0 };
    int64_t pi[2] = { 0, 0 }, ci[2] = { 0, 0 };
    const void *from[4] = { page->min, page->max, chunk->min, chunk->max };
    if (!page->has_min || !page->has_max || !chunk->has_min || !chunk->has_max) {
        return true;
    }
    for (int i = 0; i < 4; i++) {
        double *real = i < 2 ? &p[i] : &c[i - 2];
        int64_t *whole = i < 2 ? &pi[i] : &ci[i - 2];
        float f = 0;
        switch (kind) {
        case ARROW_FLOAT64: memcpy(real, from[i], 8); break;
        case ARROW_FLOAT32:
            memcpy(&f, from[i], 4);
            *real = (double)f;
            break;
        case ARROW_INT64:
        case ARROW_TIMESTAMP: memcpy(whole, from[i], 8); break;
        case ARROW_INT32:
        case ARROW_DATE32: {
            int32_t v = 0;
            memcpy(&v, from[i], 4);
            *whole = v;
            break;
        }
        default: return true;
        }
    }
    return p[0] >= c[0] && p[1] <= c[1] && pi[0] >= ci[0] && pi[1] <= ci[1];
}

const struct pq_leaf *pq_leaf_of_column(const struct pq_file *f, int column)
{
    const struct pq_node *node = &f->schema.columns[column];
    return node->kind == PQ_NODE_LEAF ? &f->schema.leaves[node->leaf] : NULL;
}

bool pq_has_known_order(const struct pq_file *f, const struct pq_leaf *leaf)
{
    enum arrow_kind kind = leaf->node->arrow;
    bool is_float = kind == ARROW_FLOAT16 || kind == ARROW_FLOAT32 || kind == ARROW_FLOAT64;
    uint8_t order = f->footer.n_column_orders == f->schema.n_leaves
                        ? f->footer.column_orders[leaf - f->schema.leaves]
                        : PQ_ORDER_UNKNOWN;
    return has_usable_order(leaf, &f->footer.schema[leaf->element]) &&
           (order == PQ_ORDER_TYPE || (is_float && order == PQ_ORDER_IEEE754));
}

grebe_status pq_bounds(struct format_reader *base, int column, size_t chunk,
                       struct column_bounds *out, grebe_error *err)
{
    const struct pq_file *f = ((struct pq_reader *)base)->file;
    memset(out, 0, sizeof *out);
    if (column < 0 || (uint32_t)column >= f->schema.n_columns || chunk >= f->n_chunks) {
        return GREBE_FAIL(err, GREBE_EINVAL, "column %d, chunk %zu: out of range", column, chunk);
    }
    const struct pq_leaf *leaf = pq_leaf_of_column(f, column);
    if (leaf == NULL) {
        return GREBE_OK;
    }
    const struct pq_schema_element *e = &f->footer.schema[leaf->element];
    const struct pq_chunk *c = pq_chunk_of(f, chunk, leaf->node->leaf);
    const struct pq_statistics *s = &c->statistics;
    if (!c->has_metadata) {
        return GREBE_OK;
    }
    out->n_values = c->num_values;
    if (leaf->max_def == 0 && leaf->node->convert != PQ_CONVERT_NULL) {
        out->has_null_count = true; /* a required column has none, whatever is written */
    }
    if (!c->has_statistics) {
        return GREBE_OK;
    }
    if (leaf->max_def > 0 && s->null_count >= 0 && s->null_count <= c->num_values) {
        out->has_null_count = true;
        out->null_count = s->null_count;
    }
    if (s->nan_count >= 0 && s->nan_count <= c->num_values) {
        out->has_nan_count = true;
        out->nan_count = s->nan_count;
    }
    if (!has_usable_order(leaf, e)) {
        return GREBE_OK;
    }
    if (pq_has_known_order(f, leaf)) {
        out->has_min = pq_bound_take(leaf, s->min_value, true, &out->min, &out->min_len);
        out->has_max = pq_bound_take(leaf, s->max_value, false, &out->max, &out->max_len);
        out->is_min_exact = out->has_min && s->is_min_exact == 1;
        out->is_max_exact = out->has_max && s->is_max_exact == 1;
        return GREBE_OK;
    }
    /* The old fields were written in signed order whatever the type (PARQUET-686, PARQUET-251). */
    if (is_signed_order(leaf, e)) {
        out->has_min = pq_bound_take(leaf, s->legacy_min, true, &out->min, &out->min_len);
        out->has_max = pq_bound_take(leaf, s->legacy_max, false, &out->max, &out->max_len);
    }
    return GREBE_OK;
}

uint64_t pq_stored_bytes(struct format_reader *base, const int *columns, size_t n_columns,
                         size_t chunk)
{
    const struct pq_file *f = ((struct pq_reader *)base)->file;
    uint64_t total = 0;
    if (columns == NULL) {
        n_columns = f->schema.n_columns;
    }
    for (size_t i = 0; i < n_columns; i++) {
        size_t column = columns == NULL ? i : (size_t)columns[i];
        if (column >= f->schema.n_columns) {
            continue;
        }
        const struct pq_node *node = &f->schema.columns[column];
        for (uint32_t leaf = node->leaf_begin; leaf < node->leaf_end; leaf++) {
            total += pq_chunk_range(f, pq_chunk_of(f, chunk, leaf)).len;
        }
    }
    return total;
}
