// profile_space.c - a recorded session as an XSpace, in the form that XLA's viewers take.
//
// A device's plane is named /device:TPU:ORDINAL, because that is the one name under which xprof and
// TensorBoard fill their tables (docs/formats/xspace.md); what the device is called is given by its
// stat "hloscope_device", and readers that are ours show that. It has the lines Steps (a step lasts
// from one begin of the program that ran longest to the next), XLA Modules (runs) and XLA Ops
// (thunks, nested as they ran). Runs of a device that overlap, on other threads, are on further
// lines XLA Modules and XLA Ops of its plane, so that the events of a line always nest. What the
// plugin did itself (transfers,
// compilations, memory that it took) is on /device:CUSTOM:hloscope host. The programs' HLO with
// their buffers is on /host:metadata.
#include <stdlib.h>
#include <unistd.h>

#include "base/wire/wire.h"
#include "cpu/runtime/records.h"
#include "formats/common/formats.h"
#include "plugin/plugin_internal.h"
#include "plugin/profile_space.h"
#include "trace/xspace.h"

enum { MOST_LANES = 64 };

typedef struct run_ref {
  const hsc_cpu_run_record *run;
  int stream, lane;  // lane of its device
} run_ref;

typedef struct builder {
  const hsc_cpu_session *session;
  const hsc__profile_peaks *peaks;
  hsc_xwriter w;
  hsc_arena *arena;
  run_ref *runs;  // [run_count] by begin
  size_t run_count;
  hsc_cpu_executable **programs;  // [program_count]
  int64_t *program_ids;
  // [program][2 * instr]: the metadata's number in the plane that is written; 0 = none yet
  int64_t **op_metas;
  int program_count;
} builder;

static int by_begin(const void *a, const void *b) {
  const run_ref *x = a;
  const run_ref *y = b;
  if (x->run->begin_ticks != y->run->begin_ticks)
    return x->run->begin_ticks < y->run->begin_ticks ? -1 : 1;
  return x->run->number < y->run->number ? -1 : x->run->number > y->run->number;
}

static hsc_status *gather(builder *b) {
  int streams = hsc_cpu_session_stream_count(b->session);
  for (int s = 0; s < streams; s++)
    b->run_count += hsc_cpu_session_stream(b->session, s).run_count;
  b->runs = HSC_NEW_ARRAY(b->arena, run_ref, b->run_count + 1);
  HSC_TRY(hsc_arena_status(b->arena));
  size_t at = 0;
  for (int s = 0; s < streams; s++) {
    hsc_cpu_stream stream = hsc_cpu_session_stream(b->session, s);
    for (size_t i = 0; i < stream.run_count; i++) {
      b->runs[at++] = (run_ref){&stream.runs[i], s, 0};
      if (stream.runs[i].program > b->program_count)
        b->program_count = stream.runs[i].program;
    }
  }
  if (b->run_count)
    qsort(b->runs, b->run_count, sizeof *b->runs, by_begin);
  b->programs = HSC_NEW_ARRAY(b->arena, hsc_cpu_executable *, b->program_count + 1);
  b->program_ids = HSC_NEW_ARRAY(b->arena, int64_t, b->program_count + 1);
  b->op_metas = HSC_NEW_ARRAY(b->arena, int64_t *, b->program_count + 1);
  HSC_TRY(hsc_arena_status(b->arena));
  for (size_t i = 0; i < b->run_count; i++)
    b->programs[b->runs[i].run->program - 1] = b->runs[i].run->executable;
  for (int p = 0; p < b->program_count; p++) {
    if (!b->programs[p])
      continue;
    // The same number for the same program in every session, as on other devices: two profiles can
    // be compared by it.
    int64_t id = (int64_t)(hsc_cpu_executable_fingerprint(b->programs[p]).low & 0x7fffffff);
    for (bool taken = true; taken;) {
      taken = id == 0;
      for (int q = 0; q < p; q++)
        taken |= b->program_ids[q] == id;
      if (taken)
        id = id + 1;
    }
    b->program_ids[p] = id;
  }
  return NULL;
}

// The first lane of its device whose last run is over.
static int assign_lanes(builder *b, int32_t device) {
  uint64_t ends[MOST_LANES] = {0};
  int lanes = 0;
  for (size_t i = 0; i < b->run_count; i++) {
    if (b->runs[i].run->device != device)
      continue;
    int lane = 0;
    while (lane < lanes && ends[lane] > b->runs[i].run->begin_ticks)
      lane++;
    if (lane == MOST_LANES)
      lane--;
    if (lane == lanes)
      lanes++;
    b->runs[i].lane = lane;
    ends[lane] = b->runs[i].run->end_ticks;
  }
  return lanes;
}

// ---- metadata -----------------------------------------------------------------------------------

// A custom call is what it calls: its own name is the frontend's.
static const char *category_of(builder *b, const hsc_instr *instr) {
  static const char *const kinds[] = {"loop fusion", "input fusion", "output fusion",
                                      "custom fusion"};
  if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.target) {
    const char *text = hsc_arena_printf(b->arena, "custom-call %s", instr->attr.custom.target);
    return text ? text : "custom-call";
  }
  return instr->op == HSC_OP_FUSION ? kinds[instr->attr.fusion.kind] : hsc_op_text(instr->op);
}

static void put_source(builder *b, const hsc_instr *instr) {
  const hsc_metadata *m = instr->metadata;
  const hsc_stack_index *index = instr->parent->module->stack_index;
  const char *text = NULL;
  if (m->source_file && *m->source_file) {
    text = hsc_arena_printf(b->arena, "%s:%d", m->source_file, m->source_line);
  } else if (index && m->stack_frame_id >= 1 && m->stack_frame_id <= index->frame_count) {
    int32_t location = index->frames[m->stack_frame_id - 1].location;
    if (location >= 1 && location <= index->location_count &&
        index->locations[location - 1].file_name >= 1 &&
        index->locations[location - 1].file_name <= index->file_name_count)
      text = hsc_arena_printf(b->arena, "%s:%d",
                              index->file_names[index->locations[location - 1].file_name - 1],
                              index->locations[location - 1].line);
  }
  if (text)
    hsc_xwriter_stat_ref(&b->w, "source", hsc_view_of(text));
}

static int64_t op_meta(builder *b, int program, const hsc_cpu_thunk_record *record) {
  hsc_cpu_executable *executable = b->programs[program];
  int64_t *known = &b->op_metas[program][2 * record->instr + record->is_copy];
  if (*known)
    return *known;
  const hsc_instr *instr = hsc_cpu_executable_instr(executable, record->instr);
  hsc_bytes text = {0};
  hsc_print_options options = {
      .no_metadata = true, .elide_large_constants = true, .no_backend_config = true};
  hsc_instr_print(instr, &options, &text);
  const char *name = instr->name;
  const char *whole = hsc_bytes_text(&text);
  if (record->is_copy) {
    name = hsc_arena_printf(b->arena, "%s.state", instr->name);
    whole =
        hsc_arena_printf(b->arena, "%%%s = copy of the state of %s", name ? name : "", instr->name);
  }
  *known = hsc_xwriter_begin_event_meta(&b->w, 0, whole, name);
  hsc_xwriter_stat_uint(&b->w, "program_id", (uint64_t)b->program_ids[program]);
  hsc_xwriter_stat_uint(&b->w, "symbol_id",
                        1 + 2 * (uint64_t)record->instr + (uint64_t)record->is_copy);
  hsc_xwriter_stat_ref(&b->w, "hlo_category",
                       record->is_copy ? HSC_VIEW("copy") : hsc_view_of(category_of(b, instr)));
  bool is_container =
      instr->op == HSC_OP_WHILE || instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_CALL;
  if (!is_container && !record->is_copy) {  // a container's cost is what runs inside of it
    hsc_cost cost;
    hsc_instr_cost(instr, &cost);
    if (!(cost.uncounted > 0)) {  // else readers take what it costs for known
      hsc_xwriter_stat_uint(&b->w, "flops", cost.flops > 0 ? (uint64_t)cost.flops : 0);
      hsc_xwriter_stat_uint(&b->w, "bytes_accessed",
                            (uint64_t)(cost.bytes_read + cost.bytes_written));
    }
  }
  if (instr->metadata && instr->metadata->op_name && *instr->metadata->op_name) {
    const char *framework = hsc_arena_printf(b->arena, "%s:", instr->metadata->op_name);
    if (framework)
      hsc_xwriter_stat_ref(&b->w, "tf_op", hsc_view_of(framework));
  }
  if (instr->metadata)
    put_source(b, instr);
  hsc_xwriter_end_event_meta(&b->w);
  hsc_bytes_deinit(&text);
  return *known;
}

// ---- planes -------------------------------------------------------------------------------------

// Of the programs that ran more than once, if there are such: one that ran long only once is no
// step.
static int longest_program(const builder *b, int32_t device) {
  double best = -1;
  int at = -1;
  bool best_again = false;
  for (int p = 0; p < b->program_count; p++) {
    double total = 0;
    size_t count = 0;
    for (size_t i = 0; i < b->run_count; i++)
      if (b->runs[i].run->program == p + 1 && b->runs[i].run->device == device) {
        total += (double)(b->runs[i].run->end_ticks - b->runs[i].run->begin_ticks);
        count++;
      }
    bool again = count > 1;
    if (again != best_again ? again : total > best) {
      best = total;
      at = p;
      best_again = again;
    }
  }
  return at;
}

static int64_t ps_of(const builder *b, uint64_t ticks) {
  return hsc_cpu_session_ps(b->session, ticks);
}

// A step of a device lasts until that program's next run there, on whatever lane.
static void write_steps(builder *b, int32_t device, int64_t start_ns) {
  int program = longest_program(b, device);
  int64_t number = 0;
  hsc_xwriter_begin_line(&b->w, 1, "Steps", start_ns);
  for (size_t i = 0; i < b->run_count; i++) {
    const run_ref *r = &b->runs[i];
    if (r->run->device != device || r->run->program != program + 1)
      continue;
    size_t next = i + 1;
    while (next < b->run_count &&
           (b->runs[next].run->device != device || b->runs[next].run->program != program + 1))
      next++;
    int64_t begin = ps_of(b, r->run->begin_ticks);
    int64_t end =
        ps_of(b, next < b->run_count ? b->runs[next].run->begin_ticks : r->run->end_ticks);
    int64_t meta = hsc_xwriter_begin_event_meta(
        &b->w, 0, hsc_arena_printf(b->arena, "%lld", (long long)number++), NULL);
    hsc_xwriter_end_event_meta(&b->w);
    hsc_xwriter_begin_event(&b->w, meta, begin, end - begin);
    hsc_xwriter_end_event(&b->w);
  }
  hsc_xwriter_end_line(&b->w);
}

static const char *module_title(builder *b, int program) {
  return hsc_arena_printf(b->arena, "%s(%lld)", hsc_cpu_executable_name(b->programs[program]),
                          (long long)b->program_ids[program]);
}

// A line of a device's lane: readers go by the name, people by what is shown.
static void begin_lane(builder *b, int64_t kind, const char *name, int lane, int64_t start_ns) {
  hsc_xwriter_begin_line(&b->w, kind + 10 * (int64_t)lane, name, start_ns);
  if (lane)
    hsc_xwriter_line_display(&b->w,
                             hsc_arena_printf(b->arena, "%s, at the same time %d", name, lane));
}

static void write_modules(builder *b, int32_t device, int lane, int64_t start_ns) {
  int64_t *metas = HSC_NEW_ARRAY(b->arena, int64_t, b->program_count + 1);
  begin_lane(b, 2, "XLA Modules", lane, start_ns);
  for (size_t i = 0; metas && i < b->run_count; i++) {
    const run_ref *r = &b->runs[i];
    int program = r->run->program - 1;
    if (r->run->device != device || r->lane != lane)
      continue;
    if (!metas[program]) {
      metas[program] = hsc_xwriter_begin_event_meta(&b->w, 0, module_title(b, program), NULL);
      hsc_xwriter_stat_uint(&b->w, "program_id", (uint64_t)b->program_ids[program]);
      hsc_xwriter_end_event_meta(&b->w);
    }
    int64_t begin = ps_of(b, r->run->begin_ticks);
    hsc_xwriter_begin_event(&b->w, metas[program], begin, ps_of(b, r->run->end_ticks) - begin);
    hsc_xwriter_stat_uint(&b->w, "run_id", (uint64_t)r->run->number);
    hsc_xwriter_end_event(&b->w);
  }
  hsc_xwriter_end_line(&b->w);
}

static void write_ops(builder *b, int32_t device, int lane, int64_t start_ns) {
  begin_lane(b, 3, "XLA Ops", lane, start_ns);
  for (size_t i = 0; i < b->run_count; i++) {
    const run_ref *r = &b->runs[i];
    if (r->run->device != device || r->lane != lane)
      continue;
    for (size_t k = 0; k < r->run->count; k++) {
      const hsc_cpu_thunk_record *record =
          hsc_cpu_session_record(b->session, r->stream, r->run->first + k);
      if (!record || record->instr < 0 ||
          !hsc_cpu_executable_instr(r->run->executable, record->instr))
        continue;
      int64_t meta = op_meta(b, r->run->program - 1, record);
      int64_t begin = ps_of(b, record->begin_ticks);
      hsc_xwriter_begin_event(&b->w, meta, begin, ps_of(b, record->end_ticks) - begin);
      hsc_xwriter_end_event(&b->w);
    }
  }
  hsc_xwriter_end_line(&b->w);
}

static bool has_runs(const builder *b, int32_t device) {
  for (size_t i = 0; i < b->run_count; i++)
    if (b->runs[i].run->device == device)
      return true;
  return false;
}

static hsc_status *write_device(builder *b, int32_t device, int64_t start_ns, const char *type) {
  int lanes = assign_lanes(b, device);
  hsc_xwriter_begin_plane(&b->w, 10 + device, hsc_arena_printf(b->arena, "/device:TPU:%d", device));
  hsc_xwriter_stat_text(
      &b->w, "hloscope_device",
      hsc_view_of(hsc_arena_printf(b->arena, "%s:%d", HSC_PLATFORM_NAME, device)));
  if (b->peaks && b->peaks->flops > 0 && b->peaks->bytes > 0) {
    hsc_xwriter_stat_double(&b->w, "peak_teraflops_per_second", b->peaks->flops * 1e-12);
    hsc_xwriter_stat_double(&b->w, "peak_hbm_bw_gigabytes_per_second", b->peaks->bytes * 1e-9);
  }
  hsc_xwriter_stat_text(&b->w, "device_type_string", hsc_view_of(type));
  for (int p = 0; p < b->program_count; p++) {  // metadata are a plane's own
    if (!b->programs[p])
      continue;
    size_t count = (size_t)hsc_cpu_executable_stats(b->programs[p])->instruction_count;
    int32_t instrs = 0;
    while (hsc_cpu_executable_instr(b->programs[p], instrs))
      instrs++;
    if ((size_t)instrs > count)
      count = (size_t)instrs;
    b->op_metas[p] = HSC_NEW_ARRAY(b->arena, int64_t, 2 * count + 2);
    if (!b->op_metas[p])
      return hsc_status_out_of_memory();
  }
  write_steps(b, device, start_ns);
  for (int lane = 0; lane < lanes; lane++) {
    write_modules(b, device, lane, start_ns);
    write_ops(b, device, lane, start_ns);
  }
  hsc_xwriter_end_plane(&b->w);
  return NULL;
}

static int by_ticks(const void *a, const void *b) {
  const hsc_cpu_memory_record *x = *(const hsc_cpu_memory_record *const *)a;
  const hsc_cpu_memory_record *y = *(const hsc_cpu_memory_record *const *)b;
  return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

// Memory that was taken and given back, as XLA's allocators record it: source
// tsl/framework/bfc_allocator.cc (MemoryAllocation, MemoryDeallocation). What is in use is the
// arrays, which every record of them tells, and the temporaries of the runs under way.
static void write_memory(builder *b, int64_t start_ns) {
  size_t count = 0;
  size_t at = 0;
  int streams = hsc_cpu_session_stream_count(b->session);
  for (int s = 0; s < streams; s++)
    count += hsc_cpu_session_stream(b->session, s).memory_count;
  const hsc_cpu_memory_record **records =
      count ? HSC_NEW_ARRAY(b->arena, const hsc_cpu_memory_record *, count) : NULL;
  if (!records)
    return;
  for (int s = 0; s < streams; s++) {
    hsc_cpu_stream stream = hsc_cpu_session_stream(b->session, s);
    for (size_t i = 0; i < stream.memory_count; i++)
      records[at++] = &stream.memory[i];
  }
  qsort(records, count, sizeof *records, by_ticks);
  int64_t arrays = 0;
  int64_t temporaries = 0;
  int64_t peak = 0;
  int64_t whole = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
  int64_t metas[2];
  for (size_t i = 0; i < count; i++)  // what the session found in use
    if (records[i]->arrays_bytes >= 0) {
      arrays = records[i]->arrays_bytes - records[i]->bytes;
      break;
    }
  for (int i = 0; i < 2; i++) {
    metas[i] =
        hsc_xwriter_begin_event_meta(&b->w, 0, i ? "MemoryDeallocation" : "MemoryAllocation", NULL);
    hsc_xwriter_end_event_meta(&b->w);
  }
  hsc_xwriter_begin_line(&b->w, 1, "hloscope memory", start_ns);
  for (size_t i = 0; i < count; i++) {
    const hsc_cpu_memory_record *r = records[i];
    if (r->arrays_bytes >= 0)
      arrays = r->arrays_bytes;
    else
      temporaries += r->bytes;
    if (temporaries < 0)
      temporaries = 0;  // of a run that began before the session
    int64_t in_use = arrays + temporaries;
    int64_t size = r->bytes < 0 ? -r->bytes : r->bytes;
    if (in_use > peak)
      peak = in_use;
    hsc_xwriter_begin_event(&b->w, metas[r->bytes < 0], ps_of(b, r->ticks), 0);
    hsc_xwriter_stat_ref(&b->w, "allocator_name", HSC_VIEW("hloscope cpu"));
    hsc_xwriter_stat_int(&b->w, "bytes_reserved", 0);
    hsc_xwriter_stat_int(&b->w, "bytes_allocated", in_use);
    hsc_xwriter_stat_int(&b->w, "bytes_available", whole > in_use ? whole - in_use : 0);
    hsc_xwriter_stat_double(&b->w, "fragmentation", 0);
    hsc_xwriter_stat_int(&b->w, "peak_bytes_in_use", peak);
    hsc_xwriter_stat_int(&b->w, "requested_bytes", size);
    hsc_xwriter_stat_int(&b->w, "allocation_bytes", size);
    hsc_xwriter_stat_uint(&b->w, "addr", (uint64_t)(uintptr_t)r->address);
    hsc_xwriter_stat_ref(&b->w, "region_type",
                         r->arrays_bytes >= 0 ? HSC_VIEW("arrays") : HSC_VIEW("temporaries"));
    if (r->program > 0 && r->program <= b->program_count && b->programs[r->program - 1])
      hsc_xwriter_stat_ref(&b->w, "tf_op", hsc_view_of(module_title(b, r->program - 1)));
    hsc_xwriter_end_event(&b->w);
  }
  hsc_xwriter_end_line(&b->w);
}

// Transfers and compilations of the plugin, a line for each thread; memory, a line for all.
static void write_host(builder *b, int64_t start_ns) {
  static const char *const names[] = {[HSC_CPU_SPAN_COMPILE] = "CompileAndLoad",
                                      [HSC_CPU_SPAN_TO_DEVICE] = "TransferToDevice",
                                      [HSC_CPU_SPAN_TO_HOST] = "TransferFromDevice"};
  bool any = false;
  for (int s = 0; s < hsc_cpu_session_stream_count(b->session); s++)
    any |= hsc_cpu_session_stream(b->session, s).span_count > 0 ||
           hsc_cpu_session_stream(b->session, s).memory_count > 0;
  if (!any)
    return;
  hsc_xwriter_begin_plane(&b->w, 9, "/device:CUSTOM:hloscope host");
  int64_t metas[HSC_COUNT_OF(names)];
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    metas[i] = hsc_xwriter_begin_event_meta(&b->w, 0, names[i], NULL);
    hsc_xwriter_end_event_meta(&b->w);
  }
  for (int s = 0; s < hsc_cpu_session_stream_count(b->session); s++) {
    hsc_cpu_stream stream = hsc_cpu_session_stream(b->session, s);
    if (!stream.span_count)
      continue;
    hsc_xwriter_begin_line(&b->w, stream.thread,
                           hsc_arena_printf(b->arena, "hloscope/%lld", (long long)stream.thread),
                           start_ns);
    for (size_t i = 0; i < stream.span_count; i++) {
      const hsc_cpu_span_record *span = &stream.spans[i];
      int64_t begin = ps_of(b, span->begin_ticks);
      hsc_xwriter_begin_event(&b->w, metas[span->kind], begin, ps_of(b, span->end_ticks) - begin);
      if (span->bytes)
        hsc_xwriter_stat_int(&b->w, "bytes", span->bytes);
      hsc_xwriter_end_event(&b->w);
    }
    hsc_xwriter_end_line(&b->w);
  }
  write_memory(b, start_ns);
  hsc_xwriter_end_plane(&b->w);
}

// ---- HLO with its buffers -----------------------------------------------------------------------

// Where an instruction is: its number as the writer of HloModuleProto gives it.
static int64_t proto_id(const hsc_module *module, const hsc_instr *instr) {
  int64_t computation = 0;
  int64_t number = 0;
  for (int i = 0; i < module->computation_count; i++)
    if (module->computations[i] == instr->parent)
      computation = i + 1;
  for (const hsc_instr *it = instr->parent->first; it && it != instr; it = it->next)
    number++;
  return computation << 32 | number;
}

static void put_logical(
    hsc_bytes *out, const hsc_module *module, int64_t id, int64_t bytes, const hsc_instr *instr) {
  size_t mark = hsc_wire_begin(out, 1);  // logical_buffers
  hsc_wire_put_int(out, 1, id);
  hsc_wire_put_int(out, 2, bytes);
  size_t at = hsc_wire_begin(out, 3);  // defined_at
  if (instr) {
    hsc_wire_put_text(out, 2, instr->name);
    hsc_wire_put_int(out, 4, proto_id(module, instr));
  }
  hsc_wire_end(out, at);
  hsc_wire_end(out, mark);
}

static void put_assigned(hsc_bytes *out, int64_t id, int64_t offset, int64_t bytes) {
  size_t mark = hsc_wire_begin(out, 9);
  hsc_wire_put_int(out, 1, id);
  hsc_wire_put_int(out, 2, offset);
  hsc_wire_put_int(out, 3, bytes);
  hsc_wire_end(out, mark);
}

typedef struct heap_event {
  int32_t thunk;
  bool frees;
  int buffer;
} heap_event;

static int by_thunk(const void *a, const void *b) {
  const heap_event *x = a;
  const heap_event *y = b;
  if (x->thunk != y->thunk)
    return x->thunk < y->thunk ? -1 : 1;
  if (x->frees != y->frees) {
    if (x->frees)
      return -1;
    return 1;
  }
  return x->buffer - y->buffer;
}

// BufferAssignmentProto (xla/service/hlo.proto): one allocation for each parameter, one for the
// temporaries with all that lies there over time.
static hsc_status *put_buffers(builder *b, const hsc_cpu_executable *executable, hsc_bytes *out) {
  const hsc_module *module = hsc_cpu_executable_module(executable);
  const hsc_cpu_stats *stats = hsc_cpu_executable_stats(executable);
  hsc_cpu_buffer *buffers = NULL;
  int count = 0;
  HSC_TRY(hsc_cpu_executable_buffers(executable, b->arena, &buffers, &count));
  int64_t next_id = 0;
  int64_t index = 0;
  int64_t *ids = HSC_NEW_ARRAY(b->arena, int64_t, count + 1);
  heap_event *events = HSC_NEW_ARRAY(b->arena, heap_event, 2 * count + 1);
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_bytes allocations = {0};
  for (int32_t p = 0; p < module->entry->parameter_count; p++) {
    const hsc_instr *parameter = module->entry->parameters[p];
    int64_t bytes = hsc_shape_bytes(&parameter->shape);
    int64_t id = next_id++;
    put_logical(out, module, id, bytes, parameter);
    size_t mark = hsc_wire_begin(&allocations, 3);
    hsc_wire_put_int(&allocations, 1, index++);
    hsc_wire_put_int(&allocations, 2, bytes);
    hsc_wire_put_bool(&allocations, 5, true);
    hsc_wire_put_int(&allocations, 6, p);
    put_assigned(&allocations, id, 0, bytes);
    hsc_wire_end(&allocations, mark);
  }
  {
    const hsc_instr *root = module->entry->root;
    int64_t bytes = hsc_shape_bytes(&root->shape);
    int64_t id = next_id++;
    put_logical(out, module, id, bytes, root);
    size_t mark = hsc_wire_begin(&allocations, 3);
    hsc_wire_put_int(&allocations, 1, index++);
    hsc_wire_put_int(&allocations, 2, bytes);
    hsc_wire_put_bool(&allocations, 7, true);
    put_assigned(&allocations, id, 0, bytes);
    hsc_wire_end(&allocations, mark);
  }
  for (int i = 0; i < count; i++) {
    ids[i] = next_id++;
    const hsc_instr *instr = hsc_cpu_executable_instr(executable, buffers[i].instr);
    put_logical(out, module, ids[i], buffers[i].bytes, instr ? instr : module->entry->root);
    events[2 * i] = (heap_event){buffers[i].first_thunk, false, i};
    events[2 * i + 1] = (heap_event){buffers[i].last_thunk + 1, true, i};
  }
  int64_t temp_index = index;
  size_t mark = hsc_wire_begin(&allocations, 3);
  hsc_wire_put_int(&allocations, 1, temp_index);
  hsc_wire_put_int(&allocations, 2, stats->temp_bytes);
  for (int i = 0; i < count; i++)
    put_assigned(&allocations, ids[i], buffers[i].offset, buffers[i].bytes);
  hsc_wire_end(&allocations, mark);
  hsc_bytes_append(out, allocations.data, allocations.size);
  bool failed = allocations.failed;
  hsc_bytes_deinit(&allocations);
  if (failed)
    return hsc_status_out_of_memory();
  if (count)
    qsort(events, 2 * (size_t)count, sizeof *events, by_thunk);
  size_t trace = hsc_wire_begin(out, 4);  // heap_simulator_traces
  for (int i = 0; i < 2 * count; i++) {
    const hsc_cpu_buffer *buffer = &buffers[events[i].buffer];
    const hsc_instr *instr = hsc_cpu_executable_instr(
        executable, events[i].frees ? hsc_cpu_executable_thunk_instr(executable, buffer->last_thunk)
                                    : buffer->instr);
    if (!instr)
      instr = module->entry->root;
    size_t event = hsc_wire_begin(out, 1);
    hsc_wire_put_int(out, 1, events[i].frees ? 1 : 0);
    hsc_wire_put_int(out, 2, ids[events[i].buffer]);
    hsc_wire_put_text(out, 3, instr->parent->name);
    hsc_wire_put_text(out, 4, instr->name);
    hsc_wire_end(out, event);
  }
  hsc_wire_put_bool(out, 2, true);
  hsc_wire_put_int(out, 3, temp_index);
  hsc_wire_end(out, trace);
  return NULL;
}

// HloProto: the module, and the buffers it was given. A module that the writer has no fields for is
// left out; the profile stays good without it.
static hsc_status *write_hlo(builder *b) {
  hsc_status *status = NULL;
  hsc_bytes proto = {0};
  hsc_xwriter_begin_plane(&b->w, 1, "/host:metadata");
  for (int p = 0; p < b->program_count; p++) {
    if (!b->programs[p])
      continue;
    hsc_bytes_reset(&proto);
    size_t mark = hsc_wire_begin(&proto, 1);
    hsc_status *written = hsc_hlo_proto_write(hsc_cpu_executable_module(b->programs[p]), &proto);
    hsc_wire_end(&proto, mark);
    if (written) {
      hsc_status_free(written);
      continue;
    }
    mark = hsc_wire_begin(&proto, 3);
    HSC_GOTO(put_buffers(b, b->programs[p], &proto));
    hsc_wire_end(&proto, mark);
    HSC_GOTO(hsc_bytes_status(&proto));
    hsc_xwriter_begin_event_meta(&b->w, b->program_ids[p], module_title(b, p), NULL);
    hsc_xwriter_stat_bytes(&b->w, "Hlo Proto", hsc_bytes_view(&proto));
    hsc_xwriter_stat_uint(&b->w, "program_id", (uint64_t)b->program_ids[p]);
    hsc_xwriter_end_event_meta(&b->w);
  }
done:
  hsc_xwriter_end_plane(&b->w);
  hsc_bytes_deinit(&proto);
  return status;
}

hsc_status *hsc__profile_space_write(const hsc_cpu_session *session,
                                     const hsc__profile_peaks *peaks,
                                     const char *device_type,
                                     hsc_bytes *out) {
  builder b = {.session = session, .peaks = peaks};
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&b.arena));
  HSC_GOTO(hsc_xwriter_init(&b.w, out));
  HSC_GOTO(gather(&b));
  int64_t start_ns = hsc_cpu_session_start_wall_ns(session);
  int32_t devices = 0;
  for (size_t i = 0; i < b.run_count; i++)
    if (b.runs[i].run->device >= devices)
      devices = b.runs[i].run->device + 1;
  for (int32_t device = 0; device < devices; device++)
    if (has_runs(&b, device))
      HSC_GOTO(write_device(&b, device, start_ns, device_type));
  write_host(&b, start_ns);
  if (b.program_count)
    HSC_GOTO(write_hlo(&b));
  uint64_t lost = hsc_cpu_session_lost_runs(session);
  if (lost)
    hsc_wire_put_text(
        out, 3,
        hsc_arena_printf(b.arena, "hloscope: %llu runs were not recorded for want of memory",
                         (unsigned long long)lost));
  HSC_GOTO(hsc_arena_status(b.arena));
  HSC_GOTO(hsc_bytes_status(out));
done:
  hsc_xwriter_deinit(&b.w);
  hsc_arena_destroy(b.arena);
  return status;
}
