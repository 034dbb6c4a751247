// completion.c - completion scripts, made from the tables: command names, option names, the choices
// of options; files elsewhere.
#include "cli/command.h"

// Calls `visit` for the options of the command, then for the common ones.
static void for_each_option(const hsc_command *command,
                            void (*visit)(const hsc_command *, const hsc_option *, hsc_bytes *),
                            hsc_bytes *out) {
  const hsc_option *tables[] = {command->body->options, hsc_command_common_options(command)};
  for (size_t t = 0; t < HSC_COUNT_OF(tables); t++)
    for (const hsc_option *it = tables[t]; it && it->kind != HSC_OPTION_KIND_END; it++)
      visit(command, it, out);
}

// The choices that count for this command, separated by blanks.
static void write_choices(const hsc_command *command, const hsc_option *option, hsc_bytes *out) {
  bool first = true;
  for (size_t i = 0; option->choices[i]; i++) {
    hsc_output_format format;
    bool is_format = option->choices == hsc_format_choices;
    if (is_format &&
        (!hsc_output_format_of_name(option->choices[i], &format) || !(command->formats & format)))
      continue;
    hsc_bytes_printf(out, "%s%s", first ? "" : " ", option->choices[i]);
    first = false;
  }
}

static void write_word(const hsc_command *command, const hsc_option *option, hsc_bytes *out) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  if (!option->positional)
    hsc_bytes_printf(out, " --%s", name);
  else if (option->kind == HSC_OPTION_KIND_CHOICE)
    for (size_t i = 0; option->choices[i]; i++)
      hsc_bytes_printf(out, " %s", option->choices[i]);
}

static void write_bash_choice(const hsc_command *command,
                              const hsc_option *option,
                              hsc_bytes *out) {
  char name[64], letter;
  if (option->kind != HSC_OPTION_KIND_CHOICE || option->positional)
    return;
  hsc_option_names(option, name, &letter);
  hsc_bytes_printf(out, "    %s:--%s) words=\"", command->name, name);
  write_choices(command, option, out);
  hsc_bytes_append_text(out, "\" ;;\n");
}

static void write_command_names(hsc_bytes *out) {
  for (size_t i = 0; i < hsc_command_count; i++)
    hsc_bytes_printf(out, "%s%s", i ? " " : "", hsc_commands[i].name);
}

// Bash's function also serves zsh, through bashcompinit.
static void write_function(hsc_bytes *out) {
  hsc_bytes_append_text(
      out,
      "_hloscope() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" "
      "name=\"${COMP_WORDS[1]}\" words=\"\"\n"
      "  if [ \"$word\" = \"=\" ]; then word=\"\"; elif [ \"$before\" = \"=\" ]; then "
      "before=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"");
  write_command_names(out);
  hsc_bytes_append_text(out, "\" -- \"$word\"))\n    return\n  fi\n  case \"$name:$before\" in\n");
  for (size_t i = 0; i < hsc_command_count; i++)
    for_each_option(&hsc_commands[i], write_bash_choice, out);
  hsc_bytes_append_text(out, "    *) case \"$name\" in\n");
  for (size_t i = 0; i < hsc_command_count; i++) {
    hsc_bytes_printf(out, "      %s) words=\"", hsc_commands[i].name);
    if (strcmp(hsc_commands[i].name, "help") == 0)
      write_command_names(out);
    for_each_option(&hsc_commands[i], write_word, out);
    hsc_bytes_append_text(out, "\" ;;\n");
  }
  hsc_bytes_append_text(out,
                        "    esac ;;\n  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\") "
                        "$(compgen -f -- \"$word\"))\n}\n");
}

void hsc_completion_bash(hsc_bytes *out) {
  hsc_bytes_append_text(out,
                        "# hloscope completion for bash: source <(hloscope completion bash)\n");
  write_function(out);
  hsc_bytes_append_text(out, "complete -o filenames -F _hloscope hloscope\n");
}

void hsc_completion_zsh(hsc_bytes *out) {
  hsc_bytes_append_text(out,
                        "# hloscope completion for zsh: source <(hloscope completion "
                        "zsh)\nautoload -U +X bashcompinit && bashcompinit\n");
  write_function(out);
  hsc_bytes_append_text(out, "complete -o filenames -F _hloscope hloscope\n");
}

// Single quotes and backslashes are all that fish's single-quoted texts need escaped.
static void write_fish_quoted(const char *text, hsc_bytes *out) {
  hsc_bytes_append_char(out, '\'');
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\')
      hsc_bytes_append_char(out, '\\');
    hsc_bytes_append_char(out, *text);
  }
  hsc_bytes_append_char(out, '\'');
}

static void write_fish_option(const hsc_command *command,
                              const hsc_option *option,
                              hsc_bytes *out) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  if (option->positional && option->kind != HSC_OPTION_KIND_CHOICE)
    return;
  hsc_bytes_printf(out, "complete -c hloscope -n '__fish_seen_subcommand_from %s'", command->name);
  if (!option->positional)
    hsc_bytes_printf(out, " -l %s", name);
  if (letter)
    hsc_bytes_printf(out, " -s %c", letter);
  if (option->kind == HSC_OPTION_KIND_CHOICE) {
    hsc_bytes_printf(out, "%s -a '", option->positional ? "" : " -x");
    write_choices(command, option, out);
    hsc_bytes_append_char(out, '\'');
  } else if (option->kind != HSC_OPTION_KIND_FLAG) {
    hsc_bytes_append_text(out, " -r");
  }
  hsc_bytes_append_text(out, " -d ");
  write_fish_quoted(option->help, out);
  hsc_bytes_append_char(out, '\n');
}

void hsc_completion_fish(hsc_bytes *out) {
  hsc_bytes_append_text(out, "# hloscope completion for fish: hloscope completion fish | source\n");
  for (size_t i = 0; i < hsc_command_count; i++) {
    hsc_bytes_printf(out, "complete -c hloscope -n '__fish_use_subcommand' -f -a %s -d ",
                     hsc_commands[i].name);
    write_fish_quoted(hsc_commands[i].summary, out);
    hsc_bytes_append_char(out, '\n');
  }
  for (size_t i = 0; i < hsc_command_count; i++)
    for_each_option(&hsc_commands[i], write_fish_option, out);
}
