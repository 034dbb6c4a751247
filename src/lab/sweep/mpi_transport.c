// mpi_transport.c - libhloscope_mpi.so: messages of a sweep over MPI. Opened when --backend mpi
// asks for it, so that hloscope itself runs where there is no MPI.
//
// Sends are MPI_Isend of copies that are kept until they are through: a send to a rank that died
// never is, and nobody waits for it. Only the thread that opened it calls MPI
// (MPI_THREAD_FUNNELED).
#include "lab/sweep/sweep_transport.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 2807 };

typedef struct sending {
  struct sending *next;
  MPI_Request request;
  char data[];
} sending;

typedef struct state {
  hsc_transport transport;
  sending *going;
  char *received;
  int capacity;
  char name[64];
} state;

// Frees what is through.
static void sweep_up(state *s) {
  for (sending **at = &s->going; *at;) {
    sending *one = *at;
    int through = 0;
    if (MPI_Test(&one->request, &through, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      through = 1;
    if (!through) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    free(one);
  }
}

static bool send_message(void *user, int to, const void *data, size_t size) {
  state *s = user;
  sending *one = size <= INT32_MAX ? malloc(sizeof *one + size) : NULL;
  if (!one)
    return false;
  memcpy(one->data, data, size);
  sweep_up(s);
  if (MPI_Isend(one->data, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &one->request) !=
      MPI_SUCCESS) {
    free(one);
    return false;
  }
  one->next = s->going;
  s->going = one;
  return true;
}

static bool receive_message(void *user, int *out_from, const void **out_data, size_t *out_size) {
  state *s = user;
  MPI_Status status;
  int there = 0;
  int size = 0;
  if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
    return false;
  if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS || size < 0)
    return false;
  if (size > s->capacity) {
    char *larger = realloc(s->received, (size_t)size);
    if (!larger)
      return false;
    s->received = larger;
    s->capacity = size;
  }
  if (MPI_Recv(s->received, size, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return false;
  *out_from = status.MPI_SOURCE;
  *out_data = s->received;
  *out_size = (size_t)size;
  return true;
}

// MPI_Finalize waits for every rank; where one is gone it may wait for ever. Then what was sent
// gets a moment to leave, and the process ends without it.
static void finish(void *user, bool whole) {
  state *s = user;
  double end = MPI_Wtime() + 2;
  while (s->going && MPI_Wtime() < end)
    sweep_up(s);
  if (whole)
    MPI_Finalize();
}

__attribute__((visibility("default"))) const hsc_transport *hsc_mpi_open(int abi,
                                                                         const char **out_problem) {
  static state s;
  static char words[MPI_MAX_ERROR_STRING + 64];
  int level = 0;
  int length = 0;
  int initialized = 0;
  if (abi != HSC_TRANSPORT_ABI) {
    *out_problem = "libhloscope_mpi.so is of another build of hloscope";
    return NULL;
  }
  MPI_Initialized(&initialized);
  int code = initialized ? MPI_SUCCESS : MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  if (code != MPI_SUCCESS) {
    MPI_Error_string(code, words, &length);
    *out_problem = words;
    return NULL;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  snprintf(s.name, sizeof s.name, "Open MPI %d.%d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
           OMPI_RELEASE_VERSION);
  s.transport = (hsc_transport){.abi = HSC_TRANSPORT_ABI,
                                .name = s.name,
                                .user = &s,
                                .send = send_message,
                                .receive = receive_message,
                                .finish = finish};
  MPI_Comm_rank(MPI_COMM_WORLD, &s.transport.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.transport.size);
  return &s.transport;
}
