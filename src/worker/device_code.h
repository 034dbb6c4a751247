// device_code.h - how much machine code a compiled program holds, out of its serialised form, where
// the plugin does not count it.
#pragma once

#include "base/core/bytes.h"

// XLA:GPU answers 0 for the size of its code. Its serialised executable (ExecutableAndOptionsProto,
// field 1) is a file of Riegeli records (github.com/google/riegeli,
// doc/riegeli_records_file_format.md), compressed by Snappy or not, that holds the cubins: ELF
// files for CUDA. *out_bytes: the executable sections of all of them together. False when there are
// none or the bytes are of another form. Reads nothing outside of `serialized`, whatever it holds;
// at most 1 GiB is unpacked.
bool hsc_device_code_bytes(hsc_view serialized, int64_t *out_bytes);
