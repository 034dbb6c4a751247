// worker_work.c - what a program does, counted by the reference evaluator.
//
// The program that the device's compiler made is counted where the plugin shows it and the
// evaluator understands it: common subexpressions are gone from it, constants are folded. Else the
// program as it was given is counted. Loops count as often as they run with these inputs; of
// several executions each one gets the outputs of the one before, as "feed" says.
#include "base/files/file_io.h"
#include "worker/worker_internal.h"

// What the compiler made of it; NULL in *out_module and why in *out_why when it cannot be had.
static hsc_status *compiled_module(hsc_worker *worker,
                                   worker_program *program,
                                   json_t *request,
                                   hsc_arena *arena,
                                   hsc_module **out_module,
                                   const char **out_why) {
  worker_executable *executable = NULL;
  worker_compile how;
  hsc_bytes code = {0};
  const char *format = NULL;
  const char *file = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc__request_text(request, "compiled", false, &file));
  if (!file && !worker->client) {
    *out_why = "this device does not show what it compiled";
    return NULL;
  }
  if (file) {
    status = hsc_file_read(file, &code);
  } else {
    HSC_TRY(hsc__worker_compile(worker, program, request, CACHE_MEMORY, &executable, &how));
    status = hsc_executable_optimized_program(executable->executable, &code, &format);
  }
  if (!status)
    status = hsc_program_read(hsc_bytes_view(&code), NULL, out_module);
  if (status) {
    *out_why = hsc_arena_strdup(arena, hsc_status_message(status));
    *out_module = NULL;
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&code);
  return NULL;
}

static hsc_status *count_in(worker_program *program,
                            const hsc_module *module,
                            int64_t executions,
                            const worker_feed *feed,
                            hsc_work *out_work) {
  hsc_arena *arena = NULL;
  hsc_literal **fed = hsc_alloc((size_t)program->input_count * sizeof(*fed) + 1);
  if (!fed)
    return hsc_status_out_of_memory();
  hsc_literal **own = program->inputs;
  hsc_status *status = NULL;
  *out_work = (hsc_work){0};
  memcpy(fed, own, (size_t)program->input_count * sizeof(*fed));
  HSC_GOTO(hsc_arena_create(&arena));
  for (int64_t i = 0; i < executions; i++) {
    hsc_literal **arguments = NULL;
    hsc_literal *result = NULL;
    program->inputs = fed;
    status = hsc__worker_arguments(program, module->entry, arena, &arguments);
    program->inputs = own;
    if (!status)
      status = hsc_evaluate_counted(module, module->entry->parameter_count, arguments, arena,
                                    out_work, &result);
    if (status)
      goto done;
    for (int f = 0; f < feed->count; f++) {
      int left = feed->outputs[f];
      const hsc_literal *leaf = hsc__worker_leaf(result, &left);
      if (leaf)
        fed[feed->inputs[f]] = (hsc_literal *)(uintptr_t)leaf;
    }
  }
done:
  hsc_arena_destroy(arena);
  hsc_free(fed);
  return status;
}

hsc_status *hsc__job_work(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  hsc_module *compiled = NULL;
  hsc_arena *arena = NULL;
  const char *why = NULL;
  int64_t executions = 1;
  int64_t seed = 0;
  worker_feed feed;
  hsc_work work = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc__request_int(request, "executions", 1, 1000, &executions));
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &seed));
  HSC_TRY(hsc__worker_program(worker, request, &program));
  HSC_TRY(hsc__request_feed(request, program, &feed));
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, 0, json_object_get(request, "data")));
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(compiled_module(worker, program, request, arena, &compiled, &why));
  hsc__worker_at(worker, "counting what it does");
  if (compiled) {
    status = count_in(program, compiled, executions, &feed, &work);
    if (status)
      why = hsc_arena_strdup(arena, hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  }
  if (why)
    HSC_GOTO(count_in(program, program->module, executions, &feed, &work));
  const hsc_answer_work counted = {
      .counted_on = why ? "the program before compiling" : "the compiled program",
      .why_not_compiled = why,
      .operations = work.operations,
      .instructions = work.instructions,
      .loop_trips = work.trips};
  hsc_answer_write_members(answer, &hsc_answer_work_layout, &counted);
done:
  hsc__worker_at(worker, NULL);
  hsc_module_destroy(compiled);
  hsc_arena_destroy(arena);
  return status;
}
