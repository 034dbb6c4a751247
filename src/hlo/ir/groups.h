// groups.h - the groups of devices, and the pairs of senders and receivers, that collectives name
// in text: "{{0,1},{2,3}}"; "[2,2]<=[4]" and "[4,2]<=[2,4]T(1,0)", which are the numbers 0, 1, ...
// in the shape on the right, transposed, cut into rows as the shape on the left says; and
// "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}", of a mesh of devices those that differ along
// the axes in braces (of 'x':(2)4 along the part of size 4 that has 2 before it). The list of ids
// may be left out, or be written out.
#pragma once

#include "hlo/ir/hlo.h"

enum { HSC_MAX_GROUP_IDS = 1 << 16 };

typedef struct hsc_groups {
  int64_t count;         // 0: the text is "{}" or NULL, everybody in one group
  int64_t id_count;      // of all groups together
  const int64_t *ids;    // [id_count] group after group, each >= 0; an id may come more than once
  const int64_t *first;  // [count + 1] where each group begins in `ids`; groups may be empty
} hsc_groups;

// Reads them; the arrays are the arena's. Whether the ids are devices of the program, and each one
// once, is for the caller to say. Errors: INVALID_ARGUMENT (no such text, over HSC_MAX_GROUP_IDS
// ids), RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_groups_parse(hsc_arena *arena, const char *text, hsc_groups *out);
// Whether one of the pairs sends a device's data to itself. A text that is none has no such pair.
bool hsc_pairs_keep(const char *text, int64_t device);
// The members of the largest group, of any text at all; 0 where it has no groups.
int64_t hsc_groups_largest(const char *text);
