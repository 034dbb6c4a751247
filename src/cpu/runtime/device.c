// device.c - creating and destroying the device; the blocks of memory that executions borrow.
#include <stdlib.h>
#include <sys/mman.h>

#include "base/text/text.h"
#include "base/process/memory_room.h"
#include "cpu/core/cpu_internal.h"
#include "cpu/jit/jit.h"
#include "cpu/tune/tuner.h"

enum { HUGE_PAGE_BYTES = 2 << 20 };

hsc_status *hsc_cpu_device_create(const hsc_cpu_device_options *options,
                                  hsc_cpu_device **out_device) {
  hsc_status *status = NULL;
  *out_device = NULL;
  hsc_cpu_device *device = hsc_alloc(sizeof *device);
  if (!device)
    return hsc_status_out_of_memory();
  atomic_init(&device->reference_count, 1);
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->jit_lock, NULL);
  hsc_cpu_isa_detect(&device->isa);
  int threads =
      options && options->thread_count > 0 ? options->thread_count : hsc_cpu_usable_cores();
  HSC_GOTO(hsc_cpu_pool_create(threads, &device->pool));
  snprintf(device->description, sizeof device->description, "%s, %d thread%s", device->isa.name,
           threads, hsc_plural((double)threads, "", "s"));
  *out_device = device;
  return NULL;
done:
  hsc_cpu_device_destroy(device);
  return status;
}

static void free_block(hsc_cpu_idle_block block) {
  if (block.bytes >= HUGE_PAGE_BYTES)
    munmap(block.memory, block.bytes);
  else
    free(block.memory);
}

void hsc__cpu_device_retain(hsc_cpu_device *device) {
  atomic_fetch_add_explicit(&device->reference_count, 1, memory_order_relaxed);
}

void hsc_cpu_device_destroy(hsc_cpu_device *device) {
  if (!device || atomic_fetch_sub_explicit(&device->reference_count, 1, memory_order_acq_rel) > 1)
    return;
  hsc_cpu_pool_destroy(device->pool);
  for (size_t i = 0; i < HSC_COUNT_OF(device->jits); i++)
    hsc_cpu_jit_destroy(device->jits[i]);
  hsc__cpu_tuned_destroy(device->tuned);
  for (int i = 0; i < device->idle_count; i++)
    free_block(device->idle[i]);
  pthread_mutex_destroy(&device->lock);
  pthread_mutex_destroy(&device->jit_lock);
  hsc_free(device);
}

hsc_status *hsc__cpu_device_jit(hsc_cpu_device *device,
                                int optimization_level,
                                hsc_cpu_jit **out_jit) {
  int level;
  if (optimization_level < 0)
    level = 0;
  else if (optimization_level > 3)
    level = 3;
  else
    level = optimization_level;
  hsc_status *status = NULL;
  pthread_mutex_lock(&device->jit_lock);
  if (!device->jits[level])
    status = hsc_cpu_jit_create(&device->isa, level, &device->jits[level]);
  *out_jit = device->jits[level];
  pthread_mutex_unlock(&device->jit_lock);
  return status;
}

const char *hsc_cpu_device_description(const hsc_cpu_device *device) {
  return device->description;
}

// Memory is mapped without a reservation, so a block that the machine does not have would be given,
// and the process killed when it is touched. Small ones are not worth a look.
enum { LOOK_AT_BYTES = 256 << 20 };

static hsc_status *check_room(size_t bytes) {
  if (bytes < LOOK_AT_BYTES)
    return NULL;
  size_t available = hsc_memory_available_bytes();
  if (bytes <= available)
    return NULL;
  hsc_status *status =
      HSC_ERR(RESOURCE_EXHAUSTED,
              "the program needs %.2f GiB for temporaries, and %.2f GiB of the machine's memory "
              "(or of its control group's) are left",
              (double)bytes / (1 << 30), (double)available / (1 << 30));
  return hsc_status_hint(status,
                         "smaller batches, or arrays that are computed piece by piece (lax.map, "
                         "scan), need less at once");
}

// Large blocks are mapped, so that huge pages can back them: first touch costs one fault per 2 MiB
// where the system has them.
static hsc_status *make_block(size_t bytes, hsc_cpu_idle_block *out_block) {
  if (bytes < HUGE_PAGE_BYTES) {
    size_t rounded = (bytes + 4095) / 4096 * 4096;
    if (posix_memalign(&out_block->memory, HSC_CPU_ALIGNMENT, rounded))
      return hsc_status_out_of_memory();
    out_block->bytes = rounded;
    // posix_memalign of less than the huge page size never reaches HUGE_PAGE_BYTES, which tells the
    // two kinds apart.
    if (rounded == HUGE_PAGE_BYTES)
      out_block->bytes -= 1;
    return NULL;
  }
  size_t rounded = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
  void *memory = mmap(NULL, rounded + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return HSC_ERR(RESOURCE_EXHAUSTED, "cannot map %zu bytes for temporaries", rounded);
  uintptr_t start = (uintptr_t)memory;
  uintptr_t aligned = (start + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
  if (aligned > start)
    munmap(memory, aligned - start);
  munmap((void *)(aligned + rounded), start + HUGE_PAGE_BYTES - aligned);
  madvise((void *)aligned, rounded, MADV_HUGEPAGE);
  *out_block = (hsc_cpu_idle_block){(void *)aligned, rounded};
  return NULL;
}

// Whether there were any.
static bool free_idle_blocks(hsc_cpu_device *device) {
  hsc_cpu_idle_block blocks[HSC_CPU_MAX_IDLE_BLOCKS];
  pthread_mutex_lock(&device->lock);
  int count = device->idle_count;
  memcpy(blocks, device->idle, sizeof *blocks * (size_t)count);
  device->idle_count = 0;
  pthread_mutex_unlock(&device->lock);
  for (int i = 0; i < count; i++)
    free_block(blocks[i]);
  return count > 0;
}

hsc_status *hsc__cpu_block_acquire(hsc_cpu_device *device,
                                   size_t bytes,
                                   hsc_cpu_idle_block *out_block) {
  hsc_cpu_idle_block too_small = {0};
  int best = -1;
  pthread_mutex_lock(&device->lock);
  for (int i = device->idle_count - 1; i >= 0; i--)
    if (device->idle[i].bytes >= bytes &&
        (best < 0 || device->idle[i].bytes < device->idle[best].bytes))
      best = i;
  if (best >= 0) {
    *out_block = device->idle[best];
    device->idle[best] = device->idle[--device->idle_count];
  } else if (device->idle_count > 0) {
    // A larger block takes the place of an idle one, so that the memory held is what was needed at
    // once.
    too_small = device->idle[--device->idle_count];
  }
  pthread_mutex_unlock(&device->lock);
  if (best >= 0)
    return NULL;
  if (too_small.memory)
    free_block(too_small);
  hsc_status *status = check_room(bytes);
  if (status && free_idle_blocks(device)) {
    hsc_status_free(status);
    status = check_room(bytes);
  }
  return status ? status : make_block(bytes, out_block);
}

void hsc__cpu_block_release(hsc_cpu_device *device, hsc_cpu_idle_block block) {
  pthread_mutex_lock(&device->lock);
  bool kept = device->idle_count < HSC_CPU_MAX_IDLE_BLOCKS;
  if (kept)
    device->idle[device->idle_count++] = block;
  pthread_mutex_unlock(&device->lock);
  if (!kept)
    free_block(block);
}
