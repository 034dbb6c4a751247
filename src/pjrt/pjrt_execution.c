// pjrt_execution.c - one call made many times: every array of PJRT_LoadedExecutable_Execute is
// prepared once.
//
// A run is: destroy the outputs of the run before, one Execute. Waiting is: one Await, one Destroy
// of the event of each device. Nothing is allocated here. Arrays of several devices lie one device
// after the other.
#include "pjrt/pjrt_internal.h"

struct hsc_execution {
  hsc_executable *executable;
  hsc_plugin *plugin;
  size_t device_count, argument_count, output_count;  // arguments and outputs of a device
  PJRT_Buffer **arguments;              // [device_count * argument_count]; NULL = not set
  bool *argument_owned;                 // as arguments; fed from an output: ours to destroy
  PJRT_Buffer **outputs;                // [device_count * output_count]; NULL = none or taken
  hsc_buffer *output_buffers;           // as outputs; the borrowed wrappers
  int64_t *non_donatable;               // [argument_count]: 0, 1, 2, ...
  PJRT_Buffer *const **argument_lists;  // [device_count]
  PJRT_Buffer ***output_lists;          // [device_count]
  PJRT_Event **events;                  // [device_count] of the run that was not awaited yet
  bool use_event, has_outputs, all_set;
  PJRT_ExecuteOptions options;
  PJRT_LoadedExecutable_Execute_Args args;
};

static bool make_arrays(hsc_execution *e) {
  size_t devices = e->device_count;
  size_t arguments = devices * e->argument_count;
  size_t outputs = devices * e->output_count;
  e->arguments = hsc_alloc((arguments + 1) * sizeof *e->arguments);
  e->argument_owned = hsc_alloc((arguments + 1) * sizeof *e->argument_owned);
  e->non_donatable = hsc_alloc((e->argument_count + 1) * sizeof *e->non_donatable);
  e->outputs = hsc_alloc((outputs + 1) * sizeof *e->outputs);
  e->output_buffers = hsc_alloc((outputs + 1) * sizeof *e->output_buffers);
  e->argument_lists = hsc_alloc(devices * sizeof *e->argument_lists);
  e->output_lists = hsc_alloc(devices * sizeof *e->output_lists);
  e->events = hsc_alloc(devices * sizeof *e->events);
  return e->arguments && e->argument_owned && e->non_donatable && e->outputs && e->output_buffers &&
         e->argument_lists && e->output_lists && e->events;
}

hsc_status *hsc_execution_create_on(hsc_executable *executable,
                                    size_t device_count,
                                    size_t argument_count,
                                    hsc_execution **out_execution) {
  size_t most;
  *out_execution = NULL;
  if (!executable->loaded)
    return HSC_ERR(FAILED_PRECONDITION,
                   "%s: %s was compiled ahead of time and is not loaded on a device",
                   executable->plugin->name, executable->name);
  size_t outputs = executable->output_count;
  if (device_count < 1 || !hsc_mul_size(device_count, argument_count + outputs + 1, &most) ||
      most > SIZE_MAX / 64)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %zu devices with %zu arguments", executable->name,
                   device_count, argument_count);
  hsc_execution *execution = hsc_alloc(sizeof *execution);
  if (!execution)
    return hsc_status_out_of_memory();
  execution->executable = executable;
  execution->plugin = executable->plugin;
  execution->device_count = device_count;
  execution->argument_count = argument_count;
  execution->output_count = outputs;
  if (!make_arrays(execution)) {
    hsc_execution_destroy(execution);
    return hsc_status_out_of_memory();
  }
  for (size_t i = 0; i < argument_count; i++)
    execution->non_donatable[i] = (int64_t)i;
  for (size_t d = 0; d < device_count; d++) {
    execution->argument_lists[d] = execution->arguments + d * argument_count;
    execution->output_lists[d] = execution->outputs + d * outputs;
  }
  execution->options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  execution->options.non_donatable_input_indices = execution->non_donatable;
  execution->options.num_non_donatable_input_indices = argument_count;
  execution->use_event = true;
  execution->args = (PJRT_LoadedExecutable_Execute_Args)HSC_PJRT_ARGS(
      PJRT_LoadedExecutable_Execute, .executable = executable->loaded,
      .options = &execution->options, .argument_lists = execution->argument_lists,
      .num_devices = device_count, .num_args = argument_count,
      .output_lists = execution->output_lists, .device_complete_events = execution->events);
  *out_execution = execution;
  return NULL;
}

hsc_status *hsc_execution_create(hsc_executable *executable,
                                 size_t argument_count,
                                 hsc_execution **out_execution) {
  return hsc_execution_create_on(executable, 1, argument_count, out_execution);
}

static size_t all_outputs(const hsc_execution *execution) {
  return execution->device_count * execution->output_count;
}

static void drop_outputs(hsc_execution *execution) {
  for (size_t i = 0; i < all_outputs(execution); i++) {
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
  for (size_t d = 0; execution->events && d < execution->device_count; d++)
    if (execution->events[d])
      hsc__pjrt_ignore(hsc__event_finish(execution->plugin, execution->events[d]));
  if (execution->outputs)
    drop_outputs(execution);
  if (execution->arguments && execution->argument_owned)
    for (size_t i = 0; i < execution->device_count * execution->argument_count; i++)
      if (execution->argument_owned[i])
        hsc__buffer_drop(execution->plugin, execution->arguments[i]);
  hsc_free(execution->arguments);
  hsc_free(execution->argument_owned);
  hsc_free(execution->non_donatable);
  hsc_free(execution->outputs);
  hsc_free(execution->output_buffers);
  hsc_free(execution->argument_lists);
  hsc_free(execution->output_lists);
  hsc_free(execution->events);
  hsc_free(execution);
}

static void put_argument(hsc_execution *execution, size_t index, PJRT_Buffer *buffer, bool owned) {
  if (execution->argument_owned[index])
    hsc__buffer_drop(execution->plugin, execution->arguments[index]);
  execution->arguments[index] = buffer;
  execution->argument_owned[index] = owned;
}

void hsc_execution_set_argument_on(hsc_execution *execution,
                                   size_t device,
                                   size_t index,
                                   hsc_buffer *buffer) {
  if (device >= execution->device_count || index >= execution->argument_count)
    return;
  put_argument(execution, device * execution->argument_count + index,
               buffer ? buffer->buffer : NULL, false);
  execution->all_set = false;
}

void hsc_execution_set_argument(hsc_execution *execution, size_t index, hsc_buffer *buffer) {
  hsc_execution_set_argument_on(execution, 0, index, buffer);
}

void hsc_execution_allow_donation(hsc_execution *execution, bool allow) {
  execution->options.num_non_donatable_input_indices = allow ? 0 : execution->argument_count;
}

void hsc_execution_use_event(hsc_execution *execution, bool use) {
  execution->use_event = use;
  execution->args.device_complete_events = use ? execution->events : NULL;
}

static hsc_status *check_arguments(hsc_execution *execution) {
  for (size_t i = 0; i < execution->device_count * execution->argument_count; i++)
    if (!execution->arguments[i])
      return HSC_ERR(FAILED_PRECONDITION, "%s: argument %zu of %zu is not set",
                     execution->executable->name, i % execution->argument_count,
                     execution->argument_count);
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
    memset(execution->outputs, 0, all_outputs(execution) * sizeof *execution->outputs);
    memset(execution->events, 0, execution->device_count * sizeof *execution->events);
    return status;
  }
  execution->has_outputs = true;
  return NULL;
}

hsc_status *hsc_execution_await(hsc_execution *execution) {
  if (execution->use_event) {
    hsc_status *status = NULL;
    for (size_t d = 0; d < execution->device_count; d++) {
      PJRT_Event *event = execution->events[d];
      execution->events[d] = NULL;
      hsc_status *finished = hsc__event_finish(execution->plugin, event);
      if (status)
        hsc_status_free(finished);
      else
        status = finished;
    }
    return status;
  }
  for (size_t i = 0; i < all_outputs(execution); i++) {
    if (!execution->outputs[i])
      continue;
    hsc_buffer first = {execution->executable->client, execution->outputs[i]};
    HSC_TRY(hsc_buffer_await(&first));
    // all outputs of a device come together
    i += execution->output_count - 1 - i % execution->output_count;
  }
  return NULL;
}

hsc_buffer *hsc_execution_output_on(hsc_execution *execution, size_t device, size_t index) {
  if (device >= execution->device_count || index >= execution->output_count)
    return NULL;
  size_t at = device * execution->output_count + index;
  if (!execution->outputs[at])
    return NULL;
  execution->output_buffers[at] =
      (hsc_buffer){execution->executable->client, execution->outputs[at]};
  return &execution->output_buffers[at];
}

hsc_buffer *hsc_execution_output(hsc_execution *execution, size_t index) {
  return hsc_execution_output_on(execution, 0, index);
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
  bool in_range = output < execution->output_count && argument < execution->argument_count;
  for (size_t d = 0; d < execution->device_count; d++) {
    size_t row = d * execution->output_count;
    PJRT_Buffer **from = in_range ? &execution->outputs[row + output] : NULL;
    if (!from || !*from)
      return HSC_ERR(FAILED_PRECONDITION,
                     "%s: output %zu cannot become argument %zu (%zu outputs, %zu arguments; an "
                     "output is there once, after a run)",
                     execution->executable->name, output, argument, execution->output_count,
                     execution->argument_count);
    put_argument(execution, d * execution->argument_count + argument, *from, true);
    *from = NULL;
  }
  return NULL;
}
