/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set as bytes: a head in JSON (features, files, blocks), then what memory holds, one section after another:
 * each part without a file as an Arrow stream, and the indices as 64-bit numbers. docs/format/dataset.md ("Packed").
 */
#include <inttypes.h>
#include <string.h>

#include "arrow/arrow_stream.h"
#include "arrow/ipc.h"
#include "base/checked.h"
#include "base/endian.h"
#include "dataset/dataset_internal.h"
#include "dataset/dataset_part.h"
#include "dataset/fingerprint.h"
#include "wire/json_python.h"

static const char magic[16] = "grebe dataset 1\n";
enum { HEAD_LEN = 24 }; /* magic, length of the JSON */

/* ---- packing ---- */

struct packing {
    const grebe_dataset *ds;
    struct buf json;
    struct table_part **parts; /* those met, shape [n_parts] */
    size_t n_parts, capacity;
    grebe_write_fn write;
    void *write_ctx;
    grebe_error *err;
};

static grebe_status part_number(struct packing *p, struct table_part *part, size_t *out)
{
    for (size_t i = p->n_parts; i-- > 0;) { /* the last one is the likely one */
        if (p->parts[i] == part) {
            *out = i;
            return GREBE_OK;
        }
    }
    if (p->n_parts == p->capacity) {
        const grebe_allocator *a = p->ds->ctx->a;
        size_t grown = p->capacity * 2 + 8;
        struct table_part **parts = mem_resize(a, p->parts, p->capacity * sizeof *parts, grown * sizeof *parts);
        if (parts == NULL) {
            return mem_fail(p->err, grown * sizeof *parts, "parts");
        }
        p->parts = parts;
        p->capacity = grown;
    }
    *out = p->n_parts;
    p->parts[p->n_parts++] = part;
    return GREBE_OK;
}

static grebe_status put_text(struct packing *p, const char *key, const char *text)
{
    grebe_status st = buf_printf(&p->json, p->err, ", \"%s\": ", key);
    return st != GREBE_OK ? st
           : text != NULL ? json_python_string(&p->json, text, strlen(text), p->err)
                          : buf_put_text(&p->json, "null", p->err);
}

static grebe_status put_format(struct packing *p)
{
    grebe_status st = GREBE_OK;
    const grebe_dataset_format *f = &p->ds->format;
    GREBE_TRY(put_text(p, "type", f->type));
    GREBE_TRY(put_text(p, "kwargs", f->kwargs));
    GREBE_TRY(buf_printf(&p->json, p->err, ", \"all\": %s, \"columns\": ", f->output_all_columns ? "true" : "false"));
    if (f->columns == NULL) {
        return buf_put_text(&p->json, "null", p->err);
    }
    GREBE_TRY(json_python_open(&p->json, '[', p->err));
    for (size_t i = 0; i < f->n_columns; i++) {
        GREBE_TRY(json_python_next(&p->json, i, -1, 0, p->err));
        GREBE_TRY(json_python_string(&p->json, f->columns[i], strlen(f->columns[i]), p->err));
    }
    GREBE_TRY(json_python_close(&p->json, ']', f->n_columns, -1, 0, p->err));
out:
    return st;
}

static grebe_status put_blocks(struct packing *p)
{
    grebe_status st = GREBE_OK;
    const struct dataset_table *t = p->ds->table;
    GREBE_TRY(buf_put_text(&p->json, ", \"blocks\": [", p->err));
    for (size_t i = 0; i < t->n_blocks; i++) {
        GREBE_TRY(buf_printf(&p->json, p->err, "%s[%" PRId64, i > 0 ? ", " : "", t->blocks[i].n_rows));
        for (int64_t c = 0; c < t->schema.n_children; c++) {
            const struct table_source *s = &t->blocks[i].sources[c];
            size_t number = 0;
            if (s->part == NULL) {
                GREBE_TRY(buf_put_text(&p->json, ", null", p->err));
                continue;
            }
            GREBE_TRY(part_number(p, s->part, &number));
            GREBE_TRY(buf_printf(&p->json, p->err, ", [%zu, %" PRId64 ", %d", number, s->first_row, (int)s->column));
            for (int k = 0; k < s->n_steps; k++) {
                GREBE_TRY(buf_printf(&p->json, p->err, ", %d", (int)s->steps[k]));
            }
            GREBE_TRY(buf_put_byte(&p->json, ']', p->err));
        }
        GREBE_TRY(buf_put_byte(&p->json, ']', p->err));
    }
    GREBE_TRY(buf_put_byte(&p->json, ']', p->err));
out:
    return st;
}

/* Batches of a part in memory as a stream. */
static grebe_status encode_part(const struct table_part *part, struct buf *dst, grebe_error *err)
{
    struct ipc_writer *w = NULL;
    grebe_status st = ipc_writer_new(part->ctx->a, &part->schema, NULL, ipc_sink_buf, dst, &w, err);
    for (size_t i = 0; i < part->n_batches && st == GREBE_OK; i++) {
        struct ArrowArray rows;
        const struct ArrowArray *all = array_shared_get(part->batches[i]);
        st = array_slice(part->batches[i], 0, all->length, &rows, err);
        st = st == GREBE_OK ? ipc_writer_write(w, &rows, err) : st;
        array_release(&rows);
    }
    st = st == GREBE_OK ? ipc_writer_finish(w, err) : st;
    ipc_writer_free(w);
    return st;
}

/* What is known of the parts; sections of those in memory are appended to `memory`. */
static grebe_status put_parts(struct packing *p, struct buf *memory)
{
    grebe_status st = GREBE_OK;
    struct buf path = BUF_INIT(p->json.a);
    GREBE_TRY(buf_put_text(&p->json, ", \"parts\": [", p->err));
    for (size_t i = 0; i < p->n_parts; i++) {
        const struct table_part *part = p->parts[i];
        GREBE_TRY(buf_put_text(&p->json, i > 0 ? ", " : "", p->err));
        if (part->file != NULL) {
            buf_clear(&path);
            GREBE_TRY(path_absolute(&path, part->file->path, p->err));
            GREBE_TRY(json_python_string(&p->json, (const char *)path.data, path.len, p->err));
            continue;
        }
        size_t begin = memory->len;
        GREBE_TRY(encode_part(part, memory, p->err));
        GREBE_TRY(buf_printf(&p->json, p->err, "%zu", memory->len - begin));
    }
    GREBE_TRY(buf_put_byte(&p->json, ']', p->err));
out:
    buf_release(&path);
    return st;
}

static grebe_status send(struct packing *p, const void *bytes, size_t len)
{
    if (len == 0) {
        return GREBE_OK;
    }
    int failed = p->write(p->write_ctx, bytes, len);
    return failed == 0 ? GREBE_OK : GREBE_FAIL_SYS(p->err, GREBE_EIO, failed, "cannot write a packed data set");
}

grebe_status grebe_dataset_pack(const grebe_dataset *ds, grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && write != NULL);
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = ds->ctx->a;
    struct packing p = { .ds = ds, .json = BUF_INIT(a), .write = write, .write_ctx = write_ctx, .err = err };
    struct buf memory = BUF_INIT(a);
    unsigned char head[HEAD_LEN];
    int64_t n = ds->indices != NULL ? dataset_indices_len(ds->indices) : -1;
    GREBE_TRY(buf_printf(&p.json, err, "{\"indices\": %" PRId64 ", \"features\": %s, \"info\": %s", n,
                         ds->features_json, ds->info_json));
    GREBE_TRY(put_text(&p, "fingerprint", ds->fingerprint));
    GREBE_TRY(put_text(&p, "split", ds->split));
    GREBE_TRY(put_format(&p));
    GREBE_TRY(put_blocks(&p));
    GREBE_TRY(put_parts(&p, &memory));
    GREBE_TRY(buf_put_byte(&p.json, '}', err));
    GREBE_TRY(buf_put_zero(&p.json, (8 - p.json.len % 8) % 8, err));
    memcpy(head, magic, sizeof magic);
    store_le64(head + sizeof magic, p.json.len);
    GREBE_TRY(send(&p, head, sizeof head));
    GREBE_TRY(send(&p, p.json.data, p.json.len));
    GREBE_TRY(send(&p, memory.data, memory.len));
    if (n > 0) {
        GREBE_TRY(send(&p, dataset_indices_rows(ds->indices), (size_t)n * sizeof(uint64_t)));
    }
out:
    mem_free(a, p.parts, p.capacity * sizeof *p.parts);
    buf_release(&p.json);
    buf_release(&memory);
    return st;
}

/* ---- unpacking ---- */

struct unpacking {
    grebe_context *ctx;
    struct arena arena;
    const struct json_value *v;
    const unsigned char *sections;
    size_t left; /* bytes of sections */
    struct table_part **parts;
    size_t n_parts;
    grebe_error *err;
};

static grebe_status bad(const struct unpacking *u, const char *what)
{
    return GREBE_FAIL(u->err, GREBE_ECORRUPT, "packed data set: %s", what);
}

static grebe_status decode_part(struct unpacking *u, size_t len, struct table_part **out)
{
    grebe_status st = GREBE_OK;
    const grebe_allocator *a = u->ctx->a;
    struct region *bytes = NULL;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = { 0 };
    struct buf batches = BUF_INIT(a);
    memset(&stream, 0, sizeof stream);
    if (len > u->left) {
        return bad(u, "a part is cut off");
    }
    GREBE_TRY(region_new(a, len, &bytes, u->err));
    memcpy(bytes->data, u->sections, len);
    u->sections += len;
    u->left -= len;
    GREBE_TRY(ipc_stream_of_region(a, bytes, &stream, u->err));
    GREBE_TRY(stream_schema(&stream, &schema, u->err));
    for (;;) {
        struct ArrowArray rows;
        st = stream_next(&stream, &rows, u->err);
        if (st != GREBE_OK) {
            break;
        }
        st = buf_put(&batches, &rows, sizeof rows, u->err);
        if (st != GREBE_OK) {
            array_release(&rows);
            break;
        }
    }
    if (st == GREBE_END) {
        st = part_of_batches(u->ctx, &schema, (struct ArrowArray *)(void *)batches.data,
                             batches.len / sizeof(struct ArrowArray), out, u->err);
    }
out:
    for (size_t i = 0; i < batches.len / sizeof(struct ArrowArray); i++) {
        array_release((struct ArrowArray *)(void *)batches.data + i);
    }
    buf_release(&batches);
    schema_release(&schema);
    stream_release(&stream);
    region_drop(bytes);
    return st;
}

static grebe_status open_parts(struct unpacking *u)
{
    const struct json_value *list = NULL;
    grebe_status st = json_expect(u->v, "parts", JSON_ARRAY, &list, u->err);
    if (st != GREBE_OK) {
        return st;
    }
    u->parts = arena_array(&u->arena, list->n + 1, sizeof *u->parts);
    if (u->parts == NULL) {
        return mem_fail(u->err, list->n * sizeof *u->parts, "parts");
    }
    for (size_t i = 0; i < list->n && st == GREBE_OK; i++) {
        uint64_t len = 0;
        if (list->items[i].type == JSON_STRING) {
            struct rows_file *file = NULL;
            st = rows_file_open(u->ctx, list->items[i].text, false, &file, u->err);
            st = st == GREBE_OK ? part_of_file(u->ctx, file, &u->parts[i], u->err) : st;
            if (st != GREBE_OK) {
                rows_file_drop(file);
            }
        } else {
            st = json_u64(&list->items[i], &len) ? decode_part(u, (size_t)len, &u->parts[i])
                                                 : bad(u, "a part is no part");
        }
        u->n_parts += st == GREBE_OK;
    }
    return st;
}

/* The same storage; names and metadata of a column are its feature's. */
static bool is_same_type(const struct ArrowSchema *x, const struct ArrowSchema *y)
{
    struct ArrowSchema named = *x; /* shallow: never released */
    named.name = y->name;
    return schema_equal(&named, y,
                        SCHEMA_EQUAL_IGNORE_METADATA | SCHEMA_EQUAL_IGNORE_NULLABLE | SCHEMA_EQUAL_IGNORE_CHILD_NAMES);
}

/* A source as [part, first row, column, steps …]: everything in range, and of the type that the table has. */
static grebe_status read_source(struct unpacking *u, const struct json_value *v, int64_t n_rows,
                                const struct ArrowSchema *type, struct table_source *out)
{
    int64_t part = 0, first = 0, column = 0;
    if (v->type == JSON_NULL) {
        return GREBE_OK;
    }
    if (v->type != JSON_ARRAY || v->n < 3 || v->n > 3 + SOURCE_STEPS_MAX || !json_i64(&v->items[0], &part) ||
        !json_i64(&v->items[1], &first) || !json_i64(&v->items[2], &column) || part < 0 || (size_t)part >= u->n_parts) {
        return bad(u, "a column of a block makes no sense");
    }
    struct table_part *p = u->parts[part];
    const struct ArrowSchema *schema = part_schema(p);
    if (first < 0 || first > part_rows(p) || n_rows > part_rows(p) - first || column < 0 ||
        column >= schema->n_children) {
        return bad(u, "rows or columns that a part has not");
    }
    schema = schema->children[column];
    struct table_source s = { NULL, first, (int32_t)column, (int32_t)(v->n - 3), { 0 } };
    for (size_t i = 3; i < v->n; i++) {
        int64_t step = 0;
        if (!json_i64(&v->items[i], &step) || step < 0 || step >= schema->n_children || step > INT16_MAX ||
            strcmp(schema->format, "+s") != 0) {
            return bad(u, "a field that a struct has not");
        }
        s.steps[i - 3] = (int16_t)step;
        schema = schema->children[step];
    }
    if (!is_same_type(schema, type)) {
        return bad(u, "a column of another type than its feature");
    }
    s.part = part_keep(p);
    *out = s;
    return GREBE_OK;
}

static grebe_status read_blocks(struct unpacking *u, const struct ArrowSchema *schema, struct dataset_table **out)
{
    const struct json_value *list = NULL;
    size_t n = (size_t)schema->n_children;
    grebe_status st = json_expect(u->v, "blocks", JSON_ARRAY, &list, u->err);
    st = st == GREBE_OK ? dataset_table_make(u->ctx, schema, list->n, out, u->err) : st;
    for (size_t i = 0; st == GREBE_OK && i < list->n; i++) {
        const struct json_value *b = &list->items[i];
        struct table_block *block = &(*out)->blocks[i];
        if (b->type != JSON_ARRAY || b->n != n + 1 || !json_i64(&b->items[0], &block->n_rows) || block->n_rows < 0) {
            return bad(u, "a block makes no sense");
        }
        for (size_t c = 0; c < n && st == GREBE_OK; c++) {
            st = read_source(u, &b->items[c + 1], block->n_rows, schema->children[c], &block->sources[c]);
        }
    }
    return st == GREBE_OK ? table_seal(*out, u->err) : st;
}

static grebe_status read_indices(struct unpacking *u, int64_t n_rows, struct dataset_indices **out)
{
    int64_t n = -1;
    const struct json_value *count = json_get(u->v, "indices");
    *out = NULL;
    if (count == NULL || !json_i64(count, &n) || n < 0) {
        return GREBE_OK;
    }
    if ((uint64_t)n > u->left / sizeof(uint64_t)) {
        return bad(u, "indices are cut off");
    }
    uint64_t *rows = mem_alloc(u->ctx->a, (size_t)n * sizeof *rows);
    if (rows == NULL) {
        return mem_fail(u->err, (size_t)n * sizeof *rows, "indices");
    }
    for (int64_t i = 0; i < n; i++) {
        rows[i] = load_le64(u->sections + 8 * i);
        if (rows[i] >= (uint64_t)n_rows) {
            mem_free(u->ctx->a, rows, (size_t)n * sizeof *rows);
            return bad(u, "an index beyond the rows");
        }
    }
    return dataset_indices_new(u->ctx, rows, n, out, u->err);
}

static const char *text_of(const struct json_value *v, const char *key)
{
    const struct json_value *text = json_get(v, key);
    return text != NULL && text->type == JSON_STRING ? text->text : NULL;
}

static grebe_status read_format(struct unpacking *u, grebe_dataset_format *out)
{
    const struct json_value *columns = json_get(u->v, "columns"), *all = json_get(u->v, "all");
    *out = (grebe_dataset_format){ .type = text_of(u->v, "type"), .kwargs = text_of(u->v, "kwargs") };
    out->output_all_columns = all != NULL && all->type == JSON_BOOL && all->boolean;
    if (columns == NULL || columns->type != JSON_ARRAY) {
        return GREBE_OK;
    }
    const char **names = arena_array(&u->arena, columns->n + 1, sizeof *names);
    if (names == NULL) {
        return mem_fail(u->err, columns->n * sizeof *names, "columns");
    }
    for (size_t i = 0; i < columns->n; i++) {
        if (columns->items[i].type != JSON_STRING) {
            return bad(u, "a column without a name");
        }
        names[i] = columns->items[i].text;
    }
    out->columns = names;
    out->n_columns = columns->n;
    return GREBE_OK;
}

static grebe_status unpack(struct unpacking *u, grebe_dataset **out)
{
    grebe_status st = GREBE_OK;
    struct features *f = NULL;
    struct ArrowSchema schema = { 0 };
    struct dataset_table *table = NULL;
    struct dataset_indices *indices = NULL;
    struct buf info = BUF_INIT(u->ctx->a);
    grebe_dataset_format format;
    const struct json_value *features = NULL, *about = NULL;
    const char *fingerprint = text_of(u->v, "fingerprint");
    GREBE_TRY(json_expect(u->v, "features", JSON_OBJECT, &features, u->err));
    GREBE_TRY(json_expect(u->v, "info", JSON_OBJECT, &about, u->err));
    if (fingerprint == NULL || fingerprint[0] == '\0') {
        st = bad(u, "it has no fingerprint");
        goto out;
    }
    GREBE_TRY(features_from_tree(u->ctx->a, features, &f, u->err));
    GREBE_TRY(features_to_schema(u->ctx->a, f, &schema, u->err));
    GREBE_TRY(json_python_value(&info, about, -1, 0, u->err));
    GREBE_TRY(buf_put_byte(&info, 0, u->err));
    GREBE_TRY(open_parts(u));
    GREBE_TRY(read_blocks(u, &schema, &table));
    GREBE_TRY(read_indices(u, dataset_table_num_rows(table), &indices));
    GREBE_TRY(read_format(u, &format));
    GREBE_TRY(dataset_new(u->ctx, table, indices, f, (const char *)info.data, text_of(u->v, "split"), fingerprint,
                          &format, out, u->err));
    table = NULL;
    indices = NULL;
    f = NULL;
out:
    dataset_table_drop(table);
    dataset_indices_drop(indices);
    features_free(f);
    schema_release(&schema);
    buf_release(&info);
    return st;
}

grebe_status grebe_dataset_unpack(grebe_context *ctx, const void *bytes, size_t len, grebe_dataset **out,
                                  grebe_error *err)
{
    GREBE_CHECK_ARG(err, ctx != NULL && (bytes != NULL || len == 0) && out != NULL);
    struct unpacking u = { .ctx = ctx, .arena = ARENA_INIT(ctx->a), .err = err };
    const unsigned char *p = bytes;
    *out = NULL;
    if (len < HEAD_LEN || memcmp(p, magic, sizeof magic) != 0) {
        return bad(&u, "it begins otherwise");
    }
    uint64_t n = load_le64(p + sizeof magic);
    if (n > len - HEAD_LEN) {
        return bad(&u, "its head is cut off");
    }
    size_t n_text = (size_t)n;
    while (n_text > 0 && p[HEAD_LEN + n_text - 1] == 0) { /* padding */
        n_text--;
    }
    grebe_status st = json_parse(&u.arena, (const char *)p + HEAD_LEN, n_text, &u.v, err);
    if (st == GREBE_OK) {
        u.sections = p + HEAD_LEN + n;
        u.left = len - HEAD_LEN - (size_t)n;
        st = unpack(&u, out);
    }
    for (size_t i = 0; i < u.n_parts; i++) {
        part_drop(u.parts[i]);
    }
    arena_release(&u.arena);
    return st;
}
