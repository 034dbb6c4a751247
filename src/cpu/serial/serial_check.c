// serial_check.c - a loaded executable's numbers against what they count, so that running it reads
// and writes its own slots only.
//
// What is the same for all steps is checked here: slices lie inside their bases, steps nest,
// payloads lie inside the data. What a payload says is checked by its kind, in its own file
// (thunks.def). Machine code cannot be checked: what it was made for lies beside it, and the steps
// that call it have to agree (thunk_kinds.h).
#include "cpu/serial/serial_format.h"
#include "cpu/thunks/thunk_kinds.h"

// Blocks in blocks: each costs a stack frame of hsc__cpu_run_range.
enum { MAX_DEPTH = 256 };

static hsc_status *corrupt(const char *what, int32_t number) {
  return HSC_ERR(DATA_LOSS, "serialized executable: %s %d does not fit", what, number);
}

static int64_t base_bytes(const hsc_cpu_executable *e, int32_t base) {
  if (base == HSC_CPU_BASE_TEMP)
    return e->temp_bytes;
  if (base == HSC_CPU_BASE_CONSTANTS)
    return e->constant_bytes;
  base -= HSC_CPU_BASE_FIRST_INPUT;
  return hsc_shape_bytes(base < e->input_count ? e->input_shapes[base]
                                               : e->output_shapes[base - e->input_count]);
}

static hsc_status *check_slices(const hsc_cpu_executable *e) {
  for (int32_t s = 0; s < e->slice_count; s++) {
    const hsc_cpu_slice *slice = &e->slices[s];
    if (slice->base < 0 || slice->base >= e->base_count || slice->offset < 0 || slice->bytes < 0 ||
        slice->offset % HSC_CPU_ALIGNMENT)
      return corrupt("slot", s);
    int64_t room = base_bytes(e, slice->base);
    if (slice->bytes > 0 && (slice->offset > room || slice->bytes > room - slice->offset))
      return corrupt("slot", s);
  }
  return NULL;
}

// The numbers of the step itself, whatever its kind.
static bool step_fits(const hsc_cpu_executable *e, int32_t t) {
  const hsc_cpu_thunk *thunk = &e->thunks[t];
  if (thunk->kind < 0 || thunk->kind >= HSC_CPU_THUNK_COUNT || thunk->next <= t ||
      thunk->next > e->thunk_count)
    return false;
  if (thunk->input_count < 0 || thunk->output_count < 0 || thunk->has_scratch < 0 ||
      thunk->has_scratch > 1 || thunk->slice_first < 0)
    return false;
  int64_t slices = (int64_t)thunk->input_count + thunk->output_count + thunk->has_scratch;
  if (thunk->slice_first + slices > e->slice_count)
    return false;
  if (thunk->instr < -1 || thunk->instr >= e->stats.instruction_count || thunk->kernel < -1 ||
      thunk->kernel >= e->kernel_count)
    return false;
  return thunk->data >= 0 && thunk->data_bytes >= 0 && thunk->data <= e->data_bytes &&
         thunk->data_bytes <= e->data_bytes - thunk->data && thunk->data % 8 == 0;
}

static bool overlap(const hsc_cpu_slice *a, const hsc_cpu_slice *b) {
  return a->bytes > 0 && b->bytes > 0 && a->base == b->base && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

// What a step writes is apart from all else of it, or exactly one of its inputs (in place).
static bool places_fit(const hsc_cpu_thunk *thunk, const hsc_cpu_slice *slices) {
  int32_t inputs = thunk->input_count;
  int32_t all = inputs + thunk->output_count + thunk->has_scratch;
  for (int32_t o = inputs; o < all; o++)
    for (int32_t other = 0; other < o; other++) {
      if (!overlap(&slices[o], &slices[other]))
        continue;
      bool in_place = other < inputs && o < inputs + thunk->output_count;
      if (!in_place || slices[o].offset != slices[other].offset)
        return false;
    }
  return true;
}

static bool payload_fits(const hsc_cpu_executable *e, int32_t t, uint64_t *extents, bool records) {
  const hsc_cpu_thunk *thunk = &e->thunks[t];
  const hsc_cpu_slice *slices = e->slices + thunk->slice_first;
  int32_t buffers = thunk->input_count + thunk->output_count;
  hsc_cpu_payload payload = {.executable = e,
                             .thunk = thunk,
                             .data = e->data + thunk->data,
                             .bytes = (size_t)thunk->data_bytes,
                             .inputs = slices,
                             .outputs = slices + thunk->input_count,
                             .scratch_bytes = thunk->has_scratch ? slices[buffers].bytes : 0,
                             .block_thunks = thunk->next - t - 1,
                             .extents = extents,
                             .records = records};
  return places_fit(thunk, slices) && hsc__cpu_thunk_rows[thunk->kind].check(&payload);
}

// Steps lie inside the blocks that they begin in, and blocks are not too deep.
static hsc_status *check_nesting(const hsc_cpu_executable *e) {
  int32_t ends[MAX_DEPTH];
  int depth = 0;
  for (int32_t t = 0; t < e->thunk_count; t++) {
    while (depth > 0 && ends[depth - 1] <= t)
      depth--;
    if (depth > 0 && e->thunks[t].next > ends[depth - 1])
      return corrupt("the end of step", t);
    if (e->thunks[t].next == t + 1)
      continue;
    if (depth == MAX_DEPTH)
      return corrupt("the depth of step", t);
    ends[depth++] = e->thunks[t].next;
  }
  return NULL;
}

static hsc_status *check_thunks(const hsc_cpu_executable *e, uint64_t *extents, bool records) {
  for (int32_t t = 0; t < e->thunk_count; t++)
    if (!step_fits(e, t))
      return corrupt("step", t);
  HSC_TRY(check_nesting(e));
  for (int32_t t = 0; t < e->thunk_count; t++)
    if (!payload_fits(e, t, extents, records))
      return HSC_ERR(DATA_LOSS, "serialized executable: the payload of step %d (%s) does not fit",
                     t, hsc__cpu_thunk_rows[e->thunks[t].kind].text);
  return NULL;
}

hsc_status *hsc__serial_check(const hsc_cpu_executable *e, uint64_t *extents, bool records) {
  if (e->temp_bytes < 0 || e->worker_scratch_bytes < 0 ||
      e->worker_scratch_bytes % HSC_CPU_ALIGNMENT || e->temp_bytes % HSC_CPU_ALIGNMENT ||
      e->temp_bytes > INT64_MAX / 4 || e->worker_scratch_bytes > (int64_t)1 << 40)
    return HSC_ERR(DATA_LOSS, "serialized executable: sizes of temporaries");
  if (e->stats.instruction_count < 0 || e->stats.instruction_count > INT32_MAX)
    return HSC_ERR(DATA_LOSS, "serialized executable: number of instructions");
  HSC_TRY(check_slices(e));
  return check_thunks(e, extents, records);
}
