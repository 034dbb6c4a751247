// cache_why.h - why a second compilation was not found in a cache: the inputs of two keys beside each other.
//
// A side is one of
//   an entry of ours      <name>.hsx: its key text, line by line
//   a Neuron module       a folder MODULE_<program>+<flags>: compiler, program, flags one by one, and the two programs
//   a log of JAX          the lines "get_cache_key hash of serialized <input>: <hash>" that JAX writes at level DEBUG of jax._src.cache_key; the last of each
//   a program             any format that is read: fingerprint, parameters, options have no part
// Both must be of one kind.
#pragma once

#include "report/table.h"

// Makes a table "why": input, first, second, same. *out_same: nothing differs. Errors: NOT_FOUND, INVALID_ARGUMENT (two kinds, or none of these).
HSC_MUST_USE hsc_status *hsc_cache_why(const char *first_path, const char *second_path, hsc_table **out_table, bool *out_same);
