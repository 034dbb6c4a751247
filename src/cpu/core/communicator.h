// communicator.h - several runs of one program at the same time, one per device, that exchange
// data at its collectives.
//
// Every rank runs on a thread of its own. A collective is a rendezvous with two barriers: when all
// members of a group have published their buffers, each reads what it needs from the others' memory
// into its own result; no member goes on before all have read. A rank that fails ends the
// communicator: ranks that wait for it get ABORTED. Threads: all functions may be called from any
// rank's thread. Memory: the creator's.
#pragma once

#include "cpu/core/cpu.h"

typedef struct hsc_cpu_communicator hsc_cpu_communicator;
HSC_MUST_USE hsc_status *hsc_cpu_communicator_create(int rank_count,
                                                     hsc_cpu_communicator **out_communicator);
void hsc_cpu_communicator_destroy(hsc_cpu_communicator *communicator);  // when all ranks are done
// A rank is done with an error: nobody waits any more.
void hsc_cpu_communicator_fail(hsc_cpu_communicator *communicator);

// Waits until all `size` members of a group have entered the collective that is thunk number
// `thunk`. Publishes `buffers`; on return all[position] are the members' buffers (borrowed until
// hsc__cpu_communicator_leave). Errors: ABORTED when another rank failed, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc__cpu_communicator_enter(hsc_cpu_communicator *communicator,
                                                     int32_t thunk,
                                                     int32_t group,
                                                     int32_t position,
                                                     int32_t size,
                                                     void *const *buffers,
                                                     void *const *const **out_all);
// Waits until all members have read; from then on each may reuse its buffers.
HSC_MUST_USE hsc_status *hsc__cpu_communicator_leave(hsc_cpu_communicator *communicator,
                                                     int32_t thunk,
                                                     int32_t group,
                                                     int32_t size);
int hsc__cpu_communicator_rank_count(const hsc_cpu_communicator *communicator);
