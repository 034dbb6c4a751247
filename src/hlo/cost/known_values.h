// known_values.h - values that a program's text decides: bounds and counters of its loops, indices
// of its branches.
//
// A frame is one run of a computation. Values are computed when they are asked for, from constants;
// what an entry's parameter, a device or chance decides is not known. A value that is asked of a
// frame and comes from its caller marks the frame: what was counted with it holds for this call
// alone. A loop is run trip by trip, with those parts of its state that were asked for.
//
//   hsc__known k = {...};  hsc__known_init(&k);
//   hsc__frame *entry = hsc__frame_entry(&k, module->entry);
//   hsc__frame *inner = hsc__frame_called(&k, entry, call, 0);
//   hsc__known_deinit(&k);
//
// Nothing here fails for want of memory: a value is not known then, and k.failed says why.
#pragma once

#include "hlo/ir/hlo_internal.h"

// Evaluations and frames of one count: above it, nothing more is known. A count ends that way
// within about a second, however long the loops of its program run.
enum { HSC__KNOWN_STEPS = 200 * 1000 };

typedef struct hsc__known {
  hsc_arena *arena;          // what lives as long as this
  hsc__ptr_map places;       // instruction -> its place in its computation, from 1
  hsc__ptr_map asked_parts;  // while -> of its state, what was ever asked for
  int64_t steps;             // left of HSC__KNOWN_STEPS
  int depth;                 // of nested questions
  bool cut;                  // a question was not asked to its end: too deep, or no steps left
  bool failed;               // out of memory
} hsc__known;

typedef struct hsc__frame hsc__frame;
typedef struct hsc__loop_run hsc__loop_run;

HSC_MUST_USE hsc_status *hsc__known_init(hsc__known *k);
void hsc__known_deinit(hsc__known *k);

// Owned by k, or by the loop that they are in. NULL: k.failed, or its steps are used up.
// A computation whose arguments nobody knows.
hsc__frame *hsc__frame_entry(hsc__known *k, const hsc_computation *computation);
// called[which] of a call, an asynchronous start, a fusion or a conditional in `frame`; the same
// one each time.
hsc__frame *hsc__frame_called(hsc__known *k, hsc__frame *frame, const hsc_instr *site, int which);
// Whether it asked its caller for a value, and whether the caller knew one.
bool hsc__frame_asked(const hsc__frame *frame);
bool hsc__frame_knew(const hsc__frame *frame);

// Which branch of a conditional in `frame` is taken; -1 = not known.
int hsc__known_branch(hsc__known *k, hsc__frame *frame, const hsc_instr *conditional);

// One run of a while in `frame`. After _begin and after each _next that says HSC__LOOP_TRIP,
// hsc__loop_frame gives the frames of that trip, of the condition (0) and of the body (1).
typedef enum hsc__loop_step {
  HSC__LOOP_TRIP,     // the condition holds
  HSC__LOOP_END,      // it does not
  HSC__LOOP_UNKNOWN,  // nobody knows
  // a part of the state was asked for that was not kept: what was counted so far does not hold, the
  // loop stands before its first trip again
  HSC__LOOP_AGAIN,
} hsc__loop_step;
// NULL: k.failed.
hsc__loop_run *hsc__loop_begin(hsc__known *k, hsc__frame *frame, const hsc_instr *loop);
void hsc__loop_end(hsc__loop_run *run);
hsc__frame *hsc__loop_frame(hsc__loop_run *run, int which);  // NULL as of hsc__frame_entry
// Whether the trip's condition holds.
hsc__loop_step hsc__loop_test(hsc__loop_run *run);
// On to the trip after it: HSC__LOOP_TRIP or HSC__LOOP_AGAIN.
hsc__loop_step hsc__loop_next(hsc__loop_run *run);
