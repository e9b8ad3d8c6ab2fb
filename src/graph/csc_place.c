/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/csc_place.h"

#include <string.h>

enum { PLACE_MASK = (1 << CSC_PLACE_BITS) - 1 };

static inline void put_number(unsigned char *dst, size_t at, uint32_t v, size_t made)
{
    switch (made) {
    case 1: dst[at] = (unsigned char)v; break;
    case 2: memcpy(dst + at * 2, &(uint16_t){ (uint16_t)v }, 2); break;
    case 4: memcpy(dst + at * 4, &v, 4); break;
    default: memcpy(dst + at * 8, &(uint64_t){ v }, 8); break;
    }
}

/* One field of all records. Widths that are known make copies that are one instruction. */
static inline void place(const unsigned char *record, size_t n, size_t record_bytes, size_t at, size_t width,
                         unsigned char *dst, size_t made)
{
    for (size_t k = 0; k < n; k++, record += record_bytes) {
        uint32_t word, v;
        memcpy(&word, record, sizeof word);
        size_t to = word & PLACE_MASK;
        if (width == made) {
            memcpy(dst + to * made, record + at, made);
        } else if (width == 0) {
            put_number(dst, to, word >> CSC_PLACE_BITS, made);
        } else {
            memcpy(&v, record + at, sizeof v);
            put_number(dst, to, v, made);
        }
    }
}

static void place_field(const unsigned char *records, size_t n, size_t bytes, const struct csc_field *f,
                        unsigned char *dst)
{
    if (f->width == f->made) {
        switch (f->made) {
        case 1: place(records, n, bytes, f->at, 1, dst, 1); break;
        case 2: place(records, n, bytes, f->at, 2, dst, 2); break;
        case 4: place(records, n, bytes, f->at, 4, dst, 4); break;
        case 8: place(records, n, bytes, f->at, 8, dst, 8); break;
        default: place(records, n, bytes, f->at, f->made, dst, f->made); break;
        }
        return;
    }
    if (f->width == 0) { /* types */
        switch (f->made) {
        case 1: place(records, n, bytes, 0, 0, dst, 1); break;
        case 2: place(records, n, bytes, 0, 0, dst, 2); break;
        case 4: place(records, n, bytes, 0, 0, dst, 4); break;
        default: place(records, n, bytes, 0, 0, dst, 8); break;
        }
        return;
    }
    switch (f->made) { /* numbers that are 4 bytes in the record */
    case 1: place(records, n, bytes, f->at, 4, dst, 1); break;
    case 2: place(records, n, bytes, f->at, 4, dst, 2); break;
    default: place(records, n, bytes, f->at, 4, dst, 8); break;
    }
}

void csc_place(const struct csc_build *b, const unsigned char *records, size_t n, unsigned char *const *values)
{
    for (size_t i = 0; i < b->n_fields; i++) {
        if (b->fields[i].made > 0) {
            place_field(records, n, b->record_bytes, &b->fields[i], values[i]);
        }
    }
}
