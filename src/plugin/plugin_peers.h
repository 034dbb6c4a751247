// plugin_peers.h - the other processes of a job that one host started with jax.distributed or the
// like: who they are, and messages to and from them.
//
// They find each other through the key-value store that the host hands to PJRT_Client_Create, and
// speak over TCP, one connection a pair. TCP because nothing else is on every machine where the
// plugin runs: Gloo is a C++ library that no distribution of ours has, and MPI wants to be the one
// who starts the processes, which jax.distributed is.
#pragma once

#include "cpu/core/communicator.h"
#include "pjrt/abi.h"

typedef struct hsc__peers hsc__peers;

typedef struct hsc__peers_options {
  int process, process_count;  // this one, of so many
  int device_count;            // of this process
  PJRT_KeyValueGetCallback get;
  void *get_user;
  PJRT_KeyValuePutCallback put;
  void *put_user;
} hsc__peers_options;

// Tells the others about this process, waits for all of them (two minutes) and connects. A process
// alone has itself to send to, and needs no key-value store.
// out_device_counts [process_count]: how many devices each has. Errors: FAILED_PRECONDITION (no
// key-value store), DEADLINE_EXCEEDED, UNAVAILABLE; each names the process.
HSC_MUST_USE hsc_status *hsc__peers_create(const hsc__peers_options *options,
                                           int *out_device_counts,
                                           hsc__peers **out_peers);
void hsc__peers_destroy(hsc__peers *peers);  // NULL is fine

// For hsc_cpu_remote: `user` is the hsc__peers. A receive waits ten minutes at most
// (HLOSCOPE_COLLECTIVE_TIMEOUT, seconds).
hsc_status *hsc__peers_send(
    void *user, int32_t process, const hsc_cpu_message *message, const void *data, size_t bytes);
hsc_status *hsc__peers_receive(
    void *user, int32_t process, const hsc_cpu_message *message, void *out_data, size_t bytes);
void hsc__peers_give_up(void *user, uint64_t run);
// The same, told to one process only, which may be this one.
void hsc__peers_give_up_to(hsc__peers *peers, int32_t process, uint64_t run);
// The run is over: what came for it and was not read is dropped.
void hsc__peers_forget(hsc__peers *peers, uint64_t run);
// A number for the next run of a program: the same in all processes that run the same programs in
// the same order. `program` tells programs apart, and is alike in all processes.
uint64_t hsc__peers_next_run(hsc__peers *peers, uint64_t program);
