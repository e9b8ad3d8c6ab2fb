/* SPDX-License-Identifier: Apache-2.0 */
/* A filter, a line feed, and what it is asked about: what is strict is also lenient, with the same answers. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_require.h"
#include "gitvdb/vdb_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read, or refused with a message; without PCRE2 also for a regular expression. */
static void require_answer(grebe_status st, const struct vdb_filter *f, const grebe_error *err)
{
    int is_refused = st == GREBE_EINVAL;
#ifndef GREBE_HAVE_PCRE2
    is_refused |= st == GREBE_EUNSUPPORTED;
#endif
    require(st == GREBE_OK || (is_refused && f == NULL && err->message[0] != '\0'));
}

static int ask(const struct vdb_filter *f, const char *payload, size_t len)
{
    struct vdb_filter_state *s = NULL;
    struct vdb_id id = { false, 0, "a", 1 };
    bool found = false;
    require(vdb_filter_state_new(f, &s, NULL) == GREBE_OK);
    grebe_status st = vdb_filter_matches(f, s, &id, payload, len, &found, NULL);
    require(st == GREBE_OK || st == GREBE_ECORRUPT || st == GREBE_ELIMIT);
    require(st != GREBE_ECORRUPT || !vdb_json_is_canonical_object(payload, len));
    vdb_filter_state_free(s);
    return st == GREBE_OK ? found : (int)st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const payloads[] = { "{}", "{\"a\":1,\"b\":[1,\"x\",null],\"document\":\"ab\\n\"}" };
    const uint8_t *feed = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len = feed != NULL ? (size_t)(feed - data) : size;
    struct vdb_filter *lenient = NULL;
    struct vdb_filter *strict = NULL;
    grebe_error err = GREBE_ERROR_INIT;
    grebe_status st = vdb_filter_parse(mem_system(), (const char *)data, len, true, &lenient, &err);
    require_answer(st, lenient, &err);
    st = vdb_filter_parse(mem_system(), (const char *)data, len, false, &strict, &err);
    require_answer(st, strict, &err);
    require(strict == NULL || lenient != NULL);
    if (lenient != NULL) {
        for (size_t i = 0; i < 3; i++) {
            bool is_own = i == 2;
            const char *payload = !is_own ? payloads[i] : feed != NULL ? (const char *)feed + 1 : "{}";
            size_t payload_len = is_own && feed != NULL ? size - len - 1 : strlen(payload);
            int answer = ask(lenient, payload, payload_len);
            require(strict == NULL || ask(strict, payload, payload_len) == answer);
        }
    }
    vdb_filter_free(lenient);
    vdb_filter_free(strict);
    return 0;
}
