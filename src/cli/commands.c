// commands.c - the table of commands, made from commands.def.
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/sized_program.h"

#define COMMAND(name, group, formats, summary) extern const hsc_command_body hsc_command_##name;
#include "cli/commands.def"
#undef COMMAND

enum {
  TEXT = HSC_FORMAT_TEXT,
  JSON = HSC_FORMAT_JSON,
  JSONL = HSC_FORMAT_JSONL,
  MARKDOWN = HSC_FORMAT_MARKDOWN,
  PARQUET = HSC_FORMAT_PARQUET,
  CSV = HSC_FORMAT_CSV,
};

// The default is text where there is text, else the first of JSON, JSON lines, Markdown, CSV: the
// lowest bit.
#define LOWEST_BIT(mask) ((mask) & -(mask))

const hsc_command hsc_commands[] = {
#define COMMAND(name, group, formats, summary) \
  {#name, HSC_GROUP_##group, formats, LOWEST_BIT(formats), summary, &hsc_command_##name},
#include "cli/commands.def"
#undef COMMAND
};
const size_t hsc_command_count = HSC_COUNT_OF(hsc_commands);

const hsc_command *hsc_command_find(const char *name) {
  for (size_t i = 0; i < hsc_command_count; i++)
    if (strcmp(hsc_commands[i].name, name) == 0)
      return &hsc_commands[i];
  return NULL;
}

const char *hsc_command_near(const char *name) {
  const char *names[HSC_COUNT_OF(hsc_commands)];
  for (size_t i = 0; i < hsc_command_count; i++)
    names[i] = hsc_commands[i].name;
  return hsc_did_you_mean(name, names, hsc_command_count);
}

const char *hsc_command_verb(const hsc_command *command, int count, char *const *words) {
  for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END; it++)
    for (int w = 0; it->positional && it->kind == HSC_OPTION_KIND_CHOICE && w < count; w++)
      for (size_t i = 0; it->choices[i]; i++)
        if (!strcmp(it->choices[i], words[w]))
          return it->choices[i];
  return NULL;
}

const char *hsc_command_group_title(hsc_command_group group) {
  switch (group) {
#define GROUP(id, title) \
  case HSC_GROUP_##id: \
    return title;
    HSC_COMMAND_GROUPS(GROUP)
#undef GROUP
    case HSC_GROUP_COUNT:
      break;
  }
  return "";
}

static const char *const color_names[] = {"auto", "always", "never", NULL};
const char *const hsc_format_choices[] = {"text", "json",    "jsonl", "markdown",
                                          "csv",  "parquet", NULL};

#define COMMON_ROWS \
  HSC_OPTION_CHOICE(hsc_common_args, format, "format", hsc_format_choices, -1, "output format"), \
      HSC_OPTION_CHOICE(hsc_common_args, color, "color", color_names, 0, \
                        "colours; auto: on a terminal, unless NO_COLOR is set"), \
      HSC_OPTION_FLAG(hsc_common_args, quiet, "quiet|q", "no progress on stderr"), \
      HSC_OPTION_FLAG(hsc_common_args, help, "help|h", "show this help")

#define JSON_ROW HSC_OPTION_FLAG(hsc_common_args, json, "json", "the same as --format=json")
#define DIM_ROW \
  HSC_OPTION_LIST( \
      hsc_common_args, dims, "dim", "NAME=N", NULL, \
      "the size of a symbolic dimension of PROGRAM (jax.export): b=8, or by its place, " \
      "0.1=8 for dimension 1 of argument 0; several by commas")

const hsc_option *hsc_command_common_options(const hsc_command *command) {
  static const hsc_option plain[] = {COMMON_ROWS, HSC_OPTION_END};
  static const hsc_option with_json[] = {COMMON_ROWS, JSON_ROW, HSC_OPTION_END};
  static const hsc_option with_dim[] = {COMMON_ROWS, DIM_ROW, HSC_OPTION_END};
  static const hsc_option with_both[] = {COMMON_ROWS, JSON_ROW, DIM_ROW, HSC_OPTION_END};
  bool json = command->formats & HSC_FORMAT_JSON;
  if (hsc_command_takes_programs(command))
    return json ? with_both : with_dim;
  return json ? with_json : plain;
}
#undef DIM_ROW
#undef JSON_ROW
#undef COMMON_ROWS
