/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_WIRE_AVRO_SCHEMA_H
#define GREBE_WIRE_AVRO_SCHEMA_H

/*
 * Avro schemas, and records read by name: what a writer wrote is brought into our own structs
 * field by field (Avro specification, "Schema Resolution").
 */

#include "wire/avro.h"

enum avro_kind {
    AVRO_NULL = 0,
    AVRO_BOOLEAN,
    AVRO_INT,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_BYTES,
    AVRO_STRING,
    AVRO_RECORD,
    AVRO_ENUM,
    AVRO_ARRAY,
    AVRO_MAP,
    AVRO_UNION,
    AVRO_FIXED
};

enum { AVRO_DEPTH_MAX = 32, AVRO_FIELDS_MAX = 4096 };

struct avro_member;
struct avro_record;

struct avro_field {
    const char *name;
    struct avro_type *type;
    const struct avro_member *member; /* where it goes in `resolved_for`; NULL: skipped */
};

/** A writer's type; named types may occur in several places. Lives in an arena. */
struct avro_type {
    enum avro_kind kind;
    const char *name;          /* RECORD, ENUM, FIXED: full name */
    struct avro_field *fields; /* RECORD: fields; UNION: branches without names. Shape [n] */
    size_t n;
    struct avro_type *items; /* ARRAY, MAP */
    size_t fixed_len;        /* FIXED */
    const struct avro_record *resolved_for; /* RECORD: whose members the fields point to */
};

/**
 * Parse a schema.
 *
 * @param out In the arena.
 * @return GREBE_OK; GREBE_ECORRUPT (no JSON, no schema); GREBE_ELIMIT (depth, fields); GREBE_ENOMEM.
 */
grebe_status avro_schema_parse(struct arena *arena, const char *json, size_t len,
                               struct avro_type **out, grebe_error *err);

/** Step over a value of the type. */
grebe_status avro_skip(struct avro_reader *r, const struct avro_type *type, grebe_error *err);

/* ---- records described by a table of members ---- */

struct avro_list {
    void *items; /* shape [n] of whatever the member says; NULL when n is 0 */
    size_t n;
};

enum avro_member_kind {
    AVRO_MEMBER_STRING,     /* struct avro_bytes, NUL-terminated in the arena; from string or bytes */
    AVRO_MEMBER_INT,        /* int32_t */
    AVRO_MEMBER_LONG,       /* int64_t; from int too */
    AVRO_MEMBER_STRINGS,    /* avro_list of struct avro_bytes; an array */
    AVRO_MEMBER_STRING_MAP, /* avro_list of struct avro_pair; a map */
    AVRO_MEMBER_RECORDS,    /* avro_list of structs as `record` says; an array */
    AVRO_MEMBER_RECORD_MAP  /* the same with the key as a struct avro_bytes at offset 0; a map */
};

/** A field of a record and where it goes in the struct. */
struct avro_member {
    const char *name;
    enum avro_member_kind kind;
    size_t offset;
    bool is_required;                 /* the writer must have it: no default */
    const struct avro_record *record; /* RECORDS, RECORD_MAP */
};

/** A record and the struct that holds it. Static data. */
struct avro_record {
    const char *name; /* for messages */
    size_t size;      /* of the struct, which starts zeroed */
    const struct avro_member *members; /* in the order of encoding, shape [n] */
    size_t n;
};

/**
 * Read a record that was written with `type`: fields by name, unknown ones skipped, missing ones
 * left zero, unions resolved to the branch that is there (null leaves zero).
 *
 * @param dst Zeroed struct of record->size bytes. Strings and lists are copied to the arena.
 * @return GREBE_OK; GREBE_ECORRUPT; GREBE_ELIMIT; GREBE_ENOMEM.
 */
grebe_status avro_record_resolve(struct avro_reader *r, struct avro_type *type,
                                 const struct avro_record *record, struct arena *arena,
                                 void *dst, grebe_error *err);

/** Read a record that was written with exactly the members, in their order. */
grebe_status avro_record_read(struct avro_reader *r, const struct avro_record *record,
                              struct arena *arena, void *dst, grebe_error *err);

/** Read the value of one member only, as avro_record_read would. `dst` is the whole struct. */
grebe_status avro_member_read(struct avro_reader *r, const struct avro_member *member,
                              struct arena *arena, void *dst, grebe_error *err);

/** Append the members in their order. */
grebe_status avro_record_write(struct buf *dst, const struct avro_record *record, const void *src,
                               grebe_error *err);

#endif
