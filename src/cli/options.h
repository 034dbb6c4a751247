// options.h - the arguments of a command as rows, each bound to a field of the command's own
// struct.
//
//   typedef struct patterns_args { const char *program; int64_t warmup_count; bool keep_first;
//   hsc_list graphs; int randomness; } patterns_args;
//   static const char *const randomness_names[] = {"same", "different", NULL};
//   static const hsc_option options[] = {
//       HSC_POSITIONAL(patterns_args, program, "PROGRAM", HSC_OPTIONAL, "HLO text; without it, the
//       built-in graphs"),
//       HSC_OPTION_INT(patterns_args, warmup_count, "warmup", "N", 5, "runs before measuring"),
//       HSC_OPTION_FLAG(patterns_args, keep_first, "no-exclude-first", "keep the first trial in the
//       statistics"),
//       HSC_OPTION_LIST(patterns_args, graphs, "graphs", "NAMES", NULL, "only these graphs,
//       separated by commas"),
//       HSC_OPTION_CHOICE(patterns_args, randomness, "randomness", randomness_names, 0, "what a
//       batched random operation gives"),
//       HSC_OPTION_END,
//   };
// A name "output|o" has the short form -o. The field types are checked by the compiler. Values:
// --name VALUE, --name=VALUE, -oVALUE, -o VALUE; `--` ends the options; a lone `-` is a positional
// argument (standard input). A later value replaces an earlier one; lists grow. A command with a
// verb (a positional choice) says after a row which of its verbs take it: HSC_OPTION_FLAG(...,
// "text", .verbs = "list,show").
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

// Texts separated by commas, or the rest of the positional arguments.
typedef struct hsc_list {
  const char *const *items;  // in the arena of the parse
  size_t count;
} hsc_list;

typedef enum hsc_option_kind {
  HSC_OPTION_KIND_END,
  HSC_OPTION_KIND_INT,     // int64_t or int
  HSC_OPTION_KIND_DOUBLE,  // double
  HSC_OPTION_KIND_STRING,  // const char *
  HSC_OPTION_KIND_LIST,    // hsc_list
  HSC_OPTION_KIND_FLAG,    // bool
  HSC_OPTION_KIND_CHOICE,  // int: index into the names
} hsc_option_kind;

typedef enum hsc_presence { HSC_OPTIONAL, HSC_REQUIRED } hsc_presence;

typedef struct hsc_option {
  hsc_option_kind kind;
  bool positional;               // by place, not by name
  hsc_presence presence;         // positional only
  const char *name;              // "output|o"; a positional's name for people, "PROGRAM"
  const char *value_name;        // "N"; NULL for flags
  const char *help;              // a phrase without a full stop
  const char *const *choices;    // NULL-terminated; choices only
  size_t offset, size;           // the field
  const char *default_text;      // string, list
  int64_t default_int, min_int;  // int, choice
  double default_double;
  const char *verbs;  // "list,show": only these verbs of the command take it; NULL = all
} hsc_option;

// The offset of a field, with a compile-time error when it has another type.
#define HSC_FIELD(type, field, wanted) \
  .size = sizeof(((type *)0)->field), \
  .offset = \
      offsetof(type, field) + \
      0 * sizeof( \
              char[__builtin_types_compatible_p(__typeof__(((type *)0)->field), wanted) ? 1 : -1])
// A field that holds whole numbers: int or int64_t.
#define HSC_FIELD_INT(type, field) \
  .size = sizeof(((type *)0)->field), \
  .offset = \
      offsetof(type, field) + \
      0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)0)->field), int64_t) || \
                              __builtin_types_compatible_p(__typeof__(((type *)0)->field), int) \
                          ? 1 \
                          : -1])

// A whole number, 0 or more.
#define HSC_OPTION_INT(type, field, option_name, value, default_value, text, ...) \
  HSC_OPTION_INT_FROM(type, field, option_name, value, 0, default_value, text, ##__VA_ARGS__)
// A whole number, `minimum` or more.
#define HSC_OPTION_INT_FROM(type, field, option_name, value, minimum, default_value, text, ...) \
  {.kind = HSC_OPTION_KIND_INT, \
   HSC_FIELD_INT(type, field), \
   .name = option_name, \
   .value_name = value, \
   .min_int = minimum, \
   .default_int = default_value, \
   .help = text, \
   ##__VA_ARGS__}
// A number from 0 to HSC_OPTION_MOST, or its default: -1 there stands for what the command chooses.
#define HSC_OPTION_MOST 1e9  // 30 years of seconds; in ns still a whole number of 64 bits
#define HSC_OPTION_DOUBLE(type, field, option_name, value, default_value, text, ...) \
  {.kind = HSC_OPTION_KIND_DOUBLE, \
   HSC_FIELD(type, field, double), \
   .name = option_name, \
   .value_name = value, \
   .default_double = default_value, \
   .help = text, \
   ##__VA_ARGS__}
// The default may be NULL.
#define HSC_OPTION_STRING(type, field, option_name, value, default_value, text, ...) \
  {.kind = HSC_OPTION_KIND_STRING, \
   HSC_FIELD(type, field, const char *), \
   .name = option_name, \
   .value_name = value, \
   .default_text = default_value, \
   .help = text, \
   ##__VA_ARGS__}
// The default is comma-separated text or NULL (empty).
#define HSC_OPTION_LIST(type, field, option_name, value, default_value, text, ...) \
  {.kind = HSC_OPTION_KIND_LIST, \
   HSC_FIELD(type, field, hsc_list), \
   .name = option_name, \
   .value_name = value, \
   .default_text = default_value, \
   .help = text, \
   ##__VA_ARGS__}
#define HSC_OPTION_FLAG(type, field, option_name, text, ...) \
  {.kind = HSC_OPTION_KIND_FLAG, \
   HSC_FIELD(type, field, bool), \
   .name = option_name, \
   .help = text, \
   ##__VA_ARGS__}
// `names` is a NULL-terminated array of texts; the field gets the index; -1 as default means not
// given.
#define HSC_OPTION_CHOICE(type, field, option_name, names, default_index, text, ...) \
  {.kind = HSC_OPTION_KIND_CHOICE, \
   HSC_FIELD(type, field, int), \
   .name = option_name, \
   .choices = names, \
   .default_int = default_index, \
   .help = text, \
   ##__VA_ARGS__}
// By place; NULL when an optional one is not given.
#define HSC_POSITIONAL(type, field, people_name, needed, text) \
  {.kind = HSC_OPTION_KIND_STRING, \
   .positional = true, \
   .presence = needed, \
   HSC_FIELD(type, field, const char *), \
   .name = people_name, \
   .help = text}
// A verb: one of `names`.
#define HSC_POSITIONAL_CHOICE(type, field, people_name, names, needed, default_index, text) \
  {.kind = HSC_OPTION_KIND_CHOICE, \
   .positional = true, \
   .presence = needed, \
   HSC_FIELD(type, field, int), \
   .name = people_name, \
   .choices = names, \
   .default_int = default_index, \
   .help = text}
// All that are left; the last positional.
#define HSC_POSITIONAL_REST(type, field, people_name, needed, text) \
  {.kind = HSC_OPTION_KIND_LIST, \
   .positional = true, \
   .presence = needed, \
   HSC_FIELD(type, field, hsc_list), \
   .name = people_name, \
   .help = text}
// The row --inputs of every command that makes inputs; `field` is a const char *.
#define HSC_INPUTS_TEXT \
  "a .npz or .npy file of NumPy with the inputs, by their names or in their order; inputs that " \
  "it does not name are made from the seed"
#define HSC_OPTION_INPUTS(type, field) \
  HSC_OPTION_STRING(type, field, "inputs", "FILE", NULL, HSC_INPUTS_TEXT)
#define HSC_OPTION_END {.kind = HSC_OPTION_KIND_END}

// One struct of arguments with the rows that fill it.
typedef struct hsc_option_set {
  const hsc_option *options;  // up to HSC_OPTION_END; NULL = none
  void *args;                 // the struct of the rows
} hsc_option_set;

// Fills the structs of all sets from `argv` (without the command's own name). Defaults are set
// first. Texts are borrowed from argv or lie in `arena`.
// Errors: INVALID_ARGUMENT, with "did you mean" when a name is close, and for an option of another
// verb.
HSC_MUST_USE hsc_status *hsc_options_parse(const char *command_name,
                                           const hsc_option_set *sets,
                                           size_t set_count,
                                           int argc,
                                           char *const *argv,
                                           hsc_arena *arena);

// "--output" and "-o" of a row; the short form is 0 when there is none. `out_long` takes at most 64
// bytes.
void hsc_option_names(const hsc_option *option, char out_long[64], char *out_short);
// Whether a verb takes the option; true for NULL.
bool hsc_option_has_verb(const hsc_option *option, const char *verb);
// "8", "0.5", "a,b", "same"; "" when there is no default to speak of.
void hsc_option_default_text(const hsc_option *option, hsc_bytes *out);
