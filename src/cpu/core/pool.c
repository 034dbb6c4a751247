// pool.c - see pool.h. One 64-bit word, the ticket, holds everything that a claim depends on:
//
//   bits 48..63 generation of the loop   bits 24..47 chunk count   bits 0..23 next chunk to claim
//
// A worker claims by compare-and-swap of the ticket, so it can never claim a chunk of a loop that
// is over. It reads the function and context only after the claim: the loop cannot end before the
// chunk is done, so they are stable. A worker that sleeps through many loops and succeeds with an
// old ticket value has claimed a chunk of the loop that is running now, which is what it then
// reads.
#include "base/core/float_mode.h"
#include "base/core/clock.h"
#include "cpu/core/pool.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_THREADS = 256, CHUNK_BITS = 24 };
// A worker spins between two loops of one execution. Where loops are farther apart than that it is
// time of a core for nothing: each spin in vain halves the next ones, down to the least, and each
// that found work gives the whole time back.
static const int64_t WORKER_SPIN_NS = 40 * 1000;
static const int64_t LEAST_SPIN_NS = 5 * 1000;
static const int64_t CALLER_SPIN_NS = 30 * 1000;  // for the last chunks of others
#define CHUNK_MASK (((uint64_t)1 << CHUNK_BITS) - 1)

typedef struct worker {
  hsc_cpu_pool *pool;
  pthread_t thread;
  int number;  // 1 ..
} worker;

struct hsc_cpu_pool {
  int thread_count;
  _Alignas(64) _Atomic uint64_t ticket;
  hsc_cpu_chunk_function function;
  void *context;
  // chunks done of the loop; futex of a waiting caller
  _Alignas(64) _Atomic uint32_t done_count;
  _Atomic uint32_t caller_waits;
  // changes when there is work or the end; futex of sleeping workers
  _Alignas(64) _Atomic uint32_t wake_word;
  _Atomic uint32_t sleeper_count;
  _Atomic uint32_t stop;
  _Alignas(64) _Atomic uint32_t taken;  // a caller holds the pool
  bool started;                         // under `taken`
  int started_count;
  worker workers[MAX_THREADS];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void pause_core(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Claims and does one chunk; false when there is none.
static bool do_chunk(hsc_cpu_pool *pool, int number) {
  uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
  for (;;) {
    uint64_t next = ticket & CHUNK_MASK;
    uint64_t count = (ticket >> CHUNK_BITS) & CHUNK_MASK;
    if (next >= count)
      return false;
    if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket + 1,
                                              memory_order_acq_rel, memory_order_acquire)) {
      pool->function(pool->context, (int64_t)next, number);
      uint32_t done = atomic_fetch_add_explicit(&pool->done_count, 1, memory_order_acq_rel) + 1;
      if (done == count && atomic_load_explicit(&pool->caller_waits, memory_order_seq_cst))
        futex_wake(&pool->done_count, 1);
      return true;
    }
  }
}

static bool has_chunk(hsc_cpu_pool *pool) {
  uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_relaxed);
  return (ticket & CHUNK_MASK) < ((ticket >> CHUNK_BITS) & CHUNK_MASK);
}

static void *worker_main(void *argument) {
  worker *self = argument;
  hsc_cpu_pool *pool = self->pool;
  int64_t spin_ns = WORKER_SPIN_NS;
  hsc_float_mode_set();  // the thread that started this one may have had another
  while (!atomic_load(&pool->stop)) {
    if (do_chunk(pool, self->number))
      continue;
    int64_t end = hsc_now_ns() + spin_ns;
    bool found = false;
    while (!found && hsc_now_ns() < end)
      for (int i = 0; i < 16 && !found; i++) {
        pause_core();
        found = has_chunk(pool);
      }
    if (found) {
      spin_ns = WORKER_SPIN_NS;
      continue;
    }
    if (spin_ns / 2 >= LEAST_SPIN_NS)
      spin_ns /= 2;
    uint32_t word = atomic_load(&pool->wake_word);
    atomic_fetch_add(&pool->sleeper_count, 1);
    // The caller publishes the ticket, then reads sleeper_count; we count ourselves, then look at
    // the ticket: one of the two sees the other.
    atomic_thread_fence(memory_order_seq_cst);
    if (!has_chunk(pool) && !atomic_load(&pool->stop))
      futex_wait(&pool->wake_word, word);
    atomic_fetch_sub(&pool->sleeper_count, 1);
  }
  return NULL;
}

hsc_status *hsc_cpu_pool_create(int thread_count, hsc_cpu_pool **out_pool) {
  *out_pool = NULL;
  if (thread_count < 1)
    return HSC_ERR(INVALID_ARGUMENT, "thread pool: %d threads; at least 1 is needed (the caller's)",
                   thread_count);
  hsc_cpu_pool *pool = NULL;
  // hsc_alloc aligns to 16 bytes; the struct wants its own cache lines.
  if (posix_memalign((void **)&pool, 64, sizeof *pool))
    return hsc_status_out_of_memory();
  memset(pool, 0, sizeof *pool);
  pool->thread_count = thread_count < MAX_THREADS ? thread_count : MAX_THREADS;
  *out_pool = pool;
  return NULL;
}

void hsc_cpu_pool_destroy(hsc_cpu_pool *pool) {
  if (!pool)
    return;
  atomic_store(&pool->stop, 1);
  atomic_fetch_add(&pool->wake_word, 1);
  futex_wake(&pool->wake_word, MAX_THREADS);
  for (int i = 1; i <= pool->started_count; i++)
    pthread_join(pool->workers[i].thread, NULL);
  free(pool);
}

int hsc_cpu_pool_thread_count(const hsc_cpu_pool *pool) {
  return pool->thread_count;
}

// A thread that cannot be started makes the pool smaller, never wrong.
static void start_workers(hsc_cpu_pool *pool) {
  pool->started = true;
  for (int i = 1; i < pool->thread_count; i++) {
    worker *w = &pool->workers[i];
    w->pool = pool;
    w->number = i;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr))
      return;
    // Chunks run generated code and library kernels: no deep recursion.
    // kernels are compiled here too, and their walk nests as deeply as a fusion; untouched pages
    // cost nothing
    pthread_attr_setstacksize(&attr, 64 << 20);
    int error = pthread_create(&w->thread, &attr, worker_main, w);
    pthread_attr_destroy(&attr);
    if (error)
      return;
    pool->started_count = i;
  }
}

static void run_alone(int64_t chunk_count, hsc_cpu_chunk_function function, void *context) {
  for (int64_t c = 0; c < chunk_count; c++)
    function(context, c, 0);
}

void hsc_cpu_pool_run(hsc_cpu_pool *pool,
                      int64_t chunk_count,
                      hsc_cpu_chunk_function function,
                      void *context) {
  if (pool->thread_count == 1 || chunk_count <= 1 ||
      atomic_exchange_explicit(&pool->taken, 1, memory_order_acquire)) {
    run_alone(chunk_count, function, context);
    return;
  }
  assert(chunk_count <= (int64_t)CHUNK_MASK);
  if (!pool->started)
    start_workers(pool);
  pool->function = function;
  pool->context = context;
  atomic_store_explicit(&pool->done_count, 0, memory_order_relaxed);
  uint64_t generation =
      (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> (2 * CHUNK_BITS)) + 1;
  atomic_store_explicit(&pool->ticket,
                        (generation << (2 * CHUNK_BITS)) | ((uint64_t)chunk_count << CHUNK_BITS),
                        memory_order_seq_cst);
  if (atomic_load(&pool->sleeper_count)) {
    atomic_fetch_add(&pool->wake_word, 1);
    futex_wake(&pool->wake_word,
               (int)(chunk_count - 1 < MAX_THREADS ? chunk_count - 1 : MAX_THREADS));
  }
  while (do_chunk(pool, 0)) {
  }
  uint32_t done = atomic_load_explicit(&pool->done_count, memory_order_acquire);
  if (done != chunk_count) {
    int64_t end = hsc_now_ns() + CALLER_SPIN_NS;
    while ((done = atomic_load_explicit(&pool->done_count, memory_order_acquire)) != chunk_count &&
           hsc_now_ns() < end)
      for (int i = 0; i < 16; i++)
        pause_core();
    if (done != chunk_count) {
      atomic_store(&pool->caller_waits, 1);
      while ((done = atomic_load(&pool->done_count)) != chunk_count)
        futex_wait(&pool->done_count, done);
      atomic_store(&pool->caller_waits, 0);
    }
  }
  atomic_store_explicit(&pool->taken, 0, memory_order_release);
}
