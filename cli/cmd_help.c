/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "opt.h"
#include "out.h"
#include "vdb.h"

int cmd_version(struct cli *cli)
{
    if (cli->format == GREBE_PRINT_JSON || cli->format == GREBE_PRINT_JSONL) {
        out_printf("{\"version\":\"%s\"}\n", grebe_version());
        return 0;
    }
    out_printf("grebe %s\n", grebe_version());
    if (opt_has(cli, "build")) {
        out_printf("%s", grebe_build_info());
    }
    return 0;
}

/* ---- help ---- */

static void print_options(const char *title, const struct opt_spec *options)
{
    if (options == NULL || options->name == NULL) {
        return;
    }
    out_printf("%s\n", title);
    for (const struct opt_spec *o = options; o->name != NULL; o++) {
        char left[80];
        char short_form[5] = "    ";
        if (o->short_name != 0) {
            snprintf(short_form, sizeof short_form, "-%c, ", o->short_name);
        }
        snprintf(left, sizeof left, "%s--%s %s", short_form, o->name,
                 o->arg != NULL ? o->arg : "");
        out_printf("  %-34s %s%s\n", left, strlen(left) > 34 ? "\n                                     " : "",
                   o->help);
    }
}

/* Text folded at 80 columns. */
static void print_folded(const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (column > 0 && column + 1 + n > 80) {
            out_printf("\n");
            column = 0;
        }
        out_printf("%s%.*s", column > 0 ? " " : "", (int)n, text);
        column += n + (column > 0);
        text += n;
        while (*text == ' ') {
            text++;
        }
    }
    out_printf("\n");
}

static void print_verb(const struct cmd *c)
{
    out_printf("grebe %s: %s\n\nusage: grebe %s\n", c->name, c->summary, c->usage);
    if (c->text[0] != '\0') {
        out_printf("\n");
        print_folded(c->text);
    }
    out_printf("\n");
    print_options("options", c->options);
    if (c->more_options != NULL) {
        print_options(c->options != NULL ? "" : "options", c->more_options);
    }
    if (c->subs != NULL) {
        out_printf("commands\n");
        for (size_t i = 0; c->subs[i] != NULL; i++) {
            out_printf("  %-14s %s\n", c->subs[i]->name + strlen(c->name) + 1, c->subs[i]->summary);
        }
        out_printf("\ngrebe %s COMMAND --help tells the options of each.\n", c->name);
    } else if (c->options == own_words) {
        vdb_overview(NULL, stdout);
    } else {
        print_options("common options", common_options);
    }
    if (c->example != NULL) {
        out_printf("\nexamples\n");
        for (const char *p = c->example; *p != '\0';) {
            size_t n = strcspn(p, "\n");
            out_printf("  %.*s\n", (int)n, p);
            p += n + (p[n] == '\n');
        }
    }
}

static const char exit_text[] =
    "0 ok, 1 other failure, 2 usage or invalid argument, 3 not found, 4 exists, 5 corrupt (also check "
    "with findings), 6 unsupported, 7 conflict, 8 outcome unknown, 9 network or credentials, 10 limit, "
    "memory or no space, 11 schema, 130 interrupted.";

/* ---- man pages ---- */

void man_text(const char *text)
{
    bool at_start = true;
    for (const char *p = text; *p != '\0'; p++) {
        if (at_start && (*p == '.' || *p == '\'')) {
            out_printf("\\&");
        }
        if (*p == '-') {
            out_printf("\\-");
        } else if (*p == '\\') {
            out_printf("\\e");
        } else {
            out_printf("%c", *p);
        }
        at_start = *p == '\n';
    }
}

void man_option(const char *name, const char *arg, const char *help)
{
    out_printf("\\fB\\-\\-");
    man_text(name);
    out_printf("\\fR");
    if (arg != NULL) {
        out_printf(" \\fI");
        man_text(arg);
        out_printf("\\fR");
    }
    out_printf("\n");
    man_text(help);
    out_printf("\n");
}

static void man_options(const struct opt_spec *options)
{
    for (const struct opt_spec *o = options; o != NULL && o->name != NULL; o++) {
        out_printf(".TP\n");
        if (o->short_name != 0) {
            out_printf("\\fB\\-%c\\fR, ", o->short_name);
        }
        man_option(o->name, o->arg, o->help);
    }
}

static void man_verb(const struct cmd *c)
{
    out_printf(".TH GREBE\\-%s 1 \"\" \"grebe %s\"\n.SH NAME\ngrebe\\-", c->name, grebe_version());
    man_text(c->name);
    out_printf(" \\- ");
    man_text(c->summary);
    out_printf("\n.SH SYNOPSIS\n.B grebe ");
    man_text(c->usage);
    out_printf("\n.SH DESCRIPTION\n");
    man_text(c->text[0] != '\0' ? c->text : c->summary);
    if (c->subs != NULL) {
        out_printf("\n.SH COMMANDS\n");
        for (size_t i = 0; c->subs[i] != NULL; i++) {
            out_printf(".SS grebe ");
            man_text(c->subs[i]->usage);
            out_printf("\n");
            man_text(c->subs[i]->text[0] != '\0' ? c->subs[i]->text : c->subs[i]->summary);
            out_printf("\n");
            man_options(c->subs[i]->options);
            man_options(c->subs[i]->more_options);
        }
        out_printf(".SH OPTIONS\n");
        man_options(common_options);
    } else if (c->options == own_words) {
        vdb_man();
    } else {
        out_printf("\n.SH OPTIONS\n");
        man_options(c->options);
        man_options(c->more_options);
        man_options(common_options);
    }
    out_printf(".SH EXIT STATUS\n");
    man_text(exit_text);
    if (c->example != NULL) {
        out_printf("\n.SH EXAMPLES\n.nf\n");
        man_text(c->example);
        out_printf("\n.fi\n");
    }
    out_printf("\n.SH SEE ALSO\n.BR grebe (1)\n");
}

static void man_overview(void)
{
    out_printf(".TH GREBE 1 \"\" \"grebe %s\"\n.SH NAME\ngrebe \\- versioned tables for data sets "
               "with vectors\n.SH SYNOPSIS\n.B grebe\n.I VERB\n[\\fIoptions\\fR] \\fIarguments\\fR\n"
               ".SH VERBS\n",
               grebe_version());
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        out_printf(".TP\n.BR grebe\\-");
        man_text(cmd_list[i]->name);
        out_printf(" (1)\n");
        man_text(cmd_list[i]->summary);
        out_printf("\n");
    }
    out_printf(".SH COMMON OPTIONS\n");
    man_options(common_options);
    out_printf(".SH EXIT STATUS\n");
    man_text(exit_text);
    out_printf("\n.SH ENVIRONMENT\n.TP\n.B GREBE_THREADS\nas \\-\\-threads\n.TP\n.B GREBE_MEMORY_LIMIT\n"
               "as \\-\\-memory\\-limit\n.TP\n.B GREBE_SIMD\nscalar, avx2 or avx512: use no newer "
               "instructions than these\n.TP\n.B SOURCE_DATE_EPOCH\nseconds since the epoch that stand "
               "for the time in everything written\n.TP\n.B NO_COLOR\nno colour\n");
}

int cmd_help(struct cli *cli)
{
    bool is_man = opt_has(cli, "man");
    if (cli->n_positional > 0) {
        const struct cmd *c = cmd_find(cli->positional[0]);
        if (c == NULL) {
            return out_usage(cli, "unknown verb %s", cli->positional[0]);
        }
        if (cli->n_positional > 1 && (c = cmd_find_sub(c, cli->positional[1])) == NULL) {
            return out_usage(cli, "unknown command %s %s", cli->positional[0], cli->positional[1]);
        }
        is_man ? man_verb(c) : print_verb(c);
        return 0;
    }
    if (is_man) {
        man_overview();
        return 0;
    }
    out_printf("grebe %s: versioned tables for data sets with vectors\n\n"
               "usage: grebe VERB [options] arguments\n\nverbs\n",
               grebe_version());
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        out_printf("  %-15s %s\n", cmd_list[i]->name, cmd_list[i]->summary);
    }
    out_printf("\n");
    print_options("common options", common_options);
    out_printf("\nexit status\n");
    print_folded(exit_text);
    return 0;
}

/* ---- completions ---- */

static void each_option(const struct cmd *c, void (*fn)(const struct cmd *, const struct opt_spec *))
{
    const struct opt_spec *const lists[] = { c->options, c->more_options, common_options };
    for (size_t i = 0; i < 3; i++) {
        for (const struct opt_spec *o = lists[i]; o != NULL && o->name != NULL; o++) {
            fn(c, o);
        }
    }
}

static void bash_option(const struct cmd *c, const struct opt_spec *o)
{
    (void)c;
    out_printf(" --%s", o->name);
}

static void fish_option(const struct cmd *c, const struct opt_spec *o)
{
    out_printf("complete -c grebe -n '__fish_seen_subcommand_from %s' -l %s%s -d '", c->name,
               o->name, o->arg != NULL ? " -r" : "");
    for (const char *p = o->help; *p != '\0'; p++) {
        out_printf("%s%c", *p == '\'' ? "\\" : "", *p);
    }
    out_printf("'\n");
}

/* What follows a verb with sub-commands: their names, then their options. */
static void bash_subs(const struct cmd *verb)
{
    out_printf("    if [ \"$verb\" = %s ]; then\n        if [ \"$COMP_CWORD\" = 2 ]; then\n            COMPREPLY=($(compgen -W \"", verb->name);
    for (size_t i = 0; verb->subs[i] != NULL; i++) {
        out_printf("%s ", verb->subs[i]->name + strlen(verb->name) + 1);
    }
    out_printf("\" -- \"$cur\"))\n            return\n        fi\n        case $cur in\n        -*) case ${COMP_WORDS[2]} in\n");
    for (size_t i = 0; verb->subs[i] != NULL; i++) {
        out_printf("            %s) COMPREPLY=($(compgen -W \"", verb->subs[i]->name + strlen(verb->name) + 1);
        each_option(verb->subs[i], bash_option);
        out_printf("\" -- \"$cur\")) ;;\n");
    }
    out_printf("            esac\n            return ;;\n        esac\n    fi\n");
}

static void fish_subs(const struct cmd *verb)
{
    for (size_t i = 0; verb->subs[i] != NULL; i++) {
        const char *name = verb->subs[i]->name + strlen(verb->name) + 1;
        out_printf("complete -c grebe -n '__fish_seen_subcommand_from %s' -a %s -d '%s'\n", verb->name, name, verb->subs[i]->summary);
        struct cmd one = *verb->subs[i];
        one.name = name;
        each_option(&one, fish_option);
    }
}

static void completions_bash(void)
{
    out_printf("_grebe() {\n    local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]}\n"
               "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        out_printf("%s ", cmd_list[i]->name);
    }
    out_printf("\" -- \"$cur\"))\n        return\n    fi\n");
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        if (cmd_list[i]->subs != NULL) {
            bash_subs(cmd_list[i]);
        }
    }
    out_printf("    case $cur in\n    -*) case $verb in\n");
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        out_printf("        %s) COMPREPLY=($(compgen -W \"", cmd_list[i]->name);
        each_option(cmd_list[i], bash_option);
        out_printf("\" -- \"$cur\")) ;;\n");
    }
    out_printf("        esac ;;\n    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
               "complete -o filenames -F _grebe grebe\n");
}

static void completions_fish(void)
{
    for (size_t i = 0; cmd_list[i] != NULL; i++) {
        out_printf("complete -c grebe -n __fish_use_subcommand -a %s -d '%s'\n", cmd_list[i]->name,
                   cmd_list[i]->summary);
        each_option(cmd_list[i], fish_option);
        if (cmd_list[i]->subs != NULL) {
            fish_subs(cmd_list[i]);
        }
    }
}

int cmd_completions(struct cli *cli)
{
    const char *shell = cli->positional[0];
    if (strcmp(shell, "bash") == 0) {
        completions_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        out_printf("#compdef grebe\nautoload -U +X bashcompinit && bashcompinit\n");
        completions_bash();
    } else if (strcmp(shell, "fish") == 0) {
        completions_fish();
    } else {
        return out_usage(cli, "expected bash, zsh or fish, found \"%s\"", shell);
    }
    return 0;
}
