// communicator.c - see communicator.h. One lock for all rendezvous: what is done under it is a
// handful of instructions.
#include "cpu/core/communicator.h"

#include <pthread.h>

typedef struct rendezvous {
  int32_t thunk, group, size;
  int32_t waiting;        // ranks that are at the barrier now
  uint64_t generation;    // counts barriers
  void *const **buffers;  // [size] published by each member
  struct rendezvous *next;
} rendezvous;

enum { BUCKETS = 64 };
struct hsc_cpu_communicator {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int rank_count;
  bool failed;
  rendezvous *by_thunk[BUCKETS];
};

hsc_status *hsc_cpu_communicator_create(int rank_count, hsc_cpu_communicator **out_communicator) {
  hsc_cpu_communicator *communicator = *out_communicator = hsc_alloc(sizeof *communicator);
  if (!communicator)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&communicator->lock, NULL);
  pthread_cond_init(&communicator->changed, NULL);
  communicator->rank_count = rank_count;
  return NULL;
}

void hsc_cpu_communicator_destroy(hsc_cpu_communicator *communicator) {
  if (!communicator)
    return;
  for (int b = 0; b < BUCKETS; b++)
    for (rendezvous *m = communicator->by_thunk[b], *next; m; m = next) {
      next = m->next;
      hsc_free(m->buffers);
      hsc_free(m);
    }
  pthread_mutex_destroy(&communicator->lock);
  pthread_cond_destroy(&communicator->changed);
  hsc_free(communicator);
}

void hsc_cpu_communicator_fail(hsc_cpu_communicator *communicator) {
  pthread_mutex_lock(&communicator->lock);
  communicator->failed = true;
  pthread_cond_broadcast(&communicator->changed);
  pthread_mutex_unlock(&communicator->lock);
}

int hsc__cpu_communicator_rank_count(const hsc_cpu_communicator *communicator) {
  return communicator ? communicator->rank_count : 1;
}

// Under the lock; NULL = no memory.
static rendezvous *rendezvous_at(hsc_cpu_communicator *communicator,
                                 int32_t thunk,
                                 int32_t group,
                                 int32_t size) {
  rendezvous **bucket =
      &communicator->by_thunk[((uint32_t)thunk * 31u + (uint32_t)group) % BUCKETS];
  for (rendezvous *m = *bucket; m; m = m->next)
    if (m->thunk == thunk && m->group == group)
      return m;
  rendezvous *m = hsc_alloc(sizeof *m);
  if (!m)
    return NULL;
  *m = (rendezvous){.thunk = thunk,
                    .group = group,
                    .size = size,
                    .buffers = hsc_alloc(sizeof(void *const *) * (size_t)size),
                    .next = *bucket};
  if (!m->buffers) {
    hsc_free(m);
    return NULL;
  }
  return *bucket = m;
}

// Ranks that entered together leave together: the second barrier waits for the others' reads even
// when the communicator has failed meanwhile, because they read this rank's buffers.
static hsc_status *barrier_locked(hsc_cpu_communicator *communicator,
                                  rendezvous *m,
                                  bool gives_up) {
  uint64_t generation = m->generation;
  if (++m->waiting == m->size) {
    m->waiting = 0;
    m->generation++;
    pthread_cond_broadcast(&communicator->changed);
  }
  while (m->generation == generation && !(gives_up && communicator->failed))
    pthread_cond_wait(&communicator->changed, &communicator->lock);
  return m->generation != generation ? NULL
                                     : HSC_ERR(ABORTED, "another device of this program failed");
}

hsc_status *hsc__cpu_communicator_enter(hsc_cpu_communicator *communicator,
                                        int32_t thunk,
                                        int32_t group,
                                        int32_t position,
                                        int32_t size,
                                        void *const *buffers,
                                        void *const *const **out_all) {
  pthread_mutex_lock(&communicator->lock);
  rendezvous *m = rendezvous_at(communicator, thunk, group, size);
  hsc_status *status = m ? NULL : hsc_status_out_of_memory();
  if (m && communicator->failed) {
    status = HSC_ERR(ABORTED, "another device of this program failed");
  } else if (m) {
    m->buffers[position] = buffers;
    *out_all = m->buffers;
    status = barrier_locked(communicator, m, true);
  } else {
    communicator->failed = true;
    pthread_cond_broadcast(&communicator->changed);
  }
  pthread_mutex_unlock(&communicator->lock);
  return status;
}

hsc_status *hsc__cpu_communicator_leave(hsc_cpu_communicator *communicator,
                                        int32_t thunk,
                                        int32_t group,
                                        int32_t size) {
  pthread_mutex_lock(&communicator->lock);
  hsc_status *status =
      barrier_locked(communicator, rendezvous_at(communicator, thunk, group, size), false);
  pthread_mutex_unlock(&communicator->lock);
  return status;
}
