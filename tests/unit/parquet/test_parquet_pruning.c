/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What page indexes and bloom filters say: right where they are right, nothing where they are
 * damaged or cannot be true, and checksums only where they are asked for.
 */
#include "parquet/parquet_format.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/arrow_internal.h"
#include "parquet/parquet_bloom.h"
#include "parquet/parquet_file.h"
#include "parquet/parquet_filter.h"
#include "test_support.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    struct call call;
    int n_files;
};

static void open_fixture(struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(context_new(NULL, &f->ctx, &err));
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    f->call = (struct call){ .threads = 1, .memory_limit_bytes = UINT64_MAX };
    f->n_files = 0;
}

static void close_fixture(struct fixture *f)
{
    io_store_free(f->store);
    context_free(f->ctx);
}

/* A reader of the bytes, under a name of their own: the context knows nothing of them. */
static struct format_reader *open_bytes(struct fixture *f, const void *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    char path[32];
    snprintf(path, sizeof path, "f%d", f->n_files++);
    assert_ok(io_create(f->store, path, false, &w, &err));
    assert_ok(io_write(w, bytes, len, &err));
    assert_ok(io_writer_publish(w, true, &err));
    io_writer_free(w);
    assert_ok(parquet_format.open(f->store, path, NULL, &r, &err));
    return r;
}

static unsigned char *golden(const char *name, size_t *len)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s", name);
    return test_read_file(path, len);
}

static int column_of(struct format_reader *r, const char *name)
{
    grebe_error err = GREBE_ERROR_INIT;
    int c = -1;
    assert_ok(schema_find(&r->schema, name, &c, &err));
    return c;
}

static const struct pq_chunk *chunk_of(struct format_reader *r, int column, size_t chunk)
{
    const struct pq_file *f = ((struct pq_reader *)r)->file;
    return pq_chunk_of(f, chunk, f->schema.columns[column].leaf);
}

/* ---- pages ---- */

/* Values of the column in [begin, end) of the chunk lie within the page's bounds. */
static void check_page(struct fixture *f, struct format_reader *r, int column, size_t chunk,
                       int64_t begin, int64_t end, const struct column_bounds *b)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct ArrowArray rows = { 0 };
    int64_t first = r->chunk_begin[chunk];
    struct arrow_type t;
    if (end == begin) {
        return;
    }
    assert_ok(arrow_type_of(r->schema.children[column], &t, &err));
    assert_ok(r->ops->read(r, &column, 1, first + begin, first + end, &f->call, &rows, &err));
    const struct ArrowArray *a = rows.children[0];
    assert_int_equal(b->n_values, end - begin);
    if (b->has_null_count) {
        assert_int_equal(b->null_count, array_null_count(a));
    }
    for (int64_t i = 0; i < a->length; i++) {
        if (a->null_count != 0 && a->buffers[0] != NULL && !bit_get(a->buffers[0], a->offset + i)) {
            continue;
        }
        assert_true(!b->has_null_count || b->null_count < b->n_values);
        if (t.kind == ARROW_INT32 || t.kind == ARROW_INT64 || t.kind == ARROW_INT8) {
            int64_t v = arrow_load_int(a->buffers[1], t.kind, a->offset + i);
            assert_true(!b->has_min || arrow_load_int(b->min, t.kind, 0) <= v);
            assert_true(!b->has_max || arrow_load_int(b->max, t.kind, 0) >= v);
        } else if (t.kind == ARROW_STRING || t.kind == ARROW_BINARY) {
            const int32_t *o = (const int32_t *)a->buffers[1] + a->offset + i;
            const char *p = (const char *)a->buffers[2] + o[0];
            size_t len = (size_t)(o[1] - o[0]);
            size_t n = len < b->min_len ? len : b->min_len;
            int c = b->has_min && n > 0 ? memcmp(b->min, p, n) : 0;
            assert_true(!b->has_min || c < 0 || (c == 0 && b->min_len <= len));
            n = len < b->max_len ? len : b->max_len;
            c = b->has_max && n > 0 ? memcmp(b->max, p, n) : 0;
            assert_true(!b->has_max || c > 0 || (c == 0 && b->max_len >= len));
        }
    }
    array_release(&rows);
}

/* All pages of all columns; gives the number of pages that something is told of. */
static size_t check_file(struct fixture *f, struct format_reader *r)
{
    grebe_error err = GREBE_ERROR_INIT;
    size_t n = 0;
    for (int c = 0; c < r->schema.n_children; c++) {
        for (size_t chunk = 0; chunk < r->n_chunks; chunk++) {
            struct page_bounds p;
            assert_ok(r->ops->page_bounds(r, c, chunk, &p, &err));
            int64_t rows = r->chunk_begin[chunk + 1] - r->chunk_begin[chunk];
            assert_true(p.n == 0 || (p.row_begin[0] == 0 && p.row_begin[p.n] == rows));
            for (size_t i = 0; i < p.n; i++) {
                assert_true(p.row_begin[i] <= p.row_begin[i + 1]);
                check_page(f, r, c, chunk, p.row_begin[i], p.row_begin[i + 1], &p.bounds[i]);
            }
            n += p.n;
            page_bounds_release(&p);
        }
    }
    return n;
}

struct told_file {
    const char *name;
    size_t at_least; /* pages in all columns together that something is told of */
};

static void check_files(const struct told_file *files, size_t n_files)
{
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < n_files; i++) {
        size_t len = 0;
        unsigned char *bytes = golden(files[i].name, &len);
        struct format_reader *r = open_bytes(&f, bytes, len);
        size_t n = check_file(&f, r);
        if (n < files[i].at_least) {
            fail_msg("%s: %zu pages, expected %zu", files[i].name, n, files[i].at_least);
        }
        r->ops->close(r);
        free(bytes);
    }
    close_fixture(&f);
}

static void test_page_bounds__files_with_indexes__hold_every_value(void **state)
{
    static const struct told_file files[] = {
        { "pa_small_pages.parquet", 100 },
        { "peers/pa_page_index.parquet", 20 },
        { "peers/pa_page_index_null_pages.parquet", 10 },
        { "peers/pa_page_index_descending.parquet", 10 },
        { "peers/pl_row_groups_pages.parquet", 20 },
        { "testing/alltypes_tiny_pages.parquet", 1000 },
        { "testing/int32_with_null_pages.parquet", 5 },
        { "testing/fixed_length_byte_array.parquet", 10 },
        { "testing/delta_encoding_required_column.parquet", 0 },
        { "testing/binary_truncated_min_max.parquet", 0 },
    };
    (void)state;
    check_files(files, sizeof files / sizeof *files);
}

static void test_page_bounds__statistics_in_headers__hold_every_value(void **state)
{
    static const struct told_file files[] = {
        { "pa_delta.parquet", 32 },
        { "pa_small_pages_v1_lz4.parquet", 585 },
        { "peers/pa_content_defined_chunks.parquet", 127 },
        { "peers/pa_dictionary_overflows.parquet", 20 },
        { "peers/pa_encodings_delta_v2.parquet", 20 },
    };
    (void)state;
    check_files(files, sizeof files / sizeof *files);
}

static void count_finding(void *arg, bool is_error, const char *place, const char *message)
{
    (void)place;
    *(int *)arg += strstr(message, "page header") != NULL || is_error;
}

/* Whether the bounds of an int32 column's pages are those of its values. */
static bool is_true_of(const struct page_bounds *p, const struct ArrowArray *a)
{
    const int32_t *v = a->buffers[1];
    for (size_t i = 0; i < p->n; i++) {
        const struct column_bounds *b = &p->bounds[i];
        int64_t n_nulls = 0;
        for (int64_t k = p->row_begin[i]; k < p->row_begin[i + 1]; k++) {
            if (!bit_get(a->buffers[0], a->offset + k)) {
                n_nulls++;
            } else if ((b->has_min && arrow_load_int(b->min, ARROW_INT32, 0) > v[a->offset + k]) ||
                       (b->has_max && arrow_load_int(b->max, ARROW_INT32, 0) < v[a->offset + k])) {
                return false;
            }
        }
        if (b->has_null_count && b->null_count != n_nulls) {
            return false;
        }
    }
    return true;
}

/* Every byte of page headers damaged: most of it is seen, and what is not, a deep check finds. */
static void test_page_bounds__damaged_headers__dropped_or_found_by_check(void **state)
{
    (void)state;
    struct fixture f;
    struct ArrowArray rows = { 0 };
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0, n_dropped = 0, n_tried = 0, n_untrue = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("pa_small_pages_v1_lz4.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    int column = column_of(r, "i32");
    struct pq_file *file = ((struct pq_reader *)r)->file;
    const struct pq_chunk *meta = chunk_of(r, column, 0);
    assert_true(meta->column_index_offset == 0);
    assert_ok(r->ops->read(r, &column, 1, 0, r->chunk_begin[1], &f.call, &rows, &err));
    size_t begin = (size_t)pq_chunk_range(file, meta).start;
    const struct pq_pages *pages = file->groups[0].pages[file->schema.columns[column].leaf];
    assert_true(pages->n > 4);
    for (uint32_t page = 0; page < pages->n; page++) {
        size_t at = begin + (size_t)pages->pages[page].offset;
        for (size_t end = at + pages->pages[page].header_len; at < end; at++) {
            for (int k = 0; k < 3; k++) {
                unsigned char was = bytes[at];
                struct page_bounds p;
                bytes[at] = (unsigned char)(k == 0 ? was ^ 0x01 : k == 1 ? 0xff : was + 4);
                struct format_reader *bad = open_bytes(&f, bytes, len);
                assert_ok(bad->ops->page_bounds(bad, column, 0, &p, &err));
                n_tried++;
                n_dropped += p.n == 0;
                if (!is_true_of(&p, rows.children[0])) {
                    int n_found = 0;
                    n_untrue++;
                    assert_ok(bad->ops->check(bad, true, &f.call, count_finding, &n_found, &err));
                    assert_true(n_found > 0);
                }
                page_bounds_release(&p);
                bad->ops->close(bad);
                bytes[at] = was;
            }
        }
    }
    assert_true(n_dropped * 3 > n_tried);
    assert_true(n_untrue * 8 < n_tried && n_untrue > 0);
    array_release(&rows);
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

/* Bounds of pages that do not reach the chunk's own, or go beyond them, are those of something else. */
static void test_page_bounds__headers_that_do_not_add_up__nothing_told(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("peers/pa_encodings_delta_v2.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    int column = column_of(r, "sorted");
    const struct pq_chunk *meta = chunk_of(r, column, 0);
    size_t begin = (size_t)pq_chunk_range(((struct pq_reader *)r)->file, meta).start;
    size_t end = begin + (size_t)meta->total_compressed_size;
    unsigned char value[2][8];
    memcpy(value[0], meta->statistics.min_value.data, 8);
    memcpy(value[1], meta->statistics.max_value.data, 8);
    r->ops->close(r);
    for (int k = 0; k < 4; k++) { /* min, then max: inwards, then outwards */
        struct page_bounds p;
        unsigned char *at = bytes + begin;
        for (int n = 0; n < 2; n++) { /* in the fields that are not read, then in those that are */
            at += n;
            while (memcmp(at, value[k & 1], 8) != 0) {
                at++;
            }
        }
        assert_true(at < bytes + end);
        at[0] = (unsigned char)(at[0] + ((k & 1) == k / 2 ? 1 : -1));
        r = open_bytes(&f, bytes, len);
        assert_ok(r->ops->page_bounds(r, column, 0, &p, &err));
        assert_int_equal(p.n, 0);
        page_bounds_release(&p);
        r->ops->close(r);
        memcpy(at, value[k & 1], 8);
    }
    r = open_bytes(&f, bytes, len);
    struct page_bounds p;
    assert_ok(r->ops->page_bounds(r, column, 0, &p, &err));
    assert_true(p.n > 1);
    page_bounds_release(&p);
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

/* These indexes call every page one of nulls, with a null count of -1. */
static void test_page_bounds__index_that_lies__nothing_told(void **state)
{
    static const char *const files[] = { "testing/datapage_v1-uncompressed-checksum.parquet",
                                         "testing/datapage_v1-snappy-compressed-checksum.parquet" };
    (void)state;
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        size_t len = 0;
        unsigned char *bytes = golden(files[i], &len);
        struct format_reader *r = open_bytes(&f, bytes, len);
        for (int c = 0; c < 2; c++) {
            struct page_bounds p;
            assert_true(chunk_of(r, c, 0)->column_index_offset > 0);
            assert_ok(r->ops->page_bounds(r, c, 0, &p, &err));
            assert_int_equal(p.n, 0);
            page_bounds_release(&p);
        }
        r->ops->close(r);
        free(bytes);
    }
    close_fixture(&f);
}

/* Every byte of an offset index set to other values: what is told still fits the chunk's rows, and the
 * pages begin where they begin. */
static void test_page_bounds__damaged_offset_index__true_or_nothing(void **state)
{
    (void)state;
    struct fixture f;
    size_t len = 0, n_dropped = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("peers/pa_page_index.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    const struct pq_chunk *c = chunk_of(r, 0, 0);
    size_t begin = (size_t)c->offset_index_offset;
    size_t end = begin + (size_t)c->offset_index_length;
    r->ops->close(r);
    assert_true(end <= len && end > begin);
    for (size_t at = begin; at < end; at++) {
        for (int k = 0; k < 3; k++) {
            grebe_error err = GREBE_ERROR_INIT;
            unsigned char was = bytes[at];
            struct page_bounds p;
            bytes[at] = (unsigned char)(k == 0 ? was ^ 0x02 : k == 1 ? 0xff : was + 1);
            r = open_bytes(&f, bytes, len);
            assert_ok(r->ops->page_bounds(r, 0, 0, &p, &err));
            n_dropped += p.n == 0;
            for (size_t i = 0; i < p.n; i++) {
                check_page(&f, r, 0, 0, p.row_begin[i], p.row_begin[i + 1], &p.bounds[i]);
            }
            page_bounds_release(&p);
            r->ops->close(r);
            bytes[at] = was;
        }
    }
    assert_true(n_dropped > (end - begin)); /* most damage is seen */
    free(bytes);
    close_fixture(&f);
}

/* A column index cut, or with other null counts, null flags or numbers of pages. */
static void test_page_bounds__damaged_column_index__no_crash_and_counts_agree(void **state)
{
    (void)state;
    struct fixture f;
    size_t len = 0, n_dropped = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("testing/int32_with_null_pages.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    const struct pq_chunk *c = chunk_of(r, 0, 0);
    size_t begin = (size_t)c->column_index_offset;
    size_t end = begin + (size_t)c->column_index_length;
    r->ops->close(r);
    for (size_t at = begin; at < end; at++) {
        for (int k = 0; k < 3; k++) {
            grebe_error err = GREBE_ERROR_INIT;
            unsigned char was = bytes[at];
            struct page_bounds p;
            int64_t nulls = 0;
            bytes[at] = (unsigned char)(k == 0 ? was ^ 0x01 : k == 1 ? 0xff : 0);
            r = open_bytes(&f, bytes, len);
            assert_ok(r->ops->page_bounds(r, 0, 0, &p, &err));
            n_dropped += p.n == 0;
            for (size_t i = 0; i < p.n; i++) {
                assert_true(!p.bounds[i].has_null_count || p.bounds[i].null_count >= 0);
                nulls += p.bounds[i].has_null_count ? p.bounds[i].null_count : 0;
            }
            assert_true(p.n == 0 || nulls == 275 || nulls == 0 || !p.bounds[0].has_null_count);
            page_bounds_release(&p);
            r->ops->close(r);
            bytes[at] = was;
        }
    }
    assert_true(n_dropped > 0);
    free(bytes);
    close_fixture(&f);
}

static void test_page_bounds__out_of_range__refused(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    struct page_bounds p;
    bool may = false;
    size_t len = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("pa_small_pages.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    assert_fails(r->ops->page_bounds(r, -1, 0, &p, &err), GREBE_EINVAL, "out of range");
    page_bounds_release(&p);
    assert_fails(r->ops->page_bounds(r, 0, 99, &p, &err), GREBE_EINVAL, "out of range");
    page_bounds_release(&p);
    assert_fails(r->ops->may_contain(r, 0, 99, "", 0, &may, &err), GREBE_EINVAL, "out of range");
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

/* ---- bloom filters ---- */

static bool may_contain(struct format_reader *r, int column, size_t chunk, const void *v, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    bool may = false;
    assert_ok(r->ops->may_contain(r, column, chunk, v, len, &may, &err));
    return may;
}

static void test_filter__files_of_parquet_testing__words(void **state)
{
    static const char *const files[] = { "testing/data_index_bloom_encoding_stats.parquet",
                                         "testing/data_index_bloom_encoding_with_length.parquet" };
    static const size_t n_bytes[] = { 1024, 2048 };
    (void)state;
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < 2; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct pq_filter filter;
        struct buf json = BUF_INIT(mem_system());
        size_t len = 0;
        char shown[64];
        unsigned char *bytes = golden(files[i], &len);
        struct format_reader *r = open_bytes(&f, bytes, len);
        assert_ok(pq_filter_find((struct pq_reader *)r, chunk_of(r, 0, 0), &filter, &err));
        assert_int_equal(filter.n_bytes, n_bytes[i]);
        assert_int_equal(chunk_of(r, 0, 0)->bloom_filter_length > 0, i == 1);
        assert_true(may_contain(r, 0, 0, "Hello", 5));
        assert_true(may_contain(r, 0, 0, "dog", 3));
        assert_false(may_contain(r, 0, 0, "Hello_Not_Exists", 16));
        assert_ok(r->ops->inspect(r, &json, &err));
        snprintf(shown, sizeof shown, "\"bloom_filter_bytes\":%zu", n_bytes[i]);
        assert_ok(buf_put_byte(&json, 0, &err));
        assert_non_null(strstr((const char *)json.data, shown));
        buf_release(&json);
        r->ops->close(r);
        free(bytes);
    }
    close_fixture(&f);
}

/* Every value of every column with a filter may be there; most that are not, are known not to be. */
static void check_filters(struct fixture *f, struct format_reader *r, size_t *n_there,
                          size_t *n_ruled_out)
{
    grebe_error err = GREBE_ERROR_INIT;
    for (int c = 0; c < r->schema.n_children; c++) {
        struct arrow_type t;
        assert_ok(arrow_type_of(r->schema.children[c], &t, &err));
        for (size_t chunk = 0; chunk < r->n_chunks; chunk++) {
            struct ArrowArray rows = { 0 };
            assert_ok(r->ops->read(r, &c, 1, r->chunk_begin[chunk], r->chunk_begin[chunk + 1],
                                   &f->call, &rows, &err));
            const struct ArrowArray *a = rows.children[0];
            bool is_bytes = t.kind == ARROW_STRING || t.kind == ARROW_BINARY;
            bool is_fixed = t.byte_width > 0 && t.byte_width <= 8 && t.kind != ARROW_BOOL;
            for (int64_t i = 0; i < a->length && (is_bytes || is_fixed); i++) {
                if (a->null_count != 0 && a->buffers[0] != NULL && !bit_get(a->buffers[0], i)) {
                    continue;
                }
                const int32_t *o = a->buffers[1];
                const unsigned char *v =
                    is_bytes ? (const unsigned char *)a->buffers[2] + o[i]
                             : (const unsigned char *)a->buffers[1] + i * t.byte_width;
                size_t len = is_bytes ? (size_t)(o[i + 1] - o[i]) : (size_t)t.byte_width;
                assert_true(may_contain(r, c, chunk, v, len));
                ++*n_there;
            }
            unsigned char strange[8] = { 0x5a, 0x13, 0x77, 0x4e, 0x21, 0x90, 0x3c, 0x11 };
            for (int k = 0; k < 64; k++) {
                strange[0] = (unsigned char)k;
                *n_ruled_out +=
                    !may_contain(r, c, chunk, strange, is_fixed ? (size_t)t.byte_width : 8);
            }
            array_release(&rows);
        }
    }
}

static void test_filter__files_of_peers__no_value_lost(void **state)
{
    static const char *const files[] = { "peers/pa_bloom_filter.parquet",
                                         "peers/duck_bloom_filter.parquet",
                                         "peers/duck_types.parquet", "peers/duck_delta.parquet",
                                         "duck_default.parquet" };
    (void)state;
    struct fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t len = 0, n_there = 0, n_ruled_out = 0;
        unsigned char *bytes = golden(files[i], &len);
        struct format_reader *r = open_bytes(&f, bytes, len);
        check_filters(&f, r, &n_there, &n_ruled_out);
        assert_true(n_there > 100);
        assert_true(n_ruled_out > 50);
        r->ops->close(r);
        free(bytes);
    }
    close_fixture(&f);
}

/* A zero that was written with the other sign is equal all the same. */
static void test_filter__float_zeros__both_asked_for(void **state)
{
    (void)state;
    struct fixture f;
    size_t len = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("peers/pa_bloom_filter.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    int price = column_of(r, "price");
    struct pq_filter filter;
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(pq_filter_find((struct pq_reader *)r, chunk_of(r, price, 0), &filter, &err));
    assert_true(filter.n_bytes > 0);
    r->ops->close(r);
    /* A filter that holds -0 and nothing else. */
    double zero = 0.0, minus = -0.0, other = 1.5;
    memset(bytes + filter.offset, 0, filter.n_bytes);
    pq_bloom_insert(bytes + filter.offset, filter.n_bytes, pq_bloom_hash(&minus, 8));
    r = open_bytes(&f, bytes, len);
    assert_true(may_contain(r, price, 0, &zero, 8));
    assert_true(may_contain(r, price, 0, &minus, 8));
    assert_false(may_contain(r, price, 0, &other, 8));
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

/* Each byte of the header damaged, and the offset moved: "perhaps", or the true answer. */
static void test_filter__damaged__perhaps(void **state)
{
    (void)state;
    struct fixture f;
    size_t len = 0, n_perhaps = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("testing/data_index_bloom_encoding_stats.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    size_t begin = (size_t)chunk_of(r, 0, 0)->bloom_filter_offset;
    r->ops->close(r);
    for (size_t at = begin; at < begin + 16; at++) {
        for (int v = 0; v < 256; v++) {
            unsigned char was = bytes[at];
            bytes[at] = (unsigned char)v;
            r = open_bytes(&f, bytes, len);
            n_perhaps += may_contain(r, 0, 0, "Hello_Not_Exists", 16);
            r->ops->close(r);
            bytes[at] = was;
        }
    }
    assert_true(n_perhaps > 1000);
    free(bytes);
    close_fixture(&f);
}

/* ---- checksums ---- */

static grebe_status read_rows(struct fixture *f, struct format_reader *r, int column, int64_t begin,
                              int64_t end, grebe_error *err)
{
    struct ArrowArray rows = { 0 };
    grebe_status st = r->ops->read(r, &column, 1, begin, end, &f->call, &rows, err);
    assert_true(st != GREBE_OK || rows.length == end - begin);
    array_release(&rows);
    return st;
}

static void test_checksums__bad_pages__fail_unless_left_out(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("testing/datapage_v1-corrupt-checksum.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    assert_int_equal(r->n_rows, 5120);
    /* Column a: its first page is bad. Column b: its second one. */
    for (int c = 0; c < 2; c++) {
        for (int page = 0; page < 2; page++) {
            grebe_status st = read_rows(&f, r, c, page * 2560, page * 2560 + 2560, &err);
            assert_int_equal(st, c == page ? GREBE_ECORRUPT : GREBE_OK);
        }
    }
    assert_fails(read_rows(&f, r, 0, 0, 5120, &err), GREBE_ECORRUPT, "checksum");
    r->skip_checksums = true;
    assert_ok(read_rows(&f, r, 0, 0, 5120, &err));
    assert_ok(read_rows(&f, r, 1, 0, 5120, &err));
    /* What a reader found out that does not compare, one that does must not take on trust. */
    r->skip_checksums = false;
    assert_fails(read_rows(&f, r, 0, 0, 2560, &err), GREBE_ECORRUPT, "checksum");
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

static void test_checksums__bad_dictionaries__fail_unless_left_out(void **state)
{
    (void)state;
    struct fixture f;
    grebe_error err = GREBE_ERROR_INIT;
    size_t len = 0;
    open_fixture(&f);
    unsigned char *bytes = golden("testing/rle-dict-uncompressed-corrupt-checksum.parquet", &len);
    struct format_reader *r = open_bytes(&f, bytes, len);
    for (int c = 0; c < 2; c++) {
        assert_fails(read_rows(&f, r, c, 0, 1000, &err), GREBE_ECORRUPT, "dictionary");
    }
    r->skip_checksums = true;
    for (int c = 0; c < 2; c++) {
        assert_ok(read_rows(&f, r, c, 0, 1000, &err));
    }
    r->ops->close(r);
    free(bytes);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_bounds__files_with_indexes__hold_every_value),
        cmocka_unit_test(test_page_bounds__statistics_in_headers__hold_every_value),
        cmocka_unit_test(test_page_bounds__damaged_headers__dropped_or_found_by_check),
        cmocka_unit_test(test_page_bounds__headers_that_do_not_add_up__nothing_told),
        cmocka_unit_test(test_page_bounds__index_that_lies__nothing_told),
        cmocka_unit_test(test_page_bounds__damaged_offset_index__true_or_nothing),
        cmocka_unit_test(test_page_bounds__damaged_column_index__no_crash_and_counts_agree),
        cmocka_unit_test(test_page_bounds__out_of_range__refused),
        cmocka_unit_test(test_filter__files_of_parquet_testing__words),
        cmocka_unit_test(test_filter__files_of_peers__no_value_lost),
        cmocka_unit_test(test_filter__float_zeros__both_asked_for),
        cmocka_unit_test(test_filter__damaged__perhaps),
        cmocka_unit_test(test_checksums__bad_pages__fail_unless_left_out),
        cmocka_unit_test(test_checksums__bad_dictionaries__fail_unless_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
