/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_blob.h"

#include <inttypes.h>
#include <string.h>

/* meta.json: one canonical object whose keys are known, so that it is checked by printing it again. */

static const char codec_1[] = "f32le-v1";
static const char codec_2[] = "f32le-sharded-v2";

static const struct vdb_value *get(const struct vdb_value *object, const char *key)
{
    return object == NULL ? NULL : vdb_json_get(object, key, strlen(key));
}

static bool is_text(const struct vdb_value *v, const char *text)
{
    return v != NULL && v->type == VDB_STRING && v->s.len == strlen(text) && memcmp(v->s.text, text, v->s.len) == 0;
}

/* A number that is there and not below 0. */
static grebe_status take_uint(const struct vdb_value *object, const char *key, uint64_t *out, grebe_error *err)
{
    const struct vdb_value *v = get(object, key);

    if (v == NULL || v->type != VDB_UINT) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "\"%s\": expected a whole number, found %s", key,
                          v == NULL ? "nothing" : "something else");
    }
    *out = v->u;
    return GREBE_OK;
}

struct field {
    const char *key;
    uint64_t *out;
};

static grebe_status take_uints(const struct vdb_value *object, const struct field *fields, size_t n,
                               grebe_error *err)
{
    for (size_t i = 0; i < n; i++) {
        grebe_status st = take_uint(object, fields[i].key, fields[i].out, err);
        if (st != GREBE_OK) {
            return st;
        }
    }
    return GREBE_OK;
}

static grebe_status take_config(const struct vdb_value *root, struct vdb_config *c, grebe_error *err)
{
    const struct vdb_value *index = get(root, "index");
    uint64_t dimension = 0;
    const struct field fields[] = { { "default_candidate_limit", &c->default_candidate_limit },
                                    { "default_probes", &c->default_probes },
                                    { "full_scan_threshold", &c->full_scan_threshold },
                                    { "projection_seed", &c->projection_seed },
                                    { "signature_bits", &c->signature_bits },
                                    { "tables", &c->tables } };

    grebe_status st = take_uint(root, "dimension", &dimension, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (dimension < 1 || dimension > UINT32_MAX) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "\"dimension\": expected 1 to %" PRIu32 ", found %" PRIu64,
                          UINT32_MAX, dimension);
    }
    c->dimension = (uint32_t)dimension;
    if (!is_text(get(root, "distance"), "cosine")) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "\"distance\": expected \"cosine\"");
    }
    st = take_uints(index, fields, sizeof fields / sizeof fields[0], err);
    return st == GREBE_OK ? st : error_wrap(err, st, "\"index\"");
}

static grebe_status take_space(struct arena *ar, const struct vdb_value *root, struct vdb_config *c,
                               grebe_error *err)
{
    const struct vdb_value *v = get(root, "vector_space");

    if (v == NULL || (v->type != VDB_NULL && v->type != VDB_STRING)) {
        return GREBE_FAIL(err, GREBE_ECORRUPT, "\"vector_space\": expected a string or null");
    }
    if (v->type == VDB_STRING) {
        c->vector_space = arena_str(ar, v->s.text, v->s.len);
        c->vector_space_len = v->s.len;
        if (c->vector_space == NULL) {
            return mem_fail(err, v->s.len, "the name of a vector space");
        }
    }
    return GREBE_OK;
}

/* Version and codec belong together, and only version 2 has an inverted file. */
static grebe_status take_format(const struct vdb_value *root, struct vdb_meta *m, grebe_error *err)
{
    const struct vdb_value *ivf = get(root, "ivf");
    uint64_t version = 0;
    const struct field fields[] = { { "centroid_count", &m->centroid_count },
                                    { "shard_bits", &m->shard_bits },
                                    { "training_iterations", &m->training_iterations },
                                    { "training_sample_limit", &m->training_sample_limit } };

    grebe_status st = take_uint(root, "format_version", &version, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (version != 1 && version != 2) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "\"format_version\": expected 1 or 2, found %" PRIu64, version);
    }
    m->format = (uint32_t)version;
    if (!is_text(get(root, "vector_codec"), version == 1 ? codec_1 : codec_2)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "\"vector_codec\": expected \"%s\" in format %" PRIu64,
                          version == 1 ? codec_1 : codec_2, version);
    }
    if (!is_text(get(root, "git_object_format"), "sha1")) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "\"git_object_format\": expected \"sha1\"");
    }
    if ((ivf != NULL) != (version == 2)) {
        return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "\"ivf\": expected %s in format %" PRIu64,
                          version == 2 ? "an object" : "nothing", version);
    }
    if (version == 2) {
        st = take_uints(ivf, fields, sizeof fields / sizeof fields[0], err);
        st = st == GREBE_OK ? st : error_wrap(err, st, "\"ivf\"");
    }
    return st;
}

/* Bytes that are not what is printed for their content: white space, unknown or repeated keys, another order. */
static grebe_status check_canonical(const struct arena *ar, const struct vdb_meta *m, const void *bytes,
                                    size_t len, grebe_error *err)
{
    struct buf again = BUF_INIT(ar->a);
    grebe_status st = vdb_meta_encode(m, &again, err);

    if (st == GREBE_OK && (again.len != len || memcmp(again.data, bytes, len) != 0)) {
        size_t at = 0;
        while (at < len && at < again.len && again.data[at] == ((const unsigned char *)bytes)[at]) {
            at++;
        }
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "expected canonical JSON with the known keys, found other bytes at %zu",
                        at);
    }
    buf_release(&again);
    return st;
}

grebe_status vdb_meta_parse(struct arena *ar, const void *bytes, size_t len, struct vdb_meta *out, grebe_error *err)
{
    struct arena scratch = ARENA_INIT(ar->a);
    struct vdb_meta m = { .config = VDB_CONFIG_INIT(0) };
    const struct vdb_value *root = NULL;

    memset(out, 0, sizeof *out);
    grebe_status st = vdb_json_parse(&scratch, bytes, len, &root, err);
    if (st == GREBE_EINVAL) {
        st = GREBE_ECORRUPT; /* the text is the repository's, not the caller's */
        if (err != NULL) {
            err->status = st;
        }
    }
    GREBE_TRY(st);
    GREBE_TRY(take_format(root, &m, err));
    GREBE_TRY(take_config(root, &m.config, err));
    GREBE_TRY(take_uint(root, "point_count", &m.point_count, err));
    GREBE_TRY(take_space(ar, root, &m.config, err));
    GREBE_TRY(check_canonical(ar, &m, bytes, len, err));
    *out = m;
out:
    arena_release(&scratch);
    return st;
}

grebe_status vdb_meta_encode(const struct vdb_meta *m, struct buf *out, grebe_error *err)
{
    const struct vdb_config *c = &m->config;
    const size_t before = out->len;
    struct vdb_value space = { .type = VDB_NULL };
    grebe_status st;

    if (c->vector_space != NULL) {
        space.type = VDB_STRING;
        space.s.text = c->vector_space;
        space.s.len = c->vector_space_len;
    }
    GREBE_TRY(buf_printf(out, err,
                         "{\"dimension\":%" PRIu32 ",\"distance\":\"cosine\",\"format_version\":%" PRIu32
                         ",\"git_object_format\":\"sha1\",\"index\":{\"default_candidate_limit\":%" PRIu64
                         ",\"default_probes\":%" PRIu64 ",\"full_scan_threshold\":%" PRIu64
                         ",\"projection_seed\":%" PRIu64 ",\"signature_bits\":%" PRIu64 ",\"tables\":%" PRIu64 "}",
                         c->dimension, m->format, c->default_candidate_limit, c->default_probes,
                         c->full_scan_threshold, c->projection_seed, c->signature_bits, c->tables));
    if (m->format == 2) {
        GREBE_TRY(buf_printf(out, err,
                             ",\"ivf\":{\"centroid_count\":%" PRIu64 ",\"shard_bits\":%" PRIu64
                             ",\"training_iterations\":%" PRIu64 ",\"training_sample_limit\":%" PRIu64 "}",
                             m->centroid_count, m->shard_bits, m->training_iterations, m->training_sample_limit));
    }
    GREBE_TRY(buf_printf(out, err, ",\"point_count\":%" PRIu64 ",\"vector_codec\":\"%s\",\"vector_space\":",
                         m->point_count, m->format == 1 ? codec_1 : codec_2));
    GREBE_TRY(vdb_json_put(out, &space, err));
    GREBE_TRY(buf_put_byte(out, '}', err));
out:
    if (st != GREBE_OK) {
        out->len = before;
    }
    return st;
}

grebe_status vdb_config_check(const struct vdb_config *c, uint32_t format, grebe_error *err)
{
    if (c->dimension < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "dimension: expected 1 to %" PRIu32 ", found 0", UINT32_MAX);
    }
    if (c->default_probes < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "default_probes: expected at least 1, found 0");
    }
    if (c->default_candidate_limit < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "default_candidate_limit: expected at least 1, found 0");
    }
    if (format == 1 && c->tables < 1) {
        return GREBE_FAIL(err, GREBE_EINVAL, "tables: expected at least 1, found 0");
    }
    if (format == 1 && (c->signature_bits < 1 || c->signature_bits > 64)) {
        return GREBE_FAIL(err, GREBE_EINVAL, "signature_bits: expected 1 to 64, found %" PRIu64, c->signature_bits);
    }
    return GREBE_OK;
}
