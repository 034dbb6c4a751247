// view_recompiles.c - what was compiled, why again, and what it cost; and memory.
#include <stdlib.h>

#include "base/text/text.h"
#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "views/recompile_cause.h"
#include "views/recompile_options.h"
#include "views/views_internal.h"

// Programs that were compiled so far, as the tracer kept them.
typedef struct ledger {
  const char **names;    // [count] what was compiled
  int32_t *processes;    // [count] in which process
  hsc_module **modules;  // [count] from what; NULL = not readable here
  int count;
} ledger;

enum { MAX_LEDGER_PROGRAMS = 500, MAX_LEDGER_BYTES = 8 << 20 };

// A file that the tracer kept; the capture's events say its name.
static hsc_status *read_kept(hsc__view_context *cx, const char *name, hsc_bytes *out) {
  const char *folder = hsc_arena_printf(cx->arena, "%s/programs", hsc_capture_path(cx->capture));
  return folder ? hsc_file_read_in(folder, name, out) : hsc_status_out_of_memory();
}

static hsc_module *read_program(hsc__view_context *cx, const char *program) {
  hsc_bytes bytes = {0};
  hsc_module *module = NULL;
  hsc_status *status = read_kept(cx, program, &bytes);
  if (!status && bytes.size <= MAX_LEDGER_BYTES)
    status = hsc_program_read(hsc_bytes_view(&bytes), program, &module);
  hsc_status_free(status);  // a program that cannot be read is compared with nothing
  hsc_bytes_deinit(&bytes);
  return module;
}

// PyTorch/XLA numbers its graphs ("SyncTensorsGraph.41"): the name without that is what was
// compiled again.
static const char *plain_name(hsc__view_context *cx, const char *name) {
  size_t size = strlen(name);
  size_t end = size;
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
    end--;
  return end > 1 && end < size && name[end - 1] == '.' ? hsc_arena_strndup(cx->arena, name, end - 1)
                                                       : name;
}

// What a compilation is to those before it.
typedef enum compile_kind {
  COMPILE_FIRST,
  COMPILE_AGAIN,
  COMPILE_CHANGED,
  COMPILE_NAMESAKE,
  COMPILE_EAGER,
  COMPILE_PROCESS,
  COMPILE_KINDS
} compile_kind;
static const char *const compile_kinds[COMPILE_KINDS] = {"first",    "again", "changed",
                                                         "namesake", "eager", "process"};

// JAX runs an operation outside of jit as a program of its own, named by the operation:
// jit(broadcast_in_dim)/broadcast_in_dim. Every shape is another program.
static bool is_eager(const hsc_module *module) {
  const hsc_instr *root = module->entry->root;
  // A conversion to the type that is there leaves nothing to carry a name.
  if (root->op == HSC_OP_PARAMETER)
    return !strcmp(module->name, "jit_convert_element_type");
  const char *op_name = root->metadata ? root->metadata->op_name : NULL;
  if (!op_name || strncmp(op_name, "jit(", 4))
    return false;
  size_t size = strcspn(op_name + 4, ")");
  return op_name[4 + size] == ')' && op_name[5 + size] == '/' &&
         !strncmp(op_name + 6 + size, op_name + 4, size) && !op_name[6 + 2 * size];
}

// A compilation among those of its process; and what was there of the same program, in it and in
// earlier processes.
typedef struct compilation {
  const hsc_event *event;
  const char *program, *name;  // file in the capture; what was compiled, without numbers
  const char *options;         // file in the capture; "" = not kept
  // of the last compilation of this program here; NULL = there was none
  const char *options_before;
  bool first_of_name, other_process;
} compilation;

// The same program once more: what differs is in the options, if anything does.
static compile_kind explain_same(hsc__view_context *cx, const compilation *c, hsc_bytes *out) {
  bool known = *c->options && *c->options_before;
  bool same = known && !strcmp(c->options, c->options_before);
  hsc_bytes before = {0};
  hsc_bytes now = {0};
  hsc_bytes difference = {0};
  hsc_status *status = NULL;
  if (known && !same) {
    status = read_kept(cx, c->options_before, &before);
    if (!status)
      status = read_kept(cx, c->options, &now);
    if (!status)
      same = !hsc__recompile_options(hsc_bytes_view(&before), hsc_bytes_view(&now), &difference);
  }
  hsc_status_free(status);
  hsc_bytes_append_text(out, "compiled again: the same program");
  if (!known)
    hsc_bytes_append_text(out, "; the caller kept no executable, or gave other options");
  else if (same)
    hsc_bytes_append_text(out, " with the same options; the caller kept no executable");
  else
    hsc_bytes_printf(out, " with other compile options: %s", hsc_bytes_text(&difference));
  hsc_bytes_deinit(&before);
  hsc_bytes_deinit(&now);
  hsc_bytes_deinit(&difference);
  return COMPILE_AGAIN;
}

static compile_kind explain(hsc__view_context *cx,
                            ledger *l,
                            const compilation *c,
                            hsc_bytes *out) {
  const char *program = c->program;
  const char *name = c->name;
  bool first_of_name = c->first_of_name;
  hsc_bytes_reset(out);
  if (c->options_before)
    return explain_same(cx, c, out);
  hsc_module *module = l->count < MAX_LEDGER_PROGRAMS ? read_program(cx, program) : NULL;
  compile_kind kind = first_of_name ? COMPILE_FIRST : COMPILE_CHANGED;
  if (module && !first_of_name) {
    // Only programs of the same name are asked: what looks alike under another name is no earlier
    // form of this one.
    hsc_module *namesakes[MAX_LEDGER_PROGRAMS];
    int count = 0;
    for (int i = 0; i < l->count; i++)
      if (l->modules[i] && l->processes[i] == c->event->process && !strcmp(l->names[i], name))
        namesakes[count++] = l->modules[i];
    hsc__recompile_cause(namesakes, count, module, out);
    if (is_eager(module))
      kind = COMPILE_EAGER;
    else if (count && !hsc__recompile_same_function(namesakes, count, module))
      kind = COMPILE_NAMESAKE;
  }
  if (l->count < MAX_LEDGER_PROGRAMS) {
    l->processes[l->count] = c->event->process;
    l->names[l->count] = name;
    l->modules[l->count++] = module;
  }
  if (kind == COMPILE_NAMESAKE || kind == COMPILE_EAGER) {
    hsc_bytes cause = *out;
    *out = (hsc_bytes){0};
    hsc_bytes_append_text(out, kind == COMPILE_EAGER
                                   ? "an operation outside of jit, compiled for these shapes"
                                   : "another function of the same name");
    const char *what = hsc_bytes_text(&cause);
    if (kind == COMPILE_EAGER && !strncmp(what, "compiled again: argument", 24))
      hsc_bytes_printf(out, ":%s", what + 15);
    hsc_bytes_deinit(&cause);
  }
  if (kind == COMPILE_FIRST && c->other_process) {
    hsc_bytes_append_text(out, "first here; an earlier process compiled the same program");
    return COMPILE_PROCESS;
  }
  if (!out->size)
    hsc_bytes_append_text(out, first_of_name ? "first" : "another program");
  return kind;
}

// What the framework said of a function that it traces again (python/hloscope/site).
static bool is_explanation(const hsc_event *e) {
  return e->category == HSC_CATEGORY_FRAMEWORK && e->kind == HSC_RECORD_INSTANT &&
         !strcmp(e->name, "tracing cache miss");
}

// The framework knows why it traced; the programs show what came of it.
static hsc_status *put_framework_first(hsc__view_context *cx, const char *told, hsc_bytes *why) {
  static const char again[] = "compiled again: ";
  static const char same_program[] =
      "the same program with the same options; the caller kept no executable";
  if (!told || !*told)
    return NULL;
  const char *found = hsc_bytes_text(why);
  if (!strncmp(found, again, sizeof again - 1))
    found += sizeof again - 1;
  // what the caller did is no guess where the framework says it
  if (!strcmp(found, same_program))
    found = "the same, with the same options";
  found = hsc_arena_strdup(cx->arena, found);
  if (!found)
    return hsc_status_out_of_memory();
  hsc_bytes_reset(why);
  hsc_bytes_printf(why, "compiled again: JAX: %s. The programs: %s", told, found);
  return hsc_bytes_status(why);
}

// What is known while the events are gone through in order. The series are counters by process and
// name; `extra` holds a text of the capture that belongs to the name (0 = none).
typedef struct recompiles {
  ledger ledger;
  hsc_bytes why;
  hsc__series_set names;     // executables; durations of their compilations
  hsc__series_set programs;  // of a process, and under number 0 of all; extra: options
  hsc__series_set told;      // extra: what the framework said last, until a compilation takes it
  double lost_ns[COMPILE_KINDS];
  int64_t counts[COMPILE_KINDS];
} recompiles;

static hsc_status *note_explanation(hsc__view_context *cx, recompiles *s, const hsc_event *e) {
  hsc__series *of =
      hsc__series_get(&s->told, (uint32_t)e->process + 1, hsc__attr_text(cx, e, "executable"));
  if (!of)
    return hsc_status_out_of_memory();
  of->extra = (int64_t)(uintptr_t)hsc__attr_text(cx, e, "why");
  return NULL;
}

// The kind of a compilation, and in s->why its reason: the framework's own words first, for the
// programs show only what came of it.
static hsc_status *explain_compilation(hsc__view_context *cx,
                                       recompiles *s,
                                       const compilation *c,
                                       compile_kind *out_kind) {
  hsc__series *of = hsc__series_get(&s->told, (uint32_t)c->event->process + 1, c->name);
  compile_kind kind = explain(cx, &s->ledger, c, &s->why);
  if (!of)
    return hsc_status_out_of_memory();
  const char *told = (const char *)(uintptr_t)of->extra;
  of->extra = 0;  // it was of this compilation
  if (kind == COMPILE_CHANGED && told && !strcmp(told, "a function that it has not seen")) {
    kind = COMPILE_NAMESAKE;
    hsc_bytes_reset(&s->why);
    hsc_bytes_append_text(&s->why, "another function of the same name");
  } else if (kind != COMPILE_FIRST) {
    HSC_TRY(put_framework_first(cx, told, &s->why));
  }
  *out_kind = kind;
  return NULL;
}

static hsc_status *add_compilation(hsc__view_context *cx,
                                   recompiles *s,
                                   const hsc_event *e,
                                   const char *program) {
  const char *name = hsc__attr_text(cx, e, "executable");
  const char *error = hsc__attr_text(cx, e, "error");
  const char *plain = *name ? plain_name(cx, name) : "(failed)";
  hsc__series *by_name = hsc__series_get(&s->names, (uint32_t)e->process + 1, plain);
  hsc__series *here = hsc__series_get(&s->programs, (uint32_t)e->process + 1, program);
  hsc__series *anywhere = hsc__series_get(&s->programs, 0, program);
  if (!by_name || !here || !anywhere || !hsc__series_add(by_name, (double)e->duration_ns))
    return hsc_status_out_of_memory();
  compilation c = {.event = e,
                   .program = program,
                   .name = plain,
                   .options = hsc__attr_text(cx, e, "options"),
                   .options_before = (const char *)(uintptr_t)here->extra,
                   .first_of_name = by_name->count == 1,
                   .other_process = anywhere->extra != 0};
  // where the text is: not NULL, even where it is empty
  here->extra = anywhere->extra = (int64_t)(uintptr_t)c.options;
  compile_kind kind = COMPILE_FIRST;
  HSC_TRY(explain_compilation(cx, s, &c, &kind));
  s->counts[kind]++;
  s->lost_ns[kind] += (double)e->duration_ns;
  if (!hsc__room(cx))
    return NULL;
  hsc_table_row(cx->table);
  hsc_table_int(cx->table, e->start_ns);
  hsc_table_text(cx->table, name);
  hsc_table_int(cx->table, e->duration_ns);
  hsc_table_int(cx->table, (int64_t)by_name->count);
  const char *outcome = *error ? error : hsc_bytes_text(&s->why);
  hsc_table_text(cx->table, e->open ? "was still compiling at the end" : outcome);
  hsc_table_text(cx->table, program);
  hsc_table_int(cx->table, hsc__attr_int(cx, e, "program_bytes", 0));
  hsc_table_text(cx->table, compile_kinds[kind]);
  return NULL;
}

static void note_what_repeats_cost(hsc__view_context *cx, const recompiles *s) {
  static const char *const kind_texts[COMPILE_KINDS] = {
      NULL,
      "again: the same program once more",
      "changed: a function that was compiled before, for other shapes, constants or options",
      "namesake: another function of a name that was there",
      "eager: an operation outside of jit, for other shapes",
      "process: a program that an earlier process had compiled; a persistent compilation cache "
      "keeps it"};
  for (int k = 0; k < COMPILE_KINDS; k++) {
    char text[32];
    hsc_format_quantity(s->lost_ns[k], "ns", false, text);
    if (kind_texts[k] && s->counts[k])
      hsc_table_note(cx->table, "%lld compilation%s cost %s (%s)", (long long)s->counts[k],
                     hsc_plural((double)s->counts[k], "", "s"), text, kind_texts[k]);
  }
}

// Every compilation: which program, the how many-eth of its executable's name, why again, and the
// time that repeats cost.
hsc_status *hsc__view_recompiles(hsc__view_context *cx) {
  recompiles s = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc__series_set_init(&s.names, cx->arena));
  HSC_GOTO(hsc__series_set_init(&s.programs, cx->arena));
  HSC_GOTO(hsc__series_set_init(&s.told, cx->arena));
  s.ledger = (ledger){.processes = HSC_NEW_ARRAY(cx->arena, int32_t, MAX_LEDGER_PROGRAMS),
                      .names = HSC_NEW_ARRAY(cx->arena, const char *, MAX_LEDGER_PROGRAMS),
                      .modules = HSC_NEW_ARRAY(cx->arena, hsc_module *, MAX_LEDGER_PROGRAMS)};
  if (!s.ledger.processes || !s.ledger.names || !s.ledger.modules)
    HSC_GOTO(hsc_status_out_of_memory());
  hsc_table_column(cx->table, "start", "ns");
  hsc_table_column(cx->table, "executable", "");
  hsc_table_column(cx->table, "compile", "ns");
  hsc_table_column(cx->table, "times", "count");
  hsc_table_column(cx->table, "why", "");
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "program_bytes", "bytes");
  hsc_table_column(cx->table, "kind", "");
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
    const hsc_event *e = &events[i];
    bool compiles = e->category == HSC_CATEGORY_COMPILE && hsc_event_is_span(e);
    const char *program = compiles ? hsc__attr_text(cx, e, "program") : "";
    if (is_explanation(e))
      HSC_GOTO(note_explanation(cx, &s, e));
    else if (*program)
      HSC_GOTO(add_compilation(cx, &s, e, program));
  }
  note_what_repeats_cost(cx, &s);
done:
  for (int i = 0; i < s.ledger.count; i++)
    hsc_module_destroy(s.ledger.modules[i]);
  hsc_bytes_deinit(&s.why);
  hsc__series_set_deinit(&s.names);
  hsc__series_set_deinit(&s.programs);
  hsc__series_set_deinit(&s.told);
  return status;
}

hsc_status *hsc__view_memory(hsc__view_context *cx) {
  hsc_table_column(cx->table, "process", "");
  hsc_table_column(cx->table, "counter", "");
  hsc_table_column(cx->table, "samples", "count");
  hsc_table_column(cx->table, "peak", "bytes");
  hsc_table_column(cx->table, "peak at", "ns");
  hsc_table_column(cx->table, "last", "bytes");
  const hsc_event *events = hsc_capture_events(cx->capture);
  for (int p = 0; p < hsc_capture_process_count(cx->capture); p++) {
    double peak = -1;
    double last = 0;
    int64_t at = 0;
    int64_t samples = 0;
    const char *name = "";
    for (size_t i = 0; i < hsc_capture_event_count(cx->capture); i++) {
      const hsc_event *e = &events[i];
      if (e->kind != HSC_RECORD_COUNTER || e->process != p || e->category != HSC_CATEGORY_MEMORY)
        continue;
      memcpy(&last, &e->value, sizeof last);
      name = e->name;
      samples++;
      if (last > peak) {
        peak = last;
        at = e->start_ns;
      }
    }
    if (!samples)
      continue;
    hsc_table_row(cx->table);
    hsc_table_int(cx->table, hsc_capture_process_at(cx->capture, p)->pid);
    hsc_table_text(cx->table, name);
    hsc_table_int(cx->table, samples);
    hsc_table_double(cx->table, peak);
    hsc_table_int(cx->table, at);
    hsc_table_double(cx->table, last);
  }
  return NULL;
}
