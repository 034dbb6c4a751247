// thunk_kinds.h - what each kind of thunk can do, by the rows of thunks.def: be chosen for a step,
// run, and say whether a payload that came from outside is sound.
//
// A check sees a step whose own numbers are right already: its slices lie inside their bases, its
// payload inside the executable's data. It answers true only when running the step stays inside its
// slices, the scratch of the workers and the arrays of the payload, whatever the numbers are. There
// is no default: a kind without a check does not link.
//
// Generated code cannot be checked. What it was made for (trips, bytes of each buffer) is kept
// beside it, as one number, its extent: a check names the extent that the step gives the code room
// for, by hsc__payload_runs, and the two must agree.
#pragma once

#include "cpu/core/cpu_internal.h"
#include "cpu/kernels/move/strided_copy.h"

// ---- the table ----------------------------------------------------------------------------------

typedef struct hsc_cpu_payload hsc_cpu_payload;
typedef hsc_status *(*hsc_cpu_chooser)(hsc_cpu_compiler *compiler,
                                       hsc_cpu_step *step,
                                       hsc_cpu_choice *choice,
                                       bool *out_chosen);

typedef struct hsc_cpu_thunk_row {
  const char *text;
  hsc_cpu_chooser choose;  // NULL: lowering inserts it
  hsc_status *(*run)(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk);
  bool (*check)(hsc_cpu_payload *payload);
  bool needs_module;
} hsc_cpu_thunk_row;
extern const hsc_cpu_thunk_row hsc__cpu_thunk_rows[HSC_CPU_THUNK_COUNT];

#define HSC__THUNK_INSERTED(name)
#define HSC__THUNK_CHOSEN(name) \
  HSC_MUST_USE hsc_status *hsc__cpu_choose_##name(hsc_cpu_compiler *compiler, hsc_cpu_step *step, \
                                                  hsc_cpu_choice *choice, bool *out_chosen);
#define THUNK(id, name, choose, module, doc) \
  HSC__THUNK_##choose(name) HSC_MUST_USE hsc_status *hsc__cpu_run_##name( \
      const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk); \
  bool hsc__cpu_check_##name(hsc_cpu_payload *payload);
#include "cpu/core/thunks.def"
#undef THUNK

// As many as generated code takes (HSC_KERNEL_MAX_BUFFERS).
enum { HSC_CPU_MAX_CHECKED_BUFFERS = 256 };

// ---- what a check sees --------------------------------------------------------------------------

struct hsc_cpu_payload {
  const hsc_cpu_executable *executable;
  const hsc_cpu_thunk *thunk;
  const void *data;  // aligned to 8 bytes
  size_t bytes;
  const hsc_cpu_slice *inputs, *outputs;
  int64_t scratch_bytes;  // of the step's scratch; 0 = it has none
  int32_t block_thunks;   // thunks of its blocks
  // [kernel_count] of the executable's kernels; NULL: nothing is known of them yet, and each takes
  // the first extent that a step names (hsc__serial_extents)
  uint64_t *extents;
  bool records;
};

// Whether a payload is of this size, and its step has these numbers of inputs and outputs (-1 =
// any) and no blocks.
bool hsc__payload_is(const hsc_cpu_payload *p, size_t bytes, int32_t inputs, int32_t outputs);
// Whether input i, or output o, exists and has that many bytes at least. -1 bytes: a size that
// overflowed; does not hold.
bool hsc__payload_reads(const hsc_cpu_payload *p, int32_t input, int64_t bytes);
bool hsc__payload_writes(const hsc_cpu_payload *p, int32_t output, int64_t bytes);
// Whether [offset, offset + bytes) lies in the step's scratch, from a multiple of 8.
bool hsc__payload_scratch(const hsc_cpu_payload *p, int64_t offset, int64_t bytes);
bool hsc__payload_worker_scratch(const hsc_cpu_payload *p, int64_t bytes);
// Whether the kernel exists and was made for these numbers (see above).
bool hsc__payload_runs(hsc_cpu_payload *p, int32_t kernel, const int64_t *words, int count);
// The same for generated code over all buffers of the step: trips and what else it was planned by,
// then the bytes of `product` (0 = none) and of each buffer.
bool hsc__payload_runs_on_buffers(
    hsc_cpu_payload *p, int32_t kernel, const int64_t *words, int count, int64_t product_bytes);

// Whether the step's blocks have these numbers of thunks, and each ends where a step ends.
bool hsc__payload_blocks(const hsc_cpu_payload *p, const int32_t *counts, int32_t count);

// Sizes: -1 stands for "no size", negative or too large for 62 bits, and stays -1.
int64_t hsc__size_times(int64_t a, int64_t b);
int64_t hsc__size_plus(int64_t a, int64_t b);
int64_t hsc__size_rounded(int64_t size, int64_t multiple);
// Whether the type is one of an array's elements; then hsc_type_bytes says how many bytes.
bool hsc__is_element_type(int32_t type);
bool hsc__is_index_type(int32_t type);

// The places that indices reach: begins at hsc__reach_begin, then one call a dimension.
typedef struct hsc_reach {
  int64_t low, high;  // both inclusive
  bool wrong;         // overflowed, or a negative count
  bool empty;         // a count was 0: nothing is reached
} hsc_reach;
hsc_reach hsc__reach_begin(int64_t offset);
void hsc__reach_add(hsc_reach *reach, int64_t count, int64_t stride);
// Whether elements of `element_bytes` at these places lie in [0, bytes). unit: bytes of one place.
bool hsc__reach_fits(const hsc_reach *reach, int64_t unit, int64_t element_bytes, int64_t bytes);
// Whether a copy is in normal form, and stays in [0, from_bytes) and [0, to_bytes) when it begins
// anywhere in [from.low, from.high] and [to.low, to.high].
bool hsc__strided_fits(
    const hsc_strided *copy, hsc_reach from, int64_t from_bytes, hsc_reach to, int64_t to_bytes);
