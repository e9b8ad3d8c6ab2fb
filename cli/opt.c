/* SPDX-License-Identifier: Apache-2.0 */
#include "opt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

/* Levenshtein distance, bounded by the length of the words: option names are short. */
static size_t distance(const char *x, const char *y)
{
    enum { MAX = 64 };
    size_t row[MAX + 1];
    size_t n = strlen(x), m = strlen(y);
    if (n > MAX || m > MAX) {
        return MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t substitute = diagonal + (x[i - 1] != y[j - 1]);
            diagonal = row[j];
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = substitute < step ? substitute : step;
        }
    }
    return row[m];
}

const char *nearest_word(const char *word, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 2 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, words[i]);
        if (d < best_distance) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}

/* The three lists an option may stand in. */
static const struct opt_spec *list_of(const struct cmd *cmd, int i)
{
    return i == 0 ? cmd->options : i == 1 ? cmd->more_options : i == 2 ? common_options : NULL;
}

static const struct opt_spec *find(const struct cmd *cmd, const char *name, size_t len, char c)
{
    for (int i = 0; i < 3; i++) {
        for (const struct opt_spec *o = list_of(cmd, i); o != NULL && o->name != NULL; o++) {
            if (c != 0 ? o->short_name == c
                       : strlen(o->name) == len && strncmp(o->name, name, len) == 0) {
                return o;
            }
        }
    }
    return NULL;
}

static int unknown(struct cli *cli, const char *word)
{
    const char *names[OPT_VALUES_MAX];
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        for (const struct opt_spec *o = list_of(cli->cmd, i); o != NULL && o->name != NULL; o++) {
            names[n++] = o->name;
        }
    }
    const char *near = word[1] == '-' ? nearest_word(word + 2, names, n) : NULL;
    if (near != NULL) {
        return out_usage(cli, "unknown option %s: did you mean --%s?", word, near);
    }
    return out_usage(cli, "unknown option %s", word);
}

static int add(struct cli *cli, const struct opt_spec *o, const char *value)
{
    if (cli->n_values == OPT_VALUES_MAX) {
        return out_usage(cli, "expected at most %d options", OPT_VALUES_MAX);
    }
    cli->values[cli->n_values].name = o->name;
    cli->values[cli->n_values].value = value;
    cli->n_values++;
    return 0;
}

/* words[*i] is "-x…" or "--name…". */
static int parse_option(struct cli *cli, char **words, size_t n, size_t *i)
{
    char *word = words[*i];
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const char *equals = is_long ? strchr(name, '=') : NULL;
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct opt_spec *o = find(cli->cmd, name, len, is_long ? 0 : word[1]);
    if (o == NULL) {
        return unknown(cli, word);
    }
    if (o->arg == NULL) {
        if (equals != NULL) {
            return out_usage(cli, "--%s takes no value, found \"%s\"", o->name, equals + 1);
        }
        if (!is_long && word[2] != '\0') {
            return out_usage(cli, "expected one letter, found %s", word);
        }
        return add(cli, o, "");
    }
    if (equals != NULL) {
        return add(cli, o, equals + 1);
    }
    if (!is_long && word[2] != '\0') {
        return add(cli, o, word + 2);
    }
    if (*i + 1 >= n) {
        return out_usage(cli, "--%s needs a value: %s", o->name, o->arg);
    }
    *i += 1;
    return add(cli, o, words[*i]);
}

int opt_parse(struct cli *cli, char **words, size_t n)
{
    bool only_positional = false;
    cli->positional = words;
    cli->n_positional = 0;
    for (size_t i = 0; i < n; i++) {
        if (!only_positional && strcmp(words[i], "--") == 0) {
            only_positional = true;
        } else if (!only_positional && words[i][0] == '-' && words[i][1] != '\0') {
            int code = parse_option(cli, words, n, &i);
            if (code != 0) {
                return code;
            }
        } else {
            cli->positional[cli->n_positional++] = words[i];
        }
    }
    return 0;
}

const char *opt_get(const struct cli *cli, const char *name)
{
    for (size_t i = cli->n_values; i > 0; i--) {
        if (strcmp(cli->values[i - 1].name, name) == 0) {
            return cli->values[i - 1].value;
        }
    }
    return NULL;
}

bool opt_has(const struct cli *cli, const char *name) { return opt_get(cli, name) != NULL; }

const char *opt_nth(const struct cli *cli, const char *name, size_t i)
{
    for (size_t j = 0; j < cli->n_values; j++) {
        if (strcmp(cli->values[j].name, name) == 0 && i-- == 0) {
            return cli->values[j].value;
        }
    }
    return NULL;
}

static bool parse_int(const char *text, const char **end, int64_t *out)
{
    char *stop = NULL;
    errno = 0;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-') {
        return false;
    }
    long long v = strtoll(text, &stop, 10);
    if (errno != 0 || stop == text) {
        return false;
    }
    *end = stop;
    *out = v;
    return true;
}

int opt_int(struct cli *cli, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = opt_get(cli, name);
    const char *end = NULL;
    int64_t v = 0;
    if (text == NULL) {
        return 0;
    }
    if (!parse_int(text, &end, &v) || *end != '\0' || v < min || v > max) {
        return out_usage(cli, "--%s: expected a whole number from %lld to %lld, found \"%s\"",
                         name, (long long)min, (long long)max, text);
    }
    *out = v;
    return 0;
}

int opt_size(struct cli *cli, const char *name, uint64_t *out)
{
    static const struct { const char *name; uint64_t factor; } units[] = {
        { "", 1 }, { "B", 1 },
        { "K", 1u << 10 }, { "KiB", 1u << 10 }, { "kB", 1000 }, { "KB", 1000 },
        { "M", 1u << 20 }, { "MiB", 1u << 20 }, { "MB", 1000000 },
        { "G", 1u << 30 }, { "GiB", 1u << 30 }, { "GB", 1000000000 },
        { "T", UINT64_C(1) << 40 }, { "TiB", UINT64_C(1) << 40 }, { "TB", UINT64_C(1000000000000) },
    };
    const char *text = opt_get(cli, name);
    const char *end = NULL;
    int64_t v = 0;
    if (text == NULL) {
        return 0;
    }
    if (parse_int(text, &end, &v) && v >= 0) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (strcmp(end, units[i].name) == 0 && (uint64_t)v <= UINT64_MAX / units[i].factor) {
                *out = (uint64_t)v * units[i].factor;
                return 0;
            }
        }
    }
    return out_usage(cli, "--%s: expected a size such as 64MiB, found \"%s\"", name, text);
}

int opt_range(struct cli *cli, const char *name, int64_t *begin, int64_t *end)
{
    const char *text = opt_get(cli, name);
    if (text == NULL) {
        return 0;
    }
    const char *p = text;
    int64_t b = 0, e = INT64_MAX;
    bool is_good = *p == ':' || parse_int(p, &p, &b);
    is_good = is_good && *p == ':';
    if (is_good && p[1] != '\0') {
        is_good = parse_int(p + 1, &p, &e) && *p == '\0';
    }
    if (!is_good || b < 0 || e < b) {
        return out_usage(cli, "--%s: expected BEGIN:END with 0 <= BEGIN <= END, found \"%s\"", name,
                         text);
    }
    *begin = b;
    *end = e;
    return 0;
}

int opt_choice(struct cli *cli, const char *name, const char *choices, int *out)
{
    const char *text = opt_get(cli, name);
    if (text == NULL) {
        return 0;
    }
    int i = 0;
    for (const char *p = choices;; i++) {
        size_t len = strcspn(p, "|");
        if (strlen(text) == len && strncmp(text, p, len) == 0) {
            *out = i;
            return 0;
        }
        if (p[len] == '\0') {
            return out_usage(cli, "--%s: expected %s, found \"%s\"", name, choices, text);
        }
        p += len + 1;
    }
}

int opt_durable(struct cli *cli, bool *out)
{
    int choice = *out ? 0 : 1;
    int code = opt_choice(cli, "durable", "on|off", &choice);
    *out = choice == 0;
    return code;
}
