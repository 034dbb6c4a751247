// line_match.h - finds which entries of a knowledge base speak of a line, fast enough for
// gigabytes.
//
// The search (Wu and Manber 1994, "A fast algorithm for multi-pattern searching") looks for one
// literal of every match at once, skipping several bytes at a time; only a line that holds one is
// looked at closely: all its literals, then the expression (PCRE2 with JIT, bounded). Costs about 1
// ns a byte of text without matches. A matcher belongs to one thread; the base must outlive it.
#pragma once

#include "doctor/knowledge.h"

typedef struct hsc_matcher hsc_matcher;
// A match whose expression is malformed is left out; hsc_matcher_problems tells. Errors:
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_matcher_create(const hsc_knowledge *knowledge,
                                            hsc_matcher **out_matcher);
void hsc_matcher_destroy(hsc_matcher *matcher);
const hsc_knowledge_problem *hsc_matcher_problems(const hsc_matcher *matcher, size_t *out_count);

// What the expression's named groups held; empty views when there are none. They point into the
// line.
typedef struct hsc_capture_groups {
  hsc_view module, seconds, subject, package, version;
} hsc_capture_groups;

// The next place at or after *io_at where a literal that leads a match is (its window of rare
// bytes), and which one. Begin with *io_anchor = -1; give both back as they are to go on. False =
// there is none. `size` bytes at `text` and 4 more must be readable.
bool hsc_matcher_next(
    const hsc_matcher *matcher, const char *text, size_t size, size_t *io_at, int *io_anchor);
// Whether the match of this anchor holds for the whole line, in which its literal was found at
// `place`. *out_groups is written in any case.
bool hsc_matcher_try(hsc_matcher *matcher,
                     int anchor,
                     hsc_view line,
                     const char *place,
                     hsc_capture_groups *out_groups);
size_t hsc_matcher_entry_of(const hsc_matcher *matcher, int anchor);  // index in the base
