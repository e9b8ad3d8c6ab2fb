/* SPDX-License-Identifier: Apache-2.0 */
#include "vdb.h"

#include <string.h>

#include "out.h"

/* "upsert" or "collection create": the words that a shell has seen before it offers options. */
static void put_path(const struct vdb_command *c, const char *between)
{
    out_printf("%s%s%s", c->group != NULL ? c->group : "", c->group != NULL ? between : "", c->name);
}

static void put_commands(const char *group, const char *between)
{
    bool has_group = false;
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        bool is_here = group == NULL ? c->group == NULL : c->group != NULL && strcmp(c->group, group) == 0;
        if (is_here) {
            out_printf("%s%s", c->name, between);
        } else if (group == NULL && !has_group) {
            has_group = true;
            out_printf("collection%s", between);
        }
    }
}

static void put_options(const struct vdb_command *c, const char *between)
{
    for (const struct vdb_option *o = c->options; o->name != NULL; o++) {
        out_printf("--%s%s", o->name, between);
    }
    out_printf("--db%s--format%s--help", between, between);
}

static void bash(void)
{
    out_printf("_grebe_vdb() {\n    local cur=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" w\n"
               "    for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do [[ $w == -* || $w == vdb ]] || path+=\"$w \"; done\n"
               "    case \"$path\" in\n    '') COMPREPLY=($(compgen -W \"");
    put_commands(NULL, " ");
    out_printf("--db --format --help\" -- \"$cur\")) ;;\n    'collection ') COMPREPLY=($(compgen -W \"");
    put_commands("collection", " ");
    out_printf("\" -- \"$cur\")) ;;\n");
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        out_printf("    '");
        put_path(c, " ");
        out_printf(" '*) COMPREPLY=($(compgen -W \"");
        put_options(c, " ");
        out_printf("\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n");
    }
    out_printf("    esac\n}\n");
}

static void zsh(void)
{
    out_printf("autoload -U +X bashcompinit && bashcompinit\n");
    bash();
}

static void fish(void)
{
    for (const struct vdb_command *c = vdb_commands; c->name != NULL; c++) {
        out_printf("complete -c grebe -n '__fish_seen_subcommand_from vdb%s%s' -a %s -d '%s'\n",
                   c->group != NULL ? "; and __fish_seen_subcommand_from " : "", c->group != NULL ? c->group : "", c->name,
                   c->summary);
        for (const struct vdb_option *o = c->options; o->name != NULL; o++) {
            if (o->help != NULL) {
                out_printf("complete -c grebe -n '__fish_seen_subcommand_from vdb; and __fish_seen_subcommand_from %s' -l %s%s\n",
                           c->name, o->name, o->kind == VDB_FLAG ? "" : " -r");
            }
        }
    }
}

static void elvish(void)
{
    out_printf("set edit:completion:arg-completer[grebe] = {|@words|\n    put ");
    put_commands(NULL, " ");
    out_printf("\n}\n");
}

static void powershell(void)
{
    out_printf("Register-ArgumentCompleter -Native -CommandName grebe -ScriptBlock {\n    param($word)\n    '");
    put_commands(NULL, " ");
    out_printf("'.Split(' ') | Where-Object { $_ -like \"$word*\" }\n}\n");
}

int vdb_completions(int shell)
{
    static void (*const shells[])(void) = { bash, elvish, fish, powershell, zsh };
    shells[shell]();
    if (shell == 0 || shell == 4) {
        out_printf("complete -F _grebe_vdb grebe-vdb\n");
    }
    return 0;
}
