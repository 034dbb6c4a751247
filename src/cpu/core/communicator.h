// communicator.h - several runs of one program at the same time, one per device, that exchange
// data at its collectives.
//
// Every rank runs on a thread of its own. A collective is a rendezvous with two barriers: when all
// members of a group have published their buffers, each reads what it needs from the others' memory
// into its own result; no member goes on before all have read. Ranks may be in several processes:
// the last member of a process to arrive sends its members' buffers there and receives theirs, so
// that all compute from the same operands in the same order, and get the same bits as in one
// process. A rank that fails ends the communicator: ranks that wait for it get ABORTED.
// Threads: all functions may be called from any rank's thread. Memory: the creator's.
#pragma once

#include "cpu/core/cpu.h"

typedef struct hsc_cpu_communicator hsc_cpu_communicator;

// Which buffer a message between processes is; equal on both sides.
typedef struct hsc_cpu_message {
  uint64_t run;                 // of hsc_cpu_remote
  int32_t thunk, group, round;  // which collective, and how often this run came to it
  int32_t member, buffer;       // whose operand, which one
  int32_t unused;               // 0: messages are compared as bytes
} hsc_cpu_message;

// The ranks that run in other processes, and how they are reached. Whoever makes the communicator
// keeps it, and what `user` is, until the communicator is destroyed.
typedef struct hsc_cpu_remote {
  const int32_t *process_of;  // [rank_count]
  int32_t process;            // this one
  uint64_t run;               // of this run of the program, the same in all processes
  void *user;
  // Both may block, are called without locks from any rank's thread, and fail for good: UNAVAILABLE
  // (the process is gone), ABORTED (a rank there failed), DEADLINE_EXCEEDED.
  hsc_status *(*send_to)(
      void *user, int32_t process, const hsc_cpu_message *message, const void *data, size_t bytes);
  hsc_status *(*receive_from)(
      void *user, int32_t process, const hsc_cpu_message *message, void *out_data, size_t bytes);
  // A rank of this process failed: the others need not wait.
  void (*give_up)(void *user, uint64_t run);
} hsc_cpu_remote;

// remote: NULL where all ranks are in this process.
HSC_MUST_USE hsc_status *hsc_cpu_communicator_create(int rank_count,
                                                     const hsc_cpu_remote *remote,
                                                     hsc_cpu_communicator **out_communicator);
void hsc_cpu_communicator_destroy(hsc_cpu_communicator *communicator);  // when all ranks are done
// A rank is done with an error: nobody waits any more.
void hsc_cpu_communicator_fail(hsc_cpu_communicator *communicator);

// One member's view of a collective.
typedef struct hsc_cpu_meeting {
  int32_t thunk, group;        // which
  int32_t position, size;      // this member of so many
  const int32_t *members;      // [size] ranks by position; NULL: the rank is the position
  int32_t buffer_count;        // each member publishes so many,
  const size_t *buffer_bytes;  // [buffer_count] of these sizes
  void *const *buffers;        // [buffer_count]
} hsc_cpu_meeting;

// Waits until all members have entered. Publishes the buffers; on return all[position] are the
// members' buffers (borrowed until hsc__cpu_communicator_leave): those of other processes are
// copies. Errors: ABORTED when another rank failed, RESOURCE_EXHAUSTED, what `receive_from` says.
HSC_MUST_USE hsc_status *hsc__cpu_communicator_enter(hsc_cpu_communicator *communicator,
                                                     const hsc_cpu_meeting *meeting,
                                                     void *const *const **out_all);
// Waits until all members of this process have read; from then on each may reuse its buffers.
HSC_MUST_USE hsc_status *hsc__cpu_communicator_leave(hsc_cpu_communicator *communicator,
                                                     const hsc_cpu_meeting *meeting);
int hsc__cpu_communicator_rank_count(const hsc_cpu_communicator *communicator);
