// emit_small_linalg.c - linear algebra in small loops (see emit_small.h): operands go to memory of
// the function's own, the kernel of kernels/linalg is called, results come back to registers.
#include "cpu/emit/emit_small.h"
#include "cpu/kernels/linalg/small_linalg.h"

#define B (e->builder)

bool hsc__small_is_linalg(const hsc_instr *instr) {
  hsc_small_linalg what;
  int64_t batches;
  return hsc_small_linalg_of(instr, &what, &batches) && batches == 1;
}

// Vector instructions that the kernel's work is worth.
static double cost_of(const hsc_small_linalg *what) {
  return 20 + (double)what->m * what->n * (what->k ? what->k : what->m) / 8;
}

static hsc_lv pointer_or_null(hsc_emitter *e, hsc_lv pointer) {
  return pointer ? pointer : hsc_ll.ConstNull(e->ptr);
}

hsc_status *hsc__small_linalg(hsc_small *s,
                              const hsc_instr *instr,
                              const hsc_small_value *operands,
                              hsc_small_value *results) {
  hsc_emitter *e = s->e;
  hsc_small_linalg what;
  int64_t batches;
  if (!hsc_small_linalg_of(instr, &what, &batches) || batches != 1)
    return hsc__small_refuse(instr, "a batch of matrices");
  if (s->dry) {
    s->cost += cost_of(&what);
    return NULL;
  }
  hsc_small_sizes sizes = hsc_small_linalg_sizes(&what);
  hsc_lv arguments[1 + 2 + HSC_SMALL_LINALG_ARRAYS] = {0};
  LLVMTypeRef types[HSC_COUNT_OF(arguments)];
  uint64_t packed;
  memcpy(&packed, &what, sizeof packed);
  arguments[0] = hsc__emit_int(e, e->i64, (int64_t)packed);
  types[0] = e->i64;
  for (int i = 0; i < sizes.in_count; i++) {
    hsc_type type = instr->operands[i]->shape.type;
    arguments[1 + i] = hsc__small_room(s, type, sizes.in[i]);
    hsc__small_store(s, type, arguments[1 + i], operands[i].in, sizes.in[i]);
  }
  for (int o = 0; o < sizes.out_count; o++)
    arguments[3 + o] = hsc__small_room(s, hsc_shape_leaf(&instr->shape, o)->type, sizes.out[o]);
  for (size_t a = 1; a < HSC_COUNT_OF(arguments); a++) {
    arguments[a] = pointer_or_null(e, arguments[a]);
    types[a] = e->ptr;
  }
  LLVMTypeRef function_type = hsc_ll.FunctionType(hsc_ll.VoidTypeInContext(e->context), types,
                                                  (unsigned)HSC_COUNT_OF(types), 0);
  hsc_lv function = hsc_ll.GetNamedFunction(e->module, HSC_SMALL_LINALG_SYMBOL);
  if (!function)
    function = hsc_ll.AddFunction(e->module, HSC_SMALL_LINALG_SYMBOL, function_type);
  hsc__emit_at(e, e->level);
  (void)hsc_ll.BuildCall2(B, function_type, function, arguments, (unsigned)HSC_COUNT_OF(arguments),
                          "");
  for (int o = 0; o < sizes.out_count; o++)
    results[o].in = hsc__small_load(s, hsc_shape_leaf(&instr->shape, o)->type, arguments[3 + o],
                                    sizes.out[o], e->level);
  return NULL;
}
