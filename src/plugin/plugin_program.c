// plugin_program.c - a compiled program and all that is asked about it, computed once. Immutable,
// counted, shared by its handles.
//
// Serialized: "hscpjrt4", a hash of what is before the executable's own bytes, the sizes of the
// compile options and of the text of shardings, the number of inputs and the size of the layouts as
// 64-bit little-endian numbers, the options, the shardings, one byte per input (1 = donated), the
// layouts (none when all are row-major), and the executable's own bytes, which have a checksum of
// theirs, to the end.
#include "base/core/float_mode.h"
#include "base/text/view_find.h"
#include "cpu/runtime/records.h"
#include "plugin/plugin_host.h"
#include "plugin/plugin_internal.h"

#include "formats/common/formats.h"

static const char magic[8] = {'h', 's', 'c', 'p', 'j', 'r', 't', '4'};

void hsc__program_retain(hsc__program *program) {
  atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
}

void hsc__program_release(hsc__program *program) {
  if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) > 1)
    return;
  hsc__ffi_states_free(program->ffi_states);
  hsc_cpu_executable_release(program->executable);
  hsc__topology_release(program->topology);
  hsc_free(program->input_layouts);
  hsc_free(program->output_layouts);
  hsc_arena_destroy(program->arena);
  hsc_free(program);
}

// ---- donation -----------------------------------------------------------------------------------

// Leaf number of parameter `parameter` at path `index`; -1 when there is none.
static int leaf_of(const hsc_module *module, int64_t parameter, hsc_dims index) {
  const hsc_computation *entry = module->entry;
  if (parameter < 0 || parameter >= entry->parameter_count)
    return -1;
  int leaf = 0;
  for (int64_t p = 0; p < parameter; p++)
    leaf += hsc_shape_leaf_count(&entry->parameters[p]->shape);
  const hsc_shape *shape = &entry->parameters[parameter]->shape;
  for (int i = 0; i < index.count; i++) {
    if (!hsc_shape_is_tuple(shape) || index.v[i] < 0 || index.v[i] >= shape->element_count)
      return -1;
    for (int64_t e = 0; e < index.v[i]; e++)
      leaf += hsc_shape_leaf_count(&shape->elements[e]);
    shape = &shape->elements[index.v[i]];
  }
  return hsc_shape_is_tuple(shape) ? -1 : leaf;
}

// Donors become aliases of outputs of their shape, as far as there are any. One of another shape
// and as many bytes as an output is taken from the host as well, as XLA takes it; a buffer that no
// output could use is not.
static hsc_status *settle_donors(hsc_module *module) {
  const hsc_shape *result = &module->entry->root->shape;
  bool tuple = hsc_shape_is_tuple(result);
  int outputs = tuple ? result->element_count : 1;
  hsc_alias *aliases =
      HSC_NEW_ARRAY(module->arena, hsc_alias, module->alias_count + module->donor_count + 1);
  hsc_alias *others = HSC_NEW_ARRAY(module->arena, hsc_alias, module->donor_count + 1);
  bool *taken = HSC_NEW_ARRAY(module->arena, bool, outputs + 1);
  HSC_TRY(hsc_arena_status(module->arena));
  for (int i = 0; i < module->alias_count; i++) {
    aliases[i] = module->aliases[i];
    int64_t output = aliases[i].output_index.count ? aliases[i].output_index.v[0] : 0;
    if (output >= 0 && output < outputs)
      taken[output] = true;
  }
  int count = module->alias_count;
  int other_count = 0;
  for (int i = 0; i < module->donor_count; i++) {
    const hsc_alias *donor = &module->donors[i];
    if (donor->parameter_index.count || donor->parameter < 0 ||
        donor->parameter >= module->entry->parameter_count)
      continue;
    const hsc_shape *shape = &module->entry->parameters[donor->parameter]->shape;
    bool used = false;
    for (int o = 0; o < outputs && !used; o++) {
      if (taken[o] || !hsc_shape_is_array(shape) ||
          !hsc_shape_equal(shape, tuple ? &result->elements[o] : result))
        continue;
      used = taken[o] = true;
      int64_t path = o;
      aliases[count++] =
          (hsc_alias){.output_index = hsc_dims_copy(module->arena, tuple ? 1 : 0, &path),
                      .parameter = donor->parameter,
                      .parameter_index = donor->parameter_index};
    }
    if (!used && hsc_shape_is_array(shape))
      others[other_count++] = *donor;
  }
  int kept = 0;
  for (int i = 0; i < other_count; i++) {
    const hsc_shape *shape = &module->entry->parameters[others[i].parameter]->shape;
    for (int o = 0; o < outputs; o++) {
      const hsc_shape *output = tuple ? &result->elements[o] : result;
      if (taken[o] || !hsc_shape_is_array(output) ||
          hsc_shape_bytes(output) != hsc_shape_bytes(shape))
        continue;
      taken[o] = true;
      others[kept++] = others[i];
      break;
    }
  }
  module->aliases = aliases;
  module->alias_count = count;
  module->donors = others;
  module->donor_count = kept;
  return hsc_arena_status(module->arena);
}

// What a program says it takes.
static void mark_donated(const hsc_module *module, bool *donated, int input_count) {
  for (int i = 0; i < module->alias_count; i++) {
    int leaf = leaf_of(module, module->aliases[i].parameter, module->aliases[i].parameter_index);
    if (leaf >= 0 && leaf < input_count)
      donated[leaf] = true;
  }
  for (int i = 0; i < module->donor_count; i++) {
    int leaf = leaf_of(module, module->donors[i].parameter, module->donors[i].parameter_index);
    if (leaf >= 0 && leaf < input_count)
      donated[leaf] = true;
  }
}

// ---- facts --------------------------------------------------------------------------------------

static hsc_status *check_leaf(const hsc_shape *shape, const char *what, int number) {
  if (shape->dynamic)
    for (int i = 0; i < shape->rank; i++)
      if (shape->dynamic[i])
        return HSC_ERR(UNIMPLEMENTED, "%s %d has a dynamic dimension %d: not supported", what,
                       number, i);
  if (hsc__type_to_pjrt(shape->type) == PJRT_Buffer_Type_INVALID)
    return HSC_ERR(UNIMPLEMENTED, "%s %d has element type %s, which has no PJRT type", what, number,
                   hsc_type_text(shape->type));
  return NULL;
}

static hsc_status *copy_leaves(hsc__program *p,
                               int count,
                               const hsc_shape *(*get)(const hsc_cpu_executable *, int),
                               const PJRT_Layouts_MemoryLayout *const *layouts,
                               const char *what,
                               const hsc_shape **out_shapes,
                               const size_t **out_bytes) {
  hsc_shape *shapes = HSC_NEW_ARRAY(p->arena, hsc_shape, count + 1);
  size_t *bytes = HSC_NEW_ARRAY(p->arena, size_t, count + 1);
  if (!shapes || !bytes)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    HSC_TRY(check_leaf(get(p->executable, i), what, i));
    if (layouts && layouts[i] && layouts[i]->rank != get(p->executable, i)->rank)
      return HSC_ERR(DATA_LOSS, "%s %d has a layout of another rank", what, i);
    shapes[i] = layouts && layouts[i]
                    ? hsc__shape_from_memory(p->arena, get(p->executable, i), layouts[i])
                    : hsc_shape_copy(p->arena, *get(p->executable, i));
    bytes[i] = (size_t)hsc_shape_bytes(&shapes[i]);
  }
  *out_shapes = shapes;
  *out_bytes = bytes;
  return hsc_arena_status(p->arena);
}

static hsc_status *describe_outputs(hsc__program *p) {
  size_t total_rank = 0;
  int most = p->input_count > p->output_count ? p->input_count : p->output_count;
  for (int i = 0; i < p->output_count; i++)
    total_rank += (size_t)p->outputs[i].rank;
  PJRT_Buffer_Type *types = HSC_NEW_ARRAY(p->arena, PJRT_Buffer_Type, p->output_count + 1);
  int64_t *dims = HSC_NEW_ARRAY(p->arena, int64_t, total_rank + 1);
  size_t *ranks = HSC_NEW_ARRAY(p->arena, size_t, p->output_count + 1);
  p->kinds = HSC_NEW_ARRAY(p->arena, const char *, most + 1);
  size_t *kind_sizes = HSC_NEW_ARRAY(p->arena, size_t, most + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  p->output_types = types;
  p->output_dims = dims;
  p->output_ranks = ranks;
  p->kind_sizes = kind_sizes;
  for (int i = 0; i < p->output_count; i++) {
    types[i] = hsc__type_to_pjrt(p->outputs[i].type);
    ranks[i] = (size_t)p->outputs[i].rank;
    for (int d = 0; d < p->outputs[i].rank; d++)
      *dims++ = p->outputs[i].dims[d];
  }
  for (int i = 0; i < most; i++) {
    p->kinds[i] = "device";
    kind_sizes[i] = 6;
  }
  return NULL;
}

static void put_real(PJRT_NamedValue *value, const char *name, double real) {
  *value = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .name = name,
                             .name_size = strlen(name),
                             .type = PJRT_NamedValue_kFloat,
                             .float_value = (float)real,
                             .value_size = 1};
}

// What XLA's cost analysis has under its names, and what only we know under ours.
static hsc_status *describe_costs(hsc__program *p) {
  const hsc_cost *cost = hsc_cpu_executable_cost(p->executable);
  const hsc_cpu_stats *stats = hsc_cpu_executable_stats(p->executable);
  PJRT_NamedValue *values = HSC_NEW_ARRAY(p->arena, PJRT_NamedValue, 8 + stats->phase_count);
  if (!values)
    return hsc_status_out_of_memory();
  size_t n = 0;
  put_real(&values[n++], "flops", cost->flops);
  put_real(&values[n++], "transcendentals", cost->transcendentals);
  put_real(&values[n++], "bytes accessed", cost->bytes_read + cost->bytes_written);
  put_real(&values[n++], "hloscope instructions", (double)stats->instruction_count);
  put_real(&values[n++], "hloscope fusions", (double)stats->fusion_count);
  put_real(&values[n++], "hloscope kernels", (double)stats->kernel_count);
  put_real(&values[n++], "hloscope thunks", (double)stats->thunk_count);
  put_real(&values[n++], "hloscope from cache", stats->from_cache);
  for (int i = 0; i < stats->phase_count; i++)
    put_real(&values[n++],
             hsc_arena_printf(p->arena, "hloscope compile seconds %s", stats->phases[i].name),
             (double)stats->phases[i].duration_ns * 1e-9);
  p->costs = values;
  p->cost_count = n;
  return hsc_arena_status(p->arena);
}

static hsc_status *describe(hsc__program *p, const bool *donated) {
  p->input_count = hsc_cpu_executable_input_count(p->executable);
  p->output_count = hsc_cpu_executable_output_count(p->executable);
  if (p->in_layouts &&
      (p->in_layout_count != p->input_count || p->out_layout_count != p->output_count))
    return HSC_ERR(INTERNAL, "layouts of %d arguments and %d results for %d and %d",
                   p->in_layout_count, p->out_layout_count, p->input_count, p->output_count);
  HSC_TRY(copy_leaves(p, p->input_count, hsc_cpu_executable_input_shape, p->in_layouts, "argument",
                      &p->inputs, &p->input_bytes));
  HSC_TRY(copy_leaves(p, p->output_count, hsc_cpu_executable_output_shape, p->out_layouts, "output",
                      &p->outputs, &p->output_bytes));
  int *alias = HSC_NEW_ARRAY(p->arena, int, p->output_count + 1);
  bool *flags = HSC_NEW_ARRAY(p->arena, bool, p->input_count + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  if (donated && p->input_count)
    memcpy(flags, donated, (size_t)p->input_count);
  for (int i = 0; i < p->output_count; i++) {
    alias[i] = hsc_cpu_executable_output_alias(p->executable, i);
    if (alias[i] >= p->input_count ||
        (alias[i] >= 0 && p->input_bytes[alias[i]] != p->output_bytes[i]))
      alias[i] = -1;
    if (alias[i] >= 0)
      flags[alias[i]] = true;
  }
  for (int i = 0; i < p->input_count; i++)
    p->donates |= flags[i];
  p->alias = alias;
  p->donated = flags;
  hsc_hash128_hex(hsc_cpu_executable_fingerprint(p->executable), p->fingerprint);
  HSC_TRY(describe_outputs(p));
  return describe_costs(p);
}

// ---- compile, load, save ------------------------------------------------------------------------

static hsc_status *create(hsc_view options, hsc__program **out_program) {
  hsc__program *p = hsc_alloc(sizeof *p);
  if (!p)
    return hsc_status_out_of_memory();
  atomic_init(&p->references, 1);
  hsc_status *status = hsc_arena_create(&p->arena);
  if (!status) {
    p->options = options.size ? hsc_arena_copy(p->arena, options.data, options.size) : NULL;
    p->options_size = options.size;
    status = hsc_arena_status(p->arena);
  }
  if (status) {
    hsc__program_release(p);
    p = NULL;
  }
  *out_program = p;
  return status;
}

hsc_status *hsc__check_program(const PJRT_Program *program) {
  if (!program)
    return HSC_ERR(INVALID_ARGUMENT, "args->program is NULL");
  if (program->struct_size < HSC_PJRT_SIZE_TO(PJRT_Program, format_size))
    return HSC_ERR(INVALID_ARGUMENT, "PJRT_Program: a struct of %zu bytes, at least %zu are needed",
                   program->struct_size, HSC_PJRT_SIZE_TO(PJRT_Program, format_size));
  if ((!program->code && program->code_size) || (!program->format && program->format_size))
    return HSC_ERR(INVALID_ARGUMENT, "PJRT_Program: code or format is NULL and has a size");
  return NULL;
}

static hsc_status *check_settings(const hsc__compile_settings *settings, int device_count) {
  int replicas = settings->replica_count;
  int partitions = settings->partition_count;
  if (replicas < 1 || partitions < 1)
    return HSC_ERR(INVALID_ARGUMENT, "%d replicas of %d partitions", replicas, partitions);
  if (replicas > 1 && partitions > 1)
    return HSC_ERR(UNIMPLEMENTED,
                   "programs of several replicas of several partitions: not built yet: %d "
                   "replicas, %d partitions",
                   replicas, partitions);
  if (settings->ordinal >= device_count)
    return HSC_ERR(INVALID_ARGUMENT, "the device ordinal is %d; there %s %d", settings->ordinal,
                   device_count == 1 ? "is" : "are", device_count);
  int needed = replicas > partitions ? replicas : partitions;
  if (needed > device_count)
    return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "the program is for %d devices; there %s %d",
                                   needed, device_count == 1 ? "is" : "are", device_count),
                           "HLOSCOPE_DEVICE_COUNT=%d makes so many", needed);
  if (settings->listed_count && settings->listed_count < needed)
    return HSC_ERR(INVALID_ARGUMENT, "the program is for %d devices and is assigned to %d", needed,
                   settings->listed_count);
  for (int i = 0; i < needed && settings->listed_count; i++) {
    if (settings->devices[i] >= device_count)
      return HSC_ERR(INVALID_ARGUMENT, "the program is assigned to device %d; there are %d",
                     settings->devices[i], device_count);
    for (int k = 0; k < i; k++)
      if (settings->devices[k] == settings->devices[i])
        return HSC_ERR(INVALID_ARGUMENT, "the program is assigned to device %d twice",
                       settings->devices[i]);
  }
  return NULL;
}

static void place(hsc__program *p, const hsc__compile_settings *settings) {
  p->replica_count = settings->replica_count;
  p->partition_count = settings->partition_count;
  p->device_count = p->replica_count > p->partition_count ? p->replica_count : p->partition_count;
  for (int i = 0; i < p->device_count; i++)
    p->devices[i] = settings->listed_count ? settings->devices[i] : i;
  p->is_placed = settings->listed_count > 0;
}

// A module of several partitions must be one partition's program by now: what has shardings to be
// partitioned by would need XLA's partitioner.
static hsc_status *check_partitioned(const hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->sharding && strstr(instr->sharding, "devices="))
        return HSC_ERR(UNIMPLEMENTED,
                       "automatic partitioning: not built yet: %s has the sharding %s in a program "
                       "in HLO; the same in StableHLO runs",
                       instr->name, instr->sharding);
  return NULL;
}

static void replicated(const hsc_shape *shape, hsc_bytes *text) {
  int count = hsc_shape_is_tuple(shape) ? shape->element_count : 0;
  hsc_bytes_append_text(text, hsc_shape_is_tuple(shape) ? "{{replicated}" : "{replicated}\n");
  for (int i = 1; i < count; i++)
    hsc_bytes_append_text(text, ", {replicated}");
  if (hsc_shape_is_tuple(shape))
    hsc_bytes_append_text(text, "}\n");
}

// What nothing is said of is whole on every device.
static hsc_status *keep_shardings(hsc__program *p, const hsc_module *module) {
  hsc_bytes text = {0};
  const hsc_computation *entry = module->entry;
  for (int i = 0; i < entry->parameter_count; i++)
    hsc_bytes_printf(
        &text, "%s\n",
        entry->parameters[i]->sharding ? entry->parameters[i]->sharding : "{replicated}");
  if (entry->root->sharding)
    hsc_bytes_printf(&text, "%s\n", entry->root->sharding);
  else
    replicated(&entry->root->shape, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status) {
    p->shardings = p->partition_count > 1 ? hsc_arena_strdup(p->arena, text.data) : "";
    status = hsc_arena_status(p->arena);
  }
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *compile_in_mode(hsc_cpu_device *device,
                                   const PJRT_Program *code,
                                   hsc_view options,
                                   int device_count,
                                   hsc__program **out_program) {
  hsc_status *status = NULL;
  hsc__compile_settings settings;
  hsc_module *module = NULL;
  hsc__program *p = NULL;
  bool *donated;
  hsc_view format = {code->format, code->format_size};
  *out_program = NULL;
  // The bytes tell the format better than the name: "hlo" may be proto or text, "mlir" text,
  // bytecode or a portable artifact.
  if (!hsc_view_equals_text(format, "hlo") && !hsc_view_equals_text(format, "hlo_text") &&
      !hsc_view_equals_text(format, "hlo_with_config") && !hsc_view_equals_text(format, "mlir"))
    return HSC_ERR(
        INVALID_ARGUMENT,
        "Unknown program format '%.*s'; hlo, hlo_text, hlo_with_config and mlir are known",
        (int)format.size, format.data);
  HSC_TRY(hsc__compile_settings_read(options, &settings));
  HSC_GOTO(check_settings(&settings, device_count));
  HSC_GOTO(hsc_program_read_for((hsc_view){code->code, code->code_size}, NULL,
                                settings.partition_count > 1 ? settings.partition_count : 0,
                                &module));
  HSC_GOTO(create(options, &p));
  place(p, &settings);
  if (p->device_count > 1) {
    module->num_partitions = p->partition_count;
    module->replica_count = p->replica_count;
    // In MLIR they are done by now.
    if (p->partition_count > 1 && !hsc_view_equals_text(format, "mlir"))
      HSC_GOTO(check_partitioned(module));
  }
  HSC_GOTO(keep_shardings(p, module));
  HSC_GOTO(settle_donors(module));
  HSC_GOTO(hsc__host_tell_shardings(module));
  if (hsc_view_equals_text(format, "mlir"))
    HSC_GOTO(hsc__program_set_layouts(p, module));
  uint64_t begin = hsc_cpu_span_begin();
  HSC_GOTO(hsc_cpu_compile(device, module, &settings.cpu, &p->executable));
  hsc_cpu_span_end(HSC_CPU_SPAN_COMPILE, begin, 0);
  int inputs = hsc_cpu_executable_input_count(p->executable);
  donated = HSC_NEW_ARRAY(p->arena, bool, inputs + 1);
  HSC_GOTO(hsc_arena_status(p->arena));
  mark_donated(module, donated, inputs);
  HSC_GOTO(describe(p, donated));
  *out_program = p;
  p = NULL;
done:
  hsc__program_release(p);
  if (module)
    hsc_module_destroy(module);
  hsc__compile_settings_deinit(&settings);
  return status;
}

static hsc_status *compile(hsc_cpu_device *device,
                           const PJRT_Program *code,
                           hsc_view options,
                           int device_count,
                           hsc__program **out_program) {
  uint64_t mode = hsc_float_mode_set();
  hsc_status *status = compile_in_mode(device, code, options, device_count, out_program);
  hsc_float_mode_restore(mode);
  return status;
}

typedef struct compile_job {
  hsc_cpu_device *device;
  const PJRT_Program *code;
  hsc_view options;
  int device_count;
  hsc__program **out_program;
  hsc_status *status;
} compile_job;

static void run_compile_job(void *argument) {
  compile_job *job = argument;
  job->status = compile(job->device, job->code, job->options, job->device_count, job->out_program);
}

// Readers, passes and the emitter walk programs recursively.
hsc_status *hsc__program_compile(hsc_cpu_device *device,
                                 const PJRT_Program *code,
                                 hsc_view options,
                                 int device_count,
                                 hsc__program **out_program) {
  compile_job job = {device, code, options, device_count, out_program, NULL};
  hsc__on_deep_stack(run_compile_job, &job);
  return job.status;
}

hsc_status *hsc__program_serialize(const hsc__program *p, hsc_bytes *out_bytes) {
  hsc_bytes layouts = {0};
  hsc__program_save_layouts(p, &layouts);
  uint64_t sizes[4] = {p->options_size, strlen(p->shardings), (uint64_t)p->input_count,
                       layouts.size};
  size_t start = out_bytes->size;
  size_t hashed = start + sizeof magic + sizeof(hsc_hash128);
  hsc_hash128 hash = {0, 0};
  hsc_bytes_append(out_bytes, magic, sizeof magic);
  hsc_bytes_append(out_bytes, &hash, sizeof hash);
  hsc_bytes_append(out_bytes, sizes, sizeof sizes);
  hsc_bytes_append(out_bytes, p->options, p->options_size);
  hsc_bytes_append_text(out_bytes, p->shardings);
  for (int i = 0; i < p->input_count; i++)
    hsc_bytes_append_char(out_bytes, (char)p->donated[i]);
  hsc_bytes_append(out_bytes, hsc_bytes_text(&layouts), layouts.size);
  hsc_status *status = hsc_bytes_status(&layouts);
  hsc_bytes_deinit(&layouts);
  if (!status)
    status = hsc_bytes_status(out_bytes);
  if (status)
    return status;
  hash = hsc_hash128_of(out_bytes->data + hashed, out_bytes->size - hashed, 0);
  memcpy(out_bytes->data + start + sizeof magic, &hash, sizeof hash);
  HSC_TRY(hsc_cpu_executable_serialize(p->executable, out_bytes));
  return hsc_bytes_status(out_bytes);
}

hsc_status *hsc__program_load(hsc_cpu_device *device,
                              hsc_view serialized,
                              hsc_view options,
                              int device_count,
                              hsc__program **out_program) {
  hsc_status *status = NULL;
  hsc__compile_settings settings;
  hsc__program *p = NULL;
  uint64_t sizes[4];
  hsc_hash128 hash, right;
  size_t header = sizeof magic + sizeof hash + sizeof sizes;
  *out_program = NULL;
  if (serialized.size < header || memcmp(serialized.data, magic, sizeof magic) != 0)
    return HSC_ERR(INVALID_ARGUMENT, "the bytes are no executable that hloscope has serialized");
  memcpy(&hash, serialized.data + sizeof magic, sizeof hash);
  memcpy(sizes, serialized.data + sizeof magic + sizeof hash, sizeof sizes);
  size_t rest = serialized.size - header;
  if (sizes[0] > rest || sizes[1] > rest - sizes[0] || sizes[2] > rest - sizes[0] - sizes[1] ||
      sizes[3] > rest - sizes[0] - sizes[1] - sizes[2])
    return HSC_ERR(DATA_LOSS, "the serialized executable is cut off");
  right = hsc_hash128_of(serialized.data + sizeof magic + sizeof hash,
                         sizeof sizes + (size_t)(sizes[0] + sizes[1] + sizes[2] + sizes[3]), 0);
  if (hash.low != right.low || hash.high != right.high)
    return HSC_ERR(DATA_LOSS, "the serialized executable's options or flags were changed");
  if (options.size == 0)
    options = (hsc_view){serialized.data + header, (size_t)sizes[0]};
  const char *shardings = serialized.data + header + sizes[0];
  const char *flags = shardings + sizes[1];
  HSC_TRY(hsc__compile_settings_read(options, &settings));
  HSC_GOTO(check_settings(&settings, device_count));
  HSC_GOTO(create(options, &p));
  place(p, &settings);
  p->shardings = hsc_arena_strndup(p->arena, shardings, (size_t)sizes[1]);
  HSC_GOTO(hsc_cpu_executable_deserialize(
      device,
      (hsc_view){flags + sizes[2] + sizes[3], rest - sizes[0] - sizes[1] - sizes[2] - sizes[3]},
      &p->executable));
  if (hsc_cpu_executable_input_count(p->executable) != (int64_t)sizes[2])
    HSC_GOTO(HSC_ERR(DATA_LOSS, "the serialized executable has %d inputs, its header says %llu",
                     hsc_cpu_executable_input_count(p->executable), (unsigned long long)sizes[2]));
  bool *donated = HSC_NEW_ARRAY(p->arena, bool, sizes[2] + 1);
  HSC_GOTO(hsc_arena_status(p->arena));
  for (uint64_t i = 0; i < sizes[2]; i++)
    donated[i] = flags[i] != 0;
  HSC_GOTO(hsc__program_load_layouts(p, (hsc_view){flags + sizes[2], (size_t)sizes[3]}));
  HSC_GOTO(describe(p, donated));
  *out_program = p;
  p = NULL;
done:
  hsc__program_release(p);
  hsc__compile_settings_deinit(&settings);
  return status;
}
