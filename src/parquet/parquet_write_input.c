/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in beside what is written: run-end encoded columns become their values first, and
 * the Arrow schema in the footer knows neither those nor list views, on which Polars 2 gives up.
 */
#include "parquet/parquet_write_internal.h"

#include <assert.h>
#include <string.h>

/* Depth of the recursion: schema_check has bounded it. */
static bool has_format(const struct ArrowSchema *f, const char *a, const char *b)
{
    if (strcmp(f->format, a) == 0 || strcmp(f->format, b) == 0) {
        return true;
    }
    for (int64_t i = 0; i < f->n_children; i++) {
        if (has_format(f->children[i], a, b)) {
            return true;
        }
    }
    return f->dictionary != NULL && has_format(f->dictionary, a, b);
}

static bool has_runs(const struct ArrowSchema *f) { return has_format(f, "+r", "+r"); }

/* Column `i` of `out` becomes a copy of the field without dictionaries, runs and list views. */
static grebe_status make_plain(const grebe_allocator *a, const struct ArrowSchema *src, int64_t i,
                               struct ArrowSchema *out, grebe_error *err)
{
    struct ArrowSchema plain;
    const grebe_status st = schema_copy_plain(a, src->children[i], &plain, err);

    if (st == GREBE_OK) {
        schema_release(out->children[i]);
        schema_move(out->children[i], &plain);
    }
    return st;
}

grebe_status pw_schema_written(const grebe_allocator *a, const struct ArrowSchema *given,
                               struct ArrowSchema *out, grebe_error *err)
{
    grebe_status st = schema_copy(a, given, out, err);

    for (int64_t i = 0; i < given->n_children && st == GREBE_OK; i++) {
        if (has_runs(given->children[i])) {
            st = make_plain(a, given, i, out, err);
        }
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

/* pyarrow 26 cannot read the delta encodings of strings into a dictionary type. */
static bool is_lost_dictionary(const struct pw_leaf *leaf)
{
    return leaf->is_dictionary && (leaf->encoding == PQ_DELTA_LENGTH_BYTE_ARRAY ||
                                   leaf->encoding == PQ_DELTA_BYTE_ARRAY);
}

grebe_status pw_schema_kept(const grebe_allocator *a, const struct pw_schema *schema,
                            struct ArrowSchema *out, grebe_error *err)
{
    const struct ArrowSchema *written = &schema->arrow;
    grebe_status st = schema_copy(a, written, out, err);

    for (int64_t i = 0; i < written->n_children && st == GREBE_OK; i++) {
        if (has_format(written->children[i], "+vl", "+vL")) {
            st = make_plain(a, written, i, out, err);
        }
    }
    for (uint32_t i = 0; i < schema->n_leaves && st == GREBE_OK; i++) {
        if (is_lost_dictionary(&schema->leaves[i])) {
            st = make_plain(a, written, schema->leaves[i].column, out, err);
        }
    }
    if (st != GREBE_OK) {
        schema_release(out);
    }
    return st;
}

grebe_status pw_input_init(struct pw_input *in, const grebe_allocator *a, struct arena *ar,
                           const struct ArrowSchema *given, grebe_error *err)
{
    grebe_status st = schema_copy(a, given, &in->given, err);
    const size_t n = (size_t)given->n_children;

    in->a = a;
    if (st != GREBE_OK) {
        return st;
    }
    in->made = arena_array(ar, n, sizeof *in->made);
    in->children = arena_array(ar, n, sizeof *in->children);
    in->has_runs = arena_array(ar, n, sizeof *in->has_runs);
    if (in->made == NULL || in->children == NULL || in->has_runs == NULL) {
        return mem_fail(err, n * sizeof *in->made, "columns");
    }
    for (size_t i = 0; i < n; i++) {
        in->has_runs[i] = has_runs(in->given.children[i]);
        in->is_changed = in->is_changed || in->has_runs[i];
    }
    return GREBE_OK;
}

void pw_input_end(struct pw_input *in)
{
    for (int64_t i = 0; in->made != NULL && i < in->given.n_children; i++) {
        array_release(&in->made[i]);
    }
}

void pw_input_release(struct pw_input *in)
{
    pw_input_end(in);
    schema_release(&in->given);
}

grebe_status pw_input_begin(struct pw_input *in, const struct ArrowSchema *written,
                            const struct ArrowArray *batch, const struct ArrowArray **out,
                            grebe_error *err)
{
    grebe_status st = array_check(&in->given, batch, in->is_changed, err);

    *out = batch;
    if (st != GREBE_OK || !in->is_changed) {
        return st;
    }
    in->view = *batch;
    in->view.children = in->children;
    for (int64_t i = 0; i < batch->n_children && st == GREBE_OK; i++) {
        in->children[i] = batch->children[i];
        if (in->has_runs[i]) {
            st = array_widen(in->a, in->given.children[i], written->children[i],
                             batch->children[i], &in->made[i], err);
            in->children[i] = &in->made[i];
        }
    }
    *out = &in->view;
    return st;
}
