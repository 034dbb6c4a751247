// pool.h - the device's threads: one parallel loop at a time, the caller takes part, idle workers
// sleep.
//
// A loop is cut into chunks that are claimed one by one, so a worker that loses its core to another
// process delays one chunk, not its share of the whole. Workers spin for a bounded time after a
// loop (the next one usually follows within microseconds), then sleep on a futex. A caller that
// finds the pool taken by another thread runs its loop alone.
// Memory: the pool owns its threads; hsc_cpu_pool_destroy joins them. Thread-safe. hsc_cpu_pool_run
// allocates nothing.
#pragma once

#include "base/core/status.h"

typedef struct hsc_cpu_pool hsc_cpu_pool;

// Does chunk `chunk` of the loop. `worker` is in [0, thread count) and names a thread for the time
// of the loop (scratch by worker is safe).
typedef void (*hsc_cpu_chunk_function)(void *context, int64_t chunk, int worker);

// thread_count counts the caller: 1 makes a pool without threads. Threads start at the first loop
// that can use them.
HSC_MUST_USE hsc_status *hsc_cpu_pool_create(int thread_count, hsc_cpu_pool **out_pool);
void hsc_cpu_pool_destroy(hsc_cpu_pool *pool);
int hsc_cpu_pool_thread_count(const hsc_cpu_pool *pool);
// Calls function(context, c, worker) for every c in [0, chunk_count), in any order, and returns
// when all are done. chunk_count < 2^24.
void hsc_cpu_pool_run(hsc_cpu_pool *pool,
                      int64_t chunk_count,
                      hsc_cpu_chunk_function function,
                      void *context);
