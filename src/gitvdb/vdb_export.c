/* SPDX-License-Identifier: Apache-2.0 */
/* Points as lines of JSON. */
#include "gitvdb/vdb_api.h"

#include <string.h>

#include "gitvdb/vdb_select.h"

enum { FLUSH_BYTES = 1 << 18 };

/* {"id":…,"payload":…,"vector":[…]}; floats of 32 bits with the fewest digits, which the reader takes back to the same bits. */
static grebe_status put_line(struct vdb_snapshot *s, struct vdb_place at, struct buf *out, grebe_error *err)
{
    const struct vdb_shard *shard = &s->shards[at.shard];
    struct vdb_id id = vdb_rows_id(&shard->ids, at.row);
    struct vdb_value id_v = vdb_id_to_json(&id);
    const float *v = shard->vectors.values + (size_t)at.row * shard->vectors.dim;
    size_t len;
    const void *payload = vdb_rows_get(&shard->payloads, at.row, &len);
    grebe_status st;
    GREBE_TRY(buf_put_text(out, "{\"id\":", err));
    GREBE_TRY(vdb_json_put(out, &id_v, err));
    GREBE_TRY(buf_put_text(out, ",\"vector\":[", err));
    for (uint32_t d = 0; d < shard->vectors.dim; d++) {
        struct vdb_value f = { .type = VDB_FLOAT32, .f = v[d] };
        if (d != 0) {
            GREBE_TRY(buf_put_byte(out, ',', err));
        }
        GREBE_TRY(vdb_json_put(out, &f, err));
    }
    GREBE_TRY(buf_put_text(out, "],\"payload\":", err));
    GREBE_TRY(vdb_json_put_readable(out, payload, len, err));
    GREBE_TRY(buf_put_text(out, "}\n", err));
out:
    return st;
}

static grebe_status flush(struct buf *text, grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    int sys = text->len == 0 ? 0 : write(write_ctx, text->data, text->len);
    buf_clear(text);
    return sys == 0 ? GREBE_OK : GREBE_FAIL_SYS(err, GREBE_EIO, sys, "writing points");
}

grebe_status grebe_vdb_export(grebe_vdb *vdb, const char *name, const grebe_vdb_select *select,
                              const grebe_vdb_read_options *options, grebe_write_fn write, void *write_ctx, grebe_error *err)
{
    grebe_vdb_read_options o;
    struct vdb_selection which;
    struct vdb_filter *filter = NULL;
    struct vdb_view *view = NULL;
    struct vdb_place *places = NULL;
    size_t n = 0;
    grebe_status st;
    GREBE_CHECK_ARG(err, vdb != NULL && name != NULL && write != NULL);
    struct buf text = BUF_INIT(vdb->a);
    struct arena ar = ARENA_INIT(vdb->a);
    GREBE_TRY(vdb_read_options_of(options, &o, err));
    GREBE_TRY(vdb_view_of(vdb, name, o.at, &view, err));
    struct vdb_work work = vdb_work_of(vdb, o.call);
    GREBE_TRY(vdb_selection_of(vdb, select, &ar, &which, &filter, err));
    GREBE_TRY(vdb_snapshot_load_all(view->snapshot, &work, VDB_PART_ALL, err));
    GREBE_TRY(vdb_select_rows(view->snapshot, &work, &which, &places, &n, err));
    GREBE_TRY(vdb_sort_places(view->snapshot, places, n, err));
    for (size_t i = 0; i < n; i++) {
        GREBE_TRY(put_line(view->snapshot, places[i], &text, err));
        if (text.len > FLUSH_BYTES) {
            GREBE_TRY(flush(&text, write, write_ctx, err));
        }
    }
    GREBE_TRY(flush(&text, write, write_ctx, err));
out:
    mem_free(vdb->a, places, n * sizeof *places);
    buf_release(&text);
    vdb_filter_free(filter);
    arena_release(&ar);
    vdb_view_drop(view);
    return error_wrap(err, st, "collection %s", name);
}
