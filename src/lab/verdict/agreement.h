// agreement.h - what a comparison of numbers may say.
//
// A verdict cannot be made without its coverage. An agreement is told of each thing that was to be
// compared exactly once: either what comparing it found, or why it was not compared. The verdict,
// the sentence, the JSON and the exit code are computed from these entries and from nothing else,
// so "equal" about something that nobody looked at has no way to be written.
//
//   hsc_agreement *a;
//   HSC_TRY(hsc_agreement_create("stage", &a));
//   hsc_agreement_compared(a, "fusion", HSC_FINDING_EQUAL);
//   hsc_agreement_gap(a, json_pack("{s:i}", "run", 14), "run 14, fusion", "no known meaning: f");
//   hsc_agreement_verdict(a);    // HSC_AGREEMENT_PARTLY
//   hsc_agreement_sentence(a, &out);
//   // "equal as far as compared: 1 of 2 stages; not compared: run 14, fusion: no known meaning: f"
//
// docs/verdicts.md says for each verb what its verdict covers. Memory: what is given is copied. An
// allocation that fails leaves the agreement without an answer: UNKNOWN, and the status of
// hsc_agreement_status.
#pragma once

#include <jansson.h>

#include "base/core/bytes.h"
#include "base/core/status.h"

// What comparing one thing found, the worst last.
typedef enum hsc_finding {
  HSC_FINDING_EQUAL,  // bit by bit
  HSC_FINDING_CLOSE,  // within what the types' precision allows
  // beyond it, and no more than a last place of the program's inputs moves its outputs
  HSC_FINDING_ROUNDING,
  HSC_FINDING_DIFFERENT,
} hsc_finding;
const char *hsc_finding_text(hsc_finding finding);  // "equal", "close", "rounding", "different"
// The finding of such a word; false for any other.
bool hsc_finding_parse(const char *text, hsc_finding *out_finding);

typedef enum hsc_agreement_verdict {
  HSC_AGREEMENT_EQUAL,      // everything was compared, and all of it is equal
  HSC_AGREEMENT_CLOSE,      // everything was compared; what differs is close or rounding
  HSC_AGREEMENT_DIFFERENT,  // something that was compared differs
  HSC_AGREEMENT_PARTLY,     // what was compared agrees; something was not compared
  HSC_AGREEMENT_UNKNOWN,    // nothing was compared
} hsc_agreement_verdict;

typedef struct hsc_agreement hsc_agreement;
// `unit`: what is compared, singular: "stage", "output".
HSC_MUST_USE hsc_status *hsc_agreement_create(const char *unit, hsc_agreement **out_agreement);
void hsc_agreement_destroy(hsc_agreement *agreement);  // NULL is fine

// One thing was compared. `name` as a sentence would call it ("run 14, fusion").
void hsc_agreement_compared(hsc_agreement *agreement, const char *name, hsc_finding finding);
// One thing is what the others are compared with: it is covered, and by itself shows nothing.
void hsc_agreement_anchor(hsc_agreement *agreement, const char *name);
// One thing was to be compared and was not. `key`, an object, takes "reason" and is the row of
// not_compared in JSON; stolen.
void hsc_agreement_gap(hsc_agreement *agreement, json_t *key, const char *name, const char *reason);
// The same of things of which not even the number is known, for what has them failed: they are in
// no count.
void hsc_agreement_gap_uncounted(hsc_agreement *agreement,
                                 json_t *key,
                                 const char *name,
                                 const char *reason);

size_t hsc_agreement_wanted(const hsc_agreement *agreement);
hsc_agreement_verdict hsc_agreement_verdict_of(const hsc_agreement *agreement);
// "equal", "close", "different", "partly", "unknown"
const char *hsc_agreement_text(hsc_agreement_verdict verdict);
// 0 equal or close, 1 different, 3 partly or unknown
int hsc_agreement_exit_code(const hsc_agreement *agreement);
// The same for a document's "verdict"; a word that is none: 3.
int hsc_agreement_exit_code_of(const char *verdict);
// One sentence with the verdict, how much it covers, and the gaps with their reasons.
void hsc_agreement_sentence(const hsc_agreement *agreement, hsc_bytes *out);
// {"<unit>s": n, "compared": n, "not_compared": [{key..., "reason"}]}. A new reference; NULL = no
// memory.
json_t *hsc_agreement_coverage(const hsc_agreement *agreement);
// Puts "verdict", "coverage" and "headline" (the sentence) into a document. Errors:
// RESOURCE_EXHAUSTED, now or when an entry was made.
HSC_MUST_USE hsc_status *hsc_agreement_into(const hsc_agreement *agreement, json_t *document);
