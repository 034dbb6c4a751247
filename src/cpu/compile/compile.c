// compile.c - from a module to an executable: verify, passes, plan, choose, place, lower, link.
#include <errno.h>
#include <stdlib.h>

#include "base/core/float_mode.h"
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "cpu/core/cpu_internal.h"
#include "cpu/thunks/lower.h"
#include "cpu/jit/jit.h"
#include "cpu/plan/plan_internal.h"
#include "cpu/thunks/kernels.h"
#include "cpu/tune/tuner.h"
#include "passes/manager/passes.h"

// ---- phases -------------------------------------------------------------------------------------

static int64_t end_phase(hsc_cpu_executable *executable, const char *name, int64_t start_ns) {
  int64_t now = hsc_now_ns();
  if (executable->stats.phase_count < HSC_CPU_MAX_PHASES)
    executable->phases[executable->stats.phase_count++] =
        (hsc_cpu_phase){.name = name, .duration_ns = now - start_ns};
  return now;
}

// ---- the executable -----------------------------------------------------------------------------

static hsc_status *describe_interface(hsc_cpu_executable *executable, const hsc_cpu_plan *plan) {
  hsc_arena *arena = executable->arena;
  const hsc_computation *entry = executable->module->entry;
  executable->parameter_count = entry->parameter_count;
  executable->input_count = plan->input_count;
  executable->output_count = plan->output_count;
  hsc_shape *parameters = HSC_NEW_ARRAY(arena, hsc_shape, entry->parameter_count + 1);
  executable->input_shapes = HSC_NEW_ARRAY(arena, const hsc_shape *, plan->input_count + 1);
  executable->output_shapes = HSC_NEW_ARRAY(arena, const hsc_shape *, plan->output_count + 1);
  executable->output_alias = HSC_NEW_ARRAY(arena, int32_t, plan->output_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  executable->parameter_shapes = parameters;
  int input = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    parameters[p] = entry->parameters[p]->shape;
    int leaves = hsc_shape_leaf_count(&parameters[p]);
    for (int l = 0; l < leaves; l++)
      executable->input_shapes[input++] = hsc_shape_leaf(&parameters[p], l);
  }
  executable->result_shape = entry->root->shape;
  for (int o = 0; o < plan->output_count; o++) {
    executable->output_shapes[o] = hsc_shape_leaf(&executable->result_shape, o);
    executable->output_alias[o] = plan->output_alias[o];
  }
  executable->base_count = HSC_CPU_BASE_FIRST_INPUT + plan->input_count + plan->output_count;
  return NULL;
}

static hsc_status *take_arrays(hsc_cpu_compiler *compiler) {
  hsc_cpu_executable *executable = compiler->executable;
  executable->thunk_count = (int32_t)(compiler->thunks.size / sizeof(hsc_cpu_thunk));
  executable->slice_count = (int32_t)(compiler->slices.size / sizeof(hsc_cpu_slice));
  executable->data_bytes = (int64_t)compiler->data.size;
  executable->thunks =
      hsc_arena_copy(executable->arena, compiler->thunks.data, compiler->thunks.size);
  executable->slices =
      hsc_arena_copy(executable->arena, compiler->slices.data, compiler->slices.size);
  executable->data = hsc_arena_copy(executable->arena, compiler->data.data, compiler->data.size);
  return hsc_arena_status(executable->arena);
}

static hsc_status *lay_out_constants(hsc_cpu_executable *executable, const hsc_cpu_plan *plan) {
  executable->constant_bytes = plan->constant_bytes;
  if (plan->constant_bytes == 0)
    return NULL;
  if (posix_memalign((void **)&executable->constants, HSC_CPU_ALIGNMENT,
                     (size_t)plan->constant_bytes))
    return hsc_status_out_of_memory();
  memset(executable->constants, 0, (size_t)plan->constant_bytes);
  for (int32_t c = 0; c < plan->constant_count; c++)
    if (plan->constants[c].bytes)
      memcpy(executable->constants + plan->constants[c].offset, plan->constants[c].literal->data,
             (size_t)plan->constants[c].bytes);
  return NULL;
}

// Asked of each loop once; instr->scratch says what came out.
static void mark_small_loops(hsc_module *module, const hsc_cpu_isa *isa) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_WHILE)
        instr->scratch = hsc__cpu_is_small_loop(isa, instr) ? instr : NULL;
}

static bool is_whole_loop(void *context, const hsc_instr *loop) {
  return loop->scratch == loop;
}

static hsc_status *build(hsc_cpu_compiler *compiler) {
  hsc_cpu_executable *executable = compiler->executable;
  int64_t start = hsc_now_ns();
  mark_small_loops(executable->module, &compiler->device->isa);
  hsc_cpu_whole_loops whole_loops = {is_whole_loop, NULL};
  HSC_TRY(hsc_cpu_plan_build(executable->module, &whole_loops, compiler->arena, &compiler->plan));
  HSC_TRY(hsc__cpu_executable_number_instrs(executable));
  HSC_TRY(hsc__cpu_choose(compiler));
  start = end_phase(executable, "emit", start);
  HSC_TRY(hsc_cpu_plan_assign(compiler->plan));
  HSC_TRY(describe_interface(executable, compiler->plan));
  executable->temp_bytes = compiler->plan->temp_bytes;
  HSC_TRY(hsc__cpu_lower(compiler));
  HSC_TRY(take_arrays(compiler));
  HSC_TRY(lay_out_constants(executable, compiler->plan));
  start = end_phase(executable, "buffer_assignment", start);
  int64_t codegen_ns = 0;
  int64_t link_ns = 0;
  HSC_TRY(hsc__cpu_compile_kernels(compiler, &codegen_ns, &link_ns));
  end_phase(executable, "codegen", hsc_now_ns() - codegen_ns);
  end_phase(executable, "link", hsc_now_ns() - link_ns);
  return NULL;
}

static hsc_status *run_passes_with(hsc_module *module,
                                   const hsc_cpu_compile_options *options,
                                   const hsc_pass_target *target) {
  hsc_pass_options pass_options = {.disable = options->disable_hlo_passes,
                                   .enable_only = options->enable_hlo_passes_only,
                                   .enable = options->enable_hlo_passes,
                                   .pass_fuel = options->fuel_of_passes,
                                   .algsimp = options->algsimp,
                                   .dump_to = options->dump_to,
                                   .dump_pass_re = options->dump_hlo_pass_re,
                                   .dump_module_metadata = options->dump_module_metadata,
                                   .record_fusion = options->record_fusion,
                                   .fuel = options->pass_fuel,
                                   .memory_limit_bytes = options->memory_limit_bytes,
                                   .target = target};
  return hsc_passes_run(module, NULL, &pass_options, NULL);
}

static hsc_status *run_passes(hsc_cpu_device *device,
                              hsc_module *module,
                              const hsc_cpu_compile_options *options) {
  bool tunes = options->autotune_level > 0 || options->load_autotune_results_from ||
               options->dump_autotune_results_to || options->dump_autotune_logs_to;
  if (!tunes)
    return run_passes_with(module, options, NULL);
  hsc_cpu_tuner *tuner = NULL;
  HSC_TRY(hsc__cpu_tuner_create(device, options, &tuner));
  hsc_status *status = run_passes_with(
      module, options, &(hsc_pass_target){.context = tuner, .pick_algorithm = hsc__cpu_tuner_pick});
  // What was found is written also when the compilation ends here: it says why.
  hsc_status *unwritten = hsc__cpu_tuner_finish(tuner);
  if (!status)
    status = unwritten;
  else
    hsc_status_free(unwritten);
  hsc__cpu_tuner_destroy(tuner);
  return status;
}

// After the entries of the passes in the module metadata: what placement came to, as a pass of a
// pipeline of its own, with counts that passes do not have.
static hsc_status *write_buffer_assignment(const hsc_cpu_compiler *compiler) {
  const hsc_cpu_compile_options *options = compiler->options;
  const hsc_cpu_executable *executable = compiler->executable;
  const hsc_cpu_plan *plan = compiler->plan;
  if (!options->dump_to || !options->dump_module_metadata)
    return NULL;
  int64_t duration_ns = 0;
  int64_t allocations = 0;
  int64_t copies = 0;
  int64_t unwritten = 0;
  int64_t now_us = hsc_wall_ns() / 1000;
  for (int i = 0; i < executable->stats.phase_count; i++)
    if (!strcmp(executable->phases[i].name, "buffer_assignment"))
      duration_ns = executable->phases[i].duration_ns;
  for (int32_t s = 0; s < plan->value_count; s++)
    allocations += plan->sets[s].first_value >= 0 && plan->sets[s].bytes > 0;
  for (int32_t i = 0; i < executable->thunk_count; i++) {
    const hsc_cpu_thunk *thunk = &executable->thunks[i];
    if (thunk->kind != HSC_CPU_THUNK_COPY && thunk->kind != HSC_CPU_THUNK_SWAP)
      continue;
    copies++;
    unwritten += thunk->instr < 0 || executable->instrs[thunk->instr]->op != HSC_OP_COPY;
  }
  const struct {
    const char *key;
    int64_t value;
  } metrics[] = {{"duration_ns", duration_ns},
                 {"values", plan->value_count},
                 {"allocations", allocations},
                 {"temporary_bytes", plan->temp_bytes},
                 {"constant_bytes", plan->constant_bytes},
                 {"copies", copies},
                 {"copies_of_its_own", unwritten}};
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  hsc_bytes_printf(&path, "%s/module_0000.metadata.textproto", options->dump_to);
  hsc_status *status = hsc_bytes_status(&path);
  FILE *file = status ? NULL : fopen(hsc_bytes_text(&path), "ae");
  if (!status && !file)
    status = hsc_status_errno(errno, "cannot write the module metadata", hsc_bytes_text(&path));
  for (int start = 1; start >= 0; start--) {
    hsc_bytes_printf(
        &text,
        "pass_metadata {\n  pass_name: \"%s\"\n  pipeline_name: \"buffer-assignment\"\n  "
        "start_timestamp_usec: %lld\n  end_timestamp_usec: %lld\n",
        start ? "pipeline-start" : "buffer-assignment", (long long)(now_us - duration_ns / 1000),
        (long long)now_us);
    for (size_t m = 0; m < HSC_COUNT_OF(metrics) && !start; m++)
      hsc_bytes_printf(&text, "  kv_metrics {\n    key: \"%s\"\n    value: %lld\n  }\n",
                       metrics[m].key, (long long)metrics[m].value);
    hsc_bytes_append_text(&text, "}\n");
  }
  if (!status)
    status = hsc_bytes_status(&text);
  if (file) {
    bool good = !status && fwrite(text.data, 1, text.size, file) == text.size;
    good = fclose(file) == 0 && good;
    if (!good && !status)
      status = hsc_status_errno(errno, "cannot write the module metadata", hsc_bytes_text(&path));
  }
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  return status;
}

// Beside the module metadata: "module NAME", and where compile time went, "name nanoseconds" a
// line.
static hsc_status *write_phases(const hsc_cpu_executable *executable,
                                const hsc_cpu_compile_options *options) {
  if (!options->dump_to || !options->dump_module_metadata)
    return NULL;
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  hsc_bytes_printf(&path, "%s/module_0000.compile_phases.txt", options->dump_to);
  hsc_bytes_printf(&text, "module %s\n", executable->name);
  for (int i = 0; i < executable->stats.phase_count; i++)
    hsc_bytes_printf(&text, "%s %lld\n", executable->phases[i].name,
                     (long long)executable->phases[i].duration_ns);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(path.data, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  return status;
}

hsc_status *hsc_cpu_compile(hsc_cpu_device *device,
                            const hsc_module *module,
                            const hsc_cpu_compile_options *options,
                            hsc_cpu_executable **out_executable) {
  *out_executable = NULL;
  hsc_status *status = NULL;
  hsc_cpu_compile_options defaults = hsc_cpu_compile_options_default();
  hsc_cpu_executable *executable = NULL;
  HSC_TRY(hsc__cpu_executable_create(device, &executable));
  uint64_t mode = hsc_float_mode_set();  // constants are folded
  hsc_cpu_compiler compiler = {
      .device = device, .executable = executable, .options = options ? options : &defaults};
  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc_arena_create(&compiler.arena));
  HSC_GOTO(hsc_module_verify(module));
  start = end_phase(executable, "verify", start);
  HSC_GOTO(hsc_module_clone(module, &executable->module));
  HSC_GOTO(hsc__cpu_finish_collectives(executable->module));
  HSC_GOTO(run_passes(device, executable->module, compiler.options));
  HSC_GOTO(hsc_module_sort(executable->module));
  executable->name = executable->module->name;
  executable->optimization_level = compiler.options->backend_optimization_level;
  start = end_phase(executable, "passes", start);
  HSC_GOTO(build(&compiler));
  HSC_GOTO(write_phases(executable, compiler.options));
  HSC_GOTO(write_buffer_assignment(&compiler));
  executable->fingerprint = hsc_module_fingerprint(executable->module);
  hsc_module_cost(executable->module, &executable->cost);
  executable->stats.instruction_count = executable->instr_count;
  for (int32_t i = 0; i < executable->instr_count; i++)
    executable->stats.fusion_count += executable->instrs[i]->op == HSC_OP_FUSION;
  hsc__cpu_executable_count(executable);
  *out_executable = executable;
  executable = NULL;
done:
  hsc_bytes_deinit(&compiler.thunks);
  hsc_bytes_deinit(&compiler.slices);
  hsc_bytes_deinit(&compiler.data);
  hsc_module_destroy(compiler.helpers);
  hsc_arena_destroy(compiler.arena);
  hsc_cpu_executable_release(executable);
  hsc_float_mode_restore(mode);
  return hsc_status_note(status, "while: compiling module %s", module->name);
}
