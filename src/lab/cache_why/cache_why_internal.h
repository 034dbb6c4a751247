// cache_why_internal.h - what the readers of the sides of `cache why` share.
#pragma once

#include "formats/common/formats.h"
#include "lab/cache_why/cache_why.h"

typedef enum why_side_kind { SIDE_ENTRY, SIDE_NEURON, SIDE_JAX_LOG, SIDE_PROGRAM } why_side_kind;

// One program that a process of JAX looked up.
typedef struct why_jax_program {
  char name[128];    // "" when the log does not say it
  hsc_bytes inputs;  // lines "name\tvalue\n"
} why_jax_program;

// A side is a list of inputs in order, and maybe a program; a log of JAX has a list for each
// program.
typedef struct why_side {
  const char *path;
  why_side_kind kind;
  hsc_bytes text;      // lines "name\tvalue\n"
  hsc_bytes key;       // of an entry of ours: the key text as it is
  hsc_module *module;  // NULL = none, or not readable
  why_jax_program *programs;
  int program_count;
} why_side;

// Appends the line of an input.
void hsc__why_put(hsc_bytes *text, const char *name, hsc_view value);
// The value of an input in such lines; NULL = it is not there.
const char *hsc__why_value(const char *text,
                           const char *name,
                           size_t name_length,
                           size_t *out_length);
// Rows (program unless NULL, input, first, second, same) of two lists of inputs; *same becomes
// false at a difference.
void hsc__why_rows(
    hsc_table *table, const char *program, const char *first, const char *second, bool *same);

// cache_why_jax.c
bool hsc__why_is_jax_log(const char *text);
HSC_MUST_USE hsc_status *hsc__why_read_jax_log(why_side *side, const char *text);
// Rows of the programs whose keys differ, notes about the others.
void hsc__why_jax_programs(hsc_table *table,
                           const why_side *first,
                           const why_side *second,
                           bool *same);
void hsc__why_jax_deinit(why_side *side);
