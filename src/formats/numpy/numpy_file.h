// numpy_file.h - arrays as NumPy keeps them: .npy (one array) and .npz (a ZIP archive of them).
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

enum { HSC_NUMPY_MAX_RANK = 32 };

typedef struct hsc_numpy_array {
  const char *name;   // of the .npz, without ".npy"; "" for the array of a .npy
  const char *type;   // NumPy's own text: "<f4", "|b1"; types that it has no letter for are "<V2"
  size_t item_bytes;  // of one element
  int rank;
  int64_t dims[HSC_NUMPY_MAX_RANK];
  bool is_fortran;  // the first dimension varies fastest
  hsc_view data;    // item_bytes * product of dims
} hsc_numpy_array;

// Reads a .npy or .npz file, told apart by their first bytes. What the arrays hold points into
// `file` or the arena; `file` must outlive them. `path` is for messages.
// Errors: INVALID_ARGUMENT (neither of the two; an array of objects or of records: with what to
// save in its place), DATA_LOSS (cut off or damaged), no memory.
HSC_MUST_USE hsc_status *hsc_numpy_read(hsc_view file,
                                        const char *path,
                                        hsc_arena *arena,
                                        hsc_numpy_array **out_arrays,
                                        size_t *out_count);
