// program_reference.h - what XLA:CPU made of the programs in models/ (reference/*.json), for test
// programs in C. README.md says when a result agrees.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct program_reference program_reference;

// `path`: reference/<name>.json or .json.gz.
HSC_MUST_USE hsc_status *program_reference_read(const char *path,
                                                program_reference **out_reference);
void program_reference_destroy(program_reference *reference);
const char *program_reference_program(const program_reference *reference);  // "tiny_scan"
// "models/patterns/tiny_scan.hlo", relative to the source root
const char *program_reference_hlo(const program_reference *reference);
uint64_t program_reference_seed(const program_reference *reference);  // for hsc_literal_fill
int program_reference_output_count(const program_reference *reference);
// True when leaf `output` agrees. `arguments` are what the program ran on: training steps are
// judged by what they changed, too. Else out_why (appended) tells which figure is off, and by how
// much.
bool program_reference_judge(const program_reference *reference,
                             int output,
                             const hsc_literal *result,
                             hsc_literal *const *arguments,
                             hsc_bytes *out_why);
