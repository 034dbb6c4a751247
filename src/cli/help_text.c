// help_text.c - help for people and the generated part of the pages, both made from commands.def
// and the option rows.
#include "cli/command.h"

static const char *bold(const hsc_text_style *style) {
  return style->color ? "\x1b[1m" : "";
}
static const char *plain(const hsc_text_style *style) {
  return style->color ? "\x1b[0m" : "";
}

static int width_of(const hsc_text_style *style) {
  if (style->width > 40) {
    if (style->width < 110)
      return style->width;
    return 110;
  }
  return 100;
}

// One line of at most `room` columns: the clause before the first ';', else as many words as fit.
static void write_cut(const char *text, int room, bool unicode, hsc_bytes *out) {
  const char *dots = unicode ? "…" : "...";
  const char *clause = strstr(text, "; ");
  size_t size = clause ? (size_t)(clause - text) : strlen(text);
  const char *line = strchr(text, '\n');
  if (line && (size_t)(line - text) < size)
    size = (size_t)(line - text);
  size -= size && text[size - 1] == '.';
  bool cut = hsc_text_width(text, size) > room;
  for (int most = room - (unicode ? 1 : 3); cut && size && hsc_text_width(text, size) > most;) {
    do
      size--;
    while (size && text[size] != ' ');
  }
  while (cut && size && strchr(" ,:(", text[size - 1]))
    size--;
  hsc_bytes_append(out, text, size);
  hsc_bytes_printf(out, "%s\n", cut ? dots : "");
}

void hsc_help_overview(const hsc_text_style *style, hsc_bytes *out) {
  size_t longest = 0;
  for (size_t i = 0; i < hsc_command_count; i++)
    if (strlen(hsc_commands[i].name) > longest)
      longest = strlen(hsc_commands[i].name);
  hsc_bytes_append_text(out,
                        "hloscope - a performance laboratory for XLA programs\nUsage: hloscope "
                        "COMMAND [OPTIONS] [ARGUMENTS]\n\n");
  for (int group = 0; group < HSC_GROUP_HOUSE; group++) {
    bool any = false;
    for (size_t i = 0; i < hsc_command_count; i++) {
      const hsc_command *command = &hsc_commands[i];
      if ((int)command->group != group)
        continue;
      if (!any)
        hsc_bytes_printf(out, "%s%s%s\n", bold(style), hsc_command_group_title(command->group),
                         plain(style));
      any = true;
      hsc_bytes_printf(out, "  %-*s  ", (int)longest, command->name);
      write_cut(command->summary, width_of(style) - (int)longest - 4, style->unicode, out);
    }
  }
  hsc_bytes_printf(out, "%s%s:%s", bold(style), hsc_command_group_title(HSC_GROUP_HOUSE),
                   plain(style));
  for (size_t i = 0; i < hsc_command_count; i++)
    if (hsc_commands[i].group == HSC_GROUP_HOUSE)
      hsc_bytes_printf(out, " %s", hsc_commands[i].name);
  hsc_bytes_append_text(out, "\n\n");
  hsc_text_wrap(
      "hloscope COMMAND --help: its options; hloscope help environment: the variables. Exit "
      "codes: 0 done, 1 failed, 2 usage, 3 not supported here or it cannot tell, 128 + the signal "
      "(Ctrl-C: 130). Data: stdout; messages: stderr; - is standard input.",
      0, width_of(style), out);
}

static const struct {
  const char *name, *value, *text;
} variables[] = {
#define VARIABLE(name, value, text) {#name, value, text},
#include "base/core/variables.def"
#undef VARIABLE
};

// Whether hloscope sets it for the programs that it starts, so that nobody else needs to.
static bool is_internal(const char *text) {
  return strstr(text, "set by --") || strstr(text, "set inside") || strstr(text, " sets.");
}

void hsc_help_environment(bool all, const hsc_text_style *style, hsc_bytes *out) {
  hsc_bytes_printf(out, "%sEnvironment%s\n", bold(style), plain(style));
  size_t longest = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++)
    if (strlen(variables[i].name) > longest)
      longest = strlen(variables[i].name);
  size_t left_out = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++) {
    if (!all && is_internal(variables[i].text)) {
      left_out++;
      continue;
    }
    hsc_bytes_printf(out, "  %-*s  ", (int)longest, variables[i].name);
    if (all)
      hsc_text_wrap(variables[i].text, (int)longest + 4, width_of(style), out);
    else
      write_cut(variables[i].text, width_of(style) - (int)longest - 4, style->unicode, out);
  }
  if (!all)
    hsc_bytes_printf(
        out, "\nhloscope help environment --all: in full, and %zu that hloscope itself sets\n",
        left_out);
}

// "--trials N", "-o, --output FILE", "--randomness same|different".
static void write_left_side(const hsc_option *option, unsigned formats, hsc_bytes *out) {
  char name[64], letter;
  hsc_option_names(option, name, &letter);
  if (option->positional) {
    hsc_bytes_append_text(out, name);
    return;
  }
  if (letter)
    hsc_bytes_printf(out, "-%c, ", letter);
  hsc_bytes_printf(out, "--%s", name);
  if (option->value_name)
    hsc_bytes_printf(out, " %s", option->value_name);
  if (option->kind == HSC_OPTION_KIND_CHOICE) {
    bool first = true;
    for (size_t i = 0; option->choices[i]; i++) {
      hsc_output_format format;
      if (formats &&
          (!hsc_output_format_of_name(option->choices[i], &format) || !(formats & format)))
        continue;
      hsc_bytes_printf(out, "%c%s", first ? ' ' : '|', option->choices[i]);
      first = false;
    }
  }
}

// The verbs that take it are before what it does, unless the help is one verb's.
static void write_right_side(const hsc_option *option,
                             const char *verb,
                             const char *default_text,
                             hsc_bytes *out) {
  for (const char *at = verb ? NULL : option->verbs; at && *at; at++) {
    hsc_bytes_append_char(out, *at);
    if (*at == ',')
      hsc_bytes_append_char(out, ' ');
    if (!at[1])
      hsc_bytes_append_text(out, ": ");
  }
  hsc_bytes_append_text(out, option->help);
  if (option->positional && option->kind == HSC_OPTION_KIND_CHOICE) {
    hsc_bytes_append_text(out, ": ");
    for (size_t i = 0; option->choices[i]; i++)
      hsc_bytes_printf(out, "%s%s", i ? ", " : "", option->choices[i]);
  }
  if (*default_text)
    hsc_bytes_printf(out, " (default: %s)", default_text);
}

// Formats that --format takes for a command; 0 for all other options.
static unsigned formats_of(const hsc_option *option, const hsc_command *command) {
  return option->choices == hsc_format_choices ? command->formats : 0;
}

static void default_of(const hsc_option *option, const hsc_command *command, hsc_bytes *out) {
  if (formats_of(option, command))
    hsc_bytes_append_text(out, hsc_output_format_name(command->first_format));
  else if (!(option->positional && option->presence == HSC_REQUIRED))
    hsc_option_default_text(option, out);
}

static void write_rows(const hsc_command *command,
                       const char *verb,
                       const hsc_option *options,
                       bool positional,
                       const hsc_text_style *style,
                       hsc_bytes *out) {
  enum { LEFT = 30 };
  for (const hsc_option *it = options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    if (it->positional != positional || !hsc_option_has_verb(it, verb) ||
        (verb && positional && it->kind == HSC_OPTION_KIND_CHOICE))
      continue;
    hsc_bytes left = {0};
    hsc_bytes right = {0};
    hsc_bytes default_text = {0};
    write_left_side(it, formats_of(it, command), &left);
    default_of(it, command, &default_text);
    write_right_side(it, verb, hsc_bytes_text(&default_text), &right);
    hsc_bytes_printf(out, "  %-*s", LEFT - 4, hsc_bytes_text(&left));
    if (left.size > LEFT - 4)
      hsc_bytes_printf(out, "\n%*s", LEFT, "");
    else
      hsc_bytes_append_text(out, "  ");
    hsc_text_wrap(hsc_bytes_text(&right), LEFT, width_of(style), out);
    hsc_bytes_deinit(&left);
    hsc_bytes_deinit(&right);
    hsc_bytes_deinit(&default_text);
  }
}

static bool has_positionals(const hsc_command *command) {
  for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END; it++)
    if (it->positional)
      return true;
  return false;
}

static void write_synopsis(const hsc_command *command, const char *verb, hsc_bytes *out) {
  hsc_bytes_printf(out, "hloscope %s%s%s [OPTIONS]", command->name, verb ? " " : "",
                   verb ? verb : "");
  for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    if (!it->positional || !hsc_option_has_verb(it, verb) ||
        (verb && it->kind == HSC_OPTION_KIND_CHOICE))
      continue;
    const char *more = it->kind == HSC_OPTION_KIND_LIST ? "..." : "";
    hsc_bytes_printf(out, it->presence == HSC_REQUIRED ? " %s%s" : " [%s%s]", it->name, more);
  }
}

// A line of the description or of the examples is a verb's own when it begins with `before` and the
// verb, and ends a word there.
static bool is_verbs_line(const char *line, const char *before, const char *verb, char end) {
  size_t first = strlen(before);
  size_t second = strlen(verb);
  return !strncmp(line, before, first) && !strncmp(line + first, verb, second) &&
         line[first + second] == end;
}

// What the description says of the verb; all of it when it says nothing of that verb alone.
static void write_description(const char *description,
                              const char *verb,
                              const hsc_text_style *style,
                              hsc_bytes *out) {
  const char *line = verb ? description : NULL;
  while (line && !is_verbs_line(line, "", verb, ':'))
    line = (line = strchr(line, '\n')) ? line + 1 : NULL;
  if (!line) {
    hsc_bytes_printf(out, "%s", verb ? "" : "\n");
    hsc_text_wrap(description, 0, width_of(style), out);
    return;
  }
  hsc_bytes own = {0};
  line += strlen(verb) + 2;
  hsc_bytes_append_char(&own,
                        line[0] >= 'a' && line[0] <= 'z' ? (char)(line[0] - 'a' + 'A') : line[0]);
  hsc_bytes_append(&own, line + 1, strcspn(line + 1, "\n"));
  hsc_text_wrap(hsc_bytes_text(&own), 0, width_of(style), out);
  hsc_bytes_deinit(&own);
}

static void write_examples(const hsc_command *command,
                           const char *verb,
                           const hsc_text_style *style,
                           hsc_bytes *out) {
  bool any = false;
  hsc_bytes before = {0};
  hsc_bytes_printf(&before, "hloscope %s ", command->name);
  for (const char *at = command->body->examples; at && *at;) {
    size_t length = strcspn(at, "\n");
    if (!verb || is_verbs_line(at, hsc_bytes_text(&before), verb, ' ')) {
      if (!any)
        hsc_bytes_printf(out, "\n%sExamples%s\n", bold(style), plain(style));
      any = true;
      hsc_bytes_printf(out, "  %.*s\n", (int)length, at);
    }
    at += length;
    if (*at)
      at++;
  }
  hsc_bytes_deinit(&before);
}

void hsc_help_command_full(const hsc_command *command,
                           const char *verb,
                           const hsc_text_style *style,
                           hsc_bytes *out) {
  hsc_bytes_append_text(out, "Usage: ");
  write_synopsis(command, verb, out);
  hsc_bytes_printf(out, "\n\n");
  if (!verb || !command->body->description)
    hsc_text_wrap(command->summary, 0, width_of(style), out);
  if (command->body->description)
    write_description(command->body->description, verb, style, out);
  if (has_positionals(command)) {
    hsc_bytes_printf(out, "\n%sArguments%s\n", bold(style), plain(style));
    write_rows(command, verb, command->body->options, true, style, out);
  }
  hsc_bytes_printf(out, "\n%sOptions%s\n", bold(style), plain(style));
  write_rows(command, verb, command->body->options, false, style, out);
  write_rows(command, verb, hsc_command_common_options(command), false, style, out);
  write_examples(command, verb, style, out);
}

// ---- one screen ---------------------------------------------------------------------------------

// Rows of one line each; the common options are left to one line for all.
static void write_short_rows(const hsc_command *command,
                             const char *verb,
                             bool positional,
                             const hsc_text_style *style,
                             hsc_bytes *out) {
  enum { LEFT = 26 };
  for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    if (it->positional != positional || !hsc_option_has_verb(it, verb) ||
        (verb && positional && it->kind == HSC_OPTION_KIND_CHOICE))
      continue;
    hsc_bytes left = {0};
    hsc_bytes right = {0};
    write_left_side(it, formats_of(it, command), &left);
    write_right_side(it, verb, "", &right);
    int used = hsc_text_width(hsc_bytes_text(&left), left.size);
    int column = used > LEFT ? used + 4 : LEFT + 4;
    hsc_bytes_printf(out, "  %-*s  ", LEFT, hsc_bytes_text(&left));
    write_cut(hsc_bytes_text(&right), width_of(style) - column, style->unicode, out);
    hsc_bytes_deinit(&left);
    hsc_bytes_deinit(&right);
  }
}

// "list: what it does." a line each, from the description; false when it says nothing of verbs.
static bool write_verbs(const hsc_command *command, const hsc_text_style *style, hsc_bytes *out) {
  const hsc_option *verbs = command->body->options;
  bool any = false;
  while (verbs && verbs->kind != HSC_OPTION_KIND_END &&
         !(verbs->positional && verbs->kind == HSC_OPTION_KIND_CHOICE))
    verbs++;
  if (!verbs || verbs->kind == HSC_OPTION_KIND_END)
    return false;
  for (size_t i = 0; verbs->choices[i]; i++) {
    const char *line = command->body->description;
    while (line && !is_verbs_line(line, "", verbs->choices[i], ':'))
      line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    if (!line)
      continue;
    if (!any)
      hsc_bytes_printf(out, "\n%sVerbs%s\n", bold(style), plain(style));
    any = true;
    hsc_bytes_printf(out, "  %-12s  ", verbs->choices[i]);
    write_cut(line + strlen(verbs->choices[i]) + 2, width_of(style) - 16, style->unicode, out);
  }
  if (any)
    hsc_bytes_printf(out, "\nhloscope %s VERB --help: the options of a verb\n", command->name);
  return any;
}

static void write_short(const hsc_command *command,
                        const char *verb,
                        const hsc_text_style *style,
                        hsc_bytes *out) {
  hsc_bytes_append_text(out, "Usage: ");
  write_synopsis(command, verb, out);
  hsc_bytes_append_text(out, "\n");
  hsc_bytes description = {0};
  if (verb && command->body->description)
    write_description(command->body->description, verb, style, &description);
  write_cut(description.size ? hsc_bytes_text(&description) : command->summary, width_of(style),
            style->unicode, out);
  hsc_bytes_deinit(&description);
  if (verb || !write_verbs(command, style, out)) {
    if (has_positionals(command))
      hsc_bytes_printf(out, "\n%sArguments%s\n", bold(style), plain(style));
    write_short_rows(command, verb, true, style, out);
    hsc_bytes_printf(out, "\n%sOptions%s\n", bold(style), plain(style));
    write_short_rows(command, verb, false, style, out);
    hsc_bytes_append_text(out, "  --format, --color, -q, -h   as everywhere\n");
  }
  const char *example = command->body->examples;
  if (!verb && example)
    hsc_bytes_printf(out, "\nExample: %.*s\n", (int)strcspn(example, "\n"), example);
  hsc_bytes_printf(out, "%shloscope help %s%s%s --all: all of it in full\n",
                   !verb && example ? "" : "\n", command->name, verb ? " " : "", verb ? verb : "");
}

void hsc_help_command(const hsc_command *command,
                      const char *verb,
                      const hsc_text_style *style,
                      hsc_bytes *out) {
  enum { SCREEN_LINES = 40 };
  hsc_bytes full = {0};
  size_t lines = 0;
  bool is_wide = false;
  hsc_help_command_full(command, verb, style, &full);
  for (const char *at = hsc_bytes_text(&full); *at; lines++) {
    size_t size = strcspn(at, "\n");
    is_wide |= hsc_text_width(at, size) > width_of(style);
    at += size + (at[size] == '\n');
  }
  if (lines <= SCREEN_LINES && !is_wide)
    hsc_bytes_append(out, full.data, full.size);
  else
    write_short(command, verb, style, out);
  hsc_bytes_deinit(&full);
}

static void write_markdown_rows(const hsc_command *command,
                                const hsc_option *options,
                                bool positional,
                                hsc_bytes *out) {
  for (const hsc_option *it = options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    if (it->positional != positional)
      continue;
    hsc_bytes left = {0};
    hsc_bytes right = {0};
    hsc_bytes default_text = {0};
    write_left_side(it, formats_of(it, command), &left);
    default_of(it, command, &default_text);
    write_right_side(it, NULL, "", &right);
    hsc_bytes_append_text(out, "| `");
    for (const char *at = hsc_bytes_text(&left); *at; at++)
      hsc_bytes_printf(out, *at == '|' ? "\\%c" : "%c", *at);
    hsc_bytes_printf(out, "` | %s | %s%s%s |\n", hsc_bytes_text(&right),
                     default_text.size ? "`" : "", hsc_bytes_text(&default_text),
                     default_text.size ? "`" : "");
    hsc_bytes_deinit(&left);
    hsc_bytes_deinit(&right);
    hsc_bytes_deinit(&default_text);
  }
}

void hsc_help_command_markdown(const hsc_command *command, hsc_bytes *out) {
  hsc_bytes_printf(out, "%s.\n\n```\n", command->summary);
  write_synopsis(command, NULL, out);
  hsc_bytes_append_text(out, "\n```\n\n");
  if (command->body->description)
    hsc_bytes_printf(out, "%s\n\n", command->body->description);
  hsc_bytes_append_text(out, "| argument or option | meaning | default |\n|---|---|---|\n");
  write_markdown_rows(command, command->body->options, true, out);
  write_markdown_rows(command, command->body->options, false, out);
  write_markdown_rows(command, hsc_command_common_options(command), false, out);
  if (command->body->examples)
    hsc_bytes_printf(out, "\n```\n%s\n```\n", command->body->examples);
}

void hsc_help_overview_markdown(hsc_bytes *out) {
  for (int group = 0; group < HSC_GROUP_COUNT; group++) {
    bool any = false;
    for (size_t i = 0; i < hsc_command_count; i++) {
      const hsc_command *command = &hsc_commands[i];
      if ((int)command->group != group)
        continue;
      if (!any)
        hsc_bytes_printf(out, "%s## %s\n\n| command | does |\n|---|---|\n", out->size ? "\n" : "",
                         hsc_command_group_title(command->group));
      any = true;
      hsc_bytes_printf(out, "| [`%s`](%s.md) | %s |\n", command->name, command->name,
                       command->summary);
    }
  }
}
