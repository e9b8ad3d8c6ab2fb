/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_POINTS_H
#define GREBE_GITVDB_VDB_POINTS_H

/* Points as a user gives them, in the order given, and the texts that hold them. */

#include "gitvdb/vdb_id.h"
#include "grebe/source.h"

/** Columns side by side; ids and payloads are runs of bytes with ends. */
struct vdb_points {
    const grebe_allocator *a;
    uint32_t dim; /* 0 until the first point, or set before it by the caller */
    size_t n, capacity;
    float *vectors;                 /* shape [n, dim] */
    struct buf ids;                 /* canonical id bytes, one behind the other */
    struct buf payloads;            /* canonical JSON objects, one behind the other */
    uint64_t *id_end, *payload_end; /* shape [n] */
};

void vdb_points_init(struct vdb_points *p, const grebe_allocator *a);
void vdb_points_clear(struct vdb_points *p); /* keeps the memory and dim */
void vdb_points_release(struct vdb_points *p);
struct vdb_id vdb_points_id(const struct vdb_points *p, size_t i);
/** Payload i, canonical JSON. */
const char *vdb_points_payload(const struct vdb_points *p, size_t i, size_t *len);

/**
 * Add a point. @param payload canonical JSON object; NULL: {}.
 * @return GREBE_OK; GREBE_EINVAL (dimension; a component that is not finite, both with the id); GREBE_ENOMEM;
 * GREBE_ELIMIT.
 */
grebe_status vdb_points_add(struct vdb_points *p, const struct vdb_id *id, const float *vector, uint32_t dim,
                            const char *payload, size_t payload_len, grebe_error *err);

/**
 * Add the point that one line of JSON holds: {"id":…,"vector":[…],"payload":{…}} or [id, vector, payload?]. Fast path:
 * numbers go straight into the vector. A non-finite component (overflow of a float) is NOT an error here but in
 * vdb_points_check().
 */
grebe_status vdb_points_add_line(struct vdb_points *p, const char *line, size_t len, grebe_error *err);

/** How lines that are rows of a table are read: what the members are called, and what becomes of the others. */
struct vdb_line_form {
    const char *id, *vector; /* keys */
    size_t id_len, vector_len;
    bool takes_others;       /* members beside id, vector and payload become members of the payload; else they are passed over */
};
/**
 * vdb_points_add_line() in another form. With takes_others a vector may also be text, as for vdb_vector_from_text(), a payload null
 * or the text of an object, and a member whose name the payload has as well is GREBE_EINVAL.
 */
grebe_status vdb_points_add_row_line(struct vdb_points *p, const struct vdb_line_form *form, const char *line, size_t len,
                                     grebe_error *err);

/** Add all points of another one, which has the same dimension when neither is empty. GREBE_OK; GREBE_ENOMEM; GREBE_ELIMIT (p
 *  has some of them then). */
grebe_status vdb_points_append(struct vdb_points *p, const struct vdb_points *more, grebe_error *err);

/** That every component is finite: GREBE_OK; GREBE_EINVAL with the id. */
grebe_status vdb_points_check(const struct vdb_points *p, grebe_error *err);

/** Pulls lines out of text that arrives in pieces. LF ends a line, a CR before it is dropped, blank lines (Unicode
 *  white space) are passed over, bytes must be UTF-8. */
struct vdb_lines {
    grebe_read_fn read; /* grebe/source.h */
    void *read_ctx;
    const char *name; /* for messages; borrowed */
    struct buf buf;
    size_t at;
    uint64_t line; /* number of the line given last, from 1 */
    bool is_end;
};
void vdb_lines_init(struct vdb_lines *l, const grebe_allocator *a, grebe_read_fn read, void *read_ctx,
                    const char *name);
/** *line NULL: the end. Borrowed until the next call. */
grebe_status vdb_lines_next(struct vdb_lines *l, const char **line, size_t *len, grebe_error *err);
void vdb_lines_release(struct vdb_lines *l);

/**
 * The vector that `--vector` means: JSON (an array, or an object with "vector"), or numbers with commas between,
 * each read to the nearest float of 32 bits. @param out Owned, shape [n], freed with mem_free(a, *out, *n * 4).
 */
grebe_status vdb_vector_from_text(const grebe_allocator *a, const char *text, size_t len, float **out, size_t *n,
                                  grebe_error *err);

#endif
