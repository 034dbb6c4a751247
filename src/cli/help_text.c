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

void hsc_help_overview(const hsc_text_style *style, hsc_bytes *out) {
  size_t longest = 0;
  for (size_t i = 0; i < hsc_command_count; i++)
    if (strlen(hsc_commands[i].name) > longest)
      longest = strlen(hsc_commands[i].name);
  hsc_bytes_append_text(out,
                        "hloscope - a performance laboratory for XLA programs\n\nUsage: hloscope "
                        "COMMAND [OPTIONS] [ARGUMENTS]\n");
  for (int group = 0; group < HSC_GROUP_COUNT; group++) {
    bool any = false;
    for (size_t i = 0; i < hsc_command_count; i++) {
      const hsc_command *command = &hsc_commands[i];
      if ((int)command->group != group)
        continue;
      if (!any)
        hsc_bytes_printf(out, "\n%s%s%s\n", bold(style), hsc_command_group_title(command->group),
                         plain(style));
      any = true;
      hsc_bytes_printf(out, "  %-*s  ", (int)longest, command->name);
      hsc_text_wrap(command->summary, (int)longest + 4, width_of(style), out);
    }
  }
  hsc_bytes_append_char(out, '\n');
  hsc_text_wrap(
      "hloscope help COMMAND (or hloscope COMMAND --help) shows its options, hloscope help "
      "environment the variables. Exit codes: 0 done, 1 failed, 2 usage, 3 not supported here. "
      "Data goes to stdout, messages and progress to stderr.",
      0, style->width > 40 ? width_of(style) : 110, out);
}

static const struct {
  const char *name, *value, *text;
} variables[] = {
#define VARIABLE(name, value, text) {#name, value, text},
#include "base/core/variables.def"
#undef VARIABLE
};

void hsc_help_environment(const hsc_text_style *style, hsc_bytes *out) {
  hsc_bytes_printf(out, "%sEnvironment%s\n", bold(style), plain(style));
  size_t longest = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++)
    if (strlen(variables[i].name) > longest)
      longest = strlen(variables[i].name);
  for (size_t i = 0; i < HSC_COUNT_OF(variables); i++) {
    hsc_bytes_printf(out, "  %-*s  ", (int)longest, variables[i].name);
    hsc_text_wrap(variables[i].text, (int)longest + 4, width_of(style), out);
  }
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
  return option == hsc_common_options ? command->formats : 0;  // its first row is --format
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

void hsc_help_command(const hsc_command *command,
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
  write_rows(command, verb, hsc_common_options, false, style, out);
  write_examples(command, verb, style, out);
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
  write_markdown_rows(command, hsc_common_options, false, out);
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
