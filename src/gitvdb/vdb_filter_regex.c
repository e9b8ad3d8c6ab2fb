/* SPDX-License-Identifier: Apache-2.0 */
#include "gitvdb/vdb_filter_internal.h"

#include "base/error.h"

#ifdef GREBE_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct vdb_regex {
    struct vdb_regex *next;
    pcre2_code *code;
};

struct vdb_regex_state {
    pcre2_match_data *found;
    pcre2_match_context *limits;
};

/* Ways that a match may try, and what it may hold: patterns come from users, documents from elsewhere. */
enum { MATCH_STEPS_MAX = 10000000, MATCH_HEAP_MAX_KIB = 64 << 10 };

static grebe_status compile(const struct vdb_slice *pattern, pcre2_code **out, grebe_error *err)
{
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    int code = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR why[128] = { 0 };
    char quoted[128];
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context == NULL) {
        return mem_fail(err, pattern->len, "a regular expression");
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF); /* '.' stops at LF only */
    *out = pcre2_compile((PCRE2_SPTR)pattern->p, pattern->len, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (*out != NULL) {
        pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* slower without */
        return GREBE_OK;
    }
    if (code == PCRE2_ERROR_HEAP_FAILED) {
        return mem_fail(err, pattern->len, "a regular expression");
    }
    pcre2_get_error_message(code, why, sizeof why);
    return GREBE_FAIL(err, GREBE_EINVAL, "regular expression \"%s\": at byte %zu: %s",
                      error_quote(quoted, sizeof quoted, pattern->p, pattern->len), (size_t)at, (const char *)why);
}

grebe_status vdb_regex_new(struct arena *ar, const struct vdb_slice *pattern, struct vdb_regex **list,
                           struct vdb_regex **out, grebe_error *err)
{
    pcre2_code *code = NULL;
    struct vdb_regex *r = arena_alloc(ar, sizeof *r);
    *out = NULL;
    if (r == NULL) {
        return mem_fail(err, sizeof *r, "a regular expression");
    }
    grebe_status st = compile(pattern, &code, err);
    if (st != GREBE_OK) {
        return st;
    }
    r->code = code;
    r->next = *list;
    *list = r;
    *out = r;
    return GREBE_OK;
}

void vdb_regex_free_all(struct vdb_regex *list)
{
    for (; list != NULL; list = list->next) {
        pcre2_code_free(list->code);
    }
}

grebe_status vdb_regex_state_new(struct arena *ar, struct vdb_regex_state **out, grebe_error *err)
{
    struct vdb_regex_state *s = arena_alloc_zero(ar, sizeof *s);
    *out = s;
    if (s == NULL) {
        return mem_fail(err, sizeof *s, "a regular expression");
    }
    s->limits = pcre2_match_context_create(NULL);
    s->found = pcre2_match_data_create(1, NULL);
    if (s->limits == NULL || s->found == NULL) {
        return mem_fail(err, sizeof *s, "a regular expression");
    }
    pcre2_set_match_limit(s->limits, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(s->limits, MATCH_HEAP_MAX_KIB);
    return GREBE_OK;
}

void vdb_regex_state_free(struct vdb_regex_state *s)
{
    if (s != NULL) {
        pcre2_match_data_free(s->found);
        pcre2_match_context_free(s->limits);
    }
}

grebe_status vdb_regex_matches(const struct vdb_regex *r, struct vdb_regex_state *s, const struct vdb_slice *text,
                               bool *out, grebe_error *err)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text->len > 0 ? text->p : "");
    int result = pcre2_match(r->code, subject, text->len, 0, 0, s->found, s->limits);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) { /* the interpreter takes its memory from the heap */
        result = pcre2_match(r->code, subject, text->len, 0, PCRE2_NO_JIT, s->found, s->limits);
    }
    *out = result >= 0;
    if (result >= 0 || result == PCRE2_ERROR_NOMATCH) {
        return GREBE_OK;
    }
    if (result == PCRE2_ERROR_NOMEMORY) {
        return mem_fail(err, text->len, "a regular expression");
    }
    PCRE2_UCHAR why[128] = { 0 };
    pcre2_get_error_message(result, why, sizeof why);
    bool is_text = result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21;
    return GREBE_FAIL(err, is_text ? GREBE_ECORRUPT : GREBE_ELIMIT, "document_regex: %s", (const char *)why);
}

#else

grebe_status vdb_regex_new(struct arena *ar, const struct vdb_slice *pattern, struct vdb_regex **list,
                           struct vdb_regex **out, grebe_error *err)
{
    (void)ar;
    (void)pattern;
    (void)list;
    *out = NULL;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "document_regex: this build has no PCRE2");
}

void vdb_regex_free_all(struct vdb_regex *list)
{
    (void)list;
}

grebe_status vdb_regex_state_new(struct arena *ar, struct vdb_regex_state **out, grebe_error *err)
{
    (void)ar;
    *out = NULL;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "document_regex: this build has no PCRE2");
}

void vdb_regex_state_free(struct vdb_regex_state *s)
{
    (void)s;
}

grebe_status vdb_regex_matches(const struct vdb_regex *r, struct vdb_regex_state *s, const struct vdb_slice *text,
                               bool *out, grebe_error *err)
{
    (void)r;
    (void)s;
    (void)text;
    *out = false;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "document_regex: this build has no PCRE2");
}

#endif
