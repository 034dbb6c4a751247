// proof.c - every entry's log, read as any log is read.
#include "doctor/proof.h"

#include "doctor/log_reader.h"

typedef struct prover {
  const hsc_knowledge *knowledge;
  hsc_arena *arena;
  hsc_proof_result *result;
  size_t capacity;
} prover;

static hsc_status *problem(prover *p, const hsc_entry *entry, int line, const char *message) {
  hsc_proof_result *result = p->result;
  if (!HSC_GROW_IN(p->arena, result->problems, result->problem_count, p->capacity))
    return hsc_arena_status(p->arena);
  result->problems[result->problem_count++] =
      (hsc_knowledge_problem){entry->path ? entry->path : entry->id, message, line};
  return hsc_arena_status(p->arena);
}

static hsc_status *read_log(const hsc_knowledge *knowledge,
                            hsc_view text,
                            hsc_log_reader **out_reader) {
  HSC_TRY(hsc_log_reader_create(knowledge, NULL, out_reader));
  HSC_TRY(hsc_log_reader_feed(*out_reader, text.data, text.size));
  return hsc_log_reader_finish(*out_reader);
}

static bool is_named(const char *const *names, const char *id) {
  for (; *names; names++)
    if (!strcmp(*names, id))
      return true;
  return false;
}

static hsc_status *prove_log(prover *p, const hsc_entry *entry, const hsc_proof_log *log) {
  hsc_log_reader *reader = NULL;
  hsc_status *status = read_log(p->knowledge, log->text, &reader);
  bool found = false;
  if (!status) {
    const hsc_log_report *report = hsc_log_reader_report(reader);
    for (size_t i = 0; i < report->finding_count && !status; i++) {
      const hsc_finding *finding = report->findings[i];
      if (finding->entry == entry)
        found = true;
      else if (finding->entry->event != HSC_EVENT_VERSIONS &&
               !is_named(entry->also, finding->entry->id))
        status = problem(p, entry, log->line,
                         hsc_arena_printf(p->arena,
                                          "its log is also recognised as '%s' (by \"%.120s\"); "
                                          "make one of them narrower, or name it under `also`",
                                          finding->entry->id, finding->text));
    }
    if (!found && !status)
      status = problem(p, entry, log->line, "the entry is not found in its own log");
  }
  hsc_log_reader_destroy(reader);
  p->result->log_count++;
  return status;
}

static hsc_status *prove_entry(prover *p, const hsc_entry *entry) {
  hsc_status *status = NULL;
  p->result->entry_count++;
  p->result->program_count += entry->program_count;
  static const char *const keys[] = {"since", "until"};
  const char *const *lists[] = {entry->since, entry->until};
  for (size_t i = 0; i < HSC_COUNT_OF(keys) && !status; i++)
    if (!lists[i][0])
      status = problem(p, entry, 1,
                       hsc_arena_printf(p->arena,
                                        "`%s` is left out; it is PACKAGE VERSION, any (no matter "
                                        "of versions), unknown (nobody says)%s",
                                        keys[i], i ? " or open (the newest still shows it)" : ""));
  for (size_t i = 0; i < entry->log_count && !status; i++)
    status = prove_log(p, entry, &entry->logs[i]);
  for (size_t i = 0; entry->also[i] && !status; i++)
    if (!hsc_knowledge_find(p->knowledge, entry->also[i]))
      status = problem(
          p, entry, 1,
          hsc_arena_printf(p->arena, "`also` names '%s', which is not there", entry->also[i]));
  return status;
}

hsc_status *hsc_knowledge_prove(const hsc_knowledge *knowledge,
                                const char *id,
                                hsc_arena *arena,
                                hsc_proof_result *out_result) {
  *out_result = (hsc_proof_result){0};
  prover p = {.knowledge = knowledge, .arena = arena, .result = out_result};
  if (id) {
    const hsc_entry *entry = hsc_knowledge_find(knowledge, id);
    return entry ? prove_entry(&p, entry) : HSC_ERR(NOT_FOUND, "there is no entry '%s'", id);
  }
  hsc_log_reader *reader = NULL;
  HSC_TRY(hsc_log_reader_create(knowledge, NULL, &reader));  // malformed expressions show here
  size_t count = 0;
  hsc_status *status = NULL;
  const hsc_knowledge_problem *found = hsc_log_reader_problems(reader, &count);
  for (size_t i = 0; i < count && !status; i++) {
    const hsc_entry at = {.path = hsc_arena_strdup(arena, found[i].path)};
    status = problem(&p, &at, found[i].line, hsc_arena_strdup(arena, found[i].message));
  }
  hsc_log_reader_destroy(reader);
  for (size_t i = 0; i < hsc_knowledge_count(knowledge) && !status; i++)
    status = prove_entry(&p, hsc_knowledge_at(knowledge, i));
  return status;
}

hsc_status *hsc_entry_found_in(const hsc_knowledge *knowledge,
                               const hsc_entry *entry,
                               hsc_view text,
                               bool *out_found) {
  *out_found = false;
  hsc_log_reader *reader = NULL;
  hsc_status *status = read_log(knowledge, text, &reader);
  if (!status) {
    const hsc_log_report *report = hsc_log_reader_report(reader);
    for (size_t i = 0; i < report->finding_count; i++)
      *out_found |= report->findings[i]->entry == entry;
  }
  hsc_log_reader_destroy(reader);
  return status;
}
