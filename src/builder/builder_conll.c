/* SPDX-License-Identifier: Apache-2.0 */
/* CoNLL: a token and its tags on a line, blank lines between sentences. A row is a sentence, a column a list of strings. */
#include <string.h>

#include "base/checked.h"
#include "builder/builder_text.h"
#include "text/text_builder.h"

struct conll_builder {
    struct builder_base base;
    struct builder_encoding encoding;
    const char **names; /* shape [n] */
    size_t n;
    const char *delimiter, *comment; /* NULL: white space, none */
    bool is_docstart_read;
};

struct conll_rows {
    struct conll_builder *b;
    struct text_reader reader;
    bool is_plain, is_over;
    int64_t row;
    uint64_t at;               /* of the next sentence */
    struct text_builder *lists, *words; /* shape [n] each */
};

/* What str.isspace() counts of ASCII. */
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

/* The next part of the line; false: there is none. */
static bool take_part(const char *delimiter, const char **p, const char *end, struct text_span *out)
{
    if (*p == NULL) {
        return false;
    }
    if (delimiter == NULL) {
        while (*p < end && is_space(**p)) {
            ++*p;
        }
        const char *begin = *p;
        while (*p < end && !is_space(**p)) {
            ++*p;
        }
        *out = (struct text_span){ begin, (size_t)(*p - begin) };
        return *p > begin;
    }
    size_t n = strlen(delimiter);
    for (const char *q = *p; (size_t)(end - q) >= n; q++) {
        if (memcmp(q, delimiter, n) == 0) {
            *out = (struct text_span){ *p, (size_t)(q - *p) };
            *p = q + n;
            return true;
        }
    }
    *out = (struct text_span){ *p, (size_t)(end - *p) };
    *p = NULL;
    return true;
}

static grebe_status put_line(struct conll_rows *r, const char *p, const char *end, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < r->b->n && st == GREBE_OK; i++) {
        struct text_span part = { "", 0 };
        if (!take_part(r->b->delimiter, &p, end, &part)) {
            part = (struct text_span){ "", 0 }; /* missing columns are empty */
            p = r->b->delimiter != NULL ? NULL : end;
        }
        st = text_builder_put_text(&r->words[i], part.p, part.len, err);
    }
    return st;
}

static bool begins_with(const char *p, const char *end, const char *prefix)
{
    size_t n = strlen(prefix);
    return (size_t)(end - p) >= n && memcmp(p, prefix, n) == 0;
}

static grebe_status end_sentence(struct conll_rows *r, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (size_t i = 0; i < r->b->n && st == GREBE_OK; i++) {
        struct text_builder *list = &r->lists[i];
        st = text_builder_reserve(list, 1, err);
        if (st == GREBE_OK) {
            ((int32_t *)(void *)list->data)[list->n + 1] = (int32_t)r->words[i].n;
            text_builder_took(list);
        }
    }
    return st;
}

static size_t cut_sentences(void *arg, const char *data, size_t len, bool is_last)
{
    size_t border = 0, line = 0;
    (void)arg;
    if (is_last) {
        return len;
    }
    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n' && (data[i] != '\r' || i + 1 == len || data[i + 1] == '\n')) {
            continue;
        }
        bool is_blank = true;
        for (size_t k = line; k < i && is_blank; k++) {
            is_blank = is_space(data[k]);
        }
        line = i + 1;
        border = is_blank ? line : border;
    }
    return border;
}

static grebe_status read_sentences(struct conll_rows *r, const struct text_block *block, grebe_error *err)
{
    const char *p = block->data, *end = block->data + block->len;
    size_t begun = 0;
    grebe_status st = builder_text_check(r->reader.name, block, err);
    while (st == GREBE_OK && p < end) {
        const char *stop = p;
        while (stop < end && *stop != '\n' && *stop != '\r') {
            stop++;
        }
        const char *q = p;
        while (q < stop && is_space(*q)) {
            q++;
        }
        if (q == stop) {
            st = r->words[0].n > begun ? end_sentence(r, err) : GREBE_OK;
            begun = r->words[0].n;
        } else if ((!r->b->is_docstart_read && begins_with(p, stop, "-DOCSTART-")) ||
                   (r->b->comment != NULL && begins_with(p, stop, r->b->comment))) {
            st = GREBE_OK;
        } else {
            st = put_line(r, p, stop, err);
        }
        p = stop < end && *stop == '\r' && stop + 1 < end && stop[1] == '\n' ? stop + 2
                                                                             : min_size(1, (size_t)(end - stop)) + stop;
    }
    return st == GREBE_OK && r->words[0].n > begun ? end_sentence(r, err) : st;
}

static grebe_status finish_rows(struct conll_rows *r, struct ArrowArray *out, grebe_error *err)
{
    const grebe_allocator *a = r->b->base.b.ctx->a;
    grebe_status st = GREBE_OK;
    struct ArrowArray *columns = mem_alloc_zero(a, r->b->n * sizeof *columns);
    if (columns == NULL) {
        return mem_fail(err, r->b->n * sizeof *columns, "columns");
    }
    int64_t n_rows = (int64_t)r->lists[0].n;
    for (size_t i = 0; i < r->b->n; i++) {
        GREBE_TRY(text_builder_finish(&r->lists[i], 1, &columns[i], err));
        GREBE_TRY(text_builder_finish(&r->words[i], 0, columns[i].children[0], err));
    }
    st = array_struct(a, n_rows, columns, r->b->n, out, err);
out:
    for (size_t i = 0; i < r->b->n; i++) {
        array_release(&columns[i]);
    }
    mem_free(a, columns, r->b->n * sizeof *columns);
    return st;
}

static grebe_status conll_next(void *self, struct ArrowSchema *schema, struct ArrowArray *out, grebe_error *err)
{
    struct conll_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    struct ArrowArray rows = { 0 };
    struct ArrowSchema type = { 0 };
    grebe_status st = GREBE_OK;
    do {
        struct text_block block;
        size_t n = 0;
        array_release(&rows);
        st = text_reader_blocks(&r->reader, r->b->base.block_bytes, cut_sentences, NULL, &block, 1, &n, err);
        if (st != GREBE_OK || n == 0) {
            return st != GREBE_OK ? st : GREBE_END;
        }
        st = read_sentences(r, &block, err);
        st = st == GREBE_OK ? finish_rows(r, &rows, err) : st;
    } while (st == GREBE_OK && rows.length == 0);
    st = st == GREBE_OK ? builder_text_schema(a, r->b->names, r->b->n, "+l", &type, err) : st;
    if (st != GREBE_OK) {
        array_release(&rows);
        return st;
    }
    int64_t n = rows.length;
    st = builder_emit(&r->b->base, r->reader.name, &type, &rows, false, r->row, schema, out, err);
    r->row += n;
    return st;
}

static struct shard_place conll_place(void *self)
{
    const struct conll_rows *r = self;
    return r->is_plain ? (struct shard_place){ r->row, r->reader.at } : (struct shard_place){ 0, 0 };
}

static int64_t conll_next_row(void *self) { return ((struct conll_rows *)self)->row; }

static void conll_rows_free(void *self)
{
    struct conll_rows *r = self;
    const grebe_allocator *a = r->b->base.b.ctx->a;
    size_t bytes = r->b->n * sizeof *r->lists;
    for (size_t i = 0; i < r->b->n; i++) {
        if (r->lists != NULL) {
            text_builder_release(&r->lists[i]);
        }
        if (r->words != NULL) {
            text_builder_release(&r->words[i]);
        }
    }
    mem_free(a, r->lists, r->lists != NULL ? bytes : 0);
    mem_free(a, r->words, r->words != NULL ? bytes : 0);
    text_reader_release(&r->reader);
    mem_free(a, r, sizeof *r);
}

static const struct shard_reader_ops conll_rows_ops = { conll_next, conll_place, conll_next_row, conll_rows_free, NULL };

static grebe_status open_unit(struct builder_base *base, struct region *bytes, const char *name, struct shard_place place,
                              struct shard_reader *out, grebe_error *err)
{
    struct conll_builder *b = (struct conll_builder *)base;
    const grebe_allocator *a = base->b.ctx->a;
    grebe_status st = GREBE_OK;
    struct conll_rows *r = mem_alloc_zero(a, sizeof *r);
    if (r == NULL) {
        return mem_fail(err, sizeof *r, name);
    }
    r->b = b;
    r->row = place.row;
    r->lists = mem_alloc_zero(a, b->n * sizeof *r->lists);
    r->words = mem_alloc_zero(a, b->n * sizeof *r->words);
    if (r->lists == NULL || r->words == NULL) {
        st = mem_fail(err, b->n * sizeof *r->lists, "columns");
        goto out;
    }
    for (size_t i = 0; i < b->n; i++) {
        text_builder_init(&r->lists[i], a, TEXT_BUILDER_LIST, 0);
        text_builder_init(&r->words[i], a, TEXT_BUILDER_TEXT, 0);
    }
    GREBE_TRY(builder_text_reader(base, &b->encoding, bytes, name, place.at, &r->reader, &r->is_plain, err));
    *out = (struct shard_reader){ &conll_rows_ops, r };
    r = NULL;
out:
    if (r != NULL) {
        conll_rows_free(r);
    }
    return st;
}

/* ---- the builder ---- */

static void conll_free(struct builder *base)
{
    struct conll_builder *b = (struct conll_builder *)base;
    mem_free(base->ctx->a, b->names, b->n * sizeof *b->names);
    builder_base_free(base);
}

static const struct builder_ops conll_ops = { NULL, builder_one_part, builder_read_units, conll_free, open_unit };

static grebe_status read_names(struct conll_builder *b, grebe_error *err)
{
    const struct json_value *names = builder_option_set(&b->base, "column_names");
    size_t n = 1;
    if (names != NULL) {
        if (names->type != JSON_ARRAY || names->n == 0) {
            return builder_option_fail("column_names", "a list of names that is not empty", names, err);
        }
        n = names->n;
    }
    b->names = mem_alloc_zero(b->base.b.ctx->a, n * sizeof *b->names);
    if (b->names == NULL) {
        return mem_fail(err, n * sizeof *b->names, "names");
    }
    b->n = n;
    b->names[0] = "tokens";
    for (size_t i = 0; names != NULL && i < n; i++) {
        if (names->items[i].type != JSON_STRING) {
            return builder_option_fail("column_names", "a list of names", &names->items[i], err);
        }
        b->names[i] = names->items[i].text;
    }
    return GREBE_OK;
}

static grebe_status conll_set_up(struct builder *base, grebe_error *err)
{
    enum { BLOCK_BYTES = 1 << 20 };
    struct conll_builder *b = (struct conll_builder *)base;
    struct ArrowSchema schema = { 0 };
    bool is_skipped = true;
    grebe_status st = GREBE_OK;
    b->base.block_bytes = BLOCK_BYTES;
    GREBE_TRY(builder_encoding_options(&b->base, &b->encoding, err));
    GREBE_TRY(builder_option_text(&b->base, "delimiter", &b->delimiter, err));
    GREBE_TRY(builder_option_text(&b->base, "comment_prefix", &b->comment, err));
    GREBE_TRY(builder_option_bool(&b->base, "skip_docstart", &is_skipped, err));
    b->is_docstart_read = !is_skipped;
    if (b->delimiter != NULL && b->delimiter[0] == '\0') {
        st = builder_option_fail("delimiter", "a string that is not empty", builder_option(&b->base, "delimiter"), err);
        goto out;
    }
    GREBE_TRY(read_names(b, err));
    if (!b->base.is_given) {
        GREBE_TRY(builder_text_schema(base->ctx->a, b->names, b->n, "+l", &schema, err));
        GREBE_TRY(builder_set_schema(&b->base, &schema, false, err));
    }
out:
    schema_release(&schema);
    return st;
}

static const char *const conll_extensions[] = { ".conll", ".conllu", NULL };
static const char *const conll_options[] = { "features", "column_names", "delimiter", "encoding", "encoding_errors",
                                             "skip_docstart", "comment_prefix", NULL };

const struct builder_kind builder_conll = { .name = "conll", .extensions = conll_extensions, .options = conll_options,
                                            .size = sizeof(struct conll_builder),
                                            .ops = &conll_ops,
                                            .set_up = conll_set_up };
