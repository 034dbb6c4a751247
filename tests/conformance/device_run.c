// device_run.c - literals to buffers, a run, buffers to literals.
#include "device_run.h"

static PJRT_Buffer_Type pjrt_type_of(hsc_type type) {
  for (int t = PJRT_Buffer_Type_PRED; t <= PJRT_Buffer_Type_U1; t++)
    if (strcmp(hsc_pjrt_type_text((PJRT_Buffer_Type)t), hsc_type_text(type)) == 0)
      return (PJRT_Buffer_Type)t;
  return PJRT_Buffer_Type_INVALID;
}

hsc_status *device_run_open(const char *plugin_path, device_run *out_run) {
  *out_run = (device_run){0};
  hsc_status *status = hsc_plugin_open(plugin_path, &out_run->plugin);
  if (!status)
    status = hsc_plugin_initialize(out_run->plugin);
  if (!status)
    status = hsc_client_create(out_run->plugin, NULL, 0, &out_run->client);
  if (status)
    device_run_close(out_run);
  return status;
}

void device_run_close(device_run *run) {
  hsc_client_destroy(run->client);
  hsc_plugin_close(run->plugin);
  *run = (device_run){0};
}

typedef struct buffer_list {
  hsc_buffer **v;
  int count, capacity;
} buffer_list;

static hsc_status *put_leaves(device_run *run, const hsc_literal *literal, buffer_list *list) {
  if (hsc_shape_is_tuple(&literal->shape)) {
    for (int i = 0; i < literal->shape.element_count; i++)
      HSC_TRY(put_leaves(run, &literal->elements[i], list));
    return NULL;
  }
  if (list->count == list->capacity) {
    int capacity = list->capacity ? 2 * list->capacity : 16;
    hsc_buffer **v = hsc_realloc(list->v, (size_t)capacity * sizeof *v);
    if (!v)
      return hsc_status_out_of_memory();
    list->v = v;
    list->capacity = capacity;
  }
  const hsc_host_array array = {pjrt_type_of(literal->shape.type), literal->shape.rank,
                                literal->shape.dims, literal->data};
  HSC_TRY(hsc_buffer_from_host(run->client, 0, &array, HSC_HOST_COPY, NULL, &list->v[list->count]));
  list->count++;
  return NULL;
}

static hsc_status *take_results(hsc_execution *execution,
                                const hsc_shape *result_shape,
                                hsc_arena *arena,
                                int result_count,
                                hsc_literal **out_results) {
  for (int i = 0; i < result_count; i++) {
    size_t bytes = 0;
    hsc_array_spec spec;
    hsc_buffer *buffer = hsc_execution_output(execution, (size_t)i);
    const hsc_shape *leaf = hsc_shape_leaf(result_shape, i);
    HSC_TRY(hsc_literal_create(arena, leaf, &out_results[i]));
    if (!hsc_shape_is_array(leaf))
      continue;
    HSC_TRY(hsc_buffer_spec(buffer, &spec));
    if (spec.type != pjrt_type_of(leaf->type) || spec.rank != leaf->rank ||
        (leaf->rank && memcmp(spec.dims, leaf->dims, (size_t)leaf->rank * sizeof *leaf->dims) != 0))
      return HSC_ERR(INTERNAL, "result %d is a %s of rank %d; the program says otherwise", i,
                     hsc_pjrt_type_text(spec.type), spec.rank);
    HSC_TRY(hsc_buffer_host_bytes(buffer, &bytes));
    if (bytes != (size_t)hsc_shape_bytes(leaf))
      return HSC_ERR(INTERNAL, "result %d has %zu bytes; expected %lld", i, bytes,
                     (long long)hsc_shape_bytes(leaf));
    HSC_TRY(hsc_buffer_to_host(buffer, out_results[i]->data, bytes));
  }
  return NULL;
}

hsc_status *device_run_program(device_run *run,
                               hsc_view code,
                               int argument_count,
                               hsc_literal *const *arguments,
                               const hsc_shape *result_shape,
                               hsc_arena *arena,
                               int result_count,
                               hsc_literal **out_results) {
  hsc_status *status = NULL;
  hsc_executable *executable = NULL;
  hsc_execution *execution = NULL;
  hsc_bytes options = {0};
  buffer_list inputs = {0};
  hsc_compile_options defaults = hsc_compile_options_default();
  HSC_GOTO(hsc_compile_options_write(&defaults, &options));
  HSC_GOTO(hsc_client_compile(run->client, code, "hlo", hsc_bytes_view(&options), &executable));
  if (hsc_executable_output_count(executable) != (size_t)result_count)
    HSC_GOTO(HSC_ERR(INTERNAL, "%zu results, expected %d", hsc_executable_output_count(executable),
                     result_count));
  for (int i = 0; i < argument_count; i++)
    HSC_GOTO(put_leaves(run, arguments[i], &inputs));
  HSC_GOTO(hsc_execution_create(executable, (size_t)inputs.count, &execution));
  for (int i = 0; i < inputs.count; i++)
    hsc_execution_set_argument(execution, (size_t)i, inputs.v[i]);
  HSC_GOTO(hsc_execution_run(execution));
  HSC_GOTO(hsc_execution_await(execution));
  HSC_GOTO(take_results(execution, result_shape, arena, result_count, out_results));
done:
  hsc_execution_destroy(execution);
  for (int i = 0; i < inputs.count; i++)
    hsc_buffer_destroy(inputs.v[i]);
  hsc_free(inputs.v);
  hsc_executable_destroy(executable);
  hsc_bytes_deinit(&options);
  return status;
}
