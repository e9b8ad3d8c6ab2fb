/* SPDX-License-Identifier: Apache-2.0 */
#include "vdb.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"
#include "out.h"

/* ---- what was given ---- */

const struct vdb_given *vdb_values(const struct vdb_words *w, const char *name)
{
    for (size_t i = 0; i < w->n_given; i++) {
        if (strcmp(w->given[i].option->name, name) == 0) {
            return &w->given[i];
        }
    }
    return NULL;
}

bool vdb_has(const struct vdb_words *w, const char *name) { return vdb_values(w, name) != NULL; }

const char *vdb_value(const struct vdb_words *w, const char *name)
{
    const struct vdb_given *g = vdb_values(w, name);
    return g == NULL ? NULL : g->values[0];
}

uint64_t vdb_number(const struct vdb_words *w, const char *name, uint64_t otherwise)
{
    const struct vdb_given *g = vdb_values(w, name);
    return g == NULL ? otherwise : g->number;
}

int vdb_usage(struct vdb_words *w, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (w->command == NULL) {
        return out_usage(w->cli, "%s", text);
    }
    grebe_error err = GREBE_ERROR_INIT;
    err.status = GREBE_EINVAL;
    snprintf(err.message, sizeof err.message, "%s", text);
    vdb_error(w, &err);
    fprintf(stderr, "usage: grebe vdb ");
    vdb_usage_line(w->command, stderr);
    return EXIT_CODE_USAGE;
}

/* ---- parsing ---- */

struct parser {
    struct vdb_words *w;
    char **words;
    size_t n, at;
    const char *group;
    bool has_global[2][2]; /* --db and --format, before and behind the sub-command */
    bool is_past_options;  /* behind "--" */
    bool wants_help, wants_version;
};

static bool is_option_word(const char *word) { return word[0] == '-' && word[1] != '\0'; }

static const struct vdb_option *find_option(const struct vdb_option *list, const char *name, size_t len)
{
    for (const struct vdb_option *o = list; o != NULL && o->name != NULL; o++) {
        if (strlen(o->name) == len && strncmp(o->name, name, len) == 0) {
            return o;
        }
    }
    return NULL;
}

/* The value behind "=", or the next word, which must not look like an option. */
static int take_value(struct parser *p, const char *name, const char *after_equals, const char **out)
{
    *out = after_equals;
    if (after_equals == NULL) {
        if (p->at == p->n || is_option_word(p->words[p->at])) {
            return vdb_usage(p->w, "--%s: expected a value (one that begins with \"-\" as --%s=VALUE)", name, name);
        }
        *out = p->words[p->at++];
    }
    return 0;
}

static int set_form(struct vdb_words *w, const char *text)
{
    static const char *const forms[] = { "json", "pretty", "jsonl" };
    static const char *const rows[] = { "table", "csv", "arrow" };
    static const int row_forms[] = { GREBE_PRINT_TABLE, GREBE_PRINT_CSV, GREBE_PRINT_ARROW };
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, forms[i]) == 0) {
            w->form = i;
            return 0;
        }
        if (strcmp(text, rows[i]) == 0) {
            w->form = FORM_ROWS + row_forms[i];
            return 0;
        }
    }
    return vdb_usage(w, "--format: expected json, pretty, jsonl, table, csv or arrow, found \"%s\"", text);
}

/* --db, --repo, --format: the inner one wins; twice on one side is an error. */
static int take_global(struct parser *p, const struct vdb_option *o, const char *after_equals)
{
    int which = strcmp(o->name, "format") == 0;
    int side = p->w->command != NULL;
    const char *value;
    int code = take_value(p, o->name, after_equals, &value);
    if (code != 0) {
        return code;
    }
    if (p->has_global[which][side]) {
        return vdb_usage(p->w, "--%s: expected once, found twice", o->name);
    }
    p->has_global[which][side] = true;
    if (which == 1) {
        return set_form(p->w, value);
    }
    p->w->db = value;
    return *value != '\0' ? 0 : vdb_usage(p->w, "--%s: expected a path, found an empty word", o->name);
}

static void add_value(struct vdb_words *w, struct vdb_given *g, const char *value)
{
    if (g->n == g->capacity) {
        size_t capacity = g->capacity == 0 ? 8 : g->capacity * 2;
        const char **values = cli_alloc(w->cli, capacity, sizeof *values);
        if (g->n != 0) {
            memcpy(values, g->values, g->n * sizeof *values);
        }
        g->values = values;
        g->capacity = capacity;
    }
    g->values[g->n++] = value;
}

static int set_number(struct vdb_words *w, struct vdb_given *g)
{
    const char *text = g->values[0], *digits = text[0] == '+' ? text + 1 : text;
    uint64_t v = 0;
    bool is_good = *digits != '\0';
    for (const char *c = digits; *c != '\0' && is_good; c++) {
        is_good = isdigit((unsigned char)*c) && !__builtin_mul_overflow(v, 10, &v) &&
                  !__builtin_add_overflow(v, (uint64_t)(*c - '0'), &v);
    }
    g->number = v;
    return is_good ? 0 : vdb_usage(w, "--%s: expected a number from 0 to 18446744073709551615, found \"%s\"", g->option->name, text);
}

static int take_option(struct parser *p, const struct vdb_option *o, const char *after_equals)
{
    struct vdb_words *w = p->w;
    struct vdb_given *g = NULL;
    const char *value = "";
    for (size_t i = 0; i < w->n_given; i++) {
        g = w->given[i].option == o ? &w->given[i] : g;
    }
    if (g != NULL && o->kind != VDB_MANY) {
        return vdb_usage(w, "--%s: expected once, found twice", o->name);
    }
    if (o->kind == VDB_FLAG && after_equals != NULL) {
        return vdb_usage(w, "--%s: expected no value, found \"%s\"", o->name, after_equals);
    }
    if (g == NULL) {
        g = &w->given[w->n_given++];
        g->option = o;
    }
    if (o->kind != VDB_FLAG) {
        int code = take_value(p, o->name, after_equals, &value);
        if (code != 0) {
            return code;
        }
    }
    add_value(w, g, value);
    while (o->kind == VDB_MANY && after_equals == NULL && p->at < p->n && !is_option_word(p->words[p->at])) {
        add_value(w, g, p->words[p->at++]);
    }
    return o->kind == VDB_NUMBER ? set_number(w, g) : 0;
}

static int unknown_option(struct parser *p, const char *word)
{
    const char *names[VDB_WORDS_MAX + 4];
    size_t n = 0;
    for (const struct vdb_option *o = vdb_globals; o->name != NULL; o++) {
        names[n++] = o->name;
    }
    for (const struct vdb_option *o = p->w->command != NULL ? p->w->command->options : NULL; o != NULL && o->name != NULL; o++) {
        names[n++] = o->name;
    }
    const char *near = word[1] == '-' ? nearest_word(word + 2, names, n) : NULL;
    return near != NULL ? vdb_usage(p->w, "unknown option %s: did you mean --%s?", word, near)
                        : vdb_usage(p->w, "unknown option %s", word);
}

static int take_dashed(struct parser *p, const char *word)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        p->wants_help = true;
        return 0;
    }
    if (p->w->command == NULL && (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)) {
        p->wants_version = true;
        return 0;
    }
    if (strcmp(word, "--") == 0) {
        p->is_past_options = true;
        return 0;
    }
    size_t len = word[1] == '-' ? strcspn(word + 2, "=") : 0;
    const char *after_equals = len != 0 && word[2 + len] == '=' ? word + 3 + len : NULL;
    const struct vdb_option *o = len == 0 ? NULL : find_option(vdb_globals, word + 2, len);
    if (o != NULL) {
        return take_global(p, o, after_equals);
    }
    o = len == 0 || p->w->command == NULL ? NULL : find_option(p->w->command->options, word + 2, len);
    return o != NULL ? take_option(p, o, after_equals) : unknown_option(p, word);
}

static int take_command(struct parser *p, const char *word)
{
    const char *names[64];
    size_t n = 0;
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        bool is_of_group = p->group == NULL ? c->group == NULL : c->group != NULL && strcmp(c->group, p->group) == 0;
        if (is_of_group && (strcmp(c->name, word) == 0 || (c->alias != NULL && strcmp(c->alias, word) == 0))) {
            p->w->command = c;
            return 0;
        }
        if (is_of_group) {
            names[n++] = c->name;
        }
    }
    if (p->group == NULL && strcmp(word, "collection") == 0) {
        p->group = "collection";
        return 0;
    }
    if (strcmp(word, "help") == 0) {
        p->wants_help = true;
        return 0;
    }
    const char *near = nearest_word(word, names, n);
    return near != NULL ? vdb_usage(p->w, "unknown sub-command %s: did you mean %s?", word, near)
                        : vdb_usage(p->w, "unknown sub-command %s", word);
}

static int take_positional(struct parser *p, const char *word)
{
    struct vdb_words *w = p->w;
    if (w->n_positional < w->command->max && w->n_positional < VDB_POSITIONAL_MAX) {
        w->positional[w->n_positional++] = word;
        return 0;
    }
    if (w->command->max > VDB_POSITIONAL_MAX) {
        if (w->more == NULL) {
            w->more = cli_alloc(w->cli, p->n, sizeof *w->more);
        }
        w->more[w->n_more++] = word;
        w->n_positional++;
        return 0;
    }
    return vdb_usage(w, "unexpected argument \"%s\"", word);
}

int vdb_words_parse(struct cli *cli, char **words, size_t n, struct vdb_words *w)
{
    struct parser p = { .w = w, .words = words, .n = n };
    int code = 0;
    w->cli = cli;
    while (p.at < n && code == 0) {
        const char *word = words[p.at++];
        if (is_option_word(word) && !p.is_past_options) {
            code = take_dashed(&p, word);
        } else if (w->command == NULL) {
            code = take_command(&p, word);
        } else {
            code = take_positional(&p, word);
        }
    }
    if (code == 0 && p.wants_version) {
        out_printf("grebe vdb %s (git-vdb 0.4.0)\n", grebe_version());
        return -1;
    }
    if (code == 0 && p.wants_help) {
        if (w->command != NULL) {
            vdb_help(w->command);
        } else {
            vdb_overview(p.group, stdout);
        }
        return -1;
    }
    if (code == 0 && w->command == NULL) {
        vdb_overview(p.group, stderr);
        return EXIT_CODE_USAGE;
    }
    if (code == 0 && w->n_positional < w->command->min) {
        code = vdb_usage(w, "expected %s", w->command->usage);
    }
    return code;
}
