// pass_manager.c - runs pipelines: order, timing, switches, dumps, fuel, verification.
//
// How to read: hsc_passes_run checks what was asked for and runs the pipelines of pipelines.def;
// run_pipeline goes over the passes of one, again while they change something where it says so;
// run_pass is one pass with everything around it: whether it is switched on, its time, the dump,
// the verifier. What is written for tools that read XLA's metadata is the last section before it.
#include <errno.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/files/file_io.h"
#include "base/text/pattern.h"
#include "base/text/text.h"
#include "passes/manager/passes_internal.h"

typedef hsc_status *(*pass_function)(hsc_module *module, hsc_pass_context *cx);

typedef struct pass_row {
  const char *text, *id, *doc;
  pass_function run;
} pass_row;

static const pass_row passes[] = {
#define PASS(id, text, room, doc) {text, #id, doc, hsc__pass_##id},
#include "passes/manager/passes.def"
#undef PASS
};

enum { STEP_PIPELINE, STEP_RUN, STEP_ON_REQUEST, STEP_SUB, STEP_END };
enum { ONCE, FIXED_POINT, MAX_ROUNDS = 25 };

typedef enum pipeline_id {
#define PIPELINE(id, text, repeat, doc) PIPELINE_##id,
#define RUN(id)
#define ON_REQUEST(id)
#define SUB(id)
#define END
#include "passes/manager/pipelines.def"
#undef PIPELINE
#undef RUN
#undef ON_REQUEST
#undef SUB
#undef END
  PIPELINE_COUNT
} pipeline_id;

typedef struct step {
  int kind;          // STEP_*
  int id;            // pass or pipeline
  const char *text;  // of a pipeline
  int repeat;        // of a pipeline
} step;

static const step steps[] = {
#define PIPELINE(id, text, repeat, doc) {STEP_PIPELINE, PIPELINE_##id, text, repeat},
#define RUN(id) {STEP_RUN, HSC_PASS_##id, NULL, 0},
#define ON_REQUEST(id) {STEP_ON_REQUEST, HSC_PASS_##id, NULL, 0},
#define SUB(id) {STEP_SUB, PIPELINE_##id, NULL, 0},
#define END {STEP_END, 0, NULL, 0},
#include "passes/manager/pipelines.def"
#undef PIPELINE
#undef RUN
#undef ON_REQUEST
#undef SUB
#undef END
};

const char *hsc_pass_text(hsc_pass_id pass) {
  return passes[pass].text;
}
const char *hsc_pass_doc(hsc_pass_id pass) {
  return passes[pass].doc;
}

bool hsc_pass_parse(hsc_view text, hsc_pass_id *out_pass) {
  for (int i = 0; i < HSC_PASS_COUNT; i++) {
    if (!hsc_view_equals_text(text, passes[i].text) && !hsc_view_equals_text(text, passes[i].id))
      continue;
    *out_pass = (hsc_pass_id)i;
    return true;
  }
  return false;
}

bool hsc_pass_is_on_request(hsc_pass_id pass) {
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++)
    if (steps[i].kind == STEP_RUN && steps[i].id == (int)pass)
      return false;
  return true;
}

const char *hsc_pass_example(hsc_pass_id pass) {
  return hsc__pass_examples[pass];
}

bool hsc_pipeline_exists(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++)
    if (steps[i].kind == STEP_PIPELINE && !strcmp(steps[i].text, name))
      return true;
  return false;
}

void hsc_pass_log_deinit(hsc_pass_log *log) {
  hsc_free(log->runs);
  hsc_free(log->rewrites);
  *log = (hsc_pass_log){0};
}

// ---- one walk over the pipelines ----------------------------------------------------------------

// One entry of the module metadata, as XLA writes them: every run of a pass, every start of a
// pipeline, in the order of their starts.
typedef struct metadata_entry {
  const char *pass, *pipeline;
  bool changed;
  int64_t start_ns, end_ns, rewrites;
  int32_t instructions, fusions;  // after it
  size_t first_rule, rule_count;  // of the manager's fired rules
} metadata_entry;

// How often a rule fired in a run.
typedef struct fired_rule {
  int32_t rule;
  int64_t rewrites;
} fired_rule;

typedef struct manager {
  hsc_module *module;
  const hsc_pass_options *options;
  hsc_pass_log *log;
  hsc_pass_context cx;
  bool only_rules;  // of the algebraic simplifier only rules that are named work
  regex_t dump_re;
  bool has_dump_re;
  int dump_count;
  metadata_entry *entries;  // [entry_count]; heap
  size_t entry_count, entry_capacity;
  fired_rule *fired;  // [fired_count]; heap
  size_t fired_count, fired_capacity;
  bool entries_failed;              // no memory: no metadata is written
  int64_t fuel_of[HSC_PASS_COUNT];  // rewrites left by pass; < 0 = no limit
  uint64_t version;                 // of the module: counts the runs that changed it
  // the version, plus one, at which the pass last found nothing to do; 0 = never
  uint64_t clean_at[HSC_PASS_COUNT];
} manager;

static bool list_has(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at && *at;) {
    const char *end = strchrnul(at, ',');
    if ((size_t)(end - at) == length && !memcmp(at, name, length))
      return true;
    at = *end ? end + 1 : end;
  }
  return false;
}

static bool switched_on(const manager *m, const char *name) {
  return !list_has(m->options->disable, name);
}

static hsc_status *unknown_name(const char *name);

// "algsimp=17,cse=0"
static hsc_status *read_pass_fuel(manager *m) {
  for (int i = 0; i < HSC_PASS_COUNT; i++)
    m->fuel_of[i] = -1;
  for (const char *at = m->options->pass_fuel; at && *at;) {
    const char *end = strchrnul(at, ',');
    const char *equals = memchr(at, '=', (size_t)(end - at));
    char name[64];
    char *stop = NULL;
    size_t length = (size_t)((equals ? equals : end) - at);
    if (length >= sizeof name)
      length = sizeof name - 1;
    memcpy(name, at, length);
    name[length] = 0;
    hsc_pass_id pass;
    int32_t rule = hsc_rule_find(hsc_view_of(name));
    if (rule < 0 && !hsc_pass_parse(hsc_view_of(name), &pass))
      return unknown_name(name);
    long long limit = equals ? strtoll(equals + 1, &stop, 10) : 0;
    if (!equals || stop != end || stop == equals + 1 || limit < 0)
      return HSC_ERR(INVALID_ARGUMENT, "pass fuel: expected %s=N with a whole number, found '%.*s'",
                     name, (int)(end - at), at);
    if (rule >= 0)
      m->cx.rule_fuel[rule] = limit;
    else
      m->fuel_of[pass] = limit;
    at = *end ? end + 1 : end;
  }
  return NULL;
}

// The rules that the lists leave out have no fuel. Whether the list of what alone runs names one.
static bool switch_rules(manager *m) {
  bool named = false;
  for (int32_t i = 0; i < hsc_rule_count(); i++) {
    named |= list_has(m->options->enable_only, hsc_rule_get(i)->name);
    m->cx.rule_fuel[i] = switched_on(m, hsc_rule_get(i)->name) ? -1 : 0;
  }
  for (int32_t i = 0; i < hsc_rule_count() && named; i++)
    if (!list_has(m->options->enable_only, hsc_rule_get(i)->name))
      m->cx.rule_fuel[i] = 0;
  return named;
}

static void count(const hsc_module *module, int32_t *out_instructions, int32_t *out_fusions) {
  int32_t instructions = 0;
  int32_t fusions = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    instructions += computation->instr_count;
    for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
      fusions += instr->op == HSC_OP_FUSION;
  }
  *out_instructions = instructions;
  *out_fusions = fusions;
}

static hsc_pass_run *log_run(manager *m, const char *pipeline, const char *pass, int depth) {
  hsc_pass_log *log = m->log;
  if (!log)
    return NULL;
  if (!HSC_GROW(log->runs, log->run_count, log->run_capacity))
    return NULL;
  hsc_pass_run *run = &log->runs[log->run_count++];
  *run = (hsc_pass_run){.pipeline = pipeline, .pass = pass, .depth = depth};
  return run;
}

// A dump that is cut short is a dump of a compile that was cut short: no copy aside, no wait for
// the disk.
static hsc_status *write_file(const char *path, const hsc_bytes *text) {
  FILE *file = fopen(path, "we");
  if (!file)
    return hsc_status_errno(errno, "cannot write the dump", path);
  bool good = fwrite(text->data ? text->data : "", 1, text->size, file) == text->size;
  good = fclose(file) == 0 && good;
  return good ? NULL : hsc_status_errno(errno, "cannot write the dump", path);
}

// XLA's names: module_0000.<module>.<number>.<pipeline>.after_<pass>.txt, spaces as underscores.
static hsc_status *dump(manager *m, const char *pipeline, const char *after) {
  if (!m->options->dump_to || (m->has_dump_re && regexec(&m->dump_re, after, 0, NULL, 0)))
    return NULL;
  if (!m->has_dump_re)
    return NULL;
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  // a module's name may be longer than file systems let files be called; no character is cut
  const size_t most = 120;
  size_t size = strlen(m->module->name);
  for (size = size < most ? size : most; size && (m->module->name[size] & 0xC0) == 0x80;)
    size--;
  hsc_bytes_printf(&path, "module_0000.%.*s.%04d.%s.after_%s.txt", (int)size, m->module->name,
                   m->dump_count++, pipeline, after);
  for (size_t i = 0; i < path.size; i++)
    if (path.data[i] == ' ' || path.data[i] == '/')
      path.data[i] = '_';
  hsc_bytes full = {0};
  hsc_bytes_printf(&full, "%s/%s", m->options->dump_to, hsc_bytes_text(&path));
  hsc_module_print(m->module, NULL, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_bytes_status(&full);
  if (!status)
    status = write_file(full.data, &text);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&full);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "while: dumping the module after pass %s", after);
}

// ---- the metadata file: HloModuleMetadataProto (xla/service/metrics.proto, hlo.proto) as text ---

// The number of the new entry; the entry's end is filled when the pass is through.
static size_t begin_entry(manager *m, const char *pass, const char *pipeline) {
  if (!m->options->dump_module_metadata || !m->options->dump_to)
    return 0;
  if (!HSC_GROW(m->entries, m->entry_count, m->entry_capacity)) {
    m->entries_failed = true;
    return 0;
  }
  m->entries[m->entry_count] =
      (metadata_entry){.pass = pass, .pipeline = pipeline, .start_ns = hsc_wall_ns()};
  return m->entry_count++;
}

static void end_entry(manager *m, size_t number, bool changed, int64_t rewrites) {
  if (number >= m->entry_count)
    return;
  metadata_entry *e = &m->entries[number];
  e->end_ns = hsc_wall_ns();
  e->changed = changed;
  e->rewrites = rewrites;
  count(m->module, &e->instructions, &e->fusions);
}

// Which rules fired in the run that has just ended.
static void note_rules(manager *m, size_t number) {
  if (number >= m->entry_count)
    return;
  m->entries[number].first_rule = m->fired_count;
  for (int32_t i = 0; i < hsc_rule_count(); i++) {
    if (m->cx.rule_rewrites[i] == 0)
      continue;
    if (!HSC_GROW(m->fired, m->fired_count, m->fired_capacity)) {
      m->entries_failed = true;
      return;
    }
    m->fired[m->fired_count++] = (fired_rule){i, m->cx.rule_rewrites[i]};
    m->entries[number].rule_count++;
  }
}

// module_0000.metadata.textproto. Times are microseconds, as in XLA's; kv_metrics hold what has no
// field there.
static hsc_status *write_metadata(manager *m) {
  if (m->entry_count == 0 || m->entries_failed)
    return NULL;
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  hsc_bytes_printf(&path, "%s/module_0000.metadata.textproto", m->options->dump_to);
  for (size_t i = 0; i < m->entry_count; i++) {
    const metadata_entry *e = &m->entries[i];
    hsc_bytes_printf(
        &text, "pass_metadata {\n  pass_id: %zu\n  pass_name: \"%s\"\n  pipeline_name: \"%s\"\n",
        i + 1, e->pass, e->pipeline);
    if (e->changed)
      hsc_bytes_printf(&text, "  module_changed: true\n");
    hsc_bytes_printf(&text, "  start_timestamp_usec: %lld\n  end_timestamp_usec: %lld\n",
                     (long long)(e->start_ns / 1000), (long long)(e->end_ns / 1000));
    const struct {
      const char *key;
      long long value;
    } metrics[] = {{"duration_ns", e->end_ns - e->start_ns},
                   {"rewrites", e->rewrites},
                   {"instructions", e->instructions},
                   {"fusions", e->fusions}};
    for (size_t k = 0; k < HSC_COUNT_OF(metrics); k++)
      hsc_bytes_printf(&text, "  kv_metrics {\n    key: \"%s\"\n    value: %lld\n  }\n",
                       metrics[k].key, metrics[k].value);
    for (size_t k = e->first_rule; k < e->first_rule + e->rule_count; k++)
      hsc_bytes_printf(&text, "  kv_metrics {\n    key: \"%s\"\n    value: %lld\n  }\n",
                       hsc_rule_get(m->fired[k].rule)->name, (long long)m->fired[k].rewrites);
    hsc_bytes_append_text(&text, "}\n");
  }
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_bytes_status(&path);
  if (!status)
    status = write_file(path.data, &text);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  return status;
}

// A pass that found nothing to do need not look again at the same module: that is what keeps rounds
// of a fixed point cheap.
static hsc_status *run_pass(
    manager *m, hsc_pass_id pass, const char *pipeline, int depth, bool *changed) {
  const pass_row *row = &passes[pass];
  if (!switched_on(m, row->text) || !switched_on(m, row->id) || m->clean_at[pass] == m->version + 1)
    return NULL;
  if (m->options->enable_only && !list_has(m->options->enable_only, row->text) &&
      !list_has(m->options->enable_only, row->id) && !(m->only_rules && pass == HSC_PASS_algsimp))
    return NULL;
  bool counting = m->log && m->options->record_counts;
  int32_t instructions = 0;
  int32_t fusions = 0;
  if (counting)
    count(m->module, &instructions, &fusions);
  m->cx.changed = false;
  m->cx.rewrites = 0;
  memset(m->cx.rule_rewrites, 0, (size_t)hsc_rule_count() * sizeof *m->cx.rule_rewrites);
  m->cx.pass_fuel = m->fuel_of[pass];
  size_t entry = begin_entry(m, row->text, pipeline);
  hsc_log("passes", 1, "pipeline %s: pass %s", pipeline, row->text);
  int64_t start_ns = m->log ? hsc_now_ns() : 0;
  m->module->callers_counted = false;
  HSC_TRY_NOTE(row->run(m->module, &m->cx), "while: pass %s in pipeline %s", row->text, pipeline);
  // What a pass made of an arena that failed is no program: it must not be gone on with.
  HSC_TRY(hsc_arena_status(m->cx.scratch));
  HSC_TRY(hsc_arena_status(m->module->arena));
  int64_t end_ns = m->log ? hsc_now_ns() : 0;
  end_entry(m, entry, m->cx.changed, m->cx.rewrites);
  note_rules(m, entry);
  hsc_arena_reset(m->cx.scratch);
  m->fuel_of[pass] = m->cx.pass_fuel;
  *changed |= m->cx.changed;
  if (m->cx.changed)
    m->version++;
  else
    m->clean_at[pass] = m->version + 1;
  hsc_pass_run *run = log_run(m, pipeline, row->text, depth);
  if (m->log && (!run || m->cx.log_is_short))
    return hsc_status_out_of_memory();
  if (run) {
    run->changed = m->cx.changed;
    run->rewrites = m->cx.rewrites;
    run->start_ns = start_ns;
    run->duration_ns = end_ns - start_ns;
    run->instructions_before = instructions;
    run->fusions_before = fusions;
    if (counting)
      count(m->module, &run->instructions_after, &run->fusions_after);
  }
  if (m->cx.changed && m->options->verify) {
    hsc_status *broken = hsc_module_verify(m->module);
    if (hsc_status_code(broken) == HSC_RESOURCE_EXHAUSTED)
      return broken;
    if (broken) {
      hsc_status *status =
          HSC_ERR(INTERNAL, "pass %s broke the module: %s", row->text, hsc_status_message(broken));
      hsc_status_free(broken);
      return status;
    }
  }
  return m->cx.changed ? dump(m, pipeline, row->text) : NULL;
}

static const step *find_pipeline(int id) {
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++)
    if (steps[i].kind == STEP_PIPELINE && steps[i].id == id)
      return &steps[i];
  return NULL;
}

static bool requested(const manager *m, const pass_row *row) {
  return list_has(m->options->enable, row->text) || list_has(m->options->enable, row->id) ||
         list_has(m->options->enable_only, row->text) || list_has(m->options->enable_only, row->id);
}

static hsc_status *run_pipeline(manager *m, int id, int depth, bool *changed) {
  const step *head = find_pipeline(id);
  if (!switched_on(m, head->text))
    return NULL;
  HSC_TRY(dump(m, head->text, "pipeline-start"));
  end_entry(m, begin_entry(m, "pipeline-start", head->text), false, 0);
  for (int round = 0; round < MAX_ROUNDS; round++) {
    bool round_changed = false;
    for (const step *s = head + 1; s->kind != STEP_END; s++) {
      if (s->kind == STEP_RUN || (s->kind == STEP_ON_REQUEST && requested(m, &passes[s->id])))
        HSC_TRY(run_pass(m, (hsc_pass_id)s->id, head->text, depth, &round_changed));
      if (s->kind != STEP_SUB || !switched_on(m, find_pipeline(s->id)->text))
        continue;
      bool sub_changed = false;
      size_t entry = begin_entry(m, find_pipeline(s->id)->text, head->text);
      HSC_TRY(run_pipeline(m, s->id, depth + 1, &sub_changed));
      end_entry(m, entry, sub_changed, 0);
      round_changed |= sub_changed;
    }
    *changed |= round_changed;
    if (!round_changed || head->repeat == ONCE)
      break;
  }
  return NULL;
}

// Passes of XLA's that are known and not here: asked for by name, they are refused, rather than
// left out in silence.
static const struct {
  const char *text, *id, *why;
} refused[] = {
    {"dynamic_padder", "dynamic-padder", "sizes that are known at run time only"},
};

hsc_status *hsc_pass_refusal(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(refused); i++)
    if (!strcmp(name, refused[i].text) || !strcmp(name, refused[i].id))
      return HSC_ERR(UNIMPLEMENTED, "pass %s: not built yet: %s", refused[i].text, refused[i].why);
  return NULL;
}

static hsc_status *check_refused(const hsc_pass_options *options, const char *pipeline) {
  for (size_t i = 0; i < HSC_COUNT_OF(refused); i++) {
    bool asked = list_has(options->enable, refused[i].text) ||
                 list_has(options->enable_only, refused[i].text) ||
                 (pipeline && !strcmp(pipeline, refused[i].text));
    if (asked)
      return hsc_pass_refusal(refused[i].text);
  }
  return NULL;
}

const char *hsc_pass_name_near(const char *name) {
  const char *names[1024];
  size_t count = 0;
  for (int32_t i = 0; i < hsc_rule_count() && count < 512 && strchr(name, '/'); i++)
    names[count++] = hsc_rule_get(i)->name;
  for (size_t i = 0; i < HSC_COUNT_OF(passes); i++)
    names[count++] = passes[i].text;
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++)
    if (steps[i].kind == STEP_PIPELINE)
      names[count++] = steps[i].text;
  return hsc_did_you_mean(name, names, count);
}

static hsc_status *unknown_name(const char *name) {
  const char *near = hsc_pass_name_near(name);
  hsc_status *status = hsc_status_usage(HSC_ERR(NOT_FOUND, "unknown pass or pipeline '%s'", name));
  return near ? hsc_status_hint(status, "did you mean '%s'?", near) : status;
}

hsc_status *hsc_passes_run(hsc_module *module,
                           const char *pipeline,
                           const hsc_pass_options *options,
                           hsc_pass_log *log) {
  static const hsc_pass_options defaults = {.fuel = -1};
  manager m = {.module = module, .options = options ? options : &defaults, .log = log};
  m.cx.fuel = m.options->fuel;
  m.cx.target = m.options->target;
  m.cx.memory_limit_bytes = m.options->memory_limit_bytes;
  m.cx.algsimp = hsc_algsimp_options_default();
  HSC_TRY(hsc_algsimp_options_read(m.options->algsimp, &m.cx.algsimp));
  HSC_TRY(check_refused(m.options, pipeline));
  hsc_status *status = NULL;
  size_t rule_bytes = (size_t)hsc_rule_count() * sizeof(int64_t);
  m.cx.rule_fuel = hsc_alloc(rule_bytes);
  m.cx.rule_rewrites = hsc_alloc(rule_bytes);
  if (!m.cx.rule_fuel || !m.cx.rule_rewrites)
    HSC_GOTO(hsc_status_out_of_memory());
  m.cx.rewrite_log = m.options->record_rewrites ? log : NULL;
  m.only_rules = switch_rules(&m);
  HSC_GOTO(read_pass_fuel(&m));
  if (m.options->dump_pass_re) {
    HSC_GOTO(hsc_pattern_compile(m.options->dump_pass_re, &m.dump_re));
    m.has_dump_re = true;
  }
  HSC_GOTO(hsc_arena_create(&m.cx.scratch));
  if (m.options->dump_to)
    HSC_GOTO(hsc_dir_make(m.options->dump_to));
  if (m.options->record_fusion)
    HSC_GOTO(hsc__fusion_log_begin(module));
  bool changed = false;
  hsc_pass_id pass;
  if (pipeline && hsc_pass_parse(hsc_view_of(pipeline), &pass)) {
    HSC_GOTO(run_pass(&m, pass, "passes", 0, &changed));
    goto done;
  }
  const step *head = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(steps) && !head; i++)
    if (steps[i].kind == STEP_PIPELINE &&
        !strcmp(steps[i].text, pipeline ? pipeline : "hlo passes"))
      head = &steps[i];
  HSC_GOTO(head ? run_pipeline(&m, head->id, 0, &changed) : unknown_name(pipeline));
done:
  if (!status)
    status = hsc_arena_status(module->arena);
  if (!status)
    status = hsc__fusion_log_end(module);
  module->fusion_log = NULL;
  if (!status)
    status = write_metadata(&m);
  hsc_free(m.entries);
  hsc_free(m.fired);
  hsc_free(m.cx.rule_fuel);
  hsc_free(m.cx.rule_rewrites);
  if (m.has_dump_re)
    regfree(&m.dump_re);
  hsc_arena_destroy(m.cx.scratch);
  return status;
}
