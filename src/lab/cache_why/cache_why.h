// cache_why.h - why a second compilation was not found in a cache: the inputs of two keys beside
// each other.
//
// A side is one of
//   an entry of ours      <name>.hsx: its key text, line by line
//   a Neuron module       a folder MODULE_<program>+<flags>: compiler, program, flags one by one,
//                         and the two programs
//   a log of JAX          what JAX writes at level DEBUG of jax._src.cache_key: the hash of each
//                         input of each program's key, flags; with all of jax at DEBUG also the
//                         programs' names and the shapes of their arguments. Programs belong
//                         together by name and order; inputs that differ alike in many are one row
//   a program             any format that is read: fingerprint, parameters, options have no part
// Both must be of one kind.
#pragma once

#include "report/table.h"

// Makes a table "why": (program of logs,) input, first, second, same. *out_same: nothing differs.
// Errors: NOT_FOUND, INVALID_ARGUMENT (two kinds, or none of these).
HSC_MUST_USE hsc_status *hsc_cache_why(const char *first_path,
                                       const char *second_path,
                                       hsc_table **out_table,
                                       bool *out_same);
