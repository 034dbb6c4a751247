// conform_fields.h - the fields of every argument struct of the PJRT C API, as data.
//
// A call can so be written down, or changed on its way, without a line a function: conform_call.c
// writes reproducers, tests/fake_plugin/mutant_plugin.c makes mutants.
#pragma once

#include "base/core/base.h"
#include "pjrt/client.h"

typedef struct conform_field {
  char name[64], type[96];  // "num_dims", "size_t"
  bool out, pointer;        // written by the plugin; a pointer of any kind
  size_t offset, bytes;     // in the struct
} conform_field;

// The fields after struct_size and extension_start, at most `room`; stops where a type's size is
// not known. Returns how many.
size_t hsc__conform_fields(hsc_pjrt_function function, conform_field *out, size_t room);
// The value of a field in a struct of arguments; 32-bit numbers with their sign.
uint64_t hsc__conform_value(const void *args, const conform_field *f);
