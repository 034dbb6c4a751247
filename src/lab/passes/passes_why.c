// passes_why.c - the experiments on pairs that were not fused, and what they say.
//
// By themselves first: a small program compiles in no time. Where the two fuse there, what is
// around them in the program is the cause, else what they are. Either way it takes the whole
// program, with that one thing changed, to say so.
#include "lab/passes/passes_why.h"

#include <math.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/passes/optimized.h"
#include "lab/passes/passes_why_internal.h"
#include "lab/run/json_tree.h"
#include "transform/reduce/reduce.h"
#include "worker/program_spec.h"
#include "worker/scratch.h"
#include "worker/worker_client.h"

typedef enum why_outcome {
  WHY_FUSED,
  WHY_APART,
  WHY_GONE,         // one of them is in no kernel any more
  WHY_NO_COMPILE,   // the compiler does not take it
  WHY_NOT_APPLIED,  // the change means nothing here
} why_outcome;
static const char *const OUTCOMES[] = {"fused", "apart", "gone", "not compiled", "does not apply"};

typedef struct change_row {
  const char *id, *name, *cause, *remedy;
} change_row;
static const change_row CHANGES[] = {
#define CHANGE(id, place, name, cause, remedy) {#id, name, cause, remedy},
#include "lab/passes/why_causes.def"
#undef CHANGE
};

typedef struct asker {
  const hsc_why_options *o;
  hsc_arena *arena;
  hsc_lab_worker *worker;
  char *scratch;
  hsc_module *base;  // marked
  int32_t mark_count;
  int64_t compiles;
  why_kernels compiled;  // of the program as it is
  json_t *tried;         // of the pair that is looked into
} asker;

// ---- compiling ----------------------------------------------------------------------------------

static json_t *request_of(asker *a, const char *program, const char *optimized) {
  json_t *request =
      json_pack("{s:s, s:s, s:s}", "job", "compile", "program", program, "optimized_to", optimized);
  json_t *overrides = a->o->overrides ? json_copy(a->o->overrides) : json_object();
  // ours says what its passes decided
  if (a->o->device->source == HSC_DEVICE_BUILT_IN)
    json_object_set_new(overrides, "hloscope_record_fusion", json_true());
  if (json_object_set_new(request, "overrides", overrides)) {
    json_decref(request);
    return NULL;
  }
  return request;
}

// The kernels of a module; *out_failed is what the compiler said, NULL = it compiled.
static hsc_status *compile(asker *a,
                           const hsc_module *module,
                           hsc_arena *arena,
                           why_kernels *out,
                           hsc_status **out_failed) {
  hsc_bytes text = {0};
  hsc_answer answer = {0};
  hsc_module *compiled = NULL;
  char *program = hsc_arena_printf(arena, "%s/%lld.hlo", a->scratch, (long long)++a->compiles);
  char *optimized = hsc_arena_printf(arena, "%s/optimized", a->scratch);
  hsc_status *status = hsc_arena_status(arena);
  json_t *request = NULL;
  *out_failed = NULL;
  if (!status)
    status = hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &text);
  if (!status)
    status = hsc_file_write_atomic(program, text.data, text.size);
  if (!status && !(request = request_of(a, program, optimized)))
    status = hsc_status_out_of_memory();
  if (!status)
    status = hsc_lab_worker_call(a->worker, request, a->o->limit_ns, &answer);
  if (!status && answer.outcome != HSC_OUTCOME_OK) {
    *out_failed = hsc_answer_take_status(&answer);
    if (!*out_failed)
      *out_failed = HSC_ERR(UNKNOWN, "%s", hsc_outcome_text(answer.outcome));
  } else if (!status) {
    *out_failed = hsc_optimized_module(optimized, &compiled);
    if (!*out_failed)
      status = hsc__why_kernels_read(compiled, a->mark_count, arena, out);
  }
  hsc_module_destroy(compiled);
  hsc_answer_deinit(&answer);
  json_decref(request);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *look(asker *a,
                        const hsc_module *module,
                        const why_pair *pair,
                        why_outcome *out_outcome) {
  hsc_arena *arena = NULL;
  why_kernels kernels;
  hsc_status *failed = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = compile(a, module, arena, &kernels, &failed);
  const hsc_instr *producer = why_producer(pair);
  const hsc_instr *consumer = why_consumer(pair);
  if (status || failed)
    *out_outcome = WHY_NO_COMPILE;
  else if (hsc__why_is_fused(&kernels, producer, consumer))
    *out_outcome = WHY_FUSED;
  else if (!hsc__why_is_there(&kernels, producer) || !hsc__why_is_there(&kernels, consumer))
    *out_outcome = WHY_GONE;
  else
    *out_outcome = WHY_APART;
  hsc_status_free(failed);
  hsc_arena_destroy(arena);
  return status;
}

// One change, compiled. What cannot be built does not apply.
static hsc_status *try_change(
    asker *a, const why_pair *pair, why_change change, bool in_whole, why_outcome *out_outcome) {
  hsc_module *module = NULL;
  *out_outcome = WHY_NOT_APPLIED;
  hsc_status *built = hsc__why_change(a->base, pair, change, in_whole, &module);
  if (built && hsc_status_code(built) == HSC_RESOURCE_EXHAUSTED)
    return built;
  json_t *row = json_pack("{s:s, s:s}", "change", CHANGES[change].name, "place",
                          in_whole ? "the whole program" : "the two by themselves");
  if (built)
    json_object_set_new(row, "why_not", json_string(hsc_status_message(built)));
  hsc_status_free(built);
  hsc_status *status = module ? look(a, module, pair, out_outcome) : NULL;
  hsc_module_destroy(module);
  json_object_set_new(row, "outcome", json_string(OUTCOMES[*out_outcome]));
  json_array_append_new(a->tried, row);
  return status;
}

static bool out_of_time(const asker *a) {
  return (a->o->stop && *a->o->stop) || (a->o->deadline_ns && hsc_now_ns() > a->o->deadline_ns);
}

// ---- one pair -----------------------------------------------------------------------------------

typedef struct answer {
  int change;  // the cause; -1 = none was found
  bool confirmed;
} why_answer;

// The first of these changes to the whole program that makes the pair one kernel.
static hsc_status *first_in_whole(
    asker *a, const why_pair *pair, const why_change *changes, int count, why_answer *out) {
  for (int i = 0; i < count && !out_of_time(a); i++) {
    why_outcome outcome;
    HSC_TRY(try_change(a, pair, changes[i], true, &outcome));
    if (outcome != WHY_FUSED)
      continue;
    *out = (why_answer){changes[i], true};
    return NULL;
  }
  return NULL;
}

// By themselves they are one kernel: what is around them it is.
static hsc_status *ask_around(asker *a, const why_pair *pair, why_answer *out) {
  static const why_change around[] = {WHY_users, WHY_readers, WHY_siblings, WHY_sources,
                                      WHY_surroundings};
  return first_in_whole(a, pair, around, HSC_COUNT_OF(around), out);
}

// By themselves they stay apart: what they are it is. An operation's kind can be changed in the
// whole program as well; sizes and types cannot, and are said without that.
static hsc_status *ask_within(asker *a, const why_pair *pair, why_answer *out) {
  static const why_change within[] = {WHY_producer, WHY_consumer, WHY_both, WHY_size, WHY_type};
  for (size_t i = 0; i < HSC_COUNT_OF(within) && !out_of_time(a); i++) {
    why_outcome outcome;
    HSC_TRY(try_change(a, pair, within[i], false, &outcome));
    if (outcome != WHY_FUSED)
      continue;
    *out = (why_answer){within[i], false};
    if (within[i] == WHY_size || within[i] == WHY_type)
      return NULL;
    HSC_TRY(try_change(a, pair, within[i], true, &outcome));
    out->confirmed = outcome == WHY_FUSED;
    static const why_change more[] = {WHY_consumer_users};
    if (!out->confirmed && within[i] == WHY_consumer)
      return first_in_whole(a, pair, more, HSC_COUNT_OF(more), out);
    return NULL;
  }
  return NULL;
}

static hsc_status *ask(asker *a, const why_pair *pair, why_answer *out) {
  why_outcome alone;
  *out = (why_answer){-1, false};
  HSC_TRY(try_change(a, pair, WHY_alone, false, &alone));
  if (alone == WHY_FUSED || alone == WHY_GONE || alone == WHY_NO_COMPILE)
    HSC_TRY(ask_around(a, pair, out));
  if (out->change < 0 && alone != WHY_FUSED)
    HSC_TRY(ask_within(a, pair, out));
  // what an operation is may also be found in the whole program alone
  static const why_change kinds[] = {WHY_producer, WHY_consumer, WHY_both};
  if (out->change < 0 && alone != WHY_APART)
    HSC_TRY(first_in_whole(a, pair, kinds, HSC_COUNT_OF(kinds), out));
  return NULL;
}

// ---- the document -------------------------------------------------------------------------------

static json_t *operation_json(const hsc_instr *instr) {
  hsc_bytes shape = {0};
  hsc_shape_print(&instr->shape, false, &shape);
  json_t *out = json_pack("{s:s, s:s, s:s}", "name", instr->name, "op", hsc_op_text(instr->op),
                          "shape", hsc_bytes_text(&shape));
  hsc_bytes_deinit(&shape);
  return out;
}

static const char *cause_text(asker *a, const why_pair *pair, const why_answer *answer) {
  const char *form = CHANGES[answer->change].cause;
  const char *names[2];
  for (int i = 0; i < 2; i++) {
    const hsc_instr *instr = i ? why_consumer(pair) : why_producer(pair);
    names[i] = hsc_arena_printf(a->arena, "%s (%s)", instr->name, hsc_op_text(instr->op));
  }
  hsc_bytes text = {0};
  for (const char *c = form; *c; c++) {
    if (c[0] == '%' && (c[1] == '1' || c[1] == '2')) {
      hsc_bytes_append_text(&text, names[c[1] - '1']);
      c += 3;
    } else {
      hsc_bytes_append_char(&text, *c);
    }
  }
  const char *kept = hsc_arena_strdup(a->arena, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return kept;
}

// What the compiler's own passes decided about the pair, in their order; null where it does not
// tell.
static json_t *decided_json(const asker *a, const why_pair *pair) {
  const why_decision *decided = hsc__why_decided(&a->compiled, pair);
  json_t *out = decided ? json_array() : json_null();
  for (int i = 0; decided && i < decided->count; i++) {
    hsc_not_fused reason = decided->reasons[i];
    json_array_append_new(out,
                          json_pack("{s:s, s:s, s:s}", "pass", hsc_not_fused_pass(reason), "reason",
                                    hsc_not_fused_text(reason), "text", hsc_not_fused_doc(reason)));
  }
  return out;
}

static json_t *pair_json(asker *a, const why_pair *pair, const why_answer *answer) {
  json_t *out =
      json_pack("{s:o, s:o, s:[s,s], s:f, s:I}", "producer", operation_json(why_producer(pair)),
                "consumer", operation_json(why_consumer(pair)), "kernels", pair->kernels[0],
                pair->kernels[1], "bytes", pair->bytes, "times", (json_int_t)pair->times);
  bool found = answer->change >= 0;
  const char *remedy = found ? CHANGES[answer->change].remedy : "";
  json_object_set_new(out, "cause", found ? json_string(CHANGES[answer->change].id) : json_null());
  json_object_set_new(out, "text", found ? json_string(cause_text(a, pair, answer)) : json_null());
  json_object_set_new(out, "confirmed", json_boolean(answer->confirmed));
  json_object_set_new(out, "remedy", *remedy ? json_string(remedy) : json_null());
  json_object_set_new(out, "decided", decided_json(a, pair));
  json_object_set_new(out, "tried", json_incref(a->tried));
  return out;
}

// ---- which pairs --------------------------------------------------------------------------------

static bool is_named(const why_pair *pair, int end, const char *name) {
  const hsc_instr *instr = end ? why_consumer(pair) : why_producer(pair);
  return !name || !strcmp(instr->name, name) || !strcmp(pair->kernels[end], name);
}

// Two operations that are no unfused pair: what they are then.
static hsc_status *no_pair(asker *a) {
  const hsc_why_options *o = a->o;
  const char *const names[] = {o->producer, o->consumer};
  hsc_instr *found[2];
  for (int i = 0; i < 2; i++) {
    found[i] = hsc_module_find_instr(a->base, hsc_view_of(names[i]));
    bool is_kernel = false;
    for (int k = 0; k < a->compiled.count; k++)
      is_kernel |= !strcmp(a->compiled.names[k], names[i]);
    if (!found[i] && !is_kernel)
      return hsc_status_hint(
          HSC_ERR(NOT_FOUND, "%s: neither the program nor what %s makes of it has it", names[i],
                  o->device->text),
          "hloscope passes why %s lists the pairs that were not fused", o->program);
  }
  if (found[0] && found[1] && hsc__why_is_fused(&a->compiled, found[0], found[1]))
    return HSC_ERR(INVALID_ARGUMENT, "%s and %s are fused on %s: they are in one kernel", names[0],
                   names[1], o->device->text);
  for (int i = 0; i < 2; i++)
    if (found[i] && !hsc__why_is_there(&a->compiled, found[i]))
      return HSC_ERR(INVALID_ARGUMENT, "%s is in no kernel that %s makes: the compiler removed it",
                     names[i], o->device->text);
  return hsc_status_hint(
      HSC_ERR(INVALID_ARGUMENT, "%s does not read what %s computes", names[1], names[0]),
      "hloscope passes why %s lists the pairs that were not fused", o->program);
}

static hsc_status *read_base(asker *a) {
  const hsc_why_options *o = a->o;
  hsc_module *read = NULL;
  hsc_reduced flat = {0};
  HSC_TRY(hsc_program_read_file(o->program, &read));
  hsc_status *status = NULL;
  for (size_t i = 0; i < o->transform_count && !status; i++)
    status = hsc_program_transform(o->transforms[i], &read);
  if (!status)
    status = hsc_reduce_flatten(read, &flat);
  if (!status && flat.module) {
    a->base = flat.module;
    flat.module = NULL;
    status = hsc__why_mark(a->base, &a->mark_count);
  } else if (!status) {
    status = HSC_ERR(UNIMPLEMENTED, "%s: its parameters cannot be made arrays", o->program);
  }
  hsc_reduced_deinit(&flat);
  hsc_module_destroy(read);
  return status;
}

static hsc_status *examine(asker *a, const why_pair *pairs, size_t count, json_t *result) {
  const hsc_why_options *o = a->o;
  json_t *rows = json_array();
  json_int_t examined = 0;
  json_int_t explained = 0;
  json_int_t decided = 0;
  hsc_status *status = NULL;
  json_object_set_new(result, "pairs", rows);
  for (size_t i = 0; i < count && !status && !out_of_time(a); i++) {
    why_answer answer;
    if ((o->producer &&
         (!is_named(&pairs[i], 0, o->producer) || !is_named(&pairs[i], 1, o->consumer))) ||
        examined >= o->most)
      continue;
    if (o->progress)
      o->progress(o->user, examined, o->most < (int)count ? o->most : (int64_t)count,
                  why_consumer(&pairs[i])->name);
    a->tried = json_array();
    status = ask(a, &pairs[i], &answer);
    if (!status) {
      json_array_append_new(rows, pair_json(a, &pairs[i], &answer));
      examined++;
      explained += answer.confirmed;
    }
    json_decref(a->tried);
  }
  for (size_t i = 0; i < count; i++) {
    const why_decision *said = hsc__why_decided(&a->compiled, &pairs[i]);
    decided += said && said->reasons[0] != HSC_NOT_FUSED_NOT_ASKED;
  }
  bool tells = o->device->source == HSC_DEVICE_BUILT_IN;
  json_object_set_new(result, "unfused", json_integer((json_int_t)count));
  json_object_set_new(result, "decided", tells ? json_integer(decided) : json_null());
  json_object_set_new(result, "examined", json_integer(examined));
  json_object_set_new(result, "explained", json_integer(explained));
  json_object_set_new(result, "compiles", json_integer((json_int_t)a->compiles));
  if (!status && o->producer && !examined && !out_of_time(a))
    status = no_pair(a);
  return status;
}

hsc_status *hsc_passes_why(const hsc_why_options *options, json_t **out_result) {
  asker a = {.o = options};
  hsc_status *failed = NULL;
  hsc_status *status = NULL;
  why_pair *pairs = NULL;
  size_t count = 0;
  json_t *result =
      json_pack("{s:s, s:s}", "program", options->program, "device", options->device->text);
  *out_result = NULL;
  if (!result)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_arena_create(&a.arena));
  HSC_GOTO(hsc_scratch_create(&a.scratch));
  HSC_GOTO(read_base(&a));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = options->device,
                                                           .executable = options->executable,
                                                           .no_disk_cache = true,
                                                           .stop = options->stop},
                                 &a.worker));
  HSC_GOTO(compile(&a, a.base, a.arena, &a.compiled, &failed));
  if (failed)
    HSC_GOTO(failed);
  HSC_GOTO(hsc__why_pairs(a.base, &a.compiled, a.arena, &pairs, &count));
  HSC_GOTO(examine(&a, pairs, count, result));
done:
  hsc_lab_worker_destroy(a.worker);
  hsc_module_destroy(a.base);
  hsc_scratch_destroy(a.scratch);
  hsc_arena_destroy(a.arena);
  if (status)
    json_decref(result);
  else
    *out_result = result;
  return status;
}
