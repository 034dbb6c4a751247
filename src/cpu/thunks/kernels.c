// kernels.c - generated kernels as steps of a program: which instructions become kernels,
// collecting and compiling them, running them.
//
// Instructions of the same form (fingerprint) share one kernel, in a program and across the
// programs of a device.
#include "cpu/thunks/kernels.h"

#include "cpu/jit/jit.h"
#include "cpu/kernels/gemm/contraction.h"
#include "cpu/thunks/lower.h"

// A kernel that takes less is run on the calling thread: waking another costs as much. Chunks are a
// part of it.
static const double PARALLEL_NS = 25e3;
static const double CHUNK_NS = 8e3;
enum { MAX_CHUNKS_PER_THREAD = 8 };

struct hsc_cpu_kernel_set {
  hsc_cpu_jit_kernel *kernels;
  int32_t count, capacity;
  int32_t *slots;  // [2 * capacity] by key: number of a kernel + 1, 0 = free
};

// Where the key is, or a free slot for it.
static int32_t *slot_of(hsc_cpu_kernel_set *set, hsc_hash128 key) {
  uint64_t last = 2 * (uint64_t)set->capacity - 1;
  for (uint64_t at = key.low & last;; at = (at + 1) & last) {
    int32_t *slot = &set->slots[at];
    if (*slot == 0)
      return slot;
    const hsc_hash128 *known = &set->kernels[*slot - 1].key;
    if (known->low == key.low && known->high == key.high)
      return slot;
  }
}

// Twice the room; a power of two.
static hsc_status *grow_kernels(hsc_arena *arena, hsc_cpu_kernel_set *set) {
  int32_t wanted = set->capacity ? set->capacity * 2 : 32;
  hsc_cpu_jit_kernel *larger = HSC_NEW_ARRAY(arena, hsc_cpu_jit_kernel, wanted);
  int32_t *slots = HSC_NEW_ARRAY(arena, int32_t, 2 * wanted);
  HSC_TRY(hsc_arena_status(arena));
  if (set->count)
    memcpy(larger, set->kernels, sizeof *larger * (size_t)set->count);
  set->kernels = larger;
  set->capacity = wanted;
  set->slots = slots;
  for (int32_t k = 0; k < set->count; k++)
    *slot_of(set, larger[k].key) = k + 1;
  return NULL;
}

// ---- choosing -----------------------------------------------------------------------------------

hsc_status *hsc__cpu_add_kernel(hsc_cpu_compiler *compiler,
                                const hsc_instr *instr,
                                double size,
                                int32_t *out_number) {
  hsc_cpu_kernel_set *set = compiler->kernels;
  if (!set) {
    set = compiler->kernels = HSC_NEW(compiler->arena, hsc_cpu_kernel_set);
    HSC_TRY(hsc_arena_status(compiler->arena));
  }
  hsc_hash128 key = hsc_instr_fingerprint(instr);
  if (!key.low && !key.high)
    return hsc_status_out_of_memory();
  if (set->count == set->capacity)
    HSC_TRY(grow_kernels(compiler->arena, set));
  int32_t *slot = slot_of(set, key);
  if (*slot) {
    *out_number = *slot - 1;
    return NULL;
  }
  set->kernels[set->count] = (hsc_cpu_jit_kernel){.instr = instr, .key = key, .size = size};
  *slot = set->count + 1;
  *out_number = set->count++;
  return NULL;
}

// Trips of the outermost loop per call, for the device's threads.
static int64_t cpu_chunk(const hsc_cpu_compiler *compiler, const hsc_kernel_plan *plan) {
  int threads = hsc_cpu_pool_thread_count(compiler->device->pool);
  if (threads < 2 || plan->cost_ns < PARALLEL_NS || plan->count <= plan->piece)
    return plan->count;
  int64_t chunks = (int64_t)(plan->cost_ns / CHUNK_NS);
  if (chunks > (int64_t)threads * MAX_CHUNKS_PER_THREAD)
    chunks = (int64_t)threads * MAX_CHUNKS_PER_THREAD;
  int64_t chunk = (plan->count + chunks - 1) / chunks;
  return (chunk + plan->piece - 1) / plan->piece * plan->piece;
}

hsc_status *hsc__cpu_add_epilogue(hsc_cpu_compiler *compiler,
                                  const hsc_instr *fusion,
                                  hsc_cpu_epilogue *out_epilogue,
                                  int32_t *out_number,
                                  bool *out_fits) {
  uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
  hsc_kernel_plan plan = {0};
  HSC_TRY(hsc_kernel_plan_try(fusion, &compiler->device->isa, &plan, in_place, out_fits));
  if (!*out_fits)
    return NULL;
  *out_epilogue = (hsc_cpu_epilogue){.by_panels = plan.kind == HSC_KERNEL_PANEL,
                                     .count = plan.count,
                                     .chunk = cpu_chunk(compiler, &plan)};
  return hsc__cpu_add_kernel(compiler, fusion, plan.code_size, out_number);
}

bool hsc__cpu_reads_as_bias(const hsc_instr *fusion,
                            const hsc_instr *product,
                            bool *out_relu,
                            const hsc_instr **out_spread) {
  const hsc_instr *root = fusion->called[0]->root;
  const hsc_instr *at = root;
  double zero;
  if (root->op == HSC_OP_MAXIMUM)
    for (int i = 0; i < 2; i++)
      if (hsc_instr_is_scalar_constant(root->operands[i], &zero) && zero == 0)
        at = root->operands[1 - i];
  *out_relu = at != root;
  *out_spread = NULL;
  if (at == product)
    return true;
  if (at->op != HSC_OP_ADD || (at->operands[0] != product && at->operands[1] != product))
    return false;
  *out_spread = at->operands[at->operands[0] == product];
  return (*out_spread)->op == HSC_OP_BROADCAST &&
         (*out_spread)->operands[0]->op == HSC_OP_PARAMETER;
}

// Less than this is faster done by steps than compiled.
enum { MIN_LOOP_WORK = 64 };

bool hsc__cpu_is_small_loop(const hsc_cpu_isa *isa, const hsc_instr *loop) {
  uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
  hsc_kernel_plan plan = {0};
  bool fits = false;
  int64_t trips = hsc_loop_trip_count(loop);
  if (trips >= 0 && trips * loop->called[1]->instr_count < MIN_LOOP_WORK)
    return false;
  hsc_status *status = hsc_kernel_plan_try(loop, isa, &plan, in_place, &fits);
  hsc_status_free(status);  // choosing meets it again
  return !status && fits;
}

// An output may not lie where an input lies that is there twice: what the one writes the other
// reads.
static void keep_shared_inputs(const hsc_cpu_step *step, uint64_t *in_place) {
  uint64_t shared = 0;
  for (int32_t i = 0; i < step->input_count && i < 64; i++)
    for (int32_t other = 0; other < step->input_count; other++)
      if (other != i && step->inputs[other] == step->inputs[i])
        shared |= (uint64_t)1 << i;
  for (int32_t o = 0; o < step->output_count; o++)
    in_place[o] &= ~shared;
}

hsc_status *hsc__cpu_choose_kernel(hsc_cpu_compiler *compiler,
                                   hsc_cpu_step *step,
                                   hsc_cpu_choice *choice,
                                   bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  if (hsc_kernel_product(instr))
    return NULL;
  hsc_kernel_plan plan = {0};
  uint64_t *in_place = HSC_NEW_ARRAY(compiler->arena, uint64_t, step->output_count + 1);
  HSC_TRY(hsc_arena_status(compiler->arena));
  bool fits = false;
  HSC_TRY(hsc_kernel_plan_try(instr, &compiler->device->isa, &plan, in_place, &fits));
  if (!fits)
    return NULL;
  if (plan.kind == HSC_KERNEL_SMALL_LOOP)
    keep_shared_inputs(step, in_place);
  hsc_cpu_kernel_call *call = HSC_NEW(compiler->arena, hsc_cpu_kernel_call);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *call =
      (hsc_cpu_kernel_call){.count = plan.count, .chunk = plan.count, .partials = plan.partials};
  call->chunk = cpu_chunk(compiler, &plan);
  for (int o = 0; o < plan.output_count && plan.partials; o++)
    call->partial_offset[o] = plan.partial_offset[o];
  HSC_TRY(hsc__cpu_add_kernel(compiler, instr, plan.code_size, &choice->kernel));
  choice->payload = call;
  choice->payload_bytes = sizeof *call;
  step->in_place = in_place;
  step->scratch_bytes = plan.scratch_bytes;
  *out_chosen = true;
  return NULL;
}

// ---- compiling ----------------------------------------------------------------------------------

hsc_status *hsc__cpu_compile_kernels(hsc_cpu_compiler *compiler,
                                     int64_t *codegen_ns,
                                     int64_t *link_ns) {
  hsc_cpu_executable *executable = compiler->executable;
  hsc_cpu_kernel_set *set = compiler->kernels;
  if (!set)
    return NULL;
  executable->kernels = HSC_NEW_ARRAY(executable->arena, hsc_cpu_kernel, set->count);
  executable->units = HSC_NEW_ARRAY(executable->arena, hsc_cpu_unit *, set->count);
  HSC_TRY(hsc_arena_status(executable->arena));
  hsc_cpu_jit *jit;
  HSC_TRY(
      hsc__cpu_device_jit(compiler->device, compiler->options->backend_optimization_level, &jit));
  HSC_TRY(hsc_cpu_jit_compile(jit, compiler->device->pool, set->kernels, set->count, codegen_ns,
                              link_ns));
  executable->kernel_count = set->count;
  for (int32_t k = 0; k < set->count; k++)
    hsc__cpu_executable_add_kernel(executable, k, &set->kernels[k]);
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

typedef struct kernel_run {
  hsc_cpu_kernel_function function;
  void **buffers;
  int64_t chunk, count;
} kernel_run;

static void run_chunk(void *context, int64_t chunk, int worker) {
  const kernel_run *run = context;
  int64_t begin = chunk * run->chunk;
  int64_t end = begin + run->chunk;
  run->function(run->buffers, begin, end < run->count ? end : run->count);
}

void hsc__cpu_run_pieces(hsc_cpu_pool *pool,
                         hsc_cpu_kernel_function function,
                         void **buffers,
                         int64_t count,
                         int64_t chunk) {
  if (chunk >= count) {
    function(buffers, 0, count);
    return;
  }
  kernel_run run = {function, buffers, chunk, count};
  hsc_cpu_pool_run(pool, (count + chunk - 1) / chunk, run_chunk, &run);
}

hsc_status *hsc__cpu_run_kernel(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_kernel_call *call = hsc__cpu_data(frame, thunk);
  const hsc_cpu_kernel *kernel = &frame->executable->kernels[thunk->kernel];
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  void *buffers[2 * HSC_KERNEL_MAX_BUFFERS];
  int count = thunk->input_count + thunk->output_count;
  for (int b = 0; b < count; b++)
    buffers[b] = hsc__cpu_at(frame, &slices[b]);
  if (call->partials) {
    char *scratch = hsc__cpu_scratch(frame, thunk);
    for (int o = 0; o < thunk->output_count; o++)
      buffers[count + o] = scratch + call->partial_offset[o];
  }
  hsc__cpu_run_pieces(frame->pool, kernel->function, buffers, call->count, call->chunk);
  if (call->partials)
    kernel->combine(buffers, 0, 1);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

bool hsc__cpu_check_kernel(hsc_cpu_payload *p) {
  const hsc_cpu_kernel_call *call = p->data;
  int64_t words[4 + HSC_COUNT_OF(call->partial_offset)] = {0};
  int count = 0;
  if (!hsc__payload_is(p, sizeof *call, -1, -1) || call->count < 0 ||
      (call->chunk < 1 && call->count > 0) || call->chunk > INT64_MAX - call->count)
    return false;
  // The chunk too: code in vectors writes whole vectors up to the end of its piece.
  words[count++] = call->count;
  words[count++] = call->chunk;
  words[count++] = call->partials;
  words[count++] = p->scratch_bytes;
  if (call->partials) {
    if (!p->thunk->has_scratch ||
        p->thunk->output_count > (int32_t)HSC_COUNT_OF(call->partial_offset))
      return false;
    for (int32_t o = 0; o < p->thunk->output_count; o++)
      words[count++] = call->partial_offset[o];
    if (p->thunk->kernel < 0 || p->thunk->kernel >= p->executable->kernel_count ||
        !p->executable->kernels[p->thunk->kernel].combine)
      return false;
  }
  return hsc__payload_runs_on_buffers(p, p->thunk->kernel, words, count, 0);
}

bool hsc__epilogue_fits(hsc_cpu_payload *p,
                        int32_t epilogue,
                        int64_t rows,
                        int64_t columns,
                        int64_t count,
                        int64_t chunk,
                        int64_t product_bytes) {
  int64_t panel[3] = {HSC_EPILOGUE_PANEL, rows, columns};
  int64_t whole[3] = {HSC_EPILOGUE_WHOLE, count, chunk};
  if (epilogue == HSC_EPILOGUE_NONE || epilogue == HSC_EPILOGUE_BIAS)
    return true;
  if (epilogue == HSC_EPILOGUE_PANEL)
    return hsc__payload_runs_on_buffers(p, p->thunk->kernel, panel, 3, product_bytes);
  return epilogue == HSC_EPILOGUE_WHOLE && count >= 0 && (chunk > 0 || count == 0) &&
         chunk <= INT64_MAX - count &&
         hsc__payload_runs_on_buffers(p, p->thunk->kernel, whole, 3, product_bytes);
}
