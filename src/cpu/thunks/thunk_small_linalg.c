// thunk_small_linalg.c - LAPACK's routines on small matrices (see kernels/linalg/small_linalg.h):
// batches are shared out, a register's width of matrices at a time. Larger matrices go to
// thunk_linalg.c and, through the evaluator, to LAPACK.
#include "cpu/kernels/linalg/small_linalg.h"
#include "cpu/thunks/lower.h"

typedef struct small_payload {
  hsc_small_linalg what;
  int64_t batches;
} small_payload;

// A register of matrices must lie in the first level of cache to be worth its rearranging.
enum { MAX_ROOM = 32 << 10, LEAST_LANES = 3, TASK_FLOPS = 20000 };

// Beyond these sides a library's blocking gains more than its call costs.
enum { MOST_ALONE = 24 };

static bool by_lanes(const hsc_small_linalg *what, int64_t batches, const hsc_cpu_isa *isa) {
  return batches >= LEAST_LANES && hsc_small_linalg_room(what, isa) <= MAX_ROOM;
}

hsc_status *hsc__cpu_choose_small_linalg(hsc_cpu_compiler *compiler,
                                         hsc_cpu_step *step,
                                         hsc_cpu_choice *choice,
                                         bool *out_chosen) {
  hsc_small_linalg what;
  int64_t batches;
  *out_chosen = false;
  if (!hsc_small_linalg_of(step->instr, &what, &batches) || batches == 0)
    return NULL;
  const hsc_cpu_isa *isa = &compiler->device->isa;
  int least = what.m < what.n ? what.m : what.n;
  if (!by_lanes(&what, batches, isa) &&
      (what.routine == HSC_SMALL_TRSM ? what.k : least) > MOST_ALONE)
    return NULL;
  small_payload *payload = HSC_NEW(compiler->arena, small_payload);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *payload = (small_payload){what, batches};
  if (by_lanes(&what, batches, isa))
    hsc__cpu_need_worker_scratch(compiler, hsc_small_linalg_room(&what, isa));
  choice->payload = payload;
  choice->payload_bytes = sizeof *payload;
  *out_chosen = true;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

typedef struct small_run {
  const small_payload *payload;
  const hsc_small_linalg_kernels *kernels;
  const hsc_cpu_frame *frame;
  int64_t lanes;  // matrices at once; 1: one by one
  int64_t task;   // matrices of a chunk
  const char *in[HSC_SMALL_LINALG_ARRAYS];
  char *out[HSC_SMALL_LINALG_ARRAYS];
  // bytes of one matrix's
  int64_t in_bytes[HSC_SMALL_LINALG_ARRAYS], out_bytes[HSC_SMALL_LINALG_ARRAYS];
} small_run;

static void run_matrices(void *context, int64_t chunk, int worker) {
  const small_run *r = context;
  const small_payload *p = r->payload;
  uint64_t packed;
  memcpy(&packed, &p->what, sizeof packed);
  int64_t end = (chunk + 1) * r->task < p->batches ? (chunk + 1) * r->task : p->batches;
  for (int64_t at = chunk * r->task; at < end; at += r->lanes) {
    const char *in[HSC_SMALL_LINALG_ARRAYS] = {0};
    char *out[HSC_SMALL_LINALG_ARRAYS] = {0};
    for (int i = 0; i < HSC_SMALL_LINALG_ARRAYS; i++) {
      in[i] = r->in[i] ? r->in[i] + at * r->in_bytes[i] : NULL;
      out[i] = r->out[i] ? r->out[i] + at * r->out_bytes[i] : NULL;
    }
    int64_t count = end - at < r->lanes ? end - at : r->lanes;
    if (r->lanes == 1)
      r->kernels->one(packed, in[0], in[1], out[0], out[1], out[2]);
    else
      r->kernels->lanes(&p->what, count, in[0], in[1], out[0], out[1], out[2],
                        hsc__cpu_worker_scratch(r->frame, worker));
  }
}

hsc_status *hsc__cpu_run_small_linalg(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const small_payload *p = hsc__cpu_data(frame, thunk);
  const hsc_cpu_isa *isa = &frame->executable->device->isa;
  hsc_small_sizes sizes = hsc_small_linalg_sizes(&p->what);
  small_run r = {
      .payload = p,
      .kernels = hsc_small_linalg_kernels_for(isa->level),
      .frame = frame,
      .lanes = by_lanes(&p->what, p->batches, isa) ? hsc_small_linalg_lanes(&p->what, isa) : 1};
  for (int i = 0; i < sizes.in_count; i++) {
    r.in[i] = hsc__cpu_input(frame, thunk, i);
    r.in_bytes[i] = sizes.in[i] * (p->what.is_f64 ? 8 : 4);
  }
  for (int o = 0; o < sizes.out_count; o++) {
    r.out[o] = hsc__cpu_output(frame, thunk, o);
    r.out_bytes[o] = sizes.out[o] * hsc_small_linalg_bytes(&p->what, o);
  }
  int64_t flops = (int64_t)p->what.m * p->what.n * (p->what.k ? p->what.k : p->what.n) + 1;
  r.task = (TASK_FLOPS / flops + r.lanes) / r.lanes * r.lanes;
  hsc_cpu_pool_run(frame->pool, (p->batches + r.task - 1) / r.task, run_matrices, &r);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

bool hsc__cpu_check_small_linalg(hsc_cpu_payload *payload) {
  const small_payload *p = payload->data;
  if (payload->bytes != sizeof *p || !hsc_small_linalg_is_sound(&p->what) || p->batches < 1)
    return false;
  const hsc_cpu_isa *isa = &payload->executable->device->isa;
  hsc_small_sizes sizes = hsc_small_linalg_sizes(&p->what);
  if (!hsc__payload_is(payload, sizeof *p, sizes.in_count, sizes.out_count))
    return false;
  for (int i = 0; i < sizes.in_count; i++)
    if (!hsc__payload_reads(payload, i,
                            hsc__size_times(p->batches, sizes.in[i] * (p->what.is_f64 ? 8 : 4))))
      return false;
  for (int o = 0; o < sizes.out_count; o++)
    if (!hsc__payload_writes(
            payload, o,
            hsc__size_times(p->batches, sizes.out[o] * hsc_small_linalg_bytes(&p->what, o))))
      return false;
  return !by_lanes(&p->what, p->batches, isa) ||
         hsc__payload_worker_scratch(payload, hsc_small_linalg_room(&p->what, isa));
}
