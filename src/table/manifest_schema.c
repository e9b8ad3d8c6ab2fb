/* SPDX-License-Identifier: Apache-2.0 */
#include "table/manifest.h"

/*
 * The reference's schema text, byte for byte (2433 bytes, loon.md 1.6): other programs decide by
 * it how to decode. And the same records as tables of members: name, order and place of a
 * field stand only in this file.
 */

#define RECORD(name, fields)                                                               \
    "{\"type\":\"record\",\"namespace\":\"milvus_storage\",\"name\":\"" name "\",\"fields\":[" fields \
    "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define FIELD_DEFAULT(name, type, value) \
    "{\"name\":\"" name "\",\"type\":" type ",\"default\":" value "}"
#define ARRAY(items) "{\"type\":\"array\",\"items\":" items "}"
#define MAP(values) "{\"type\":\"map\",\"values\":" values "}"
#define STRING "\"string\""
#define INT "\"int\""
#define LONG "\"long\""
#define LONG_0(name) FIELD_DEFAULT(name, LONG, "0")
#define INT_0(name) FIELD_DEFAULT(name, INT, "0")
#define PROPERTIES(name) FIELD_DEFAULT(name, MAP(STRING), "{}")

#define COLUMN_GROUP_FILE                                                                  \
    RECORD("ColumnGroupFile", FIELD("path", STRING) "," LONG_0("start_index") "," LONG_0(  \
                                  "end_index") "," PROPERTIES("properties"))
#define COLUMN_GROUP                                                                       \
    RECORD("ColumnGroup", FIELD("columns", ARRAY(STRING)) "," FIELD(                       \
                              "files", ARRAY(COLUMN_GROUP_FILE)) "," FIELD("format", STRING))
#define DELTA_LOG                                                                          \
    RECORD("DeltaLog", FIELD("path", STRING) "," FIELD("type", INT) "," FIELD("num_entries", LONG))
#define STATISTICS \
    RECORD("Statistics", FIELD("paths", ARRAY(STRING)) "," PROPERTIES("metadata"))
#define INDEX                                                                              \
    RECORD("Index",                                                                        \
           FIELD("column_name", STRING) "," FIELD_DEFAULT("index_name", STRING, "\"\"") "," FIELD( \
               "index_type", STRING) "," FIELD("path", STRING) "," LONG_0("field_id") "," LONG_0( \
               "index_id") "," LONG_0("build_id") "," LONG_0("index_version") "," LONG_0(  \
               "num_rows") "," LONG_0("serialized_size") "," LONG_0("mem_size") "," INT_0( \
               "current_index_version") "," INT_0("current_scalar_index_version") "," INT_0( \
               "index_store_path_version") "," FIELD_DEFAULT("index_file_keys", ARRAY(STRING), \
                                                             "[]") "," PROPERTIES("properties"))
#define LOB_FILE_INFO                                                                      \
    RECORD("LobFileInfo", FIELD("path", STRING) "," FIELD("field_id", LONG) "," FIELD(     \
                              "total_rows", LONG) "," FIELD("valid_rows", LONG) "," FIELD( \
                              "file_size_bytes", LONG))

const char manifest_schema_text[] = RECORD(
    "Manifest",
    FIELD("column_groups", ARRAY(COLUMN_GROUP)) "," FIELD("delta_logs", ARRAY(DELTA_LOG)) "," FIELD_DEFAULT(
        "stats", MAP(STATISTICS), "{}") "," FIELD_DEFAULT("indexes", ARRAY(INDEX), "[]") "," FIELD_DEFAULT(
        "lob_files", ARRAY(LOB_FILE_INFO), "[]"));

_Static_assert(sizeof manifest_schema_text == 2433 + 1, "the schema text has 2433 bytes");

#define AT(type, member) offsetof(struct type, member)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct avro_member file_members[] = {
    { "path", AVRO_MEMBER_STRING, AT(manifest_file, path), true, NULL },
    { "start_index", AVRO_MEMBER_LONG, AT(manifest_file, row_begin), false, NULL },
    { "end_index", AVRO_MEMBER_LONG, AT(manifest_file, row_end), false, NULL },
    { "properties", AVRO_MEMBER_STRING_MAP, AT(manifest_file, properties), false, NULL },
    /* Only read: what files had before properties. Must stay the last one. */
    { "metadata", AVRO_MEMBER_STRING, AT(manifest_file, blob), false, NULL },
};
static const struct avro_record file_record = { "ColumnGroupFile", sizeof(struct manifest_file),
                                                file_members, COUNT(file_members) - 1 };
static const struct avro_record file_record_read = { "ColumnGroupFile",
                                                     sizeof(struct manifest_file), file_members,
                                                     COUNT(file_members) };

static const struct avro_member file_members_raw[] = {
    { "path", AVRO_MEMBER_STRING, AT(manifest_file, path), true, NULL },
    { "start_index", AVRO_MEMBER_LONG, AT(manifest_file, row_begin), false, NULL },
    { "end_index", AVRO_MEMBER_LONG, AT(manifest_file, row_end), false, NULL },
    { "metadata", AVRO_MEMBER_STRING, AT(manifest_file, blob), false, NULL },
};
static const struct avro_record file_record_raw = { "ColumnGroupFile",
                                                    sizeof(struct manifest_file),
                                                    file_members_raw, COUNT(file_members_raw) };

#define GROUP_MEMBERS(file)                                                              \
    {                                                                                    \
        { "columns", AVRO_MEMBER_STRINGS, AT(manifest_group, columns), true, NULL },     \
        { "files", AVRO_MEMBER_RECORDS, AT(manifest_group, files), true, file },         \
        { "format", AVRO_MEMBER_STRING, AT(manifest_group, format), true, NULL },        \
    }
static const struct avro_member group_members[] = GROUP_MEMBERS(&file_record);
static const struct avro_member group_members_read[] = GROUP_MEMBERS(&file_record_read);
static const struct avro_member group_members_raw[] = GROUP_MEMBERS(&file_record_raw);
static const struct avro_record group_record = { "ColumnGroup", sizeof(struct manifest_group),
                                                 group_members, COUNT(group_members) };
static const struct avro_record group_record_read = { "ColumnGroup",
                                                      sizeof(struct manifest_group),
                                                      group_members_read,
                                                      COUNT(group_members_read) };
static const struct avro_record group_record_raw = { "ColumnGroup", sizeof(struct manifest_group),
                                                     group_members_raw,
                                                     COUNT(group_members_raw) };

static const struct avro_member delta_members[] = {
    { "path", AVRO_MEMBER_STRING, AT(manifest_delta, path), true, NULL },
    { "type", AVRO_MEMBER_INT, AT(manifest_delta, type), true, NULL },
    { "num_entries", AVRO_MEMBER_LONG, AT(manifest_delta, n_entries), true, NULL },
};
static const struct avro_record delta_record = { "DeltaLog", sizeof(struct manifest_delta),
                                                 delta_members, COUNT(delta_members) };

static const struct avro_member stat_members[] = {
    { "paths", AVRO_MEMBER_STRINGS, AT(manifest_stat, paths), true, NULL },
    { "metadata", AVRO_MEMBER_STRING_MAP, AT(manifest_stat, metadata), false, NULL },
};
static const struct avro_record stat_record = { "Statistics", sizeof(struct manifest_stat),
                                                stat_members, COUNT(stat_members) };
static const struct avro_record stat_record_paths = { "Statistics", sizeof(struct manifest_stat),
                                                      stat_members, 1 };

static const struct avro_member index_members[] = {
    { "column_name", AVRO_MEMBER_STRING, AT(manifest_index, column_name), true, NULL },
    { "index_name", AVRO_MEMBER_STRING, AT(manifest_index, index_name), false, NULL },
    { "index_type", AVRO_MEMBER_STRING, AT(manifest_index, index_type), true, NULL },
    { "path", AVRO_MEMBER_STRING, AT(manifest_index, path), true, NULL },
    { "field_id", AVRO_MEMBER_LONG, AT(manifest_index, field_id), false, NULL },
    { "index_id", AVRO_MEMBER_LONG, AT(manifest_index, index_id), false, NULL },
    { "build_id", AVRO_MEMBER_LONG, AT(manifest_index, build_id), false, NULL },
    { "index_version", AVRO_MEMBER_LONG, AT(manifest_index, index_version), false, NULL },
    { "num_rows", AVRO_MEMBER_LONG, AT(manifest_index, n_rows), false, NULL },
    { "serialized_size", AVRO_MEMBER_LONG, AT(manifest_index, serialized_size), false, NULL },
    { "mem_size", AVRO_MEMBER_LONG, AT(manifest_index, mem_size), false, NULL },
    { "current_index_version", AVRO_MEMBER_INT, AT(manifest_index, current_index_version), false,
      NULL },
    { "current_scalar_index_version", AVRO_MEMBER_INT,
      AT(manifest_index, current_scalar_index_version), false, NULL },
    { "index_store_path_version", AVRO_MEMBER_INT, AT(manifest_index, index_store_path_version),
      false, NULL },
    { "index_file_keys", AVRO_MEMBER_STRINGS, AT(manifest_index, file_keys), false, NULL },
    { "properties", AVRO_MEMBER_STRING_MAP, AT(manifest_index, properties), false, NULL },
};
static const struct avro_record index_record = { "Index", sizeof(struct manifest_index),
                                                 index_members, COUNT(index_members) };

/* Until 2026-08-12 an index entry had four fields. */
static const struct avro_member index_members_raw[] = {
    { "column_name", AVRO_MEMBER_STRING, AT(manifest_index, column_name), true, NULL },
    { "index_type", AVRO_MEMBER_STRING, AT(manifest_index, index_type), true, NULL },
    { "path", AVRO_MEMBER_STRING, AT(manifest_index, path), true, NULL },
    { "properties", AVRO_MEMBER_STRING_MAP, AT(manifest_index, properties), false, NULL },
};
static const struct avro_record index_record_raw = { "Index", sizeof(struct manifest_index),
                                                     index_members_raw,
                                                     COUNT(index_members_raw) };

static const struct avro_member lob_members[] = {
    { "path", AVRO_MEMBER_STRING, AT(manifest_lob, path), true, NULL },
    { "field_id", AVRO_MEMBER_LONG, AT(manifest_lob, field_id), true, NULL },
    { "total_rows", AVRO_MEMBER_LONG, AT(manifest_lob, total_rows), true, NULL },
    { "valid_rows", AVRO_MEMBER_LONG, AT(manifest_lob, valid_rows), true, NULL },
    { "file_size_bytes", AVRO_MEMBER_LONG, AT(manifest_lob, file_size_bytes), true, NULL },
};
static const struct avro_record lob_record = { "LobFileInfo", sizeof(struct manifest_lob),
                                               lob_members, COUNT(lob_members) };

#define MANIFEST_MEMBERS(group)                                                              \
    {                                                                                        \
        { "column_groups", AVRO_MEMBER_RECORDS, AT(manifest, groups), true, group },         \
        { "delta_logs", AVRO_MEMBER_RECORDS, AT(manifest, delta_logs), true, &delta_record }, \
        { "stats", AVRO_MEMBER_RECORD_MAP, AT(manifest, stats), false, &stat_record },       \
        { "indexes", AVRO_MEMBER_RECORDS, AT(manifest, indexes), false, &index_record },     \
        { "lob_files", AVRO_MEMBER_RECORDS, AT(manifest, lob_files), false, &lob_record },   \
    }
static const struct avro_member manifest_members[] = MANIFEST_MEMBERS(&group_record);
static const struct avro_member manifest_members_read[] = MANIFEST_MEMBERS(&group_record_read);
const struct avro_record manifest_record = { "Manifest", sizeof(struct manifest),
                                             manifest_members, COUNT(manifest_members) };
const struct avro_record manifest_record_read = { "Manifest", sizeof(struct manifest),
                                                  manifest_members_read,
                                                  COUNT(manifest_members_read) };

const struct avro_member manifest_raw_sections[MANIFEST_RAW_SECTIONS] = {
    { "column_groups", AVRO_MEMBER_RECORDS, AT(manifest, groups), true, &group_record_raw },
    { "delta_logs", AVRO_MEMBER_RECORDS, AT(manifest, delta_logs), true, &delta_record },
    { "stats", AVRO_MEMBER_RECORD_MAP, AT(manifest, stats), true, &stat_record_paths },
    { "stats", AVRO_MEMBER_RECORD_MAP, AT(manifest, stats), true, &stat_record },
    { "indexes", AVRO_MEMBER_RECORDS, AT(manifest, indexes), true, &index_record_raw },
};
