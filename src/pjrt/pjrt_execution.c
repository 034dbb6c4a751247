// pjrt_execution.c - one call made many times: every array of PJRT_LoadedExecutable_Execute is
// prepared once.
//
// A run is: destroy the outputs of the run before, one Execute. Waiting is: one Await, one Destroy
// of the event. Nothing is allocated here.
#include "pjrt/pjrt_internal.h"

struct hsc_execution {
  hsc_executable *executable;
  hsc_plugin *plugin;
  size_t argument_count, output_count;
  PJRT_Buffer **arguments;     // [argument_count]; NULL = not set
  bool *argument_owned;        // [argument_count]; fed from an output: ours to destroy
  PJRT_Buffer **outputs;       // [output_count]; NULL = none or taken
  hsc_buffer *output_buffers;  // [output_count]; the borrowed wrappers
  int64_t *non_donatable;      // [argument_count]: 0, 1, 2, ...
  PJRT_Buffer *const *argument_lists[1];
  PJRT_Buffer **output_lists[1];
  PJRT_Event *events[1];  // of the run that was not awaited yet
  bool use_event, has_outputs, all_set;
  PJRT_ExecuteOptions options;
  PJRT_LoadedExecutable_Execute_Args args;
};

hsc_status *hsc_execution_create(hsc_executable *executable,
                                 size_t argument_count,
                                 hsc_execution **out_execution) {
  *out_execution = NULL;
  if (!executable->loaded)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s: %s was compiled ahead of time and is not loaded on a device",
                   executable->plugin->name, executable->name);
  hsc_execution *execution = hsc_alloc(sizeof *execution);
  if (!execution)
    return hsc_status_out_of_memory();
  size_t outputs = executable->output_count;
  execution->executable = executable;
  execution->plugin = executable->plugin;
  execution->argument_count = argument_count;
  execution->output_count = outputs;
  execution->arguments = hsc_alloc((argument_count + 1) * sizeof *execution->arguments);
  execution->argument_owned = hsc_alloc((argument_count + 1) * sizeof *execution->argument_owned);
  execution->non_donatable = hsc_alloc((argument_count + 1) * sizeof *execution->non_donatable);
  execution->outputs = hsc_alloc((outputs + 1) * sizeof *execution->outputs);
  execution->output_buffers = hsc_alloc((outputs + 1) * sizeof *execution->output_buffers);
  if (!execution->arguments || !execution->argument_owned || !execution->non_donatable ||
      !execution->outputs || !execution->output_buffers) {
    hsc_execution_destroy(execution);
    return hsc_status_out_of_memory();
  }
  for (size_t i = 0; i < argument_count; i++)
    execution->non_donatable[i] = (int64_t)i;
  execution->argument_lists[0] = execution->arguments;
  execution->output_lists[0] = execution->outputs;
  execution->options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  execution->options.non_donatable_input_indices = execution->non_donatable;
  execution->options.num_non_donatable_input_indices = argument_count;
  execution->use_event = true;
  execution->args = (PJRT_LoadedExecutable_Execute_Args)HSC_PJRT_ARGS(
      PJRT_LoadedExecutable_Execute, .executable = executable->loaded,
      .options = &execution->options, .argument_lists = execution->argument_lists, .num_devices = 1,
      .num_args = argument_count, .output_lists = execution->output_lists,
      .device_complete_events = execution->events);
  *out_execution = execution;
  return NULL;
}

static void drop_outputs(hsc_execution *execution) {
  for (size_t i = 0; i < execution->output_count; i++) {
    if (!execution->outputs[i])
      continue;
    hsc__buffer_drop(execution->plugin, execution->outputs[i]);
    execution->outputs[i] = NULL;
  }
  execution->has_outputs = false;
}

void hsc_execution_destroy(hsc_execution *execution) {
  if (!execution)
    return;
  if (execution->events[0])
    hsc__pjrt_ignore(hsc__event_finish(execution->plugin, execution->events[0]));
  if (execution->outputs)
    drop_outputs(execution);
  if (execution->arguments && execution->argument_owned)
    for (size_t i = 0; i < execution->argument_count; i++)
      if (execution->argument_owned[i])
        hsc__buffer_drop(execution->plugin, execution->arguments[i]);
  hsc_free(execution->arguments);
  hsc_free(execution->argument_owned);
  hsc_free(execution->non_donatable);
  hsc_free(execution->outputs);
  hsc_free(execution->output_buffers);
  hsc_free(execution);
}

static void put_argument(hsc_execution *execution, size_t index, PJRT_Buffer *buffer, bool owned) {
  if (execution->argument_owned[index])
    hsc__buffer_drop(execution->plugin, execution->arguments[index]);
  execution->arguments[index] = buffer;
  execution->argument_owned[index] = owned;
}

void hsc_execution_set_argument(hsc_execution *execution, size_t index, hsc_buffer *buffer) {
  if (index >= execution->argument_count)
    return;
  put_argument(execution, index, buffer ? buffer->buffer : NULL, false);
  execution->all_set = false;
}

void hsc_execution_allow_donation(hsc_execution *execution, bool allow) {
  execution->options.num_non_donatable_input_indices = allow ? 0 : execution->argument_count;
}

void hsc_execution_use_event(hsc_execution *execution, bool use) {
  execution->use_event = use;
  execution->args.device_complete_events = use ? execution->events : NULL;
}

static hsc_status *check_arguments(hsc_execution *execution) {
  for (size_t i = 0; i < execution->argument_count; i++)
    if (!execution->arguments[i])
      return HSC_ERR(FAILED_PRECONDITION, "%s: argument %zu of %zu is not set",
                     execution->executable->name, i, execution->argument_count);
  execution->all_set = true;
  return NULL;
}

hsc_status *hsc_execution_run(hsc_execution *execution) {
  if (!execution->all_set)
    HSC_TRY(check_arguments(execution));
  if (execution->events[0])
    HSC_TRY(hsc_execution_await(execution));
  if (execution->has_outputs)
    drop_outputs(execution);
  hsc_status *status =
      HSC_PJRT_CALL(execution->plugin, PJRT_LoadedExecutable_Execute, &execution->args);
  if (status) {
    // What a failing plugin left in the arrays is not ours.
    memset(execution->outputs, 0, execution->output_count * sizeof *execution->outputs);
    execution->events[0] = NULL;
    return status;
  }
  execution->has_outputs = true;
  return NULL;
}

hsc_status *hsc_execution_await(hsc_execution *execution) {
  if (execution->use_event) {
    PJRT_Event *event = execution->events[0];
    execution->events[0] = NULL;
    return hsc__event_finish(execution->plugin, event);
  }
  for (size_t i = 0; i < execution->output_count; i++) {
    if (!execution->outputs[i])
      continue;
    hsc_buffer first = {execution->executable->client, execution->outputs[i]};
    return hsc_buffer_await(&first);
  }
  return NULL;
}

hsc_buffer *hsc_execution_output(hsc_execution *execution, size_t index) {
  if (index >= execution->output_count || !execution->outputs[index])
    return NULL;
  execution->output_buffers[index] =
      (hsc_buffer){execution->executable->client, execution->outputs[index]};
  return &execution->output_buffers[index];
}

hsc_status *hsc_execution_take_output(hsc_execution *execution,
                                      size_t index,
                                      hsc_buffer **out_buffer) {
  *out_buffer = NULL;
  if (index >= execution->output_count || !execution->outputs[index])
    return HSC_ERR(FAILED_PRECONDITION, "%s: output %zu of %zu is not there (no run yet, or taken)",
                   execution->executable->name, index, execution->output_count);
  hsc_buffer *buffer = hsc_alloc(sizeof *buffer);
  if (!buffer)
    return hsc_status_out_of_memory();
  *buffer = (hsc_buffer){execution->executable->client, execution->outputs[index]};
  execution->outputs[index] = NULL;
  *out_buffer = buffer;
  return NULL;
}

hsc_status *hsc_execution_feed(hsc_execution *execution, size_t output, size_t argument) {
  if (output >= execution->output_count || !execution->outputs[output] ||
      argument >= execution->argument_count)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s: output %zu cannot become argument %zu (%zu outputs, %zu arguments; an "
                   "output is there once, after a run)",
                   execution->executable->name, output, argument, execution->output_count,
                   execution->argument_count);
  put_argument(execution, argument, execution->outputs[output], true);
  execution->outputs[output] = NULL;
  return NULL;
}
