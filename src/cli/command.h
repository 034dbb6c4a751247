// command.h - what a command is, and what it gets to work with. Adding one: a row in commands.def,
// cmd_<name>.c, docs/commands/<name>.md.
//
//   typedef struct devices_args { bool all; } devices_args;
//   static const hsc_option options[] = {HSC_OPTION_FLAG(devices_args, all, "all", "also those that
//   are not found"), HSC_OPTION_END};
//   static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
//     const devices_args *args = args_of_command;
//     ...
//     return hsc_cli_table(cli, table);
//   }
//   const hsc_command_body hsc_command_devices = {.options = options, .args_bytes =
//   sizeof(devices_args), .run = run,
//                                                 .examples = "hloscope devices --format=json"};
//
// Data goes to stdout through hsc_cli_*, talk and progress to stderr. A status becomes text or JSON
// and an exit code in main.c alone: 0 done, 1 failed, 2 usage, 3 not supported here
// (UNIMPLEMENTED). Everything here belongs to the main thread.
#pragma once

#include "cli/options.h"
#include "report/table.h"

// What a running command works with.
typedef struct hsc_cli {
  const char *command_name;
  const char *command_line;   // everything that was typed, for records
  hsc_output_format format;   // chosen by --format among those of the row
  hsc_text_style out_style;   // how stdout may look
  hsc_text_style talk_style;  // how stderr may look
  bool talk_is_terminal;
  bool quiet;           // --quiet: no progress
  bool progress_shown;  // a progress line is unfinished on the terminal
  // hsc_cli_progress_of: when this run of counts began, and at which
  int64_t progress_since_ns, progress_from;
  bool is_usage_error;  // set by hsc_cli_usage
  size_t after_dashes;  // arguments after `--`; 0 = there was none
  hsc_list dims;        // --dim, NAME=N each; for a command that sizes its programs itself
  bool lost_output;     // something was not printed for want of memory: the command fails
  int exit_code;        // a command that did its work but found bad news sets 1 (default 0)
  hsc_arena *arena;     // lives as long as the command
  char *scratch;        // a folder for what was read from pipes; NULL = nothing was
} hsc_cli;

typedef struct hsc_command_body {
  const hsc_option *options;  // up to HSC_OPTION_END; NULL = none
  size_t args_bytes;          // size of the struct of the rows
  hsc_status *(*run)(const void *args, hsc_cli *cli);
  const char *description;  // paragraphs for --help and the page; may be NULL
  const char *examples;     // command lines, one per line; may be NULL
  bool sizes_programs;      // it gives the sizes of --dim to its programs itself
} hsc_command_body;

#define HSC_COMMAND_GROUPS(GROUP) \
  GROUP(MEASURE, "Measure") \
  GROUP(PROGRAM, "Programs and passes") \
  GROUP(TRACE, "Traces and profiles") \
  GROUP(KNOW, "Find out why") \
  GROUP(KEEP, "Results and caches") \
  GROUP(HOUSE, "hloscope itself")

typedef enum hsc_command_group {
#define GROUP(id, title) HSC_GROUP_##id,
  HSC_COMMAND_GROUPS(GROUP)
#undef GROUP
      HSC_GROUP_COUNT
} hsc_command_group;

typedef struct hsc_command {
  const char *name;
  hsc_command_group group;
  unsigned formats;                // of hsc_output_format
  hsc_output_format first_format;  // the default: text, where there is text
  const char *summary;
  const hsc_command_body *body;
} hsc_command;

extern const hsc_command hsc_commands[];
extern const size_t hsc_command_count;
const hsc_command *hsc_command_find(const char *name);  // NULL = there is none
const char *hsc_command_near(const char *name);         // "did you mean", NULL = nothing near
const char *hsc_command_group_title(hsc_command_group group);

// The options that every command has, bound to this struct.
typedef struct hsc_common_args {
  int format;  // index into hsc_format_choices, -1 = not given
  int color;   // 0 auto, 1 always, 2 never
  bool quiet, help, json;
  hsc_list dims;  // NAME=N
} hsc_common_args;
// Their rows: --json only for a command that can answer in JSON, --dim only for one that takes
// programs.
const hsc_option *hsc_command_common_options(const hsc_command *command);
// The choices of --format, of all commands; a row of the options is --format where it has these.
extern const char *const hsc_format_choices[];

// ---- what commands call ----

// Prints to stdout.
void hsc_cli_print(hsc_cli *cli, const char *format, ...) HSC_PRINTF(2, 3);
void hsc_cli_write(hsc_cli *cli, hsc_view data);
// What could not be made for want of memory is remembered: the command fails at its end.
void hsc_cli_put(hsc_cli *cli, const hsc_bytes *text);
// The same, words broken into lines of the terminal's width; as it is where stdout is none.
void hsc_cli_paragraph(hsc_cli *cli, const char *format, ...) HSC_PRINTF(2, 3);
// The same behind a label (or blanks), below whose end its lines begin.
void hsc_cli_beside(hsc_cli *cli, const char *label, const char *format, ...) HSC_PRINTF(3, 4);
// A name for what a command writes into the current directory when no --output is given, the same
// scheme for all: hloscope-profile-20261123-021500EXTENSION, or -2, -3 ... before the extension
// where that is taken. In cli->arena; the caller says it (hsc_cli_say).
const char *hsc_cli_new_name(hsc_cli *cli, const char *extension);
// Where --output says: a file, written whole or not at all; stdout for "-" and for NULL.
// RESOURCE_EXHAUSTED, with nothing written, where `data` has failed.
HSC_MUST_USE hsc_status *hsc_cli_write_to(hsc_cli *cli, const char *path, const hsc_bytes *data);
// Prints a table in the chosen format and destroys it, also on failure.
HSC_MUST_USE hsc_status *hsc_cli_table(hsc_cli *cli, hsc_table *table);
// One line of talk on stderr, whatever --quiet says.
void hsc_cli_say(hsc_cli *cli, const char *format, ...) HSC_PRINTF(2, 3);
// What is going on: replaces itself on a terminal, one line each elsewhere; nothing with --quiet.
void hsc_cli_progress(hsc_cli *cli, const char *format, ...) HSC_PRINTF(2, 3);
// The same for so many of so many, with the rate and the time left on a terminal: "compiling: 12 of
// 80, 3.1/s, about 22 s left". Counts that do not go on from the ones before begin anew.
void hsc_cli_progress_of(hsc_cli *cli, int64_t done, int64_t total, const char *text);
// --precision and --time-budget: neither may be negative, and without both (and without a number)
// nothing would ever end.
HSC_MUST_USE hsc_status *hsc_cli_check_sampling(hsc_cli *cli,
                                                double precision,
                                                double budget_s,
                                                bool exact);
// A program that workers will read, NULL = none was given. What can only be read once ("-", a pipe)
// is written to a file first, and *path is that file's from then on. Errors: hsc_program_look's;
// symbolic dimensions without sizes.
// `path` lies in the arguments of the command, which are its own.
HSC_MUST_USE hsc_status *hsc_cli_program_file(hsc_cli *cli, const char *const *path);
// The same whether or not dimensions have sizes; *path is not NULL.
HSC_MUST_USE hsc_status *hsc_cli_check_readable(hsc_cli *cli, const char *const *path);
// The user wrote something that cannot be: exit code 2.
HSC_MUST_USE hsc_status *hsc_cli_usage(hsc_cli *cli, const char *format, ...) HSC_PRINTF(2, 3);

// ---- help, made from the tables (help_text.c, completion.c) ----

void hsc_help_overview(const hsc_text_style *style, hsc_bytes *out);
// The rows of base/core/variables.def; without `all` a line each, of those that people set.
void hsc_help_environment(bool all, const hsc_text_style *style, hsc_bytes *out);
// Of one of its verbs alone when `verb` is not NULL. What does not fit one screen of 40 lines has
// a line an option, and says where the rest is.
void hsc_help_command(const hsc_command *command,
                      const char *verb,
                      const hsc_text_style *style,
                      hsc_bytes *out);
void hsc_help_command_full(const hsc_command *command,
                           const char *verb,
                           const hsc_text_style *style,
                           hsc_bytes *out);
// The first of `words` that is a verb of the command, as its table has it; NULL = none.
const char *hsc_command_verb(const hsc_command *command, int count, char *const *words);
// the generated part of docs/commands/<name>.md
void hsc_help_command_markdown(const hsc_command *command, hsc_bytes *out);
// the generated part of docs/commands/README.md
void hsc_help_overview_markdown(hsc_bytes *out);
void hsc_completion_bash(hsc_bytes *out);
void hsc_completion_zsh(hsc_bytes *out);
void hsc_completion_fish(hsc_bytes *out);

// ---- errors (error_text.c) ----

void hsc_error_text(const hsc_status *status, const hsc_text_style *style, hsc_bytes *out);
void hsc_error_json(const hsc_status *status, hsc_bytes *out);
int hsc_exit_code_of(const hsc_status *status, bool is_usage_error);

// Opens the result store. The default one in the cache directory, when it cannot be used (no home,
// a read-only or full disk, a directory that others may write), is replaced by one in memory, with
// a note: the command goes on and nothing is kept. `path` NULL = the default.
struct hsc_store;
HSC_MUST_USE hsc_status *hsc_cli_store_open(hsc_cli *cli,
                                            const char *path,
                                            struct hsc_store **out_store);
