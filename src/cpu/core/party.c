// party.c - see party.h. One lock for all meetings: what is done under it is a handful of
// instructions.
#include "cpu/core/party.h"

#include <pthread.h>

typedef struct meeting {
  int32_t place, group, size;
  int32_t waiting;        // ranks that are at the barrier now
  uint64_t generation;    // counts barriers
  void *const **buffers;  // [size] shown by each member
  struct meeting *next;
} meeting;

enum { BUCKETS = 64 };
struct hsc_cpu_party {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int rank_count;
  bool failed;
  meeting *meetings[BUCKETS];
};

hsc_status *hsc_cpu_party_create(int rank_count, hsc_cpu_party **out_party) {
  hsc_cpu_party *party = *out_party = hsc_alloc(sizeof *party);
  if (!party)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&party->lock, NULL);
  pthread_cond_init(&party->changed, NULL);
  party->rank_count = rank_count;
  return NULL;
}

void hsc_cpu_party_destroy(hsc_cpu_party *party) {
  if (!party)
    return;
  for (int b = 0; b < BUCKETS; b++)
    for (meeting *m = party->meetings[b], *next; m; m = next) {
      next = m->next;
      hsc_free(m->buffers);
      hsc_free(m);
    }
  pthread_mutex_destroy(&party->lock);
  pthread_cond_destroy(&party->changed);
  hsc_free(party);
}

void hsc_cpu_party_fail(hsc_cpu_party *party) {
  pthread_mutex_lock(&party->lock);
  party->failed = true;
  pthread_cond_broadcast(&party->changed);
  pthread_mutex_unlock(&party->lock);
}

int hsc__cpu_party_rank_count(const hsc_cpu_party *party) {
  return party ? party->rank_count : 1;
}

// Under the lock; NULL = no memory.
static meeting *meeting_at(hsc_cpu_party *party, int32_t place, int32_t group, int32_t size) {
  meeting **bucket = &party->meetings[((uint32_t)place * 31u + (uint32_t)group) % BUCKETS];
  for (meeting *m = *bucket; m; m = m->next)
    if (m->place == place && m->group == group)
      return m;
  meeting *m = hsc_alloc(sizeof *m);
  if (!m)
    return NULL;
  *m = (meeting){.place = place,
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

// Those that came together part together: the second barrier waits for the others' reading even
// when the party has failed meanwhile.
static hsc_status *barrier_locked(hsc_cpu_party *party, meeting *m, bool gives_up) {
  uint64_t generation = m->generation;
  if (++m->waiting == m->size) {
    m->waiting = 0;
    m->generation++;
    pthread_cond_broadcast(&party->changed);
  }
  while (m->generation == generation && !(gives_up && party->failed))
    pthread_cond_wait(&party->changed, &party->lock);
  return m->generation != generation ? NULL
                                     : HSC_ERR(ABORTED, "another device of this program failed");
}

hsc_status *hsc__cpu_party_meet(hsc_cpu_party *party,
                                int32_t place,
                                int32_t group,
                                int32_t position,
                                int32_t size,
                                void *const *buffers,
                                void *const *const **out_all) {
  pthread_mutex_lock(&party->lock);
  meeting *m = meeting_at(party, place, group, size);
  hsc_status *status = m ? NULL : hsc_status_out_of_memory();
  if (m && party->failed) {
    status = HSC_ERR(ABORTED, "another device of this program failed");
  } else if (m) {
    m->buffers[position] = buffers;
    *out_all = m->buffers;
    status = barrier_locked(party, m, true);
  } else {
    party->failed = true;
    pthread_cond_broadcast(&party->changed);
  }
  pthread_mutex_unlock(&party->lock);
  return status;
}

hsc_status *hsc__cpu_party_part(hsc_cpu_party *party, int32_t place, int32_t group, int32_t size) {
  pthread_mutex_lock(&party->lock);
  hsc_status *status = barrier_locked(party, meeting_at(party, place, group, size), false);
  pthread_mutex_unlock(&party->lock);
  return status;
}
