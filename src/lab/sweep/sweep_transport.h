// sweep_transport.h - messages between the processes of one run of a sweep, whoever carries them.
//
// libhloscope_mpi.so gives one over MPI (mpi_transport.c); tests give one over threads. A message
// is a run of bytes; those from one rank to another arrive in order. Every call comes from the
// thread that opened the transport.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Of this struct; a module of another build says another number and is not used.
enum { HSC_TRANSPORT_ABI = 1 };

typedef struct hsc_transport {
  int abi;
  int rank, size;
  const char *name;  // "Open MPI 4.1.4"
  void *user;
  // Takes a copy and returns at once. False: the rank cannot be reached.
  bool (*send)(void *user, int to, const void *data, size_t size);
  // The next message, without waiting. False: none is there. *out_data is the transport's, good
  // until the next call.
  bool (*receive)(void *user, int *out_from, const void **out_data, size_t *out_size);
  // Ends it. `whole`: every rank is there and ends too; else this process only.
  void (*finish)(void *user, bool whole);
} hsc_transport;

// The one function of libhloscope_mpi.so. NULL: *out_problem says why, a text that stays.
typedef const hsc_transport *hsc_transport_open(int abi, const char **out_problem);
#define HSC_TRANSPORT_SYMBOL "hsc_mpi_open"
