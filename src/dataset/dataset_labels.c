/* SPDX-License-Identifier: Apache-2.0 */
/* The same rows, told otherwise: another format, split, information or fingerprint. */
#include "dataset/dataset_internal.h"

#include <string.h>

#include "dataset/fingerprint.h"
#include "wire/json_python.h"

/* The arguments of set_format of `datasets` that are not its defaults, as JSON; those of the format's own are among them. */
static grebe_status put_arguments(const grebe_dataset_format *f, struct buf *dst, grebe_error *err)
{
    struct arena ar = ARENA_INIT(dst->a);
    struct buf value = BUF_INIT(dst->a);
    const struct json_value *kwargs = NULL;
    struct json_writer w;
    grebe_status st = GREBE_OK;
    if (f->kwargs != NULL) {
        st = json_parse(&ar, f->kwargs, strlen(f->kwargs), &kwargs, err);
        st = st == GREBE_ECORRUPT || (st == GREBE_OK && kwargs->type != JSON_OBJECT)
                 ? GREBE_FAIL(err, GREBE_EINVAL, "a format: kwargs: expected a JSON object")
                 : st;
        GREBE_TRY(st);
    }
    json_begin(&w, dst, 0, err);
    json_open_object(&w);
    for (size_t i = 0; kwargs != NULL && i < kwargs->n; i++) {
        value.len = 0;
        GREBE_TRY(json_python_value(&value, &kwargs->members[i].value, -1, 0, err));
        json_key_len(&w, kwargs->members[i].key, kwargs->members[i].key_len);
        json_raw(&w, (const char *)value.data, value.len);
    }
    if (f->type != NULL) {
        json_key(&w, "type");
        json_text(&w, f->type);
    }
    if (f->columns != NULL) {
        json_key(&w, "columns");
        json_open_array(&w);
        for (size_t i = 0; i < f->n_columns; i++) {
            json_text(&w, f->columns[i]);
        }
        json_close_array(&w);
    }
    if (f->output_all_columns) {
        json_key(&w, "output_all_columns");
        json_bool(&w, true);
    }
    json_close_object(&w);
    st = json_end(&w);
out:
    buf_release(&value);
    arena_release(&ar);
    return st;
}

/* The fingerprint of the data set with the format, that of `datasets`. */
static grebe_status name_format(const grebe_dataset *ds, const grebe_dataset_format *f, char out[17], grebe_error *err)
{
    struct buf arguments = BUF_INIT(ds->ctx->a);
    grebe_status st = put_arguments(f, &arguments, err);
    st = st == GREBE_OK ? buf_put_byte(&arguments, '\0', err) : st;
    st = st == GREBE_OK ? grebe_fingerprint(ds->ctx, ds->fingerprint, "datasets.arrow_dataset.Dataset.set_format",
                                            (const char *)arguments.data, out, err)
                        : st;
    buf_release(&arguments);
    return st;
}

grebe_status grebe_dataset_with(const grebe_dataset *ds, const grebe_dataset_labels *labels, grebe_dataset **out,
                                grebe_error *err)
{
    GREBE_CHECK_ARG(err, ds != NULL && labels != NULL && out != NULL);
    struct features *features = NULL;
    const char *split = labels->split == NULL ? ds->split : labels->split[0] != '\0' ? labels->split : NULL;
    const grebe_dataset_format *format = labels->format == NULL ? &ds->format : labels->format;
    const char *fingerprint = labels->fingerprint != NULL ? labels->fingerprint : ds->fingerprint;
    char made[17];
    *out = NULL;
    grebe_status st = GREBE_OK;
    if (labels->fingerprint == NULL && labels->format != NULL) {
        st = name_format(ds, labels->format, made, err);
        fingerprint = made;
    }
    st = st == GREBE_OK ? dataset_copy_features(ds, &features, err) : st;
    if (st != GREBE_OK) {
        return st;
    }
    struct dataset_table *table = dataset_table_keep(ds->table);
    struct dataset_indices *indices = dataset_indices_keep(ds->indices);
    st = dataset_new(ds->ctx, table, indices, features, labels->info != NULL ? labels->info : ds->info_json, split,
                     fingerprint, format, out, err);
    if (st != GREBE_OK) {
        dataset_table_drop(table);
        dataset_indices_drop(indices);
        features_free(features);
    }
    return st;
}
