/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_decoder.h"

void *pq_decode_array(struct pq_decoder *d, size_t n, size_t elem_size)
{
    void *p = arena_array(d->ar, n, elem_size);
    if (p == NULL) {
        d->is_out_of_memory = true;
        thrift_fault(&d->r, "no memory");
    }
    return p;
}

bool pq_decode_within(struct pq_decoder *d, uint32_t n, uint32_t limit, const char *what)
{
    if (n <= limit) {
        return true;
    }
    if (d->limit == NULL) {
        d->limit = what;
        d->limit_value = limit;
        d->limit_found = n;
    }
    thrift_fault(&d->r, "too many");
    return false;
}

grebe_status pq_decode_finish(struct pq_decoder *d, const char *what, grebe_error *err)
{
    if (d->is_out_of_memory) {
        return GREBE_FAIL(err, GREBE_ENOMEM, "%s: no memory for its arrays", what);
    }
    if (d->limit != NULL) {
        return GREBE_FAIL(err, GREBE_ELIMIT, "%s: %u %s, the limit is %u", what, d->limit_found,
                          d->limit, d->limit_value);
    }
    return thrift_reader_check(&d->r, what, err);
}

bool pq_decode_bytes(struct pq_decoder *d, const struct thrift_field *f, struct pq_bytes *out)
{
    return thrift_get_bytes(&d->r, f, &out->data, &out->len);
}

void pq_decode_require(struct pq_decoder *d, uint32_t seen, uint32_t wanted, const char *fault)
{
    if (d->r.fault == NULL && (seen & wanted) != wanted) {
        thrift_fault(&d->r, fault);
    }
}

const int64_t *pq_decode_i64_list(struct pq_decoder *d, const struct thrift_field *f, uint32_t *n)
{
    uint8_t elem = THRIFT_I64;
    int64_t *v;
    *n = 0;
    uint32_t count;
    if (!thrift_get_list(&d->r, f, &elem, &count)) {
        return NULL;
    }
    v = pq_decode_array(d, count, sizeof *v);
    for (uint32_t i = 0; i < count && d->r.fault == NULL; i++) {
        v[i] = thrift_elem_int(&d->r, elem);
    }
    *n = v == NULL ? 0 : count;
    return v;
}

void pq_decode_statistics(struct pq_decoder *d, struct pq_statistics *s)
{
    struct thrift_field f = { 0 };
    bool flag;
    while (thrift_field_next(&d->r, &f)) {
        switch (f.id) {
        case 1: pq_decode_bytes(d, &f, &s->legacy_max); break;
        case 2: pq_decode_bytes(d, &f, &s->legacy_min); break;
        case 3: thrift_get_i64(&d->r, &f, &s->null_count); break;
        case 4: thrift_get_i64(&d->r, &f, &s->distinct_count); break;
        case 5: pq_decode_bytes(d, &f, &s->max_value); break;
        case 6: pq_decode_bytes(d, &f, &s->min_value); break;
        case 7:
            if (thrift_get_bool(&d->r, &f, &flag)) {
                s->is_max_exact = flag;
            }
            break;
        case 8:
            if (thrift_get_bool(&d->r, &f, &flag)) {
                s->is_min_exact = flag;
            }
            break;
        case 9: thrift_get_i64(&d->r, &f, &s->nan_count); break;
        default: thrift_skip(&d->r, f.type); break;
        }
    }
}
