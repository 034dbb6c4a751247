// blame_untold.c - what a compiler's list of passes does not tell: which pass a compile ended in,
// and which one changed the program without saying so.
#include <stdlib.h>

#include "lab/blame/blame_internal.h"
#include "lab/passes/passes_time.h"

// ---- the pass that a compile ended in -----------------------------------------------------------

// What makes compilers log each pass as it begins; read by the processes that are started from here
// on.
static const struct {
  const char *variable, *value;
} LOGS[] = {
    {"TF_CPP_VMODULE", "hlo_pass_pipeline=1"},
    {"TF_CPP_MIN_LOG_LEVEL", "0"},
    {"HLOSCOPE_LOG", "passes=1"},
};

unsigned hsc__blame_log_passes(hsc__blame *b) {
  unsigned ours = 0;
  hsc_lab_worker_stop(b->device);
  for (size_t i = 0; i < HSC_COUNT_OF(LOGS); i++)
    if (!getenv(LOGS[i].variable)) {
      setenv(LOGS[i].variable, LOGS[i].value, 0);
      ours |= 1u << i;
    }
  return ours;
}

void hsc__blame_log_no_more(hsc__blame *b, unsigned ours) {
  hsc_lab_worker_stop(b->device);
  for (size_t i = 0; i < HSC_COUNT_OF(LOGS); i++)
    if (ours & (1u << i))
      unsetenv(LOGS[i].variable);
}

// "while: pass cse in pipeline simplification" in a status; NULL = it says nothing. What a plugin
// noted is part of the message that came from it.
static const char *noted_pass(hsc__blame *b, const hsc_status *status) {
  static const char mark[] = "while: pass ";
  const char *notes = hsc_status_notes(status);
  const char *at = strstr(hsc_status_message(status), mark);
  if (!at && notes)
    at = strstr(notes, mark);
  if (!at)
    return NULL;
  at += strlen(mark);
  return hsc_arena_strndup(b->arena, at, strcspn(at, " \n"));
}

const char *hsc__blame_running_pass(hsc__blame *b, const hsc_answer *answer) {
  if (answer->outcome == HSC_OUTCOME_OK)
    return NULL;
  if (!answer->log)
    return noted_pass(b, answer->status);
  // XLA writes "HLO pass: NAME" behind each pass
  const char *ended = NULL;
  for (const char *at = answer->log; (at = strstr(at, "HLO pass: ")); at++)
    ended = at;
  if (ended && !strstr(ended, "HLO pass "))
    return NULL;
  char *name = hsc_passes_running(answer->log);
  const char *kept = name ? hsc_arena_strdup(b->arena, name) : NULL;
  hsc_free(name);
  return kept;
}

void hsc__blame_list_running(hsc__blame *b, const char *running) {
  for (size_t i = 0; running && i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, running))
      return;
  if (running)
    hsc_pass_list_add(&b->list, "", running);
}

// ---- a pass that changes the program without saying so ------------------------------------------

static bool is_before_the_accused(const hsc__blame *b, const char *name) {
  if (b->verdict != HSC__BLAME_PASS || b->run < 0)
    return true;
  for (int64_t i = 0; i < b->run && i < (int64_t)b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, name))
      return true;
  return false;
}

// The only run of a pass; -1 = it ran more than once.
static int64_t only_run_of(const hsc__blame *b, const char *name) {
  int64_t found = -1;
  for (size_t i = 0; i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, name)) {
      if (found >= 0)
        return -1;
      found = (int64_t)i;
    }
  return found;
}

// The verdict is a pass that says it changed nothing.
static void accuse(hsc__blame *b, const char *name) {
  int64_t run = only_run_of(b, name);
  const char *pipeline = run >= 0 ? b->list.rows[run].pipeline : NULL;
  json_array_append_new(b->repaired_by, json_string(name));
  hsc__blame_take_pass(b, name, pipeline, run);
  // what the stages say is of the next pass that does tell
  json_decref(b->instruction);
  b->instruction = NULL;
  hsc__blame_tell(b, "does a pass change it without saying so?",
                  "%s does: it says that it changed nothing, and without it the symptom is gone",
                  name);
}

hsc_status *hsc__blame_untold(hsc__blame *b) {
  const char **names = NULL;
  size_t count = 0;
  int64_t asked = 0;
  bool doubtful = b->verdict == HSC__BLAME_PASS && !hsc__blame_is_repaired_by(b, b->pass);
  if (!doubtful || !b->listed)
    return NULL;
  HSC_TRY(hsc_pass_list_names(&b->list, false, &names, &count));
  for (size_t i = 0; i < count; i++) {
    bool repaired = false;
    bool known = false;
    if (hsc__blame_may_matter(b, names[i]) || !is_before_the_accused(b, names[i]))
      continue;
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, "passes that say they changed nothing", "the time budget was over");
      return NULL;
    }
    if (b->options->progress)
      b->options->progress(b->options->user, (int64_t)i, (int64_t)count,
                           "passes that say they changed nothing");
    HSC_TRY(hsc__blame_without(b, names[i], &repaired, &known));
    asked++;
    if (!repaired)
      continue;
    accuse(b, names[i]);
    return NULL;
  }
  hsc__blame_tell(b, "does a pass change it without saying so?",
                  "none of %lld that say they changed nothing", (long long)asked);
  return NULL;
}
