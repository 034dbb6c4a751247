// blame.c - a blame from its beginning to its document.
//
// blame_symptom.c says what shows and how often, blame_pass.c where it comes from, blame_origin.c
// which instruction makes a NaN. What each of them asks and hears is evidence, in this order; what
// could not be asked is a gap of the coverage.
#include <math.h>
#include <stdarg.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/blame/blame_internal.h"
#include "lab/blame/blame_journal.h"
#include "lab/run/json_tree.h"
#include "lab/run/rounding.h"
#include "stats/stats.h"
#include "worker/scratch.h"

static const struct {
  const char *word;
  int exit_code;
  const char *doc;
} VERDICTS[] = {
#define VERDICT(id, word, exit_code, doc) {word, exit_code, doc},
#include "lab/blame/blame_verdicts.def"
#undef VERDICT
};

int hsc_blame_exit_code(const char *verdict) {
  for (size_t i = 0; verdict && i < HSC_COUNT_OF(VERDICTS); i++)
    if (!strcmp(verdict, VERDICTS[i].word))
      return VERDICTS[i].exit_code;
  return VERDICTS[HSC__BLAME_UNKNOWN].exit_code;
}

int hsc_blame_exit_code_of(const json_t *document) {
  const json_t *gaps = json_object_get(json_object_get(document, "coverage"), "not_compared");
  int code = hsc_blame_exit_code(json_string_value(json_object_get(document, "verdict")));
  return code == 0 && json_array_size(gaps) > 0 ? hsc_blame_exit_code("unknown") : code;
}

// An acquittal says in its first sentence how far it reaches.
static void limit_headline(hsc__blame *b) {
  bool acquits = VERDICTS[b->verdict].exit_code == 0;
  if (acquits && hsc_agreement_verdict_of(b->agreement) == HSC_AGREEMENT_PARTLY)
    hsc_bytes_append_text(&b->headline, "; not everything was compared");
}

// ---- what the parts use -------------------------------------------------------------------------

// ---- the document -------------------------------------------------------------------------------

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

// How often the symptom shows, where it does not always; null elsewhere.
static json_t *rate_of(const hsc__blame *b) {
  if (!b->has_rate)
    return json_null();
  hsc_interval rate = hsc_stats_share_interval(b->shows, b->runs, 0);
  return json_pack("{s:o, s:o, s:o}", "estimate", hsc_json_real(rate.estimate), "low",
                   hsc_json_real(rate.low), "high", hsc_json_real(rate.high));
}

static hsc_status *document_of(hsc__blame *b, json_t **out_document) {
  const hsc_blame_options *o = b->options;
  bool known = b->verdict != HSC__BLAME_NOTHING || b->has_symptom;
  json_t *document = json_pack(
      "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:O?, s:o, s:O, s:o, s:o, s:i, s:i, s:I}",
      "verdict", VERDICTS[b->verdict].word, "program", o->program, "device", o->device->text,
      "symptom", text_or_null(known && b->has_symptom ? hsc_symptom_name(b->symptom.kind) : NULL),
      "pass", text_or_null(b->pass), "pipeline", text_or_null(b->pipeline), "run",
      b->run < 0 ? json_null() : json_integer((json_int_t)b->run), "rewrite",
      b->rewrite < 0 ? json_null() : json_integer((json_int_t)b->rewrite), "instruction",
      b->instruction, "source", text_or_null(b->source), "repaired_by", b->repaired_by, "bound",
      hsc_json_real(b->bound), "seen", hsc_json_real(b->seen), "runs", b->runs, "shows", b->shows,
      "seed", (json_int_t)o->seed);
  if (document && b->rule)
    json_object_set_new(document, "rule", json_string(b->rule));
  json_t *coverage = hsc_agreement_coverage(b->agreement);
  hsc_bytes sentence = {0};
  limit_headline(b);
  hsc_agreement_sentence(b->agreement, &sentence);
  hsc_status *status = hsc_bytes_status(&sentence);
  if (!status)
    status = hsc_bytes_status(&b->headline);
  if (!status && (!document || !coverage))
    status = hsc_status_out_of_memory();
  if (!status) {
    json_object_set_new(coverage, "sentence", json_string(hsc_bytes_text(&sentence)));
    json_object_set(document, "coverage", coverage);
    json_object_set_new(document, "headline", json_string(hsc_bytes_text(&b->headline)));
    json_object_set_new(document, "meaning", json_string(VERDICTS[b->verdict].doc));
    json_object_set(document, "evidence", b->evidence);
    json_object_set(document, "tied", b->tied);
    json_object_set_new(document, "inputs", text_or_null(b->inputs));
    bool bound = b->has_symptom && !isnan(b->bound);
    const char *bound_from = b->derived ? "derived" : "measured";
    json_object_set_new(document, "bound_from", bound ? json_string(bound_from) : json_null());
    json_object_set_new(document, "rate", rate_of(b));
    json_object_set_new(document, "stages", b->stages ? json_incref(b->stages) : json_null());
    json_object_set_new(document, "versions", b->versions ? json_incref(b->versions) : json_null());
    json_object_set_new(document, "report", json_null());
    json_object_set_new(document, "remembered",
                        json_integer(hsc_blame_journal_remembered(o->journal)));
    *out_document = json_incref(document);
  }
  json_decref(coverage);
  json_decref(document);
  hsc_bytes_deinit(&sentence);
  return status;
}

// ---- from beginning to end ----------------------------------------------------------------------

static hsc_status *worker_of(const hsc__blame *b,
                             const hsc_device_spec *device,
                             hsc_lab_worker **out_worker) {
  return hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = device,
                                .executable = b->options->executable,
                                .no_disk_cache = true,
                                .memory = hsc__journal_memory(b->options->journal),
                                .stop = b->options->stop},
      out_worker);
}

static hsc_status *take_scratch(hsc__blame *b) {
  const char *directory = hsc__journal_directory(b->options->journal);
  if (!directory)
    return hsc_scratch_create(&b->scratch);
  b->scratch = hsc_strdup(directory);
  return b->scratch ? NULL : hsc_status_out_of_memory();
}

// Whether the device is the one that an interrupted blame asked; one that does not start is seen
// where it is asked.
static hsc_status *meet_again(hsc__blame *b) {
  hsc_answer answer = {0};
  if (!hsc__journal_is_resumed(b->options->journal))
    return NULL;
  hsc_status *status = hsc_lab_worker_start(b->device, &answer);
  if (!status)
    status = hsc__blame_note_versions(b);
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *begin(hsc__blame *b) {
  static const hsc_device_spec evaluator = {.text = "reference", .source = HSC_DEVICE_EVALUATOR};
  const hsc_blame_options *o = b->options;
  HSC_TRY(hsc_arena_create(&b->arena));
  HSC_TRY(take_scratch(b));
  HSC_TRY(hsc_pass_list_init(&b->list));
  HSC_TRY(hsc_agreement_create("check", &b->agreement));
  b->evidence = json_array();
  b->repaired_by = json_array();
  b->tied = json_array();
  if (!b->evidence || !b->repaired_by || !b->tied)
    return hsc_status_out_of_memory();
  b->data = json_incref(o->data);
  if (o->symptom) {
    b->symptom = *o->symptom;
    b->has_symptom = true;
  }
  HSC_TRY(hsc_program_draws(o->program, &b->draws));
  HSC_TRY(worker_of(b, o->device, &b->device));
  HSC_TRY(meet_again(b));
  HSC_TRY(worker_of(b, &evaluator, &b->reference));
  return o->substitute ? worker_of(b, o->substitute, &b->substitute) : NULL;
}

static hsc_status *follow(hsc__blame *b) {
  switch (b->symptom.kind) {
    case HSC_SYMPTOM_WRONG:
      return hsc__blame_wrong(b);
    case HSC_SYMPTOM_SLOW:
    case HSC_SYMPTOM_COMPILE:
    case HSC_SYMPTOM_MEMORY:
      return hsc__blame_cost(b);
    default:
      return hsc__blame_end(b);
  }
}

static void finish(hsc__blame *b) {
  hsc_lab_worker_destroy(b->device);
  hsc_lab_worker_destroy(b->reference);
  hsc_lab_worker_destroy(b->substitute);
  json_t *const values[] = {b->data,        b->evidence, b->repaired_by, b->tied,
                            b->instruction, b->stages,   b->versions};
  hsc__blame_right_deinit(&b->right);
  for (size_t i = 0; i < HSC_COUNT_OF(values); i++)
    json_decref(values[i]);
  hsc_agreement_destroy(b->agreement);
  hsc_pass_list_deinit(&b->list);
  hsc_bytes_deinit(&b->headline);
  if (b->options->journal)
    hsc_free(b->scratch);
  else
    hsc_scratch_destroy(b->scratch);
  hsc_arena_destroy(b->arena);
}

hsc_status *hsc_blame(const hsc_blame_options *options, json_t **out_document) {
  hsc__blame b = {.options = options,
                  .start_ns = hsc_now_ns(),
                  .bound = NAN,
                  .seen = NAN,
                  .run = -1,
                  .rewrite = -1,
                  .verdict = HSC__BLAME_UNKNOWN};
  bool decided = false;
  *out_document = NULL;
  hsc_status *status = begin(&b);
  if (!status)
    status = hsc__blame_find(&b, &decided);
  if (!status && !decided)
    status = follow(&b);
  if (!status && !decided)
    status = hsc__blame_ask_again(&b);
  if (!status)
    status = document_of(&b, out_document);
  finish(&b);
  return status;
}
