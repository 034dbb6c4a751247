// payload_check.c - the arithmetic that the checks of payloads share (see thunk_kinds.h). Nothing
// here computes with a number from outside before it is known to fit.
#include "cpu/thunks/thunk_kinds.h"

#include "base/core/hash.h"

// ---- sizes --------------------------------------------------------------------------------------

enum { SIZE_BITS = 62 };
static const int64_t LARGEST = ((int64_t)1 << SIZE_BITS) - 1;

static int64_t size_or_none(bool overflows, int64_t size) {
  return overflows || size < 0 || size > LARGEST ? -1 : size;
}

int64_t hsc__size_times(int64_t a, int64_t b) {
  int64_t product = -1;
  if (a < 0 || b < 0)
    return -1;
  bool overflows = __builtin_mul_overflow(a, b, &product);
  return size_or_none(overflows, product);
}

int64_t hsc__size_plus(int64_t a, int64_t b) {
  int64_t sum = -1;
  if (a < 0 || b < 0)
    return -1;
  bool overflows = __builtin_add_overflow(a, b, &sum);
  return size_or_none(overflows, sum);
}

int64_t hsc__size_rounded(int64_t size, int64_t multiple) {
  int64_t above = hsc__size_plus(size, multiple - 1);
  return above < 0 ? -1 : above / multiple * multiple;
}

bool hsc__is_element_type(int32_t type) {
  if (type <= HSC_TYPE_INVALID || type >= HSC_TYPE_COUNT)
    return false;
  return type != HSC_TYPE_TUPLE && type != HSC_TYPE_TOKEN && type != HSC_TYPE_OPAQUE &&
         hsc_type_bytes((hsc_type)type) > 0;
}

bool hsc__is_index_type(int32_t type) {
  return hsc__is_element_type(type) && hsc_type_is_integral((hsc_type)type) &&
         hsc_type_bytes((hsc_type)type) <= 8;
}

// ---- reaches ------------------------------------------------------------------------------------

hsc_reach hsc__reach_begin(int64_t offset) {
  return (hsc_reach){.low = offset, .high = offset};
}

void hsc__reach_add(hsc_reach *reach, int64_t count, int64_t stride) {
  int64_t far;
  if (count < 0)
    reach->wrong = true;
  if (count == 0)
    reach->empty = true;
  if (count < 2 || reach->wrong)
    return;
  reach->wrong = __builtin_mul_overflow(count - 1, stride, &far) ||
                 __builtin_add_overflow(far < 0 ? reach->low : reach->high, far,
                                        far < 0 ? &reach->low : &reach->high);
}

bool hsc__reach_fits(const hsc_reach *reach, int64_t unit, int64_t element_bytes, int64_t bytes) {
  int64_t end;
  if (reach->wrong)
    return false;
  if (reach->empty)
    return true;
  if (reach->low < 0 || __builtin_mul_overflow(reach->high, unit, &end) ||
      __builtin_add_overflow(end, element_bytes, &end))
    return false;
  return end <= bytes;
}

// Largest strides of the target first, no dimension of one element: as the copying loops want it.
static bool is_normal(const hsc_strided *copy) {
  if (copy->rank < 0 || copy->rank > HSC_STRIDED_MAX_RANK)
    return false;
  for (int i = 0; i < copy->rank; i++) {
    if (copy->size[i] < 0 || (copy->size[i] == 0 && copy->rank > 1))
      return false;
    if (copy->from_stride[i] % copy->element_bytes || copy->to_stride[i] % copy->element_bytes)
      return false;
  }
  return true;
}

bool hsc__strided_fits(
    const hsc_strided *copy, hsc_reach from, int64_t from_bytes, hsc_reach to, int64_t to_bytes) {
  int32_t element = copy->element_bytes;
  if (element < 1 || element > 16 || (element & (element - 1)) || !is_normal(copy))
    return false;
  if (from.low % element || from.high % element || to.low % element || to.high % element)
    return false;
  for (int i = 0; i < copy->rank; i++) {
    hsc__reach_add(&from, copy->size[i], copy->from_stride[i]);
    hsc__reach_add(&to, copy->size[i], copy->to_stride[i]);
  }
  return hsc__reach_fits(&from, 1, element, from_bytes) &&
         hsc__reach_fits(&to, 1, element, to_bytes);
}

// ---- the step's own rooms -----------------------------------------------------------------------

bool hsc__payload_is(const hsc_cpu_payload *p, size_t bytes, int32_t inputs, int32_t outputs) {
  return p->bytes == bytes && (inputs < 0 || p->thunk->input_count == inputs) &&
         (outputs < 0 || p->thunk->output_count == outputs) && p->block_thunks == 0;
}

bool hsc__payload_reads(const hsc_cpu_payload *p, int32_t input, int64_t bytes) {
  return input >= 0 && input < p->thunk->input_count && bytes >= 0 &&
         bytes <= p->inputs[input].bytes;
}

bool hsc__payload_writes(const hsc_cpu_payload *p, int32_t output, int64_t bytes) {
  return output >= 0 && output < p->thunk->output_count && bytes >= 0 &&
         bytes <= p->outputs[output].bytes;
}

bool hsc__payload_scratch(const hsc_cpu_payload *p, int64_t offset, int64_t bytes) {
  return p->thunk->has_scratch && offset >= 0 && offset % 8 == 0 && bytes >= 0 &&
         offset <= p->scratch_bytes && bytes <= p->scratch_bytes - offset;
}

bool hsc__payload_worker_scratch(const hsc_cpu_payload *p, int64_t bytes) {
  return bytes >= 0 && bytes <= p->executable->worker_scratch_bytes;
}

bool hsc__payload_blocks(const hsc_cpu_payload *p, const int32_t *counts, int32_t count) {
  const hsc_cpu_thunk *thunks = p->executable->thunks;
  int32_t at = (int32_t)(p->thunk - thunks) + 1;
  int32_t last = at + p->block_thunks;
  for (int32_t b = 0; b < count; b++) {
    if (counts[b] < 0 || counts[b] > last - at)
      return false;
    int32_t end = at + counts[b];
    while (at < end)
      at = thunks[at].next;
    if (at != end)
      return false;
  }
  return at == last;
}

// ---- generated code -----------------------------------------------------------------------------

bool hsc__payload_runs(hsc_cpu_payload *p, int32_t kernel, const int64_t *words, int count) {
  if (kernel < 0 || kernel >= p->executable->kernel_count)
    return false;
  uint64_t extent = hsc_hash64(words, sizeof *words * (size_t)count, 0x65787465);
  extent = extent ? extent : 1;
  if (p->records && !p->extents[kernel])
    p->extents[kernel] = extent;
  return p->extents[kernel] == extent;
}

bool hsc__payload_runs_on_buffers(
    hsc_cpu_payload *p, int32_t kernel, const int64_t *words, int count, int64_t product_bytes) {
  enum { MAX_WORDS = 512 };
  int64_t all[MAX_WORDS];
  int32_t buffers = p->thunk->input_count + p->thunk->output_count;
  if (buffers > HSC_CPU_MAX_CHECKED_BUFFERS || count > 128)
    return false;
  int at = 0;
  for (int i = 0; i < count; i++)
    all[at++] = words[i];
  all[at++] = product_bytes;
  all[at++] = p->thunk->input_count;
  for (int32_t b = 0; b < buffers; b++)
    all[at++] = p->inputs[b].bytes;  // the outputs' slices follow
  return hsc__payload_runs(p, kernel, all, at);
}
