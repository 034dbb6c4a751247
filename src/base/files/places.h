// places.h - where the parts of hloscope lie, seen from the file that runs.
//
// Nothing of an installation is at a fixed path: the program, or the library that this code is
// linked into, knows in which folder of the prefix it was installed (bin, lib, lib/hloscope, as
// meson was told), takes what is before that for the prefix, and finds the others from there.
// A tree that was moved, a wheel and a build folder work alike.
#pragma once

#include "base/core/memory.h"

typedef enum hsc_place {
  HSC_PLACE_PROGRAM,  // hloscope
  HSC_PLACE_MODULE,   // what is opened at run time: the plugin, the tracer, LLVM, OpenBLAS
  HSC_PLACE_DATA,     // knowledge, targets, models, python
} hsc_place;

// The file or folder `name` of that place, absolute, in the arena. Errors: NOT_FOUND with the
// paths that were looked at.
HSC_MUST_USE hsc_status *hsc_place_find(hsc_place place,
                                        const char *name,
                                        hsc_arena *arena,
                                        const char **out_path);
// The same, for data that a variable of the environment may name: `variable` set and not empty is
// taken as it is. `what` names the data in the error ("the knowledge base").
HSC_MUST_USE hsc_status *hsc_place_find_data(const char *variable,
                                             const char *name,
                                             const char *what,
                                             hsc_arena *arena,
                                             const char **out_path);
// Opens (dlopen) the first of: the module `own` that was installed with this program, then the
// system's libraries by name, in their order; NULL in the list ends it. Returns NULL when there is
// none, with dlerror's first words in `problem` (may be NULL).
void *hsc_place_open(
    const char *own, const char *const *names, int flags, char *problem, size_t problem_size);
