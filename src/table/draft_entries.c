/* SPDX-License-Identifier: Apache-2.0 */
#include "table/txn_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "grebe_version_info.h"
#include "table/version.h"

bool txn_writes_entries(const struct grebe_txn *x, const struct snapshot *base)
{
    if (x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base)) {
        return false;
    }
    /* A table of another program stays as it is until an operation cannot do without. */
    return base->version == 0 || x->renames.n > 0 || x->schema.release != NULL ||
           manifest_stat_find(&base->manifest, STAT_SCHEMA) != NULL;
}

/* The draft's columns with known types, as columns_to_json wants them. */
static grebe_status print_schema(const struct draft *d, struct buf *dst, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct columns c = { 0 };
    c.arena = ARENA_INIT(d->a);
    size_t n = 0;
    for (size_t i = 0; i < d->n_columns; i++) {
        n += d->columns[i].field.release != NULL;
    }
    c.items = arena_array(&c.arena, n, sizeof *c.items);
    if (c.items == NULL) {
        return mem_fail(err, n * sizeof *c.items, "columns");
    }
    GREBE_TRY(schema_new(d->a, "+s", "", false, (int64_t)n, &c.schema, err));
    for (size_t i = 0; i < d->n_columns; i++) {
        if (d->columns[i].field.release != NULL) {
            GREBE_TRY(schema_copy(d->a, &d->columns[i].field, c.schema.children[c.n], err));
            c.items[c.n++].stored = d->columns[i].stored;
        }
    }
    st = columns_to_json(dst, &c, err);
out:
    schema_release(&c.schema);
    arena_release(&c.arena);
    return st;
}

static grebe_status put_schema(struct draft *d, grebe_error *err)
{
    grebe_status st = GREBE_OK;
    struct buf json = BUF_INIT(d->a);
    struct manifest_stat stat = { .key = { STAT_SCHEMA, strlen(STAT_SCHEMA) } };
    struct avro_pair *pair = arena_array(&d->m.arena, 1, sizeof *pair);
    GREBE_TRY(print_schema(d, &json, err));
    if (pair == NULL || buf_text(&json) == NULL) {
        st = mem_fail(err, json.len, "a schema");
        goto out;
    }
    pair->key = (manifest_text){ "schema", strlen("schema") };
    pair->value.data = arena_str(&d->m.arena, buf_text(&json), json.len);
    pair->value.len = json.len;
    if (pair->value.data == NULL) {
        st = mem_fail(err, json.len, "a schema");
        goto out;
    }
    stat.metadata = (struct avro_list){ pair, 1 };
    st = draft_set_stat(d, &stat, err);
out:
    buf_release(&json);
    return st;
}

static grebe_status put_row_ids(struct draft *d, grebe_error *err)
{
    struct manifest_stat stat = { .key = { STAT_ROW_IDS, strlen(STAT_ROW_IDS) } };
    grebe_status st = rowids_metadata(&d->m.arena, d->base, d->n_rows, d->is_emptied,
                                      &stat.metadata, err);
    return st == GREBE_OK ? draft_set_stat(d, &stat, err) : st;
}

/* ---- header keys: information, dropped by a foreign commit ---- */

static void put_word(char *dst, size_t len, const char *word, bool is_there)
{
    size_t used = strlen(dst);
    if (is_there && used + strlen(word) + 2 < len) {
        snprintf(dst + used, len - used, "%s%s", used > 0 ? "+" : "", word);
    }
}

/* "append+drop-column": what was done, as the command names it. */
static void print_operation(const struct grebe_txn *x, const struct snapshot *base, char *dst,
                            size_t len)
{
    dst[0] = '\0';
    put_word(dst, len, "create", base->version == 0);
    size_t n_staged = x->appends.n + x->additions.n;
    put_word(dst, len, "import", base->version != 0 && x->n_imports > 0);
    put_word(dst, len, "append",
             base->version != 0 && x->appends.n > 0 && n_staged > x->n_imports);
    put_word(dst, len, "add-column", x->additions.n > 0 && n_staged > x->n_imports);
    put_word(dst, len, "drop-column", x->drops.n > 0);
    put_word(dst, len, "rename-column", x->renames.n > 0);
    put_word(dst, len, "set-schema", x->schema.release != NULL);
    put_word(dst, len, "delete", x->deltas.n > 0);
    put_word(dst, len, "index", x->indexes.n + x->index_drops.n > 0);
    put_word(dst, len, "stats", x->stats.n > 0);
    put_word(dst, len, "lob", x->lobs.n > 0);
}

static grebe_status put_header(struct draft *d, struct avro_pair *pairs, size_t *n,
                               const char *key, const char *value, grebe_error *err)
{
    if (value == NULL || value[0] == '\0') {
        return GREBE_OK;
    }
    struct avro_pair *pair = &pairs[*n];
    pair->key = (manifest_text){ key, strlen(key) };
    pair->value.len = strlen(value);
    pair->value.data = arena_str(&d->m.arena, value, pair->value.len);
    *n += 1;
    return pair->value.data == NULL ? mem_fail(err, pair->value.len, "a header entry") : GREBE_OK;
}

grebe_status draft_entries(const struct grebe_txn *x, struct draft *d, int64_t read_version,
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    char operation[160];
    char time[TIME_TEXT_LEN];
    char parent[24];
    size_t n = 0;
    if (txn_writes_entries(x, d->base)) {
        GREBE_TRY(put_schema(d, err));
        GREBE_TRY(put_row_ids(d, err));
    }
    if (x->profile == GREBE_PROFILE_MILVUS || table_is_milvus(x->base)) {
        return GREBE_OK;
    }
    struct avro_pair *pairs = arena_array(&d->m.arena, 5, sizeof *pairs);
    if (pairs == NULL) {
        return mem_fail(err, 5 * sizeof *pairs, "header entries");
    }
    print_operation(x, d->base, operation, sizeof operation);
    time_print(time, context_now_us(x->ctx));
    snprintf(parent, sizeof parent, "%" PRId64, read_version);
    GREBE_TRY(put_header(d, pairs, &n, "grebe.message", x->message, err));
    GREBE_TRY(put_header(d, pairs, &n, "grebe.operation",
                         x->operation != NULL ? x->operation : operation, err));
    GREBE_TRY(put_header(d, pairs, &n, "grebe.parent", parent, err));
    GREBE_TRY(put_header(d, pairs, &n, "grebe.time", time, err));
    GREBE_TRY(put_header(d, pairs, &n, "grebe.writer", "grebe " GREBE_VERSION_TEXT, err));
    d->m.header = (struct avro_list){ pairs, n };
out:
    return st;
}
