// collectives.h - what the chips of a compiled program say to each other, and what a chip computes.
#pragma once

#include "formats/common/formats.h"

typedef struct hsc_collective {
  const hsc_instr *instr;
  const char *kind;                     // "all-reduce", also of its asynchronous form
  int64_t operand_bytes, result_bytes;  // of one chip, once
  int64_t bytes;                        // the larger of the two
  double wire_bytes;                    // that a chip sends in a ring, once
  int64_t group_size;
  int64_t times;           // in a run: the product of the loops' trips
  bool times_known;        // false: a loop around it counts as one trip
  const char *loop;        // the innermost loop around it; NULL = none
  const char *source;      // "model.py:12"; NULL = not said
  const char *op_name;     // of the framework; NULL = not said
  const char *brought_by;  // the operator whose parts it joins
  const char *axes;        // "x" or "x,y" of the mesh; NULL = no axes say it
  bool is_async;           // it has a start and a done
  int64_t between_count;   // instructions between the two
  double between_flops;    // theirs
  const char *between;     // the most expensive of them; NULL = nothing
} hsc_collective;

// The collectives of a module of one partition's program, in the order in which they begin. In
// `arena`. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_collectives_find(const hsc_module *module,
                                              const hsc_program_spread *spread,
                                              hsc_arena *arena,
                                              hsc_collective **out_list,
                                              size_t *out_count);

// "model.py:12" of an instruction, in `arena`; NULL where nothing is said.
const char *hsc_instr_source(const hsc_instr *instr, hsc_arena *arena);

// A buffer that is alive where a program needs most memory.
typedef struct hsc_chip_buffer {
  const hsc_instr *instr;
  int64_t bytes;
  bool is_argument;
} hsc_chip_buffer;
// The buffers of the compiled order's peak, the largest first: of what lies in the device's main
// memory, an instruction's result from where it is made to its last use. *out_peak is their sum.
// Results that a compiler lets share memory are counted apart, so the sum may be more than the
// compiler's own peak.
HSC_MUST_USE hsc_status *hsc_chip_buffers_at_peak(const hsc_module *module,
                                                  hsc_arena *arena,
                                                  hsc_chip_buffer **out_list,
                                                  size_t *out_count,
                                                  int64_t *out_peak);
