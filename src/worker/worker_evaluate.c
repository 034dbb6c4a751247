// worker_evaluate.c - the reference evaluator as a device of its own: slow, and right by
// definition.
#include "base/files/file_io.h"
#include "worker/worker_counts.h"
#include "worker/worker_internal.h"

const hsc_literal *hsc__worker_leaf(const hsc_literal *literal, int *left) {
  if (!hsc_shape_is_tuple(&literal->shape))
    return (*left)-- == 0 ? literal : NULL;
  for (int i = 0; i < literal->shape.element_count; i++) {
    const hsc_literal *found = hsc__worker_leaf(&literal->elements[i], left);
    if (found)
      return found;
  }
  return NULL;
}

// Parameters as literals of their own shapes, put together from the leaves that every device gets.
static hsc_status *gather(hsc_arena *arena,
                          const hsc_shape *shape,
                          worker_program *program,
                          int *leaf,
                          hsc_literal *out) {
  if (!hsc_shape_is_tuple(shape)) {
    *out = *program->inputs[(*leaf)++];
    return NULL;
  }
  hsc_literal *tuple = NULL;
  HSC_TRY(hsc_literal_create(arena, shape, &tuple));
  for (int i = 0; i < shape->element_count; i++)
    HSC_TRY(gather(arena, &shape->elements[i], program, leaf, &tuple->elements[i]));
  *out = *tuple;
  return NULL;
}

hsc_status *hsc__worker_arguments(worker_program *program,
                                  const hsc_computation *entry,
                                  hsc_arena *arena,
                                  hsc_literal ***out_arguments) {
  hsc_literal *values = HSC_NEW_ARRAY(arena, hsc_literal, entry->parameter_count + 1);
  hsc_literal **arguments = HSC_NEW_ARRAY(arena, hsc_literal *, entry->parameter_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  int leaf = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    HSC_TRY(gather(arena, &entry->parameters[p]->shape, program, &leaf, &values[p]));
    arguments[p] = &values[p];
  }
  *out_arguments = arguments;
  return NULL;
}

// What the run did, counted while it ran, beside what the text alone says.
static hsc_status *write_counts(const hsc_module *module, const hsc_work *work, hsc_json *answer) {
  hsc_count count;
  HSC_TRY(hsc_module_count(module, &count));
  hsc_write_cost(answer, "exact", &work->cost);
  hsc_write_cost(answer, "static", &count.cost);
  hsc_write_op_costs(answer, "exact_by_op", work->by_op);
  HSC_TRY(hsc_write_module_count(answer, "text", module, false));
  HSC_TRY(hsc_write_uncounted(answer, module));
  hsc_json_kv_int(answer, "loop_trips", work->trips);
  hsc_json_kv_int(answer, "guessed_loops", count.guessed_loops);
  hsc_json_kv_int(answer, "guessed_branches", count.guessed_branches);
  hsc_json_kv_string(answer, "first_guess", count.first_guess ? count.first_guess->name : NULL);
  return NULL;
}

static hsc_status *evaluate(hsc_worker *worker,
                            worker_program *program,
                            const char *save_to,
                            hsc_arena *arena,
                            hsc_json *answer) {
  hsc_computation *entry = program->module->entry;
  hsc_literal *result = NULL;
  hsc_literal **arguments = NULL;
  HSC_TRY(hsc__worker_arguments(program, entry, arena, &arguments));
  hsc__worker_at(worker, "evaluating");
  int64_t start = hsc_now_ns();
  hsc_work work = {.by_op = HSC_NEW(arena, hsc_op_costs)};
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(hsc_evaluate_counted(program->module, entry->parameter_count, arguments, arena, &work,
                               &result));
  int64_t evaluate_ns = hsc_now_ns() - start;
  hsc__worker_at(worker, NULL);
  HSC_TRY(write_counts(program->module, &work, answer));
  hsc_bytes shape = {0};
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  if (save_to)
    HSC_GOTO(hsc_dir_make(save_to));
  hsc_json_key(answer, "outputs");
  hsc_json_begin_array(answer);
  for (int i = 0; i < program->output_count; i++) {
    int left = i;
    const hsc_literal *output = hsc__worker_leaf(result, &left);
    size_t size = (size_t)hsc_shape_bytes(&output->shape);
    hsc_bytes_reset(&shape);
    hsc_shape_print(&output->shape, false, &shape);
    if (save_to)
      HSC_GOTO(hsc__save_output(save_to, (size_t)i, output->data, size, &path));
    hsc__write_output(answer, hsc_bytes_text(&shape), (hsc_view){output->data, size},
                      save_to ? hsc_bytes_text(&path) : NULL, NULL);
  }
  hsc_json_end_array(answer);
  hsc_json_key(answer, "series");
  hsc_json_begin_object(answer);
  hsc_json_key(answer, "run_ns");
  hsc_json_begin_array(answer);
  hsc_json_int(answer, evaluate_ns);
  hsc_json_end_array(answer);
  hsc_json_end_object(answer);
done:
  hsc_bytes_deinit(&shape);
  hsc_bytes_deinit(&path);
  return status;
}

hsc_status *hsc__job_evaluate(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker_program *program = NULL;
  int64_t seed = 0;
  const char *save_to = NULL;
  HSC_TRY(hsc__request_int(request, "seed", 0, INT64_MAX, &seed));
  HSC_TRY(hsc__request_text(request, "save_to", false, &save_to));
  json_t *perturbation = json_object_get(request, "perturb");
  if (perturbation && (!json_is_number(perturbation) || !(json_number_value(perturbation) >= 0) ||
                       json_number_value(perturbation) > 1))
    return HSC_ERR(INVALID_ARGUMENT, "\"perturb\" is not a number from 0 to 1");
  HSC_TRY(hsc__worker_program(worker, request, &program));
  if (program->in_parts)
    return HSC_ERR(FAILED_PRECONDITION,
                   "the program only makes sense in parts: it names its %lld pieces "
                   "itself (shard_map), and the evaluator runs whole programs",
                   (long long)program->spread.partition_count);
  HSC_TRY(hsc__worker_fill_inputs(program, (uint64_t)seed, json_number_value(perturbation),
                                  json_object_get(request, "data")));
  hsc__write_program_times(program, answer);
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = evaluate(worker, program, save_to, arena, answer);
  hsc_arena_destroy(arena);
  return status;
}
