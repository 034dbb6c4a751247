// lanes.c - see lanes.h. A kernel is made from a `map` over arrays, in a module of helpers that dies with the compilation.
#include "cpu/lanes.h"

#include "cpu/emit.h"

hsc_status *hsc__cpu_add_lanes(hsc_cpu_compiler *compiler, const hsc_computation *computation, int32_t *out_kernel) {
  *out_kernel = -1;
  if (!hsc_shape_is_scalar(&computation->root->shape) || computation->parameter_count < 1) return NULL;
  for (int p = 0; p < computation->parameter_count; p++)
    if (!hsc_shape_is_scalar(&computation->parameters[p]->shape)) return NULL;
  if (!compiler->helpers) HSC_TRY(hsc_module_create("helpers", &compiler->helpers));
  hsc_module *module = compiler->helpers;
  hsc_computation *clone = NULL;
  HSC_TRY(hsc_computation_clone(module, computation, NULL, true, &clone));
  hsc_builder b;
  hsc_builder_init(&b, module, "lanes");
  int64_t size = HSC_LANES;
  hsc_instr **parameters = HSC_NEW_ARRAY(module->arena, hsc_instr *, computation->parameter_count);
  HSC_TRY(hsc_arena_status(module->arena));
  for (int p = 0; p < computation->parameter_count; p++)
    parameters[p] = hsc_build_parameter(&b, p, hsc_shape_array(module->arena, computation->parameters[p]->shape.type, 1, &size), "lane");
  hsc_instr *map = hsc_build_calls(&b, HSC_OP_MAP, hsc_shape_array(module->arena, computation->root->shape.type, 1, &size), computation->parameter_count, parameters, 1, &clone);
  map->attr.dims.dims = HSC_DIMS(module->arena, 0);
  hsc_computation *done = NULL;
  HSC_TRY(hsc_builder_finish(&b, map, &done));
  if (!hsc_kernel_can_emit(map)) return NULL;
  hsc_kernel_plan plan = {0};
  uint64_t in_place[1];
  hsc_status *status = hsc_kernel_plan_make(map, &compiler->device->isa, &plan, in_place);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    return NULL;
  }
  HSC_TRY(status);
  return hsc__cpu_add_kernel(compiler, map, plan.code_size, out_kernel);
}
