/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_write.h"

#include <stdlib.h>

#include "parquet/parquet_format.h"
#include "parquet/parquet_meta.h"
#include "test_support.h"

/* A table of id int64, v fixed_size_list<float>[16], s string (nulls), w list<int32>. */
enum { DIM = 16 };

static void make_table_schema(struct ArrowSchema *s)
{
    grebe_error err = GREBE_ERROR_INIT;
    const grebe_allocator *a = mem_system();

    assert_ok(schema_new(a, "+s", "", false, 4, s, &err));
    assert_ok(schema_new(a, "l", "id", false, 0, s->children[0], &err));
    assert_ok(schema_new(a, "+w:16", "v", false, 1, s->children[1], &err));
    assert_ok(schema_new(a, "f", "item", true, 0, s->children[1]->children[0], &err));
    assert_ok(schema_new(a, "u", "s", true, 0, s->children[2], &err));
    assert_ok(schema_new(a, "+l", "w", true, 1, s->children[3], &err));
    assert_ok(schema_new(a, "i", "item", true, 0, s->children[3]->children[0], &err));
}

static void *buffer(struct ArrowArray *x, int64_t i, size_t len)
{
    grebe_error err = GREBE_ERROR_INIT;
    void *p = NULL;

    assert_ok(array_alloc_buffer(mem_system(), x, i, len, &p, &err));
    return p;
}

static void new_array(struct ArrowArray *x, int64_t n, int64_t n_buffers, int64_t n_children)
{
    grebe_error err = GREBE_ERROR_INIT;

    assert_ok(array_new(mem_system(), n, n_buffers, n_children, x, &err));
}

static void make_batch(struct ArrowArray *out, int64_t first, int64_t n)
{
    new_array(out, n, 1, 4);
    new_array(out->children[0], n, 2, 0);
    int64_t *id = buffer(out->children[0], 1, (size_t)n * 8);
    new_array(out->children[1], n, 1, 1);
    new_array(out->children[1]->children[0], n * DIM, 2, 0);
    float *v = buffer(out->children[1]->children[0], 1, (size_t)n * DIM * 4);
    new_array(out->children[2], n, 3, 0);
    uint8_t *bits = buffer(out->children[2], 0, bitmap_bytes(n));
    int32_t *offsets = buffer(out->children[2], 1, (size_t)(n + 1) * 4);
    char *text = buffer(out->children[2], 2, (size_t)n * 8);
    new_array(out->children[3], n, 2, 1);
    int32_t *lists = buffer(out->children[3], 1, (size_t)(n + 1) * 4);
    new_array(out->children[3]->children[0], n * 3, 2, 0);
    int32_t *w = buffer(out->children[3]->children[0], 1, (size_t)n * 12);

    memset(bits, 0, bitmap_bytes(n));
    out->children[2]->null_count = -1;
    offsets[0] = lists[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        id[i] = first + i;
        for (int k = 0; k < DIM; k++) {
            v[i * DIM + k] = (float)(first + i) + (float)k / 32;
        }
        offsets[i + 1] = offsets[i];
        if ((first + i) % 7 != 0) {
            bit_set(bits, i);
            memcpy(text + offsets[i], "text000", 7);
            text[offsets[i] + 6] = (char)('0' + (first + i) % 10);
            offsets[i + 1] += 7;
        }
        lists[i + 1] = lists[i] + (int32_t)((first + i) % 4);
        for (int32_t k = lists[i]; k < lists[i + 1]; k++) {
            w[k] = (int32_t)((first + i) * 31 % 1000) + k - lists[i];
        }
    }
}

struct run {
    grebe_context *ctx;
    struct io_store *store;
};

static grebe_status write_table(struct run *r, const char *path, int64_t n, int64_t batch_rows,
                                const struct format_write_options *options,
                                struct file_summary *summary, grebe_error *err)
{
    struct ArrowSchema schema = {0};
    struct io_writer *to = NULL;
    struct format_writer *w = NULL;
    grebe_status st = GREBE_OK;

    make_table_schema(&schema);
    GREBE_TRY(io_create(r->store, path, false, &to, err));
    GREBE_TRY(parquet_writer_create(r->ctx, to, &schema, options, &w, err));
    for (int64_t at = 0; at < n; at += batch_rows) {
        struct ArrowArray batch = {0};

        make_batch(&batch, at, n - at < batch_rows ? n - at : batch_rows);
        st = w->ops->write(w, &batch, err);
        array_release(&batch);
        if (st != GREBE_OK) {
            goto out;
        }
    }
    GREBE_TRY(w->ops->finish(w, summary, err));
    GREBE_TRY(io_writer_publish(to, true, err));
out:
    if (w != NULL) {
        w->ops->free(w);
    }
    io_writer_free(to);
    schema_release(&schema);
    return st;
}

static void run_begin(struct run *r, const grebe_allocator *a)
{
    grebe_context_options o = GREBE_CONTEXT_OPTIONS_INIT;
    grebe_error err = GREBE_ERROR_INIT;

    o.allocator = a;
    assert_ok(context_new(&o, &r->ctx, &err));
    assert_ok(io_memory_new(r->ctx, &r->store, &err));
}

static void run_end(struct run *r)
{
    io_store_free(r->store);
    context_free(r->ctx);
}

static struct format_write_options options_of(const struct run *r, uint32_t threads)
{
    struct format_write_options o = FORMAT_WRITE_OPTIONS_INIT;

    o.call = call_options_resolve(r->ctx, NULL);
    o.call.threads = threads;
    return o;
}

static struct region *file_of(struct run *r, const char *path)
{
    struct region *bytes = NULL;
    grebe_error err = GREBE_ERROR_INIT;

    assert_ok(io_read_all(r->store, path, UINT64_MAX, &bytes, NULL, &err));
    return bytes;
}

static void read_footer(struct arena *ar, const struct region *file, struct pq_footer *out)
{
    grebe_error err = GREBE_ERROR_INIT;
    uint32_t len = 0;

    assert_memory_equal(file->data, "PAR1", 4);
    assert_memory_equal(file->data + file->len - 4, "PAR1", 4);
    memcpy(&len, file->data + file->len - 8, 4);
    assert_true(len + 12 <= file->len);
    assert_ok(pq_footer_decode(ar, file->data + file->len - 8 - len, len, out, &err));
}

/* Pages follow one another from the chunk's begin to its end, as the offset index says. */
static void check_chunk(const struct region *file, const struct pq_chunk *c, int64_t n_rows)
{
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_offset_index x;
    grebe_error err = GREBE_ERROR_INIT;
    size_t at = (size_t)(c->dictionary_page_offset > 0 ? c->dictionary_page_offset
                                                       : c->data_page_offset);
    const size_t end = at + (size_t)c->total_compressed_size;
    int64_t n_values = 0;
    uint32_t n_pages = 0;

    assert_ok(pq_offset_index_decode(&ar, file->data + c->offset_index_offset,
                                     (size_t)c->offset_index_length, &x, &err));
    while (at < end) {
        struct pq_page_header h;
        size_t header_len = 0;

        assert_ok(pq_page_header_decode(file->data + at, end - at, &h, &header_len, &err));
        if (h.type == PQ_PAGE_DATA) {
            assert_int_equal(x.offset[n_pages], at);
            assert_int_equal(x.size[n_pages], header_len + (size_t)h.compressed_size);
            assert_true(x.first_row[n_pages] < n_rows);
            n_values += h.num_values;
            n_pages++;
        }
        at += header_len + (size_t)h.compressed_size;
    }
    assert_int_equal(at, end);
    assert_int_equal(n_values, c->num_values);
    assert_int_equal(n_pages, x.n);
    arena_release(&ar);
}

static void test_write__table__footer_and_indexes_true(void **state)
{
    struct run r;
    struct file_summary summary;
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer footer;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    run_begin(&r, NULL);
    struct format_write_options o = options_of(&r, 1);
    o.row_group_rows = 5000;
    assert_ok(write_table(&r, "t", 12345, 1000, &o, &summary, &err));
    struct region *file = file_of(&r, "t");
    read_footer(&ar, file, &footer);
    assert_int_equal(summary.n_rows, 12345);
    assert_int_equal(summary.file_size_bytes, file->len);
    assert_int_equal(footer.num_rows, 12345);
    assert_int_equal(footer.n_row_groups, 3);
    for (uint32_t g = 0; g < 3; g++) {
        const struct pq_row_group *group = &footer.row_groups[g];

        assert_int_equal(group->num_rows, g < 2 ? 5000 : 2345);
        for (uint32_t i = 0; i < group->n_columns; i++) {
            check_chunk(file, &group->columns[i], group->num_rows);
        }
        /* the vectors: the last bytes of the page, aligned, bit for bit the input */
        const struct pq_chunk *v = &group->columns[1];
        const unsigned char *end = file->data + v->data_page_offset + v->total_compressed_size;
        const float *values = (const float *)(const void *)(end - group->num_rows * DIM * 4);

        assert_int_equal((v->data_page_offset + v->total_compressed_size -
                          group->num_rows * DIM * 4) % 64, 0);
        for (int64_t i = 0; i < group->num_rows * DIM; i++) {
            assert_true(values[i] == (float)(g * 5000 + i / DIM) + (float)(i % DIM) / 32);
        }
        assert_true(v->statistics.min_value.data == NULL && v->statistics.null_count == 0);
        assert_int_equal(v->column_index_length, 0);
        assert_int_equal(group->columns[0].encodings[0], PQ_DELTA_BINARY_PACKED);
    }
    region_drop(file);
    arena_release(&ar);
    run_end(&r);
}

static void test_write__threads_and_batches__same_bytes(void **state)
{
    struct run r;
    struct file_summary summary;
    grebe_error err = GREBE_ERROR_INIT;
    struct region *first[2] = {NULL, NULL};

    (void)state;
    run_begin(&r, NULL);
    for (uint32_t k = 0; k < 2 * 5; k++) {
        const uint32_t threads = 1 + k % 5;
        for (int64_t batch = 500; batch <= 8000; batch += 3750) {
            struct format_write_options o = options_of(&r, threads);
            struct region *file = NULL;

            o.row_group_rows = 1024;
            o.compression = k < 5 ? NULL : "zstd";
            assert_ok(write_table(&r, "t", 8000, batch, &o, &summary, &err));
            file = file_of(&r, "t");
            if (first[k / 5] == NULL) {
                first[k / 5] = region_keep(file);
            }
            assert_int_equal(file->len, first[k / 5]->len);
            assert_memory_equal(file->data, first[k / 5]->data, file->len);
            region_drop(file);
        }
    }
    assert_true(first[1]->len < first[0]->len);
    region_drop(first[0]);
    region_drop(first[1]);
    run_end(&r);
}

/* Floats of vectors as byte streams, and back. */
static void test_write__vectors_with_a_codec__split_and_read_back(void **state)
{
    static const char *const codecs[] = {"zstd", "gzip"};
    enum { N = 3000 };
    struct run r;
    struct file_summary summary;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    run_begin(&r, NULL);
    for (size_t k = 0; k < 4; k++) {
        struct arena ar = ARENA_INIT(mem_system());
        struct format_write_options o = options_of(&r, 1);
        struct format_reader *reader = NULL;
        struct ArrowArray rows = {0};
        struct pq_footer footer;

        o.row_group_rows = 1024;
        o.compression = codecs[k % 2];
        o.data_page_version = 1 + (int32_t)k / 2;
        assert_ok(write_table(&r, "t", N, 1000, &o, &summary, &err));
        struct region *file = file_of(&r, "t");
        read_footer(&ar, file, &footer);
        for (uint32_t g = 0; g < footer.n_row_groups; g++) {
            const struct pq_chunk *c = &footer.row_groups[g].columns[1];

            assert_int_equal(c->n_encoding_stats, 1);
            assert_int_equal(c->encoding_stats[0].encoding, PQ_BYTE_STREAM_SPLIT);
            assert_true(c->codec != PQ_UNCOMPRESSED);
            assert_true(c->total_compressed_size * 2 < footer.row_groups[g].num_rows * DIM * 4);
            assert_true(c->offset_index_length > 0 && c->column_index_length == 0);
        }
        region_drop(file);
        assert_ok(parquet_format.open(r.store, "t", NULL, &reader, &err));
        for (size_t chunk = 0; chunk < reader->n_chunks; chunk++) {
            const int64_t begin = reader->chunk_begin[chunk];
            const int column = 1;

            assert_ok(reader->ops->read(reader, &column, 1, begin, reader->chunk_begin[chunk + 1],
                                        &o.call, &rows, &err));
            const float *v = rows.children[0]->children[0]->buffers[1];
            for (int64_t i = 0; i < rows.length * DIM; i++) {
                assert_true(v[i] == (float)(begin + i / DIM) + (float)(i % DIM) / 32);
            }
            array_release(&rows);
        }
        reader->ops->close(reader);
        arena_release(&ar);
    }
    run_end(&r);
}

static void test_write__no_rows__a_file_without_groups(void **state)
{
    struct run r;
    struct file_summary summary;
    struct arena ar = ARENA_INIT(mem_system());
    struct pq_footer footer;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    run_begin(&r, NULL);
    struct format_write_options o = options_of(&r, 2);
    assert_ok(write_table(&r, "t", 0, 10, &o, &summary, &err));
    struct region *file = file_of(&r, "t");
    read_footer(&ar, file, &footer);
    assert_int_equal(footer.n_row_groups, 0);
    assert_int_equal(footer.num_rows, 0);
    assert_int_equal(footer.n_column_orders, 4);
    region_drop(file);
    arena_release(&ar);
    run_end(&r);
}

static void test_write__cancelled__stops_and_stays_failed(void **state)
{
    struct run r;
    struct file_summary summary;
    grebe_cancel *cancel = NULL;
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    run_begin(&r, NULL);
    assert_ok(grebe_cancel_new(r.ctx, &cancel, &err));
    grebe_cancel_set(cancel);
    struct format_write_options o = options_of(&r, 1);
    o.call.cancel = cancel;
    assert_int_equal(write_table(&r, "t", 10, 10, &o, &summary, &err), GREBE_ECANCELLED);
    grebe_cancel_free(cancel);
    run_end(&r);
}

static void test_write__no_memory__reported_and_nothing_leaks(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;

    (void)state;
    for (int k = 0; k < 3; k++) {
        for (size_t n = 1;; n += 1 + n / 64) {
            struct test_allocator t;
            struct run r = {0};
            struct file_summary summary;
            grebe_context_options co = GREBE_CONTEXT_OPTIONS_INIT;
            grebe_status st = GREBE_OK;

            test_allocator_init(&t);
            co.allocator = &t.a;
            assert_ok(context_new(&co, &r.ctx, &err));
            assert_ok(io_memory_new(r.ctx, &r.store, &err));
            t.n_calls = 0;
            t.fail_at = n;
            struct format_write_options o = options_of(&r, 1);
            o.row_group_rows = 256;
            o.is_profile_milvus = k == 1;
            o.compression = k == 2 ? "zstd" : NULL;
            st = write_table(&r, "t", 700, 300, &o, &summary, &err);
            t.fail_at = 0;
            run_end(&r);
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
        cmocka_unit_test(test_write__table__footer_and_indexes_true),
        cmocka_unit_test(test_write__threads_and_batches__same_bytes),
        cmocka_unit_test(test_write__vectors_with_a_codec__split_and_read_back),
        cmocka_unit_test(test_write__no_rows__a_file_without_groups),
        cmocka_unit_test(test_write__cancelled__stops_and_stays_failed),
        cmocka_unit_test(test_write__no_memory__reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
