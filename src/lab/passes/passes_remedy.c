// passes_remedy.c - what is slow about a compile, and what was tried against it.
//
// Where constants are folded, the instruction is the one that folds most: it computes from
// constants alone, and its operands are the largest of all such. Else it is the line of the user's
// program that the most instructions come from: compilers are slow on large programs.
#include "lab/passes/passes_remedy.h"

#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "worker/scratch.h"
#include "worker/worker_client.h"

enum { MOST_TRIED = 3, MOST_LINES = 3, LEAST_FOLDED = 10000 };

typedef enum remedy_place { REMEDY_PASS, REMEDY_PHASE } remedy_place;
typedef struct remedy {
  const char *id;
  remedy_place at;
  const char *match, *option, *value, *text;
} remedy;
static const remedy REMEDIES[] = {
#define REMEDY(id, at, match, option, value, text) {#id, REMEDY_##at, match, option, value, text},
#include "lab/passes/remedies.def"
#undef REMEDY
};

typedef struct doctor {
  const hsc_remedy_options *o;
  hsc_arena *arena;
  char *scratch;
  hsc_module *module;
  hsc_instr *folded;  // NULL = nothing large is folded
  const char *phase, *pass;
  double seconds;   // of the compile as it is
  json_t *outputs;  // of the program as it is; NULL = the device does not run
} doctor;

// ---- what is slow -------------------------------------------------------------------------------

static const char *source_of(const hsc_instr *instr, hsc_arena *arena) {
  const hsc_metadata *m = instr->metadata;
  if (m && m->source_file && *m->source_file)
    return hsc_arena_printf(arena, "%s:%d", m->source_file, m->source_line);
  return m ? m->op_name : NULL;
}

// Computed from constants alone; index holds the answer once it is known.
static bool is_constant(const hsc_instr *instr) {
  return instr->index == 1;
}

static void mark_constants(hsc_computation *computation) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    bool leaf = instr->op == HSC_OP_CONSTANT || instr->op == HSC_OP_IOTA;
    bool all =
        instr->operand_count > 0 && !hsc_instr_has_effect(instr) && instr->op != HSC_OP_OPT_BARRIER;
    for (int i = 0; i < instr->operand_count; i++)
      all &= is_constant(instr->operands[i]);
    instr->index = leaf || all;
  }
}

// Elements that folding it goes over: the largest of its operands and its result.
static int64_t folded_elements(const hsc_instr *instr) {
  int64_t most = hsc_shape_elements(&instr->shape);
  for (int i = 0; i < instr->operand_count; i++) {
    int64_t elements = hsc_shape_elements(&instr->operands[i]->shape);
    most = elements > most ? elements : most;
  }
  return most;
}

static hsc_instr *largest_folded(hsc_module *module) {
  hsc_instr *largest = NULL;
  int64_t most = LEAST_FOLDED;
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    mark_constants(computation);
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bool computes =
          instr->op != HSC_OP_BROADCAST && instr->op != HSC_OP_RESHAPE && instr->operand_count > 0;
      if (!is_constant(instr) || !computes || folded_elements(instr) <= most)
        continue;
      most = folded_elements(instr);
      largest = instr;
    }
  }
  return largest;
}

typedef struct line {
  const char *source;
  int64_t count;
} line;

static int most_first(const void *a, const void *b) {
  int64_t x = ((const line *)a)->count;
  int64_t y = ((const line *)b)->count;
  return (x < y) - (x > y);
}

static int by_source(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The lines that the most instructions come from.
static hsc_status *add_lines(doctor *d, json_t *out) {
  int64_t all = hsc_module_instr_count(d->module);
  const char **sources = HSC_NEW_ARRAY(d->arena, const char *, all + 1);
  line *lines = HSC_NEW_ARRAY(d->arena, line, all + 1);
  size_t count = 0;
  size_t line_count = 0;
  HSC_TRY(hsc_arena_status(d->arena));
  HSC_FOR_EACH_COMPUTATION (d->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      const char *source = source_of(instr, d->arena);
      if (source)
        sources[count++] = source;
    }
  HSC_TRY(hsc_arena_status(d->arena));
  if (count)
    qsort(sources, count, sizeof *sources, by_source);
  for (size_t i = 0; i < count; i++) {
    if (!line_count || strcmp(lines[line_count - 1].source, sources[i]) != 0)
      lines[line_count++] = (line){sources[i], 0};
    lines[line_count - 1].count++;
  }
  if (line_count)
    qsort(lines, line_count, sizeof *lines, most_first);
  json_t *rows = json_array();
  for (size_t i = 0; i < line_count && i < MOST_LINES; i++)
    json_array_append_new(
        rows, json_pack("{s:s, s:I, s:f}", "source", lines[i].source, "instructions",
                        (json_int_t)lines[i].count, "share", (double)lines[i].count / (double)all));
  json_object_set_new(out, "instructions", json_integer((json_int_t)all));
  json_object_set_new(out, "lines", rows);
  return NULL;
}

static const char *leader(json_t *rows, const char *but) {
  json_t *row;
  size_t i;
  const char *best = NULL;
  double most = 0.05;
  json_array_foreach (rows, i, row) {
    const char *name = json_string_value(json_object_get(row, "name"));
    double share = hsc_json_number(json_object_get(row, "share"));
    if (!name || !(share > most) || (but && !strcmp(name, but)))
      continue;
    most = share;
    best = name;
  }
  return best;
}

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

static hsc_status *say_what(doctor *d, json_t *document, json_t *out) {
  d->phase = leader(json_object_get(document, "phases"), "all else");
  d->pass = leader(json_object_get(document, "passes"), NULL);
  HSC_TRY(hsc_program_read_file(d->o->program, &d->module));
  bool folds = d->pass && !strcmp(d->pass, "constant_folding");
  d->folded = largest_folded(d->module);
  hsc_instr *named = folds ? d->folded : NULL;
  json_object_set_new(out, "phase", text_or_null(d->phase));
  json_object_set_new(out, "pass", text_or_null(d->pass));
  json_object_set_new(out, "instruction", text_or_null(named ? named->name : NULL));
  json_object_set_new(out, "source", text_or_null(named ? source_of(named, d->arena) : NULL));
  return add_lines(d, out);
}

// ---- remedies -----------------------------------------------------------------------------------

static json_t *request_of(doctor *d, const char *program, json_t *overrides, const char *save_to) {
  bool runs = !d->o->device->topology;
  json_t *request = json_pack("{s:s, s:s, s:[], s:o}", "job", runs ? "run" : "compile", "program",
                              program, "cache", "overrides", overrides);
  if (request && runs)
    json_object_set_new(request, "save_to", json_string(save_to));
  return request;
}

// One compile, and one run where there is a device, in a process of its own.
static hsc_status *compile_once(doctor *d,
                                const char *program,
                                const remedy *r,
                                const char *directory,
                                hsc_answer *out_answer) {
  hsc_lab_worker *worker = NULL;
  json_t *overrides = d->o->overrides ? json_copy(d->o->overrides) : json_object();
  if (r && r->option) {
    json_t *value = r->value ? json_loads(r->value, JSON_DECODE_ANY, NULL) : json_string(d->pass);
    json_object_set_new(overrides, r->option, value);
  }
  json_t *request = request_of(d, program, overrides, directory);
  if (!request)
    return hsc_status_out_of_memory();
  hsc_status *status =
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = d->o->device,
                                                      .executable = d->o->executable,
                                                      .no_disk_cache = true,
                                                      .stop = d->o->stop},
                            &worker);
  if (!status)
    status = hsc_lab_worker_call(worker, request, d->o->limit_ns, out_answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

static double seconds_of(const hsc_answer *answer) {
  json_t *record = json_array_get(json_object_get(answer->body, "records"), 0);
  json_t *from = record ? record : answer->body;
  return hsc_json_number(json_object_get(from, "compile_ns")) / 1e9;
}

// The program with what is folded hidden behind a barrier, in a file.
static hsc_status *write_with_barrier(doctor *d, const char **out_path) {
  hsc_builder b = {0};
  hsc_bytes text = {0};
  hsc_instr *folded = d->folded;
  hsc_builder_at(&b, folded->parent, folded);
  for (int i = 0; i < folded->operand_count; i++) {
    hsc_instr *operand = folded->operands[i];
    if (hsc_shape_elements(&operand->shape) < 2)
      continue;
    hsc_instr *hidden =
        hsc_build_op(&b, HSC_OP_OPT_BARRIER, operand->shape, NULL, 1, &operand, 0, NULL);
    if (!b.status)
      hsc_instr_set_operand(folded, i, hidden);
  }
  hsc_status *status = hsc_builder_finish(&b, NULL, NULL);
  *out_path = hsc_arena_printf(d->arena, "%s/barrier.hlo", d->scratch);
  if (!status)
    status = hsc_arena_status(d->arena);
  if (!status)
    status = hsc_program_write(d->module, HSC_FORMAT_HLO_TEXT, &text);
  if (!status)
    status = hsc_file_write_atomic(*out_path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status;
}

static const char *numbers_of(doctor *d, const hsc_answer *answer) {
  json_t *rows = json_array();
  json_t *row;
  size_t i;
  const char *worst = "equal";
  if (!d->outputs)
    return "not compared: the device only compiles";
  hsc_status *status = hsc_compare_outputs(d->outputs, json_object_get(answer->body, "outputs"),
                                           "as it is", "remedy", rows);
  json_array_foreach (rows, i, row) {
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    if (!strcmp(verdict, "different") || !strcmp(worst, "equal"))
      worst = hsc_arena_strdup(d->arena, verdict);
  }
  if (status)
    worst = hsc_arena_printf(d->arena, "not compared: %s", hsc_status_message(status));
  hsc_status_free(status);
  json_decref(rows);
  return worst;
}

static hsc_status *try_remedy(doctor *d, const remedy *r, json_t *tried, int number) {
  hsc_answer answer = {0};
  const char *program = d->o->program;
  const char *directory = hsc_arena_printf(d->arena, "%s/%d", d->scratch, number);
  HSC_TRY(hsc_arena_status(d->arena));
  if (d->o->progress)
    d->o->progress(d->o->user, number, MOST_TRIED, r->id);
  if (!r->option)
    HSC_TRY(write_with_barrier(d, &program));
  HSC_TRY(compile_once(d, program, r, directory, &answer));
  json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "remedy", r->id, "text", r->text, "option",
                          text_or_null(r->option), "value",
                          text_or_null(r->option && !r->value ? d->pass : r->value));
  double seconds = answer.outcome == HSC_OUTCOME_OK ? seconds_of(&answer) : NAN;
  json_object_set_new(row, "seconds", hsc_json_real(seconds));
  json_object_set_new(row, "times_faster", hsc_json_real(d->seconds / seconds));
  json_object_set_new(
      row, "numbers",
      json_string(answer.outcome == HSC_OUTCOME_OK ? numbers_of(d, &answer)
                                                   : hsc_outcome_text(answer.outcome)));
  json_array_append_new(tried, row);
  hsc_answer_deinit(&answer);
  return NULL;
}

static bool applies(const doctor *d, const remedy *r) {
  const char *at = r->at == REMEDY_PHASE ? d->phase : d->pass;
  if (!r->option && !d->folded)
    return false;
  if (at && !strcmp(r->match, "*")) {
    // rows of its own say more of it
    for (size_t i = 0; i < HSC_COUNT_OF(REMEDIES); i++)
      if (!strcmp(REMEDIES[i].match, at))
        return false;
    return true;
  }
  return at && !strcmp(r->match, at);
}

// The fastest whose numbers are those of the program as it is, from 1.2 times on.
static json_t *best_of(json_t *tried) {
  json_t *row;
  json_t *best = NULL;
  size_t i;
  double most = 1.2;
  json_array_foreach (tried, i, row) {
    const char *numbers = json_string_value(json_object_get(row, "numbers"));
    double times = hsc_json_number(json_object_get(row, "times_faster"));
    bool right = strcmp(numbers, "different") != 0 && isfinite(times);
    if (!right || times <= most)
      continue;
    most = times;
    best = row;
  }
  return best ? json_incref(json_object_get(best, "remedy")) : json_null();
}

static hsc_status *try_all(doctor *d, json_t *out) {
  hsc_answer answer = {0};
  const char *directory = hsc_arena_printf(d->arena, "%s/base", d->scratch);
  json_t *tried = json_array();
  int count = 0;
  json_object_set_new(out, "tried", tried);
  HSC_TRY(hsc_arena_status(d->arena));
  HSC_TRY(compile_once(d, d->o->program, NULL, directory, &answer));
  if (answer.outcome != HSC_OUTCOME_OK) {
    hsc_status *failed = hsc_answer_take_status(&answer);
    hsc_answer_deinit(&answer);
    return failed;
  }
  d->seconds = seconds_of(&answer);
  d->outputs = json_incref(json_object_get(answer.body, "outputs"));
  hsc_answer_deinit(&answer);
  if (d->o->device->topology) {
    json_decref(d->outputs);
    d->outputs = NULL;
  }
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(REMEDIES) && count < MOST_TRIED && !status; i++)
    if (applies(d, &REMEDIES[i]) && !(d->o->stop && *d->o->stop))
      status = try_remedy(d, &REMEDIES[i], tried, count++);
  json_object_set_new(out, "seconds", hsc_json_real(d->seconds));
  json_object_set_new(out, "best", best_of(tried));
  return status;
}

hsc_status *hsc_passes_remedy(const hsc_remedy_options *options, json_t *io_document) {
  doctor d = {.o = options};
  json_t *out = json_object();
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&d.arena));
  HSC_GOTO(hsc_scratch_create(&d.scratch));
  HSC_GOTO(say_what(&d, io_document, out));
  HSC_GOTO(try_all(&d, out));
  json_object_set(io_document, "slow", out);
done:
  json_decref(out);
  json_decref(d.outputs);
  hsc_module_destroy(d.module);
  hsc_scratch_destroy(d.scratch);
  hsc_arena_destroy(d.arena);
  return status;
}
