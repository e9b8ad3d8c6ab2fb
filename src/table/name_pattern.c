/* SPDX-License-Identifier: Apache-2.0 */
#include "table/name_pattern.h"

#include <string.h>

#include "base/error.h"

#ifdef GREBE_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* struct name_pattern is a pcre2_code; nothing else is kept. */
static const pcre2_code *code_of(const struct name_pattern *p) { return (const pcre2_code *)p; }

/* Ways that a match may try: a thousand times what sensible patterns need. */
enum { MATCH_STEPS_MAX = 1000000 };

grebe_status name_pattern_new(const char *text, struct name_pattern **out, grebe_error *err)
{
    const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_ALLOW_EMPTY_CLASS | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
                             PCRE2_NEVER_BACKSLASH_C;
    int code = 0;
    PCRE2_SIZE at = 0;
    *out = (struct name_pattern *)pcre2_compile((PCRE2_SPTR)text, strlen(text), options, &code, &at,
                                                NULL);
    if (*out != NULL) {
        return GREBE_OK;
    }
    PCRE2_UCHAR why[128] = { 0 };
    char quoted[128];
    pcre2_get_error_message(code, why, sizeof why);
    return GREBE_FAIL(err, GREBE_EINVAL, "pattern \"%s\": at character %zu: %s",
                      error_quote(quoted, sizeof quoted, text, strlen(text)), (size_t)at,
                      (const char *)why);
}

void name_pattern_free(struct name_pattern *p) { pcre2_code_free((pcre2_code *)p); }

grebe_status name_pattern_match(const struct name_pattern *p, const char *name, bool *out,
                                grebe_error *err)
{
    grebe_status st = GREBE_OK;
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(code_of(p), NULL);
    *out = false;
    if (limits == NULL || found == NULL) {
        st = GREBE_FAIL(err, GREBE_ENOMEM, "no memory for a pattern");
        goto out;
    }
    pcre2_set_match_limit(limits, MATCH_STEPS_MAX);
    int result = pcre2_match(code_of(p), (PCRE2_SPTR)name, strlen(name), 0, 0, found, limits);
    *out = result >= 0;
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR why[128] = { 0 };
        pcre2_get_error_message(result, why, sizeof why);
        st = GREBE_FAIL(err, result == PCRE2_ERROR_NOMEMORY ? GREBE_ENOMEM : GREBE_ELIMIT,
                        "column \"%.64s\": pattern: %s", name, (const char *)why);
    }
out:
    pcre2_match_data_free(found);
    pcre2_match_context_free(limits);
    return st;
}

#else

grebe_status name_pattern_new(const char *text, struct name_pattern **out, grebe_error *err)
{
    *out = NULL;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "pattern \"%.64s\": this build has no PCRE2", text);
}

void name_pattern_free(struct name_pattern *p) { (void)p; }

grebe_status name_pattern_match(const struct name_pattern *p, const char *name, bool *out,
                                grebe_error *err)
{
    (void)p;
    *out = false;
    return GREBE_FAIL(err, GREBE_EUNSUPPORTED, "column \"%.64s\": this build has no PCRE2", name);
}

#endif
