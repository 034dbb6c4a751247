// emit.c - the door of the emitter (see emit.h): what can be emitted, planning, emission into a
// module.
#include "cpu/emit/emit_internal.h"
#include "cpu/emit/emit_llvm.h"

static bool fits_buffers(const hsc_instr *instr) {
  int leaves = hsc_shape_leaf_count(&instr->shape);
  for (int i = 0; i < instr->operand_count; i++) {
    if (!hsc_shape_is_array(&instr->operands[i]->shape))
      return false;
    leaves++;
  }
  return leaves <= HSC_KERNEL_MAX_BUFFERS;
}

static bool is_reduce(const hsc_instr *root) {
  return root->op == HSC_OP_REDUCE;
}

static const hsc_instr *fused_root(const hsc_instr *instr) {
  return instr->op == HSC_OP_FUSION ? instr->called[0]->root : instr;
}

// One root, or the elements of a tuple.
static int roots_of(const hsc_instr *instr, const hsc_instr **roots, int room) {
  const hsc_instr *root = fused_root(instr);
  if (root->op != HSC_OP_TUPLE) {
    roots[0] = root;
    return 1;
  }
  if (root->operand_count > room)
    return 0;
  for (int i = 0; i < root->operand_count; i++)
    roots[i] = root->operands[i];
  return root->operand_count;
}

static bool can_root(const hsc_instr *root, const hsc_instr *first) {
  if (is_reduce(root))
    return is_reduce(first) && hsc__emit_can_reduce(root, first);
  return !is_reduce(first) && hsc_shape_same_dims(&root->shape, &first->shape);
}

// The dot or convolution of an output fusion that has exactly one.
static const hsc_instr *only_product(const hsc_instr *instr) {
  const hsc_instr *product = NULL;
  if (instr->op != HSC_OP_FUSION || instr->attr.fusion.kind != HSC_FUSION_OUTPUT ||
      instr->called_count != 1)
    return NULL;
  HSC_FOR_EACH_INSTR_IN (instr->called[0], inner) {
    if (inner->op != HSC_OP_DOT && inner->op != HSC_OP_CONVOLUTION)
      continue;
    if (product)
      return NULL;
    product = inner;
  }
  return product;
}

// A short product is generated code like the rest of its fusion: packing it for a kernel of
// products would take longer than computing it.
const hsc_instr *hsc_kernel_product(const hsc_instr *instr) {
  const hsc_instr *product = only_product(instr);
  bool generated = product && product->op == HSC_OP_DOT && hsc__emit_can_dot(product);
  return generated ? NULL : product;
}

// True when every operation and type of the instruction can be emitted; of an output fusion, every
// one but a product that is not short.
static bool kernel_can_emit(const hsc_instr *instr) {
  if (!fits_buffers(instr))
    return false;
  const hsc_instr *roots[HSC_KERNEL_MAX_BUFFERS];
  if (instr->op == HSC_OP_FUSION) {
    if (instr->called_count != 1)
      return false;
    const hsc_instr *product = hsc_kernel_product(instr);
    if (instr->attr.fusion.kind == HSC_FUSION_OUTPUT && !only_product(instr))
      return false;
    int count = roots_of(instr, roots, HSC_KERNEL_MAX_BUFFERS);
    if (count == 0 || (product && is_reduce(roots[0])))
      return false;
    for (int i = 0; i < count; i++)
      if (!can_root(roots[i], roots[0]))
        return false;
    HSC_FOR_EACH_INSTR_IN (instr->called[0], inner) {
      if (inner->op == HSC_OP_PARAMETER || inner == product ||
          (inner == instr->called[0]->root && inner->op == HSC_OP_TUPLE))
        continue;
      bool root = false;
      for (int i = 0; i < count; i++)
        root = root || roots[i] == inner;
      if (is_reduce(inner) && root)
        continue;
      if (!hsc__emit_can_walk(inner))
        return false;
    }
    return true;
  }
  if (instr->operand_count == 0 && instr->op != HSC_OP_IOTA)
    return false;
  if (is_reduce(instr))
    return hsc__emit_can_reduce(instr, instr);
  return instr->op != HSC_OP_CONSTANT && hsc__emit_can_walk(instr);
}

static hsc_status *begin_job(hsc_emit_job *job,
                             const hsc_instr *instr,
                             const hsc_cpu_isa *isa,
                             hsc_arena *arena,
                             uint64_t *in_place) {
  hsc_emitter *e = &job->e;
  e->instr = instr;
  e->body = instr->op == HSC_OP_FUSION ? instr->called[0] : NULL;
  e->isa = isa;
  e->arena = arena;
  if (instr->op == HSC_OP_WHILE)
    return hsc__emit_plan_small(job, in_place);
  e->product = hsc_kernel_product(instr);
  e->input_count = instr->operand_count + (e->product ? 1 : 0);
  e->root_count = roots_of(instr, e->roots, HSC_KERNEL_MAX_BUFFERS);
  e->output_count = hsc_shape_leaf_count(&instr->shape);
  job->plan.input_count = e->input_count;
  job->plan.output_count = e->output_count;
  if (e->product)
    HSC_TRY(hsc__emit_plan_panel(job));
  else
    HSC_TRY(is_reduce(e->roots[0]) ? hsc__emit_plan_reduce(job)
                                   : hsc__emit_plan_loop(job, in_place));
  job->plan.code_size =
      20 + (double)e->simple_ops + 2 * (double)e->heavy_ops + (double)e->access_count;
  return NULL;
}

// UNIMPLEMENTED for indices that are too intricate.
static hsc_status *make_plan(const hsc_instr *instr,
                             const hsc_cpu_isa *isa,
                             hsc_kernel_plan *out_plan,
                             uint64_t *in_place) {
  hsc_status *status = NULL;
  hsc_arena *scratch = NULL;
  hsc_emit_job *job = NULL;
  HSC_GOTO(hsc_arena_create(&scratch));
  job = hsc_alloc(sizeof *job);
  if (!job)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(begin_job(job, instr, isa, scratch, in_place));
  *out_plan = job->plan;
done:
  hsc_free(job);
  hsc_arena_destroy(scratch);
  return status;
}

hsc_status *hsc_kernel_plan_try(const hsc_instr *instr,
                                const hsc_cpu_isa *isa,
                                hsc_kernel_plan *out_plan,
                                uint64_t *in_place,
                                bool *out_fits) {
  *out_fits = instr->op == HSC_OP_WHILE || kernel_can_emit(instr);
  if (!*out_fits)
    return NULL;
  hsc_status *status = make_plan(instr, isa, out_plan, in_place);
  if (hsc_status_code(status) != HSC_UNIMPLEMENTED)
    return status;
  hsc_status_free(status);
  *out_fits = false;
  return NULL;
}

hsc_status *hsc_kernel_emit(const hsc_instr *instr,
                            const hsc_cpu_isa *isa,
                            LLVMContextRef context,
                            LLVMModuleRef module,
                            LLVMBuilderRef builder,
                            const char *name) {
  hsc_status *status = NULL;
  hsc_arena *scratch = NULL;
  hsc_emit_job *job = NULL;
  HSC_GOTO(hsc_arena_create(&scratch));
  job = hsc_alloc(sizeof *job);
  if (!job)
    HSC_GOTO(hsc_status_out_of_memory());
  uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
  HSC_GOTO(begin_job(job, instr, isa, scratch, in_place));
  job->e.context = context;
  job->e.module = module;
  job->e.builder = builder;
  switch (job->plan.kind) {
    case HSC_KERNEL_REDUCE:
      HSC_GOTO(hsc__emit_reduce(job, name));
      break;
    case HSC_KERNEL_PANEL:
      HSC_GOTO(hsc__emit_panel(job, name));
      break;
    case HSC_KERNEL_SMALL_LOOP:
      HSC_GOTO(hsc__emit_small(job, name));
      break;
    default:
      HSC_GOTO(hsc__emit_loop(job, name));
      break;
  }
done:
  hsc_free(job);
  hsc_arena_destroy(scratch);
  return status;
}
