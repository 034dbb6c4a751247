// build_id.h - which build of hloscope runs.
#pragma once

#include "base/core/base.h"

// Which build of hloscope runs: the linker's build id of the program or library that this is part
// of, in hex (any change of the code changes it); the version where it has none. Static. What a
// build writes for itself alone carries it.
const char *hsc_build_id(void);
// The same of an ELF file, NUL-terminated; "" where there is none, or no such file.
void hsc_build_id_of_file(const char *path, char out_text[41]);
