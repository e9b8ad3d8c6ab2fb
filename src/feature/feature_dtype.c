/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/feature_dtype.h"

#include <stdio.h>
#include <string.h>

#include "arrow/type_text.h"
#include "base/number.h"

struct plain_type {
    const char *name, *format;
    enum arrow_kind kind;
};

static const struct plain_type PLAIN[] = {
    { "null", "n", ARROW_NULL },
    { "bool", "b", ARROW_BOOL },
    { "int8", "c", ARROW_INT8 },
    { "int16", "s", ARROW_INT16 },
    { "int32", "i", ARROW_INT32 },
    { "int64", "l", ARROW_INT64 },
    { "uint8", "C", ARROW_UINT8 },
    { "uint16", "S", ARROW_UINT16 },
    { "uint32", "I", ARROW_UINT32 },
    { "uint64", "L", ARROW_UINT64 },
    { "float16", "e", ARROW_FLOAT16 },
    { "float32", "f", ARROW_FLOAT32 },
    { "float64", "g", ARROW_FLOAT64 },
    { "string", "u", ARROW_STRING },
    { "large_string", "U", ARROW_LARGE_STRING },
    { "string_view", "vu", ARROW_STRING_VIEW },
    { "binary", "z", ARROW_BINARY },
    { "large_binary", "Z", ARROW_LARGE_BINARY },
    { "binary_view", "vz", ARROW_BINARY_VIEW },
    { "date32", "tdD", ARROW_DATE32 },
    { "date64", "tdm", ARROW_DATE64 },
    { "month_day_nano_interval", "tin", ARROW_INTERVAL_MONTH_DAY_NANO },
};

static const char *const ALIASES[][2] = {
    { "float", "float32" },
    { "double", "float64" },
    { "utf8", "string" },
    { "large_utf8", "large_string" },
};

static const struct plain_type *plain_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++) {
        if (strcmp(PLAIN[i].name, name) == 0) {
            return &PLAIN[i];
        }
    }
    return NULL;
}

/* The letter of a unit that begins at *p, which moves behind it; '\0': none. */
static char take_unit(const char **p)
{
    const char *s = *p;
    char c = '\0';
    if ((s[0] == 'm' || s[0] == 'u' || s[0] == 'n') && s[1] == 's') {
        c = s[0];
        *p += 2;
    } else if (s[0] == 's') {
        c = 's';
        *p += 1;
    }
    return c;
}

static bool is_zone_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != '\0' && strchr("/_+-:", c));
}

/* "us]", "us, tz=Europe/Paris]" */
static bool timestamp_format(const char *p, char *format)
{
    char unit = take_unit(&p);
    const char *zone = "";
    size_t len = 0;
    if (unit != '\0' && *p == ',') {
        p += 1 + strspn(p + 1, " \t");
        if (strncmp(p, "tz=", 3) != 0) {
            return false;
        }
        zone = p + 3;
        while (is_zone_char(zone[len])) {
            len++;
        }
        p = zone + len;
    }
    if (unit == '\0' || strcmp(p, "]") != 0 || len > DTYPE_FORMAT_MAX - 8) {
        return false;
    }
    snprintf(format, DTYPE_FORMAT_MAX, "ts%c:%.*s", unit, (int)len, zone);
    return true;
}

static bool unit_format(const char *p, const char *prefix, const char *units, char *format)
{
    char unit = take_unit(&p);
    if (unit == '\0' || strchr(units, unit) == NULL || strcmp(p, "]") != 0) {
        return false;
    }
    snprintf(format, DTYPE_FORMAT_MAX, "%s%c", prefix, unit);
    return true;
}

/* An integer up to `end`. */
static bool whole(const char *p, const char *end, int64_t *out)
{
    return end > p && number_parse_i64(p, (size_t)(end - p), out);
}

/* "10, 2)" */
static bool decimal_format(const char *p, int bits, char *format)
{
    const char *comma = strchr(p, ',');
    int64_t precision, scale;
    size_t len = strlen(p);
    int64_t max = bits == 128 ? 38 : 76;
    if (comma == NULL || len == 0 || p[len - 1] != ')' || !whole(p, comma, &precision)) {
        return false;
    }
    const char *second = comma + 1 + strspn(comma + 1, " \t");
    if (!whole(second, p + len - 1, &scale) || precision < 1 || precision > max || scale < -max || scale > max) {
        return false;
    }
    snprintf(format, DTYPE_FORMAT_MAX, bits == 128 ? "d:%d,%d" : "d:%d,%d,256", (int)precision, (int)scale);
    return true;
}

static bool binary_format(const char *p, char *format)
{
    int64_t width;
    const char *end = strchr(p, ']');
    if (end == NULL || end[1] != '\0' || !whole(p, end, &width) || width < 0 || width > INT32_MAX) {
        return false;
    }
    snprintf(format, DTYPE_FORMAT_MAX, "w:%d", (int)width);
    return true;
}

static bool with_parameters(const char *dtype, char *format)
{
    static const char *const heads[] = { "timestamp[", "duration[", "time32[", "time64[", "decimal128(", "decimal256(",
                                         "fixed_size_binary[" };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t len = strlen(heads[i]);
        if (strncmp(dtype, heads[i], len) != 0) {
            continue;
        }
        const char *p = dtype + len;
        switch (i) {
        case 0: return timestamp_format(p, format);
        case 1: return unit_format(p, "tD", "smun", format);
        case 2: return unit_format(p, "tt", "sm", format);
        case 3: return unit_format(p, "tt", "un", format);
        case 4: return decimal_format(p, 128, format);
        case 5: return decimal_format(p, 256, format);
        default: return binary_format(p, format);
        }
    }
    return false;
}

grebe_status dtype_format(const char *dtype, char *format, const char **canonical, grebe_error *err)
{
    *canonical = NULL;
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++) {
        if (strcmp(ALIASES[i][0], dtype) == 0) {
            *canonical = ALIASES[i][1];
        }
    }
    const struct plain_type *plain = plain_by_name(*canonical != NULL ? *canonical : dtype);
    if (plain != NULL) {
        snprintf(format, DTYPE_FORMAT_MAX, "%s", plain->format);
        return GREBE_OK;
    }
    if (with_parameters(dtype, format)) {
        return GREBE_OK;
    }
    char quoted[64];
    return GREBE_FAIL(err, GREBE_EINVAL, "\"%s\" is no data type%s",
                      error_quote(quoted, sizeof quoted, dtype, strlen(dtype)),
                      strcmp(dtype, "json") == 0 ? ": expected the feature Json" : "");
}

grebe_status dtype_of_type(struct arena *ar, const struct arrow_type *t, const char **out, grebe_error *err)
{
    char text[160];
    const char *unit = arrow_unit_name(t->unit);
    text[0] = '\0';
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++) {
        if (PLAIN[i].kind == t->kind) {
            *out = PLAIN[i].name;
            return GREBE_OK;
        }
    }
    switch (t->kind) {
    case ARROW_TIME32: snprintf(text, sizeof text, "time32[%s]", unit); break;
    case ARROW_TIME64: snprintf(text, sizeof text, "time64[%s]", unit); break;
    case ARROW_DURATION: snprintf(text, sizeof text, "duration[%s]", unit); break;
    case ARROW_TIMESTAMP:
        snprintf(text, sizeof text, t->timezone[0] != '\0' ? "timestamp[%s, tz=%s]" : "timestamp[%s]", unit, t->timezone);
        break;
    case ARROW_DECIMAL32:
    case ARROW_DECIMAL64: /* have no name of their own, and lose nothing */
    case ARROW_DECIMAL128: snprintf(text, sizeof text, "decimal128(%d, %d)", t->precision, t->scale); break;
    case ARROW_DECIMAL256: snprintf(text, sizeof text, "decimal256(%d, %d)", t->precision, t->scale); break;
    case ARROW_FIXED_BINARY: snprintf(text, sizeof text, "fixed_size_binary[%d]", t->byte_width); break;
    default: return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "columns of type %s have no feature", arrow_kind_name(t->kind));
    }
    *out = arena_str(ar, text, strlen(text));
    return *out != NULL ? GREBE_OK : mem_fail(err, sizeof text, "a data type");
}
