// passes_known.h - passes of other compilers, by every name that they go under (known_passes.def).
#pragma once

#include "cli/command.h"

typedef struct hsc_known_pass {
  const char *name, *classes;  // other names, separated by commas; "" = none
  const char *devices;         // compilers that list it, separated by commas
  const char *source;          // "" = the compiler names none
  const char *what, *more;     // more: flags, cost, what it meets; "" = nothing
  bool closed;                 // its source is not public
} hsc_known_pass;

// Whether two names of a pass are the same but for case, blanks, dashes and underscores, and for
// what class names have in front (Hlo, Gpu, Tpu, Cpu): "HloCSE" and "cse".
bool hsc_pass_name_alike(const char *a, const char *b);
// By its name, else by another one, else by what is alike; NULL = it is not there.
const hsc_known_pass *hsc_known_pass_find(const char *name);
// Text, or the document of docs/schemas/passes_explain.json.
HSC_MUST_USE hsc_status *hsc_known_pass_print(const hsc_known_pass *pass, hsc_cli *cli);
