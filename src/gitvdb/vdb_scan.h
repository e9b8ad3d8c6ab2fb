/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_GITVDB_VDB_SCAN_H
#define GREBE_GITVDB_VDB_SCAN_H

/*
 * Words of JSON: what the readers of trees, of lines and of canonical text share. Nothing here allocates, nothing is
 * read at or behind `end`.
 */

#include "gitvdb/vdb_json.h"

/** Where a text stopped being JSON. */
struct vdb_fault {
    const char *at;
    const char *expected; /* static: "a digit" */
};

/** A number by the format's own rule. */
struct vdb_number {
    enum vdb_json_type type; /* VDB_UINT, VDB_INT, VDB_FLOAT */
    union {
        uint64_t u;
        int64_t i;
        double f; /* an infinity: out of range, which the caller refuses */
    };
    bool is_exact; /* f: the text's value is significand * 10^e with one correct rounding (so every reader gives f) */
};

/** 10^0 to 10^308, each the nearest double. */
extern const double vdb_pow10[309];

/** Behind the number at p, *p is '-' or a digit; NULL: no number, *fault says where. */
const char *vdb_scan_number(const char *p, const char *end, struct vdb_number *out, struct vdb_fault *fault);

/**
 * Behind the characters of a string that stand for themselves: at '"', '\\', a control character, or end.
 *
 * @param has_high Set when a byte above 0x7f was passed over; never cleared.
 */
const char *vdb_scan_plain(const char *p, const char *end, bool *has_high);

/**
 * One escape, *p is the backslash.
 *
 * @param dst Written with the UTF-8, shape [4].
 * @return Behind it; NULL: *fault says what was expected.
 */
const char *vdb_scan_escape(const char *p, const char *end, char dst[4], size_t *n, struct vdb_fault *fault);

/** Behind the closing quote of a string, p is behind the opening one; all is checked. NULL: *fault is set. */
const char *vdb_scan_string(const char *p, const char *end, bool *has_escape, struct vdb_fault *fault);

static inline const char *vdb_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
        p++;
    }
    return p;
}

static inline const char *vdb_scan_fault(struct vdb_fault *fault, const char *at, const char *expected)
{
    fault->at = at;
    fault->expected = expected;
    return NULL;
}

/** A whole text, for messages. */
struct vdb_text {
    const char *begin, *end;
    bool is_line; /* one line of a file, whose number the caller puts in front */
};
/** GREBE_EINVAL with "line L column C: expected …, found …". */
grebe_status vdb_fault_fail(const struct vdb_fault *fault, const struct vdb_text *text, grebe_error *err);

/**
 * Read the value at p, around which `depth` containers are open.
 *
 * @param after Written: behind the value.
 */
grebe_status vdb_json_parse_at(struct arena *ar, const struct vdb_text *text, const char *p, int depth,
                               const char **after, struct vdb_value *out, grebe_error *err);

/** Behind the value at p, of which only the grammar is checked: serde passes over members that it does not know in this way. */
grebe_status vdb_skip_value(const grebe_allocator *a, const struct vdb_text *text, const char *p, const char **after,
                            grebe_error *err);

/** vdb_json_parse() of a text that people write: a key that stands twice in an object is an error. */
grebe_status vdb_json_parse_unique(struct arena *ar, const char *text, size_t len, const struct vdb_value **out,
                                   grebe_error *err);

/** Behind the canonical value at p; NULL: it is none. Floats as vdb_json_is_canonical_object() says; with is_unstable:
 * *is_unstable is set when one is not read back to itself by the format's rule. */
const char *vdb_scan_canonical(const char *p, const char *end, int depth, bool *is_unstable);

/** Text of a float as the format prints it. dst: shape [NUMBER_TEXT_MAX]. */
size_t vdb_put_double(char *dst, double v);

#endif
