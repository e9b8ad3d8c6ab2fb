/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write.h"

#include "parquet/parquet_bloom.h"
#include "parquet/parquet_meta.h"
#include "parquet/parquet_write_internal.h"
#include "test_support.h"

/* A table of id int64, s string (nulls), b bool; what the options say must be in the file. */

static void make_options_schema(struct ArrowSchema *s)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();

    assert_ok(schema_new(a, "+s", "", false, 4, s, &err));
    assert_ok(schema_new(a, "l", "id", false, 0, s->children[0], &err));
    assert_ok(schema_new(a, "u", "s", true, 0, s->children[1], &err));
    assert_ok(schema_new(a, "b", "b", false, 0, s->children[2], &err));
    assert_ok(schema_new(a, "w:5", "x", false, 0, s->children[3], &err));
}

static void *buffer(struct ArrowArray *x, int64_t i, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *p = NULL;

    assert_ok(array_alloc_buffer(mem_system(), x, i, len, &p, &err));
    return p;
}

static void make_rows(struct ArrowArray *out, int64_t n)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();

    assert_ok(array_new(a, n, 1, 4, out, &err));
    for (int i = 0; i < 4; i++) {
        assert_ok(array_new(a, n, i == 1 ? 3 : 2, 0, out->children[i], &err));
    }
    int64_t *id = buffer(out->children[0], 1, (size_t)n * 8);
    uint8_t *bits = buffer(out->children[1], 0, bitmap_bytes(n));
    int32_t *offsets = buffer(out->children[1], 1, (size_t)(n + 1) * 4);
    char *text = buffer(out->children[1], 2, (size_t)n * 8 + 1);
    uint8_t *flags = buffer(out->children[2], 1, bitmap_bytes(n));
    char *fixed = buffer(out->children[3], 1, (size_t)n * 5);

    memset(bits, 0, bitmap_bytes(n));
    memset(flags, 0x35, bitmap_bytes(n));
    memset(fixed, 'f', (size_t)n * 5);
    out->children[1]->null_count = -1;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        id[i] = i * i % 1000;
        offsets[i + 1] = offsets[i];
        if (i % 7 != 0) {
            bit_set(bits, i);
            memcpy(text + offsets[i], "text", 4);
            text[offsets[i] + 4] = (char)('a' + i % 26);
            offsets[i + 1] += 5;
        }
    }
}

struct env {
    grebe_context *ctx;
    struct io_store *store;
};

static void env_begin(struct env *e, const grebe_allocator *a)
{
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;

    o.allocator = a;
    assert_ok(context_new(&o, &e->ctx, &err));
    assert_ok(io_memory_new(e->ctx, &e->store, &err));
}

static void env_end(struct env *e)
{
    io_store_free(e->store);
    context_free(e->ctx);
}

static grebe_status write_rows(struct env *e, int64_t n, struct format_write_options *o,
                               grebe_error *err)
{
    struct ArrowSchema schema = {0};
    struct ArrowArray batch = {0};
    struct io_writer *to = NULL;
    struct format_writer *w = NULL;
    struct file_summary summary;
    grebe_status st = GREBE_OK;

    o->call = call_options_resolve(e->ctx, NULL);
    o->call.threads = 1;
    make_options_schema(&schema);
    make_rows(&batch, n);
    GREBE_TRY(io_create(e->store, "t", false, &to, err));
    GREBE_TRY(parquet_writer_create(e->ctx, to, &schema, o, &w, err));
    GREBE_TRY(w->ops->write(w, &batch, err));
    GREBE_TRY(w->ops->finish(w, &summary, err));
    GREBE_TRY(io_writer_publish(to, true, err));
out:
    if (w != NULL) {
        w->ops->free(w);
    }
    io_writer_free(to);
    array_release(&batch);
    schema_release(&schema);
    return st;
}

static struct region *written(struct env *e, struct arena *ar, struct pq_footer *footer)
{
    struct region *file = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    uint32_t len = 0;

    assert_ok(io_read_all(e->store, "t", UINT64_MAX, &file, NULL, &err));
    memcpy(&len, file->data + file->len - 8, 4);
    assert_ok(pq_footer_decode(ar, file->data + file->len - 8 - len, len, footer, &err));
    return file;
}

static void test_options__pages_v2__levels_bare_and_not_compressed(void **state)
{
    struct env e;
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer footer;
    grebe_error err = GREBE_ERROR_INIT;
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

    (void)state;
    env_begin(&e, NULL);
    o.data_page_version = 2;
    o.page_rows = 100;
    o.compression = "zstd";
    assert_ok(write_rows(&e, 1000, &o, &err));
    struct region *file = written(&e, &ar, &footer);
    for (uint32_t i = 0; i < 4; i++) {
        const struct pq_chunk *c = &footer.row_groups[0].columns[i];
        size_t at = (size_t)(c->dictionary_page_offset > 0 ? c->dictionary_page_offset
                                                           : c->data_page_offset);
        const size_t end = at + (size_t)c->total_compressed_size;
        int64_t n_rows = 0, n_null = 0;
        int32_t n_pages = 0;

        while (at < end) {
            struct pq_page_header h;
            size_t header_len = 0;

            assert_ok(pq_page_header_decode(file->data + at, end - at, &h, &header_len, &err));
            at += header_len + (size_t)h.compressed_size;
            if (h.type == PQ_PAGE_DICTIONARY) {
                continue;
            }
            assert_int_equal(h.type, PQ_PAGE_DATA_V2);
            assert_int_equal(h.repetition_length, 0);
            assert_int_equal(h.definition_length > 0, i == 1);
            assert_int_equal(h.is_compressed, c->codec != PQ_UNCOMPRESSED);
            n_rows += h.num_rows;
            n_null += h.num_nulls;
            n_pages++;
        }
        assert_int_equal(n_rows, 1000);
        assert_int_equal(n_null, c->statistics.null_count);
        assert_int_equal(n_pages, 10);
        const struct pq_encoding_stats *last = &c->encoding_stats[c->n_encoding_stats - 1];
        assert_int_equal(last->page_type, PQ_PAGE_DATA_V2);
        assert_int_equal(last->count, n_pages);
    }
    region_drop(file);
    arena_release(&ar);
    env_end(&e);
}

static void test_options__bloom__behind_the_groups_with_every_value(void **state)
{
    static const char *const columns[] = {"id", "s", "x"};
    struct env e;
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer footer;
    grebe_error err = GREBE_ERROR_INIT;
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

    (void)state;
    env_begin(&e, NULL);
    o.bloom_columns = columns;
    o.n_bloom_columns = 3;
    o.row_group_rows = 640;
    assert_ok(write_rows(&e, 1000, &o, &err));
    struct region *file = written(&e, &ar, &footer);
    assert_int_equal(footer.n_row_groups, 2);
    for (uint32_t g = 0; g < 2; g++) {
        const struct pq_chunk *c = &footer.row_groups[g].columns[0];
        const struct pq_chunk *last = &footer.row_groups[1].columns[3];
        struct pq_bloom_header h;
        size_t header_len = 0;
        int64_t n_false = 0;

        assert_true(c->bloom_filter_offset >=
                    last->data_page_offset + last->total_compressed_size);
        assert_ok(pq_bloom_header_decode(file->data + c->bloom_filter_offset,
                                         (size_t)c->bloom_filter_length, &h, &header_len, &err));
        assert_true(h.is_usable);
        assert_int_equal(header_len + (size_t)h.n_bytes, c->bloom_filter_length);
        for (int64_t i = g * 640; i < (g == 0 ? 640 : 1000); i++) {
            const int64_t v = i * i % 1000;

            assert_true(pq_bloom_probe(file->data + c->bloom_filter_offset + header_len,
                                       (size_t)h.n_bytes, pq_bloom_hash(&v, sizeof v)));
        }
        for (int64_t v = 5000; v < 15000; v++) {
            n_false += pq_bloom_probe(file->data + c->bloom_filter_offset + header_len,
                                      (size_t)h.n_bytes, pq_bloom_hash(&v, sizeof v));
        }
        assert_true(n_false < 150); /* of 10,000, 1 % asked */
        assert_int_equal(footer.row_groups[g].columns[2].bloom_filter_offset, 0);
    }
    region_drop(file);
    arena_release(&ar);
    env_end(&e);
}

static void check_refused(struct format_write_options *o, grebe_status code, const char *a,
                          const char *b)
{
    struct env e;
    grebe_error err = GREBE_ERROR_INIT;

    env_begin(&e, NULL);
    assert_int_equal(write_rows(&e, 10, o, &err), code);
    assert_non_null(strstr(err.message, a));
    assert_non_null(strstr(err.message, b));
    env_end(&e);
}

static void test_options__wrong_pairings__named(void **state)
{
    static const struct {
        grebe_column_encoding encoding;
        const char *a, *b;
    } pairs[] = {
        {{"s", "delta_binary_packed"}, "\"s\"", "BYTE_ARRAY cannot have encoding DELTA_BINARY"},
        {{"id", "delta_byte_array"}, "\"id\"", "INT64 cannot have encoding DELTA_BYTE_ARRAY"},
        {{"b", "dictionary"}, "\"b\"", "BOOLEAN cannot have encoding RLE_DICTIONARY"},
        {{"x", "byte_stream_split"}, "\"x\"", "FIXED_LEN_BYTE_ARRAY"},
        {{"x", "delta_byte_array"}, "\"x\"", "DELTA_BYTE_ARRAY"},
        {{"s2", "plain"}, "no column", "\"s2\""},
        {{"s.", "plain"}, "no column", "\"s.\""},
        {{"", "plain"}, "no column", "\"\""},
        {{"id", "bit_packed"}, "expected plain", "bit_packed"},
    };
    static const char *const bloom_bool[] = {"b"}, *const bloom_none[] = {"idx"};

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

        o.encodings = &pairs[i].encoding;
        o.n_encodings = 1;
        check_refused(&o, GREBE_EINVAL, pairs[i].a, pairs[i].b);
    }
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;
    o.n_bloom_columns = 1;
    o.bloom_columns = bloom_bool;
    check_refused(&o, GREBE_EINVAL, "\"b\"", "bloom filter");
    o.bloom_columns = bloom_none;
    check_refused(&o, GREBE_EINVAL, "no column", "idx");
    o.n_bloom_columns = 0;
    o.data_page_version = 3;
    check_refused(&o, GREBE_EINVAL, "1 or 2", "3");
    o.data_page_version = 0;
    o.bloom_rate = 1;
    check_refused(&o, GREBE_EINVAL, "between 0 and 1", "1");
    o.bloom_rate = 0;
    o.page_bytes = (int64_t)1 << 40;
    check_refused(&o, GREBE_EINVAL, "pages", "1099511627776");
}

/* Bytes of groups do not depend on how the rows came, also where they grow. */
static void test_plan__any_cut__groups_end_at_the_same_rows(void **state)
{
    struct env e;
    uint64_t seed = test_seed();
    int64_t want[64];
    size_t n_want = 0;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    env_begin(&e, NULL);
    for (int round = 0; round < 30; round++) {
        struct arena ar = ARENA_INIT(mem_system());
        struct ArrowSchema schema = {0};
        struct io_writer *to = NULL;
        struct format_writer *w = NULL;
        struct file_summary summary;
        struct pq_footer footer;
        struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

        o.call = call_options_resolve(e.ctx, NULL);
        o.call.threads = 1 + (uint32_t)round % 4;
        o.row_group_bytes = 8192;
        make_options_schema(&schema);
        assert_ok(io_create(e.store, "t", false, &to, &err));
        assert_ok(parquet_writer_create(e.ctx, to, &schema, &o, &w, &err));
        for (int64_t at = 0; at < 3000;) {
            struct ArrowArray batch = {0};
            int64_t n = 1 + (int64_t)(test_random(&seed) % (round % 2 == 0 ? 90 : 2000));

            n = at + n > 3000 ? 3000 - at : n;
            make_rows(&batch, 3000);
            for (int i = 0; i < 4; i++) { /* the same rows, cut elsewhere */
                batch.children[i]->offset = at;
                batch.children[i]->length = n;
            }
            batch.length = n;
            assert_ok(w->ops->write(w, &batch, &err));
            array_release(&batch);
            at += n;
        }
        assert_ok(w->ops->finish(w, &summary, &err));
        assert_ok(io_writer_publish(to, true, &err));
        w->ops->free(w);
        io_writer_free(to);
        schema_release(&schema);
        struct region *file = written(&e, &ar, &footer);
        assert_true(footer.n_row_groups > 3 && footer.n_row_groups < 64);
        for (uint32_t g = 0; g < footer.n_row_groups; g++) {
            if (round == 0) {
                want[n_want++] = footer.row_groups[g].num_rows;
            }
            assert_int_equal(footer.row_groups[g].num_rows, want[g]);
        }
        assert_int_equal(footer.n_row_groups, n_want);
        region_drop(file);
        arena_release(&ar);
    }
    env_end(&e);
}

static void test_options__no_memory__reported_and_nothing_leaks(void **state)
{
    static const char *const blooms[] = {"id", "s"};
    static const grebe_column_encoding sets[][3] = {
        {{"id", "byte_stream_split"}, {"s", "delta_byte_array"}, {"b", "rle"}},
        {{"id", "dictionary"}, {"s", "delta_length_byte_array"}, {NULL, "plain"}},
    };
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t n = 1;; n += 1 + n / 64) {
            struct test_allocator t;
            struct env e = {0};
            grebe_status st = GREBE_OK;
            struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

            test_allocator_init(&t);
            env_begin(&e, &t.a);
            t.n_calls = 0;
            t.fail_at = n;
            o.encodings = sets[k];
            o.n_encodings = 3;
            o.bloom_columns = blooms;
            o.n_bloom_columns = 2;
            o.data_page_version = 2;
            o.compression = k == 0 ? "gzip" : "zstd";
            st = write_rows(&e, 500, &o, &err);
            t.fail_at = 0;
            env_end(&e);
            assert_int_equal(t.n_live, 0);
            if (st == GREBE_OK) {
                break;
            }
            assert_int_equal(st, GREBE_ENOMEM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__pages_v2__levels_bare_and_not_compressed),
        cmocka_unit_test(test_options__bloom__behind_the_groups_with_every_value),
        cmocka_unit_test(test_options__wrong_pairings__named),
        cmocka_unit_test(test_plan__any_cut__groups_end_at_the_same_rows),
        cmocka_unit_test(test_options__no_memory__reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
