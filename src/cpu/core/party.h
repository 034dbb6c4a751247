// party.h - several runs of one program at the same time, one per device, that meet at its
// collectives.
//
// Every rank runs on a thread of its own. At a collective the members of a group meet twice: when
// all have shown their buffers, each reads what it needs from the others' memory into its own
// result; nobody goes on before all have read. A rank that fails ends the party: those that wait
// for it get ABORTED. Threads: all functions may be called from any rank's thread. Memory: the
// creator's.
#pragma once

#include "cpu/core/cpu.h"

typedef struct hsc_cpu_party hsc_cpu_party;
HSC_MUST_USE hsc_status *hsc_cpu_party_create(int rank_count, hsc_cpu_party **out_party);
void hsc_cpu_party_destroy(hsc_cpu_party *party);  // when all ranks are done
// A rank is done with an error: nobody waits any more.
void hsc_cpu_party_fail(hsc_cpu_party *party);

// Meets the other members of a group at a place of the program: shows `buffers`; on return
// all[position] are the members' (borrowed until hsc__cpu_party_part). Errors: ABORTED when another
// rank failed, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__cpu_party_meet(hsc_cpu_party *party,
                                             int32_t place,
                                             int32_t group,
                                             int32_t position,
                                             int32_t size,
                                             void *const *buffers,
                                             void *const *const **out_all);
HSC_MUST_USE hsc_status *hsc__cpu_party_part(hsc_cpu_party *party,
                                             int32_t place,
                                             int32_t group,
                                             int32_t size);
int hsc__cpu_party_rank_count(const hsc_cpu_party *party);
