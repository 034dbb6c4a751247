// serialize.c - executables as bytes and back (see serial_format.h).
#include <stdlib.h>

#include "base/core/build_id.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/text/text.h"
#include "cpu/jit/jit.h"
#include "cpu/serial/serial_format.h"
#include "cpu/thunks/thunk_kinds.h"
#include "formats/common/formats.h"

enum { SECTION_ALIGNMENT = 16 };

static hsc_status *corrupt(const char *what) {
  return HSC_ERR(DATA_LOSS, "serialized executable: %s", what);
}

// ---- writing ------------------------------------------------------------------------------------

typedef struct writer {
  hsc_bytes *out;
  size_t start;  // of the header in out
  hsc_serial_header header;
} writer;

static void align(writer *w) {
  static const char zeros[SECTION_ALIGNMENT];
  hsc_bytes_append(
      w->out, zeros,
      (SECTION_ALIGNMENT - (w->out->size - w->start) % SECTION_ALIGNMENT) % SECTION_ALIGNMENT);
}

static void begin_section(writer *w, hsc_serial_section section) {
  align(w);
  w->header.sections[section].offset = w->out->size - w->start;
}

static void end_section(writer *w, hsc_serial_section section) {
  w->header.sections[section].bytes = w->out->size - w->start - w->header.sections[section].offset;
}

static void put_section(writer *w, hsc_serial_section section, const void *data, size_t bytes) {
  begin_section(w, section);
  if (bytes)
    hsc_bytes_append(w->out, data, bytes);
  end_section(w, section);
}

static void put_layout(writer *w, const hsc_cpu_executable *e) {
  begin_section(w, HSC_SERIAL_LAYOUT);
  hsc_bytes_append_text(w->out, "{(");
  for (int p = 0; p < e->parameter_count; p++) {
    if (p)
      hsc_bytes_append_text(w->out, ", ");
    hsc_shape_print(&e->parameter_shapes[p], true, w->out);
  }
  hsc_bytes_append_text(w->out, ")->");
  hsc_shape_print(&e->result_shape, true, w->out);
  hsc_bytes_append(w->out, "}", 2);
  end_section(w, HSC_SERIAL_LAYOUT);
}

// A kernel's unit: the one whose mapping its function lies in.
static int32_t unit_of(const hsc_cpu_executable *e, const hsc_cpu_kernel *kernel) {
  for (int32_t u = 0; u < e->unit_count; u++)
    if (hsc_cpu_code_holds(e->units[u]->code, kernel->address))
      return u;
  return -1;
}

static hsc_status *put_code(writer *w, const hsc_cpu_executable *e, const uint64_t *extents) {
  begin_section(w, HSC_SERIAL_KERNELS);
  for (int32_t k = 0; k < e->kernel_count; k++) {
    hsc_serial_kernel kernel = {.key = e->kernels[k].key,
                                .unit = unit_of(e, &e->kernels[k]),
                                .has_combine = e->kernels[k].combine != NULL,
                                .extent = extents[k]};
    if (kernel.unit < 0)
      return HSC_ERR(INTERNAL, "serialize: kernel %d of %s is in none of its units", k, e->name);
    hsc_bytes_append(w->out, &kernel, sizeof kernel);
  }
  end_section(w, HSC_SERIAL_KERNELS);
  hsc_serial_range at = {0, 0};
  begin_section(w, HSC_SERIAL_UNITS);
  for (int32_t u = 0; u < e->unit_count; u++) {
    at.bytes = e->units[u]->object.size;
    hsc_bytes_append(w->out, &at, sizeof at);
    at.offset =
        (at.offset + at.bytes + SECTION_ALIGNMENT - 1) / SECTION_ALIGNMENT * SECTION_ALIGNMENT;
  }
  end_section(w, HSC_SERIAL_UNITS);
  begin_section(w, HSC_SERIAL_CODE);
  for (int32_t u = 0; u < e->unit_count; u++) {
    align(w);
    hsc_bytes_append(w->out, e->units[u]->object.data, e->units[u]->object.size);
  }
  end_section(w, HSC_SERIAL_CODE);
  return NULL;
}

static hsc_status *put_module(writer *w, const hsc_cpu_executable *e) {
  const hsc_module *module = hsc_cpu_executable_module(e);
  if (!module)
    return HSC_ERR(RESOURCE_EXHAUSTED, "serialize: the module of %s cannot be had", e->name);
  // Functions of the host are known by number in this process only: another process would call
  // something else.
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.target &&
          hsc_starts_with(instr->attr.custom.target, "hloscope_host_"))
        return HSC_ERR(
            UNIMPLEMENTED,
            "serialized executables: not built yet: %s calls a function of the host's process (%s)",
            instr->name, instr->attr.custom.target);
  begin_section(w, HSC_SERIAL_MODULE);
  HSC_TRY(hsc_hlo_proto_write(module, w->out));
  end_section(w, HSC_SERIAL_MODULE);
  return NULL;
}

static void fill_header(writer *w, const hsc_cpu_executable *e) {
  hsc_serial_header *h = &w->header;
  memcpy(h->magic, HSC_SERIAL_MAGIC, sizeof h->magic);
  h->version = HSC_SERIAL_VERSION;
  h->header_bytes = sizeof *h;
  snprintf(h->build, sizeof h->build, "%s", hsc_build_id());
  hsc_cpu_features(h->features);
  h->isa_level = (int32_t)e->device->isa.level;
  h->optimization_level = e->optimization_level;
  h->fingerprint = e->fingerprint;
  h->flops = e->cost.flops;
  h->transcendentals = e->cost.transcendentals;
  h->bytes_read = e->cost.bytes_read;
  h->bytes_written = e->cost.bytes_written;
  h->temp_bytes = e->temp_bytes;
  h->worker_scratch_bytes = e->worker_scratch_bytes;
  h->instruction_count = e->stats.instruction_count;
  h->fusion_count = e->stats.fusion_count;
  for (int i = 0; i < e->stats.phase_count; i++)
    h->compile_ns += e->phases[i].duration_ns;
  if (e->stats.from_cache)
    h->compile_ns = e->compile_ns;
}

// Of all that is after the checksum; version and size of the header come in as its seed, the size
// of the whole by itself.
static hsc_hash128 checksum_of(const char *bytes, size_t size) {
  size_t from = offsetof(hsc_serial_header, build);
  uint64_t seed;
  memcpy(&seed, bytes + offsetof(hsc_serial_header, version), sizeof seed);
  return hsc_hash128_of(bytes + from, size - from, seed);
}

void hsc__serial_seal(char *bytes, size_t size) {
  uint64_t total = size;
  memcpy(bytes + offsetof(hsc_serial_header, total_bytes), &total, sizeof total);
  hsc_hash128 checksum = checksum_of(bytes, size);
  memcpy(bytes + offsetof(hsc_serial_header, checksum), &checksum, sizeof checksum);
}

hsc_status *hsc_cpu_executable_serialize(hsc_cpu_executable *e, hsc_bytes *out_bytes) {
  writer w = {.out = out_bytes, .start = out_bytes->size};
  fill_header(&w, e);
  if (!hsc_bytes_extend(out_bytes, sizeof w.header))
    return hsc_status_out_of_memory();
  put_section(&w, HSC_SERIAL_NAME, e->name, strlen(e->name) + 1);
  HSC_TRY_NOTE(put_module(&w, e), "while: serializing %s", e->name);
  put_layout(&w, e);
  put_section(&w, HSC_SERIAL_ALIAS, e->output_alias, sizeof(int32_t) * (size_t)e->output_count);
  put_section(&w, HSC_SERIAL_THUNKS, e->thunks, sizeof(hsc_cpu_thunk) * (size_t)e->thunk_count);
  put_section(&w, HSC_SERIAL_SLICES, e->slices, sizeof(hsc_cpu_slice) * (size_t)e->slice_count);
  put_section(&w, HSC_SERIAL_DATA, e->data, (size_t)e->data_bytes);
  put_section(&w, HSC_SERIAL_CONSTANTS, e->constants, (size_t)e->constant_bytes);
  uint64_t *extents = hsc_alloc(sizeof *extents * ((size_t)e->kernel_count + 1));
  if (!extents)
    return hsc_status_out_of_memory();
  // What is written passes the check that it meets when it is loaded.
  hsc_status *status = hsc__serial_check(e, extents, true);
  if (!status)
    status = put_code(&w, e, extents);
  hsc_free(extents);
  HSC_TRY_NOTE(status, "while: serializing %s", e->name);
  HSC_TRY(hsc_bytes_status(out_bytes));
  memcpy(out_bytes->data + w.start, &w.header, sizeof w.header);
  hsc__serial_seal(out_bytes->data + w.start, out_bytes->size - w.start);
  return NULL;
}

// ---- opening ------------------------------------------------------------------------------------

// Header and sections of bytes that are whole. Errors: INVALID_ARGUMENT (something else), DATA_LOSS
// (cut off or damaged), FAILED_PRECONDITION (another version of the format).
static hsc_status *open_sections(hsc_view bytes, hsc_serial_header *out_header) {
  hsc_serial_header *h = out_header;
  memset(h, 0, sizeof *h);
  size_t least = offsetof(hsc_serial_header, build);
  memcpy(h, bytes.data, bytes.size < sizeof *h ? bytes.size : sizeof *h);
  if (bytes.size < sizeof h->magic || memcmp(h->magic, HSC_SERIAL_MAGIC, sizeof h->magic))
    return HSC_ERR(
        INVALID_ARGUMENT,
        "the bytes are no serialized executable: they do not begin with " HSC_SERIAL_MAGIC);
  if (bytes.size < least || h->total_bytes != bytes.size)
    return HSC_ERR(DATA_LOSS,
                   "serialized executable: %zu bytes, where its header says %llu: cut off, or "
                   "something is after it",
                   bytes.size, (unsigned long long)h->total_bytes);
  hsc_hash128 checksum = checksum_of(bytes.data, bytes.size);
  if (checksum.low != h->checksum.low || checksum.high != h->checksum.high)
    return corrupt("the checksum differs: its bytes were changed");
  if (h->version != HSC_SERIAL_VERSION)
    return HSC_ERR(
        FAILED_PRECONDITION,
        "serialized executable: format version %u, this hloscope reads version %d: compile again",
        h->version, HSC_SERIAL_VERSION);
  if (h->header_bytes != sizeof *h || bytes.size < sizeof *h)
    return corrupt("the header's size");
  for (int s = 0; s < HSC_SERIAL_SECTIONS; s++)
    if (h->sections[s].offset > bytes.size ||
        h->sections[s].bytes > bytes.size - h->sections[s].offset ||
        h->sections[s].offset % SECTION_ALIGNMENT)
      return corrupt("a section lies outside of the file");
  h->build[sizeof h->build - 1] = 0;
  return NULL;
}

static hsc_status *check_machine(const hsc_serial_header *h, const hsc_cpu_isa *isa) {
  if (strcmp(h->build, hsc_build_id()))
    return HSC_ERR(FAILED_PRECONDITION,
                   "serialized executable: made by build %s of hloscope, this is %s: compile again",
                   h->build, hsc_build_id());
  uint32_t features[HSC_CPU_FEATURE_WORDS];
  hsc_cpu_features(features);
  for (int i = 0; i < HSC_CPU_FEATURE_WORDS; i++)
    if (h->features[i] & ~features[i])
      return HSC_ERR(FAILED_PRECONDITION,
                     "serialized executable: made for a processor with more (word %d: 0x%08x, here "
                     "0x%08x): compile again",
                     i, h->features[i], features[i]);
  if (h->isa_level != (int32_t)isa->level)
    return HSC_ERR(FAILED_PRECONDITION,
                   "serialized executable: made for instruction set level %d, this device uses "
                   "level %d (%s): compile again",
                   h->isa_level, (int)isa->level, isa->name);
  return NULL;
}

hsc_status *hsc_cpu_serialized_info_read(hsc_view bytes, hsc_cpu_serialized_info *out_info) {
  hsc_serial_header h;
  HSC_TRY(open_sections(bytes, &h));
  hsc_view name = hsc__serial_section(bytes, &h, HSC_SERIAL_NAME);
  hsc_cpu_isa isa;
  hsc_cpu_isa_detect(&isa);
  *out_info =
      (hsc_cpu_serialized_info){.fingerprint = h.fingerprint,
                                .compile_ns = h.compile_ns,
                                .instruction_count = h.instruction_count,
                                .code_bytes = (int64_t)h.sections[HSC_SERIAL_CODE].bytes,
                                .constant_bytes = (int64_t)h.sections[HSC_SERIAL_CONSTANTS].bytes};
  snprintf(out_info->name, sizeof out_info->name, "%.*s",
           (int)(name.size < sizeof out_info->name ? name.size : sizeof out_info->name - 1),
           name.data);
  snprintf(out_info->build, sizeof out_info->build, "%s", h.build);
  out_info->machine = check_machine(&h, &isa);
  return NULL;
}

// ---- reading ------------------------------------------------------------------------------------

// An array of a section, copied into the executable's arena.
static hsc_status *take_array(hsc_cpu_executable *e,
                              hsc_view section,
                              size_t element_bytes,
                              const void **out_array,
                              int32_t *out_count) {
  if (section.size % element_bytes || section.size / element_bytes > INT32_MAX)
    return corrupt("an array's size");
  *out_count = (int32_t)(section.size / element_bytes);
  *out_array = hsc_arena_copy(e->arena, section.data, section.size);
  return hsc_arena_status(e->arena);
}

static hsc_status *take_text(hsc_cpu_executable *e, hsc_view section, const char **out_text) {
  if (!section.size || section.data[section.size - 1])
    return corrupt("a text without an end");
  *out_text = hsc_arena_copy(e->arena, section.data, section.size);
  return hsc_arena_status(e->arena);
}

static hsc_status *take_interface(hsc_cpu_executable *e, hsc_view layout, hsc_view aliases) {
  const char *text = NULL;
  hsc_shape *parameters = NULL;
  HSC_TRY(take_text(e, layout, &text));
  HSC_TRY(hsc_hlo_text_parse_entry_layout(e->arena, hsc_view_of(text), &e->parameter_count,
                                          &parameters, &e->result_shape));
  e->parameter_shapes = parameters;
  int64_t inputs = 0;
  for (int p = 0; p < e->parameter_count; p++)
    inputs += hsc_shape_leaf_count(&parameters[p]);
  if (inputs > INT32_MAX / 4)
    return corrupt("the number of inputs");
  e->input_count = (int)inputs;
  e->output_count = hsc_shape_leaf_count(&e->result_shape);
  const void *alias;
  int32_t alias_count;
  HSC_TRY(take_array(e, aliases, sizeof(int32_t), &alias, &alias_count));
  if (alias_count != e->output_count)
    return corrupt("the number of outputs");
  e->output_alias = (int32_t *)(uintptr_t)alias;
  e->input_shapes = HSC_NEW_ARRAY(e->arena, const hsc_shape *, e->input_count + 1);
  e->output_shapes = HSC_NEW_ARRAY(e->arena, const hsc_shape *, e->output_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  int input = 0;
  for (int p = 0; p < e->parameter_count; p++) {
    int leaves = hsc_shape_leaf_count(&parameters[p]);
    for (int l = 0; l < leaves; l++)
      e->input_shapes[input++] = hsc_shape_leaf(&parameters[p], l);
  }
  for (int o = 0; o < e->output_count; o++) {
    e->output_shapes[o] = hsc_shape_leaf(&e->result_shape, o);
    if (e->output_alias[o] < -1 || e->output_alias[o] >= e->input_count)
      return corrupt("an output's alias");
  }
  e->base_count = HSC_CPU_BASE_FIRST_INPUT + e->input_count + e->output_count;
  return NULL;
}

static hsc_status *take_constants(hsc_cpu_executable *e, hsc_view section) {
  e->constant_bytes = (int64_t)section.size;
  if (!section.size)
    return NULL;
  if (posix_memalign((void **)&e->constants, HSC_CPU_ALIGNMENT, section.size))
    return hsc_status_out_of_memory();
  memcpy(e->constants, section.data, section.size);
  return NULL;
}

// Kernels that some other executable holds already are used from there; units of which none is
// missing are not linked.
static hsc_status *take_code(hsc_cpu_executable *e,
                             hsc_view kernels,
                             hsc_view units,
                             hsc_view code,
                             uint64_t **out_extents) {
  const hsc_serial_kernel *saved;
  const hsc_serial_range *ranges;
  int32_t kernel_count, unit_count;
  HSC_TRY(take_array(e, kernels, sizeof *saved, (const void **)&saved, &kernel_count));
  HSC_TRY(take_array(e, units, sizeof *ranges, (const void **)&ranges, &unit_count));
  for (int32_t u = 0; u < unit_count; u++)
    if (ranges[u].offset > code.size || ranges[u].bytes > code.size - ranges[u].offset)
      return corrupt("machine code lies outside of the file");
  for (int32_t k = 0; k < kernel_count; k++)
    if (saved[k].unit < 0 || saved[k].unit >= unit_count)
      return corrupt("a kernel's unit");
  e->kernels = HSC_NEW_ARRAY(e->arena, hsc_cpu_kernel, kernel_count + 1);
  e->units = HSC_NEW_ARRAY(e->arena, hsc_cpu_unit *, kernel_count + 1);
  hsc_hash128 *keys = HSC_NEW_ARRAY(e->arena, hsc_hash128, kernel_count + 1);
  *out_extents = HSC_NEW_ARRAY(e->arena, uint64_t, kernel_count + 1);
  HSC_TRY(hsc_arena_status(e->arena));
  for (int32_t k = 0; k < kernel_count; k++)
    (*out_extents)[k] = saved[k].extent;
  hsc_cpu_jit *jit;
  HSC_TRY(hsc__cpu_device_jit(e->device, e->optimization_level, &jit));
  e->kernel_count = kernel_count;
  for (int32_t u = 0; u < unit_count; u++) {
    hsc_cpu_unit *linked = NULL;
    for (int32_t k = 0; k < kernel_count; k++) {
      if (saved[k].unit != u)
        continue;
      hsc_cpu_jit_kernel found = {.key = saved[k].key};
      if (!hsc_cpu_jit_find(jit, &found)) {
        int32_t count = 0;
        for (int32_t i = 0; i < kernel_count; i++)
          if (saved[i].unit == u)
            keys[count++] = saved[i].key;
        HSC_TRY(hsc_cpu_unit_link(jit,
                                  (hsc_view){code.data + ranges[u].offset, (size_t)ranges[u].bytes},
                                  keys, count, &linked));
        bool there = hsc_cpu_jit_find(jit, &found);
        hsc_cpu_unit_release(linked);
        if (!there)
          return corrupt("a kernel is not in its unit");
      }
      if (saved[k].has_combine && !found.combine) {
        hsc_cpu_unit_release(found.unit);
        return corrupt("a kernel lacks its second part");
      }
      hsc__cpu_executable_add_kernel(e, k, &found);
    }
  }
  return NULL;
}

static hsc_status *take_sections(hsc_cpu_executable *e,
                                 hsc_view bytes,
                                 const hsc_serial_header *h,
                                 uint64_t **out_extents) {
  HSC_TRY(take_text(e, hsc__serial_section(bytes, h, HSC_SERIAL_NAME), &e->name));
  HSC_TRY(take_interface(e, hsc__serial_section(bytes, h, HSC_SERIAL_LAYOUT),
                         hsc__serial_section(bytes, h, HSC_SERIAL_ALIAS)));
  hsc_view data = hsc__serial_section(bytes, h, HSC_SERIAL_DATA);
  hsc_view module = hsc__serial_section(bytes, h, HSC_SERIAL_MODULE);
  e->data_bytes = (int64_t)data.size;
  e->data = hsc_arena_copy(e->arena, data.data, data.size);
  e->module_bytes = (hsc_view){hsc_arena_copy(e->arena, module.data, module.size), module.size};
  HSC_TRY(take_array(e, hsc__serial_section(bytes, h, HSC_SERIAL_THUNKS), sizeof(hsc_cpu_thunk),
                     (const void **)&e->thunks, &e->thunk_count));
  HSC_TRY(take_array(e, hsc__serial_section(bytes, h, HSC_SERIAL_SLICES), sizeof(hsc_cpu_slice),
                     (const void **)&e->slices, &e->slice_count));
  HSC_TRY(take_constants(e, hsc__serial_section(bytes, h, HSC_SERIAL_CONSTANTS)));
  return take_code(e, hsc__serial_section(bytes, h, HSC_SERIAL_KERNELS),
                   hsc__serial_section(bytes, h, HSC_SERIAL_UNITS),
                   hsc__serial_section(bytes, h, HSC_SERIAL_CODE), out_extents);
}

static hsc_status *read_module(hsc_cpu_executable *e) {
  HSC_TRY(hsc_hlo_proto_read(e->module_bytes, NULL, &e->module));
  HSC_TRY(hsc__cpu_executable_number_instrs(e));
  return e->instr_count == e->stats.instruction_count
             ? NULL
             : corrupt("the module has another number of instructions");
}

const hsc_module *hsc_cpu_executable_module(const hsc_cpu_executable *executable) {
  // read when first asked for; nothing that is seen changes
  hsc_cpu_executable *e = (hsc_cpu_executable *)(uintptr_t)executable;
  pthread_mutex_lock(&e->module_lock);
  if (!e->module) {
    hsc_status *status = read_module(e);
    if (status) {
      hsc_log("cpu", 1, "the module of a loaded executable cannot be read: %s",
              hsc_status_message(status));
      hsc_status_free(status);
      hsc_module_destroy(e->module);
      e->module = NULL;
    }
  }
  pthread_mutex_unlock(&e->module_lock);
  return e->module;
}

static bool needs_module(const hsc_cpu_executable *e) {
  for (int32_t t = 0; t < e->thunk_count; t++) {
    int32_t kind = e->thunks[t].kind;
    if (kind >= 0 && kind < HSC_CPU_THUNK_COUNT && hsc__cpu_thunk_rows[kind].needs_module)
      return true;
  }
  return false;
}

hsc_status *hsc_cpu_executable_deserialize(hsc_cpu_device *device,
                                           hsc_view bytes,
                                           hsc_cpu_executable **out_executable) {
  *out_executable = NULL;
  hsc_status *status = NULL;
  hsc_serial_header h;
  hsc_cpu_executable *e = NULL;
  int64_t start = hsc_now_ns();
  HSC_TRY(open_sections(bytes, &h));
  HSC_TRY(check_machine(&h, &device->isa));
  HSC_TRY(hsc__cpu_executable_create(device, &e));
  e->optimization_level =
      h.optimization_level < 0 || h.optimization_level > 3 ? 2 : h.optimization_level;
  e->temp_bytes = h.temp_bytes;
  e->worker_scratch_bytes = h.worker_scratch_bytes;
  e->cost = (hsc_cost){.flops = h.flops,
                       .transcendentals = h.transcendentals,
                       .bytes_read = h.bytes_read,
                       .bytes_written = h.bytes_written};
  e->fingerprint = h.fingerprint;
  e->compile_ns = h.compile_ns;
  e->stats.instruction_count = h.instruction_count;
  e->stats.fusion_count = h.fusion_count;
  uint64_t *extents = NULL;
  HSC_GOTO(take_sections(e, bytes, &h, &extents));
  if (needs_module(e) && !hsc_cpu_executable_module(e))
    HSC_GOTO(corrupt("the module cannot be read"));
  HSC_GOTO(hsc__serial_check(e, extents, false));
  hsc__cpu_executable_count(e);
  e->stats.from_cache = true;
  e->phases[0] = (hsc_cpu_phase){.name = "load", .duration_ns = hsc_now_ns() - start};
  e->stats.phase_count = 1;
  *out_executable = e;
  e = NULL;
done:
  hsc_cpu_executable_release(e);
  return status;
}
