/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_build.h"

#include <string.h>

/* ---- one shard ---- */

grebe_status vdb_part_new(const grebe_allocator *a, uint32_t shard, struct vdb_part **out, grebe_error *err)
{
    struct vdb_part *p = mem_alloc_zero(a, sizeof *p);
    *out = p;
    if (p == NULL) {
        return mem_fail(err, sizeof *p, "a shard");
    }
    p->refs = 1;
    p->shard = shard;
    p->a = a;
    p->runs = BUF_INIT(a);
    return GREBE_OK;
}

struct vdb_part *vdb_part_keep(struct vdb_part *p)
{
    if (p != NULL) {
        p->refs++;
    }
    return p;
}

void vdb_part_drop(struct vdb_part *p)
{
    if (p == NULL || --p->refs != 0) {
        return;
    }
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        region_drop(p->regions[kind]);
    }
    buf_release(&p->runs);
    mem_free(p->a, p, sizeof *p);
}

static void free_buffer(struct region *r)
{
    mem_free(r->a, r->data, r->capacity);
}

/* The memory of a buffer as a region, without a copy. */
static grebe_status region_from_buf(struct buf *b, struct region **out, grebe_error *err)
{
    grebe_status st = region_wrap(b->a, b->data, b->len, free_buffer, NULL, out, err);
    if (st == GREBE_OK) {
        (*out)->capacity = b->capacity;
        *b = BUF_INIT(b->a);
    }
    return st;
}

grebe_status vdb_part_take(struct vdb_part *p, uint32_t dim, struct buf blobs[VDB_PART_KINDS],
                           grebe_error *err)
{
    grebe_status st = GREBE_OK;
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        GREBE_TRY(region_from_buf(&blobs[kind], &p->regions[kind], err));
    }
    GREBE_TRY(vdb_rows_open(VDB_ROWS_IDS, p->regions[0]->data, p->regions[0]->len, &p->ids, err));
    GREBE_TRY(vdb_rows_open(VDB_ROWS_PAYLOADS, p->regions[1]->data, p->regions[1]->len, &p->payloads, err));
    GREBE_TRY(vdb_matrix_open(VDB_MATRIX_VECTORS, p->regions[2]->data, p->regions[2]->len, dim, &p->vectors, err));
    p->n = p->ids.n;
    p->loaded = VDB_PART_ALL;
out:
    return st;
}

/* ---- the content ---- */

static grebe_status built_alloc(const grebe_allocator *a, const struct vdb_meta *meta, struct vdb_built **out,
                                grebe_error *err)
{
    struct vdb_built *b = mem_alloc_zero(a, sizeof *b);
    *out = NULL;
    if (b == NULL) {
        return mem_fail(err, sizeof *b, "a collection");
    }
    b->a = a;
    b->ar = ARENA_INIT(a);
    b->sample_blob = BUF_INIT(a);
    b->meta = *meta;
    if (meta->config.vector_space != NULL) {
        b->meta.config.vector_space = arena_str(&b->ar, meta->config.vector_space, meta->config.vector_space_len);
        if (b->meta.config.vector_space == NULL) {
            vdb_built_free(b);
            return mem_fail(err, meta->config.vector_space_len, "vector_space");
        }
    }
    *out = b;
    return GREBE_OK;
}

grebe_status vdb_built_new(const grebe_allocator *a, const struct vdb_config *config, uint32_t format,
                           struct vdb_built **out, grebe_error *err)
{
    struct vdb_meta meta = { .config = *config, .format = format };
    *out = NULL;
    grebe_status st = vdb_config_check(config, format, err);
    if (st != GREBE_OK) {
        return st;
    }
    if (format == 2) {
        meta.shard_bits = VDB_SHARD_BITS;
        meta.training_iterations = VDB_ROUNDS;
        meta.training_sample_limit = VDB_SAMPLE_MAX;
    }
    return built_alloc(a, &meta, out, err);
}

static grebe_status add_stored_part(struct vdb_built *b, struct vdb_snapshot *s, uint32_t i, grebe_error *err)
{
    struct vdb_part *part;
    grebe_status st = vdb_part_new(b->a, i, &part, err);
    if (st != GREBE_OK) {
        return st;
    }
    b->parts[i] = part;
    part->n = s->shards[i].n;
    part->has_oids = s->meta.format == 2;
    part->is_stored = true;
    memcpy(part->oids, s->shards[i].oids, sizeof part->oids);
    b->n += part->n;
    return vdb_built_load(b, i, VDB_PART_IDS, err);
}

grebe_status vdb_built_from(struct vdb_snapshot *s, const struct vdb_work *work, struct vdb_built **out,
                            grebe_error *err)
{
    struct vdb_built *b;
    *out = NULL;
    grebe_status st = built_alloc(s->a, &s->meta, &b, err);
    if (st != GREBE_OK) {
        return st;
    }
    b->base = s;
    b->root = s->root;
    GREBE_TRY(vdb_snapshot_load_all(s, work, VDB_PART_IDS, err));
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        if (s->shards[i].exists) {
            GREBE_TRY(add_stored_part(b, s, i, err));
        }
    }
    if (b->n != s->meta.point_count) {
        st = GREBE_FAIL(err, GREBE_ECORRUPT, "points/ids: expected %llu points as meta.json says, found %llu",
                        (unsigned long long)s->meta.point_count, (unsigned long long)b->n);
    }
out:
    if (st != GREBE_OK) {
        vdb_built_free(b);
        return st;
    }
    *out = b;
    return GREBE_OK;
}

grebe_status vdb_built_share(const struct vdb_built *b, struct vdb_built **out, grebe_error *err)
{
    grebe_status st = built_alloc(b->a, &b->meta, out, err);
    if (st != GREBE_OK) {
        return st;
    }
    (*out)->base = b->base;
    (*out)->root = b->root;
    (*out)->n = b->n;
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        (*out)->parts[i] = vdb_part_keep(b->parts[i]);
    }
    return GREBE_OK;
}

void vdb_built_free(struct vdb_built *b)
{
    if (b == NULL) {
        return;
    }
    for (uint32_t i = 0; i < VDB_SHARDS; i++) {
        mem_free(b->a, b->nearest[i], b->parts[i] == NULL ? 0 : b->parts[i]->n * sizeof *b->nearest[i]);
        vdb_part_drop(b->parts[i]);
    }
    mem_free(b->a, b->codebook, (size_t)b->k * b->meta.config.dimension * sizeof *b->codebook);
    mem_free(b->a, b->sample, b->m * sizeof *b->sample);
    buf_release(&b->sample_blob);
    arena_release(&b->ar);
    mem_free(b->a, b, sizeof *b);
}

grebe_status vdb_built_load(const struct vdb_built *b, uint32_t i, uint32_t parts, grebe_error *err)
{
    struct vdb_part *part = b->parts[i];
    uint32_t missing = part == NULL ? 0 : parts & ~part->loaded;
    if (missing == 0) {
        return GREBE_OK;
    }
    struct vdb_shard *shard = &b->base->shards[i];
    grebe_status st = vdb_snapshot_load(b->base, i, missing, err);
    if (st != GREBE_OK) {
        return st;
    }
    for (int kind = 0; kind < VDB_PART_KINDS; kind++) {
        if (missing >> kind & 1) {
            part->regions[kind] = region_keep(shard->regions[kind]);
        }
    }
    part->ids = missing & VDB_PART_IDS ? shard->ids : part->ids;
    part->payloads = missing & VDB_PART_PAYLOADS ? shard->payloads : part->payloads;
    part->vectors = missing & VDB_PART_VECTORS ? shard->vectors : part->vectors;
    part->loaded |= missing;
    return GREBE_OK;
}

struct load_all {
    const struct vdb_built *b;
    uint32_t parts;
};

static grebe_status load_one(void *arg, size_t i, grebe_error *err)
{
    struct load_all *job = arg;
    return vdb_built_load(job->b, (uint32_t)i, job->parts, err);
}

grebe_status vdb_built_load_all(const struct vdb_built *b, const struct vdb_work *work, uint32_t parts,
                                grebe_error *err)
{
    struct load_all job = { b, parts };
    return parallel_for(work->pool, work->threads, VDB_SHARDS, load_one, &job, work->cancel, err);
}
