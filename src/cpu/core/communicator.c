// communicator.c - see communicator.h. One lock for all rendezvous: what is done under it is a
// handful of instructions.
#include "cpu/core/communicator.h"

#include <pthread.h>

typedef struct rendezvous {
  int32_t thunk, group, size;
  int32_t here;           // members in this process
  int32_t waiting;        // of them are at the barrier now
  int32_t round;          // exchanges with other processes so far
  uint64_t generation;    // counts barriers
  void *const **buffers;  // [size] published by each member
  void ***copies;         // [size] what other processes' members published; NULL = is here
  int32_t copy_count;     // buffers of each of them
  struct rendezvous *next;
} rendezvous;

enum { BUCKETS = 64 };
struct hsc_cpu_communicator {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  const hsc_cpu_remote *remote;  // NULL = all ranks are here
  int rank_count;
  bool failed, told;  // told: the other processes know
  rendezvous *by_thunk[BUCKETS];
};

hsc_status *hsc_cpu_communicator_create(int rank_count,
                                        const hsc_cpu_remote *remote,
                                        hsc_cpu_communicator **out_communicator) {
  hsc_cpu_communicator *communicator = *out_communicator = hsc_alloc(sizeof *communicator);
  if (!communicator)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&communicator->lock, NULL);
  pthread_cond_init(&communicator->changed, NULL);
  communicator->rank_count = rank_count;
  communicator->remote = remote;
  return NULL;
}

static void rendezvous_free(rendezvous *m) {
  for (int32_t k = 0; m->copies && k < m->size; k++) {
    for (int32_t b = 0; m->copies[k] && b < m->copy_count; b++)
      hsc_free(m->copies[k][b]);
    hsc_free(m->copies[k]);
  }
  hsc_free(m->copies);
  hsc_free(m->buffers);
  hsc_free(m);
}

void hsc_cpu_communicator_destroy(hsc_cpu_communicator *communicator) {
  if (!communicator)
    return;
  for (int b = 0; b < BUCKETS; b++)
    for (rendezvous *m = communicator->by_thunk[b], *next; m; m = next) {
      next = m->next;
      rendezvous_free(m);
    }
  pthread_mutex_destroy(&communicator->lock);
  pthread_cond_destroy(&communicator->changed);
  hsc_free(communicator);
}

void hsc_cpu_communicator_fail(hsc_cpu_communicator *communicator) {
  pthread_mutex_lock(&communicator->lock);
  bool is_first = !communicator->told;
  communicator->failed = true;
  communicator->told = true;
  pthread_cond_broadcast(&communicator->changed);
  pthread_mutex_unlock(&communicator->lock);
  if (is_first && communicator->remote)
    communicator->remote->give_up(communicator->remote->user, communicator->remote->run);
}

int hsc__cpu_communicator_rank_count(const hsc_cpu_communicator *communicator) {
  return communicator ? communicator->rank_count : 1;
}

static int32_t process_of(const hsc_cpu_remote *remote, const hsc_cpu_meeting *meeting, int32_t k) {
  return remote->process_of[meeting->members ? meeting->members[k] : k];
}

static int32_t members_here(const hsc_cpu_remote *remote, const hsc_cpu_meeting *meeting) {
  int32_t here = remote ? 0 : meeting->size;
  for (int32_t k = 0; remote && k < meeting->size; k++)
    here += process_of(remote, meeting, k) == remote->process;
  return here;
}

// Room for what the members in other processes publish; false = no memory.
static bool make_copies(rendezvous *m,
                        const hsc_cpu_remote *remote,
                        const hsc_cpu_meeting *meeting) {
  m->copy_count = meeting->buffer_count;
  m->copies = hsc_alloc(sizeof(void **) * (size_t)m->size);
  for (int32_t k = 0; m->copies && k < m->size; k++) {
    if (process_of(remote, meeting, k) == remote->process)
      continue;
    m->copies[k] = hsc_alloc(sizeof(void *) * (size_t)(m->copy_count + 1));
    if (!m->copies[k])
      return false;
    for (int32_t b = 0; b < m->copy_count; b++) {
      m->copies[k][b] = hsc_alloc(meeting->buffer_bytes[b] + 1);
      if (!m->copies[k][b])
        return false;
    }
    m->buffers[k] = m->copies[k];
  }
  return m->copies != NULL;
}

// Under the lock; NULL = no memory.
static rendezvous *rendezvous_at(hsc_cpu_communicator *communicator,
                                 const hsc_cpu_meeting *meeting) {
  rendezvous **bucket =
      &communicator
           ->by_thunk[((uint32_t)meeting->thunk * 31u + (uint32_t)meeting->group) % BUCKETS];
  for (rendezvous *m = *bucket; m; m = m->next)
    if (m->thunk == meeting->thunk && m->group == meeting->group)
      return m;
  rendezvous *m = hsc_alloc(sizeof *m);
  if (!m)
    return NULL;
  *m = (rendezvous){.thunk = meeting->thunk,
                    .group = meeting->group,
                    .size = meeting->size,
                    .here = members_here(communicator->remote, meeting),
                    .buffers = hsc_alloc(sizeof(void *const *) * (size_t)meeting->size),
                    .next = *bucket};
  if (!m->buffers || (m->here < m->size && !make_copies(m, communicator->remote, meeting))) {
    rendezvous_free(m);
    return NULL;
  }
  return *bucket = m;
}

// What the members here published goes to each process that has members, and theirs comes back.
// Without the lock: the other members of this process wait at the barrier.
static hsc_status *exchange(const hsc_cpu_remote *remote,
                            const rendezvous *m,
                            const hsc_cpu_meeting *meeting) {
  for (int32_t to = 0; to < m->size; to++) {
    int32_t process = process_of(remote, meeting, to);
    bool is_done = process == remote->process;
    for (int32_t before = 0; before < to; before++)
      is_done = is_done || process_of(remote, meeting, before) == process;
    for (int32_t k = 0; !is_done && k < m->size; k++) {
      if (m->copies[k])
        continue;
      for (int32_t b = 0; b < meeting->buffer_count; b++) {
        hsc_cpu_message message = {remote->run, m->thunk, m->group, m->round, k, b};
        HSC_TRY(remote->send_to(remote->user, process, &message, m->buffers[k][b],
                                meeting->buffer_bytes[b]));
      }
    }
  }
  for (int32_t k = 0; k < m->size; k++)
    for (int32_t b = 0; m->copies[k] && b < meeting->buffer_count; b++) {
      hsc_cpu_message message = {remote->run, m->thunk, m->group, m->round, k, b};
      HSC_TRY(remote->receive_from(remote->user, process_of(remote, meeting, k), &message,
                                   m->copies[k][b], meeting->buffer_bytes[b]));
    }
  return NULL;
}

// Ranks that entered together leave together: the second barrier waits for the others' reads even
// when the communicator has failed meanwhile, because they read this rank's buffers.
static hsc_status *barrier_locked(hsc_cpu_communicator *communicator,
                                  rendezvous *m,
                                  bool gives_up) {
  uint64_t generation = m->generation;
  if (++m->waiting == m->here) {
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
                                        const hsc_cpu_meeting *meeting,
                                        void *const *const **out_all) {
  pthread_mutex_lock(&communicator->lock);
  rendezvous *m = rendezvous_at(communicator, meeting);
  hsc_status *status = m ? NULL : hsc_status_out_of_memory();
  if (m && !communicator->failed) {
    m->buffers[meeting->position] = meeting->buffers;
    *out_all = m->buffers;
    bool is_last = m->waiting + 1 == m->here;
    if (is_last && m->here < m->size) {
      pthread_mutex_unlock(&communicator->lock);
      status = exchange(communicator->remote, m, meeting);
      pthread_mutex_lock(&communicator->lock);
      m->round++;
    }
    if (!status)
      status = barrier_locked(communicator, m, true);
  } else if (m) {
    status = HSC_ERR(ABORTED, "another device of this program failed");
  }
  if (status) {  // whoever waits here for this member goes on
    communicator->failed = true;
    pthread_cond_broadcast(&communicator->changed);
  }
  pthread_mutex_unlock(&communicator->lock);
  return status;
}

hsc_status *hsc__cpu_communicator_leave(hsc_cpu_communicator *communicator,
                                        const hsc_cpu_meeting *meeting) {
  pthread_mutex_lock(&communicator->lock);
  hsc_status *status = barrier_locked(communicator, rendezvous_at(communicator, meeting), false);
  pthread_mutex_unlock(&communicator->lock);
  return status;
}
