// proof.h - checks a knowledge base against its own proofs.
//
// Each entry must be found in each of its own logs, and no other entry may be found there but those
// it names under `also`. Entries, expressions and logs that are wrong become problems with file and
// line. Programs are not run here (see docs/formats/knowledge.md).
#pragma once

#include "doctor/knowledge.h"

typedef struct hsc_proof_result {
  hsc_knowledge_problem *problems;  // in `arena`
  size_t problem_count;
  size_t entry_count, log_count, program_count;  // that were looked at
} hsc_proof_result;

// `id`: only this entry; NULL = all. Errors: NOT_FOUND (no such entry), RESOURCE_EXHAUSTED.
// Problems are no error.
HSC_MUST_USE hsc_status *hsc_knowledge_prove(const hsc_knowledge *knowledge,
                                             const char *id,
                                             hsc_arena *arena,
                                             hsc_proof_result *out_result);
// Whether the entry is found in a text: for proofs by a program, whose output is the text.
HSC_MUST_USE hsc_status *hsc_entry_found_in(const hsc_knowledge *knowledge,
                                            const hsc_entry *entry,
                                            hsc_view text,
                                            bool *out_found);
