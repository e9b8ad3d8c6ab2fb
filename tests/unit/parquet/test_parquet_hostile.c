/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files: a clean failure or the same rows by every way of reading, never anything else. */
#include "parquet/parquet_format.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/ipc.h"
#include "base/base64.h"
#include "base/endian.h"
#include "parquet/parquet_file.h"
#include "test_support.h"

#define GOLDEN TEST_DATA "/golden/parquet/"

struct fixture {
    grebe_context *ctx;
    struct io_store *store;
    struct call call;
};

static void open_fixture(struct fixture *f)
{
    grebe_error err = GREBE_ERROR_INIT;
    assert_ok(context_new(NULL, &f->ctx, &err));
    assert_ok(io_memory_new(f->ctx, &f->store, &err));
    f->call = (struct call){ .threads = 1, .memory_limit_bytes = UINT64_MAX };
}

static void close_fixture(struct fixture *f)
{
    io_store_free(f->store);
    context_free(f->ctx);
}

static void put_file(struct fixture *f, const char *path, const void *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct io_writer *w = NULL;
    assert_ok(io_create(f->store, path, false, &w, &err));
    assert_ok(io_write(w, bytes, len, &err));
    assert_ok(io_writer_publish(w, true, &err));
    io_writer_free(w);
}

static void drop_finding(void *arg, bool is_error, const char *place, const char *message)
{
    (void)is_error;
    assert_true(place[0] != 0 && message[0] != 0);
    ++*(int *)arg;
}

/* Reads all, takes some; where both give rows they are equal. Counts columns that could be read. */
static int use_file(struct fixture *f, struct format_reader *r)
{
    int n_read = 0, n_findings = 0;
    struct buf json = BUF_INIT(f->ctx->a);
    for (int64_t c = 0; c < r->schema.n_children; c++) {
        int column = (int)c;
        for (size_t chunk = 0; chunk < r->n_chunks && chunk < 3; chunk++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct ArrowArray rows, taken, expected;
            struct column_bounds bounds;
            int64_t begin = r->chunk_begin[chunk];
            int64_t n = r->chunk_begin[chunk + 1] - begin;
            n = n > 5000 ? 5000 : n;
            (void)!r->ops->bounds(r, column, chunk, &bounds, NULL);
            if (r->ops->read(r, &column, 1, begin, begin + n, &f->call, &rows, &err) != GREBE_OK) {
                assert_true(err.message[0] != 0);
                assert_null(rows.release);
                continue;
            }
            n_read++;
            assert_int_equal(rows.length, n);
            int64_t ids[3] = { begin, begin + n / 2, begin + n - 1 };
            int64_t local[3] = { 0, n / 2, n - 1 };
            if (r->ops->take(r, &column, 1, ids, 3, &f->call, &taken, &err) == GREBE_OK) {
                const struct ArrowSchema *field = r->schema.children[c];
                assert_ok(array_gather(f->ctx->a, field, rows.children[0], local, 3, &expected, &err));
                assert_true(array_equal(field, taken.children[0], &expected));
                array_release(&taken);
                array_release(&expected);
            }
            array_release(&rows);
        }
    }
    (void)!r->ops->check(r, true, &f->call, drop_finding, &n_findings, NULL);
    (void)!r->ops->inspect(r, &json, NULL);
    buf_release(&json);
    return n_read;
}

static const char *const small_files[] = {
    "testing/null_list.parquet",          "testing/nested_maps.snappy.parquet",
    "testing/old_list_structure.parquet", "testing/nan_in_stats.parquet",
    "testing/byte_array_decimal.parquet", "testing/page_v2_empty_compressed.parquet",
    "testing/map_no_value.parquet",       "milvus/column_group_1.parquet",
    "testing/datapage_v2.snappy.parquet", "testing/rle_boolean_encoding.parquet",
    "testing/rle-dict-snappy-checksum.parquet", "testing/data_index_bloom_encoding_stats.parquet",
};
enum { N_SMALL = sizeof small_files / sizeof *small_files };

static unsigned char *read_golden(const char *name, size_t *len)
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN "%s", name);
    return test_read_file(path, len);
}

static void test_file__every_truncation__fails_to_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SMALL; i++) {
        struct fixture f;
        size_t len;
        unsigned char *bytes = read_golden(small_files[i], &len);
        open_fixture(&f);
        for (size_t n = 0; n < len; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            struct format_reader *r = NULL;
            put_file(&f, "x.parquet", bytes, n);
            assert_fails(parquet_format.open(f.store, "x.parquet", NULL, &r, &err), GREBE_ECORRUPT,
                         "x.parquet");
            assert_null(r);
        }
        close_fixture(&f);
        free(bytes);
    }
}

static void test_file__every_byte_changed__clean(void **state)
{
    (void)state;
    static const unsigned char changes[] = { 0xff, 0x80, 0x01 };
    for (size_t i = 0; i < N_SMALL; i++) {
        struct fixture f;
        size_t len;
        unsigned char *bytes = read_golden(small_files[i], &len);
        for (size_t at = 0; at < len; at++) {
            open_fixture(&f);
            for (size_t k = 0; k < sizeof changes; k++) {
                grebe_error err = GREBE_ERROR_INIT;
                struct format_reader *r = NULL;
                bytes[at] ^= changes[k];
                put_file(&f, "x.parquet", bytes, len);
                bytes[at] ^= changes[k];
                if (parquet_format.open(f.store, "x.parquet", NULL, &r, &err) == GREBE_OK) {
                    use_file(&f, r);
                    r->ops->close(r);
                } else {
                    assert_true(err.message[0] != 0);
                }
            }
            close_fixture(&f);
        }
        free(bytes);
    }
}

static void test_file__random_damage__clean(void **state)
{
    (void)state;
    static const char *const files[] = { "pa_default.parquet", "pa_v2_zstd.parquet",
                                         "pa_delta.parquet", "duck_v2_zstd.parquet",
                                         "pa_small_pages_v1_lz4.parquet" };
    uint64_t seed = test_seed();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t len;
        unsigned char *bytes = read_golden(files[i], &len);
        unsigned char *damaged = malloc(len);
        for (int round = 0; round < 12; round++) {
            struct fixture f;
            grebe_error err = GREBE_ERROR_INIT;
            struct format_reader *r = NULL;
            memcpy(damaged, bytes, len);
            for (int k = 0; k < 40; k++) { /* in the pages: the footer is flipped elsewhere */
                size_t at = 4 + (size_t)(test_random(&seed) % (len * 3 / 4));
                damaged[at] = (unsigned char)test_random(&seed);
            }
            open_fixture(&f);
            put_file(&f, "x.parquet", damaged, len);
            if (parquet_format.open(f.store, "x.parquet", NULL, &r, &err) == GREBE_OK) {
                use_file(&f, r);
                r->ops->close(r);
            }
            close_fixture(&f);
        }
        free(damaged);
        free(bytes);
    }
}

/* ---- numbers of the trailer ---- */

static void test_open__footer_length__checked(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 0, 0x7fffffff, 0xffffffff, 10000, 1 };
    struct fixture f;
    size_t len;
    unsigned char *bytes = read_golden("testing/null_list.parquet", &len);
    open_fixture(&f);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        grebe_error err = GREBE_ERROR_INIT;
        struct format_reader *r = NULL;
        store_le32(bytes + len - 8, lengths[i]);
        put_file(&f, "x.parquet", bytes, len);
        assert_fails(parquet_format.open(f.store, "x.parquet", NULL, &r, &err), GREBE_ECORRUPT,
                     "footer");
    }
    free(bytes);
    close_fixture(&f);
}

/* ---- footers rewritten ---- */

struct rewritten {
    struct arena ar;
    unsigned char *bytes;
    size_t len, data_len; /* data_len: up to the footer */
    struct pq_footer footer;
};

static void load(struct rewritten *w, const unsigned char *bytes, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    w->ar = ARENA_INIT(mem_system());
    w->len = len;
    w->bytes = malloc(len);
    memcpy(w->bytes, bytes, len);
    size_t footer_len = load_le32(bytes + len - 8);
    w->data_len = len - 8 - footer_len;
    assert_ok(pq_footer_decode(&w->ar, w->bytes + w->data_len, footer_len, &w->footer, &err));
}

/* The file with `extra` behind its data and the footer as it is now. */
static void store(struct rewritten *w, struct fixture *f, const void *extra, size_t extra_len)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct buf b = BUF_INIT(mem_system());
    unsigned char tail[8];
    assert_ok(buf_put(&b, w->bytes, w->data_len, &err));
    assert_ok(buf_put(&b, extra, extra_len, &err));
    size_t before = b.len;
    assert_ok(pq_footer_encode(&w->footer, &b, &err));
    store_le32(tail, (uint32_t)(b.len - before));
    memcpy(tail + 4, "PAR1", 4);
    assert_ok(buf_put(&b, tail, sizeof tail, &err));
    put_file(f, "x.parquet", b.data, b.len);
    buf_release(&b);
}

static void unload(struct rewritten *w)
{
    arena_release(&w->ar);
    free(w->bytes);
}

static grebe_status read_first(struct fixture *f, int column, grebe_error *err)
{
    struct format_reader *r = NULL;
    struct ArrowArray rows;
    grebe_status st = parquet_format.open(f->store, "x.parquet", NULL, &r, err);
    if (st != GREBE_OK) {
        return st;
    }
    st = r->ops->read(r, &column, 1, 0, r->chunk_begin[1], &f->call, &rows, err);
    if (st == GREBE_OK) {
        array_release(&rows);
    }
    r->ops->close(r);
    return st;
}

static void test_chunk__hostile_numbers__named_errors(void **state)
{
    (void)state;
    static const int64_t numbers[] = { -1, INT64_MIN, INT64_MAX, (int64_t)1 << 40, 3 };
    struct fixture f;
    struct rewritten w;
    size_t len;
    unsigned char *bytes = read_golden("pa_plain.parquet", &len);
    open_fixture(&f);
    load(&w, bytes, len);
    struct pq_chunk *c = &w.footer.row_groups[0].columns[0];
    int64_t *const fields[] = { &c->data_page_offset, &c->total_compressed_size, &c->num_values };
    for (size_t i = 0; i < 3; i++) {
        int64_t kept = *fields[i];
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            grebe_error err = GREBE_ERROR_INIT;
            *fields[i] = numbers[k];
            store(&w, &f, "", 0);
            grebe_status st = read_first(&f, 0, &err);
            assert_int_equal(st, GREBE_ECORRUPT);
            assert_non_null(strstr(err.message, "column id"));
            assert_ok(read_first(&f, 1, &err)); /* the neighbour is well */
        }
        *fields[i] = kept;
    }
    c->type = PQ_DOUBLE;
    grebe_error err = GREBE_ERROR_INIT;
    store(&w, &f, "", 0);
    assert_fails(read_first(&f, 0, &err), GREBE_ECORRUPT, "the schema says INT64");
    c->type = PQ_INT64;
    c->codec = 77;
    store(&w, &f, "", 0);
    assert_fails(read_first(&f, 0, &err), GREBE_EUNSUPPORTED, "codec 77");
    c->codec = 3;
    store(&w, &f, "", 0);
    assert_fails(read_first(&f, 0, &err), GREBE_EUNSUPPORTED, "lzo");
    unload(&w);
    free(bytes);
    close_fixture(&f);
}

static void test_group__impossible_rows__refused(void **state)
{
    (void)state;
    static const int64_t numbers[] = { -1, INT64_MIN };
    struct fixture f;
    struct rewritten w;
    size_t len;
    unsigned char *bytes = read_golden("pa_plain.parquet", &len);
    open_fixture(&f);
    load(&w, bytes, len);
    for (size_t k = 0; k < 2; k++) {
        grebe_error err = GREBE_ERROR_INIT;
        w.footer.row_groups[1].num_rows = numbers[k];
        store(&w, &f, "", 0);
        assert_fails(read_first(&f, 0, &err), GREBE_ECORRUPT, "row group 1");
    }
    grebe_error err = GREBE_ERROR_INIT;
    w.footer.row_groups[1].num_rows = INT64_MAX;
    store(&w, &f, "", 0);
    assert_fails(read_first(&f, 0, &err), GREBE_ECORRUPT, "row group 1");
    unload(&w);
    free(bytes);
    close_fixture(&f);
}

/* ---- offset indexes that say something else ---- */

static void test_offset_index__false__not_followed(void **state)
{
    (void)state;
    struct fixture f;
    struct rewritten w;
    size_t len;
    int column = -1;
    grebe_error err = GREBE_ERROR_INIT;
    struct arena ar = ARENA_INIT(mem_system());
    /* v1 pages, lz4, lists: the one place where the reader uses the index */
    unsigned char *bytes = read_golden("pa_small_pages_v1_lz4.parquet", &len);
    open_fixture(&f);
    load(&w, bytes, len);
    put_file(&f, "right.parquet", bytes, len);
    struct format_reader *right = NULL;
    assert_ok(parquet_format.open(f.store, "right.parquet", NULL, &right, &err));
    assert_ok(schema_find(&right->schema, "li", &column, &err));
    const struct pq_file *file = ((struct pq_reader *)right)->file;
    uint32_t leaf = file->schema.columns[column].leaf_begin;
    struct pq_chunk *c = &w.footer.row_groups[0].columns[leaf];

    /* A true index, from the directory that the reader made by counting. */
    struct ArrowArray expected, found;
    assert_ok(right->ops->read(right, &column, 1, 0, 250, &f.call, &expected, &err));
    _Atomic(struct pq_pages *) *by_leaf = atomic_load(&file->groups[0].pages);
    const struct pq_pages *p = atomic_load(&by_leaf[leaf]);
    assert_true(p->n > 3);
    struct pq_offset_index index = { .n = p->n };
    index.offset = arena_array(&ar, p->n, sizeof *index.offset);
    index.size = arena_array(&ar, p->n, sizeof *index.size);
    index.first_row = arena_array(&ar, p->n, sizeof *index.first_row);
    uint64_t start = pq_chunk_range(file, pq_chunk_of(file, 0, leaf)).start;
    for (uint32_t i = 0; i < p->n; i++) {
        index.offset[i] = (int64_t)(start + p->pages[i].offset);
        index.size[i] = (int32_t)(p->pages[i].header_len + p->pages[i].body_len);
        index.first_row[i] = p->pages[i].first_row;
    }
    for (int lie = 0; lie < 9; lie++) {
        struct buf b = BUF_INIT(mem_system());
        struct pq_offset_index o = index;
        int64_t row1 = index.first_row[1], offset1 = index.offset[1];
        int32_t size1 = index.size[1];
        o.n = lie == 1 ? index.n - 1 : index.n;
        index.first_row[1] = lie == 2 ? -5 : lie == 3 ? 1000000 : lie == 4 ? row1 + 1 : row1;
        index.offset[1] = lie == 5 ? INT64_MAX : lie == 6 ? index.offset[0] : offset1;
        index.size[1] = lie == 7 ? -1 : size1;
        assert_ok(pq_offset_index_encode(&o, &b, &err));
        index.first_row[1] = row1;
        index.offset[1] = offset1;
        index.size[1] = size1;
        c->offset_index_offset = (int64_t)w.data_len;
        c->offset_index_length = lie == 8 ? INT32_MAX : (int32_t)b.len;
        store(&w, &f, b.data, b.len);
        struct format_reader *r = NULL;
        assert_ok(parquet_format.open(f.store, "x.parquet", NULL, &r, &err));
        grebe_status st = r->ops->read(r, &column, 1, 0, 250, &f.call, &found, &err);
        if (lie == 4) { /* well-formed and false: found out by the levels */
            assert_int_equal(st, GREBE_ECORRUPT);
            assert_non_null(strstr(err.message, "column li"));
        } else {
            assert_int_equal(st, GREBE_OK);
            assert_true(array_equal(r->schema.children[column], expected.children[0],
                                    found.children[0]));
            array_release(&found);
        }
        r->ops->close(r);
        buf_release(&b);
    }
    array_release(&expected);
    right->ops->close(right);
    arena_release(&ar);
    unload(&w);
    free(bytes);
    close_fixture(&f);
}

/* ---- an Arrow schema that says more than the lists hold ---- */

static void put_fixed_hint(struct rewritten *w, struct buf *text)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();
    struct buf message = BUF_INIT(a);
    struct ArrowSchema hint;
    assert_ok(schema_new(a, "+s", "", false, 1, &hint, &err));
    assert_ok(schema_new(a, "+w:4", "v", true, 1, hint.children[0], &err));
    assert_ok(schema_new(a, "f", "element", true, 0, hint.children[0]->children[0], &err));
    assert_ok(ipc_schema_encode(&message, &hint, &err));
    assert_ok(base64_encode(text, message.data, message.len, &err));
    schema_release(&hint);
    buf_release(&message);
    w->footer.key_values = arena_array(&w->ar, 1, sizeof *w->footer.key_values);
    w->footer.n_key_values = 1;
    w->footer.key_values[0] =
        (struct pq_key_value){ { (const unsigned char *)"ARROW:schema", 12 },
                               { text->data, text->len } };
}

static void test_fixed_list__another_length_in_the_file__corrupt(void **state)
{
    (void)state;
    static const char *const files[] = { "list_short.parquet", "list_uneven.parquet" };
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct rewritten w;
        struct buf text = BUF_INIT(mem_system());
        size_t len;
        unsigned char *bytes = read_golden(files[i], &len);
        open_fixture(&f);
        load(&w, bytes, len);
        put_fixed_hint(&w, &text);
        store(&w, &f, "", 0);
        grebe_error err = GREBE_ERROR_INIT;
        struct format_reader *r = NULL;
        struct ArrowArray rows;
        const int64_t bad[] = { 3, 30 };
        assert_ok(parquet_format.open(f.store, "x.parquet", NULL, &r, &err));
        assert_string_equal(r->schema.children[0]->format, "+w:4");
        for (int again = 0; again < 2; again++) {
            assert_fails(r->ops->read(r, NULL, 0, 0, 50, &f.call, &rows, &err), GREBE_ECORRUPT,
                         "another length");
            assert_fails(r->ops->take(r, NULL, 0, bad, 2, &f.call, &rows, &err), GREBE_ECORRUPT,
                         "another length");
        }
        r->ops->close(r);
        /* without the claim they are lists like any other */
        put_file(&f, "y.parquet", bytes, len);
        assert_ok(parquet_format.open(f.store, "y.parquet", NULL, &r, &err));
        assert_int_equal(use_file(&f, r), 1);
        r->ops->close(r);
        buf_release(&text);
        unload(&w);
        free(bytes);
        close_fixture(&f);
    }
}

/* ---- memory ---- */

static grebe_status use_with_allocator(const grebe_allocator *a, const unsigned char *bytes,
                                       size_t len, grebe_error *err)
{
    grebe_context_options options = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_context *ctx = NULL;
    struct io_store *store_ = NULL;
    struct io_writer *w = NULL;
    struct format_reader *r = NULL;
    struct ArrowArray rows = { 0 }, taken = { 0 };
    struct call call = { .threads = 1, .memory_limit_bytes = UINT64_MAX };
    grebe_status st = GREBE_OK;
    int n_findings = 0;
    options.allocator = a;
    GREBE_TRY(context_new(&options, &ctx, err));
    GREBE_TRY(io_memory_new(ctx, &store_, err));
    GREBE_TRY(io_create(store_, "x.parquet", false, &w, err));
    GREBE_TRY(io_write(w, bytes, len, err));
    GREBE_TRY(io_writer_publish(w, true, err));
    GREBE_TRY(parquet_format.open(store_, "x.parquet", NULL, &r, err));
    GREBE_TRY(r->ops->read(r, NULL, 0, 0, r->chunk_begin[1], &call, &rows, err));
    int64_t ids[2] = { 0, r->n_rows - 1 };
    GREBE_TRY(r->ops->take(r, NULL, 0, ids, 2, &call, &taken, err));
    for (int c = 0; c < r->schema.n_children && st == GREBE_OK; c++) {
        struct page_bounds p;
        st = r->ops->page_bounds(r, c, 0, &p, err);
        page_bounds_release(&p);
    }
    GREBE_TRY(st);
    st = r->ops->check(r, true, &call, drop_finding, &n_findings, err);
out:
    array_release(&rows);
    array_release(&taken);
    if (r != NULL) {
        r->ops->close(r);
    }
    io_writer_free(w);
    io_store_free(store_);
    context_free(ctx);
    return st;
}

static void test_read__no_memory__no_leak(void **state)
{
    (void)state;
    static const char *const files[] = { "testing/nested_maps.snappy.parquet",
                                         "testing/datapage_v2_empty_datapage.snappy.parquet",
                                         "testing/list_columns.parquet",
                                         "milvus/column_group_2.parquet",
                                         "peers/pa_dictionary_overflows.parquet",
                                         "peers/pa_page_index.parquet",
                                         "testing/byte_array_decimal.parquet" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct test_allocator t;
        size_t len;
        unsigned char *bytes = read_golden(files[i], &len);
        test_allocator_init(&t);
        bool is_done = false;
        for (size_t n = 1; !is_done; n++) {
            grebe_error err = GREBE_ERROR_INIT;
            t.n_calls = 0;
            t.fail_at = n;
            grebe_status st = use_with_allocator(&t.a, bytes, len, &err);
            if (st != GREBE_OK && st != GREBE_ENOMEM) {
                fail_msg("%s, call %zu: %s (%s)", files[i], n, grebe_status_name(st), err.message);
            }
            assert_int_equal(t.live_bytes, 0);
            assert_int_equal(t.n_live, 0);
            is_done = st == GREBE_OK && t.n_calls < n;
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file__every_truncation__fails_to_open),
        cmocka_unit_test(test_file__every_byte_changed__clean),
        cmocka_unit_test(test_file__random_damage__clean),
        cmocka_unit_test(test_open__footer_length__checked),
        cmocka_unit_test(test_chunk__hostile_numbers__named_errors),
        cmocka_unit_test(test_group__impossible_rows__refused),
        cmocka_unit_test(test_offset_index__false__not_followed),
        cmocka_unit_test(test_fixed_list__another_length_in_the_file__corrupt),
        cmocka_unit_test(test_read__no_memory__no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
