// agreement.c - a verdict and its coverage, computed from what was compared and what was not.
#include "base/text/text.h"
#include "lab/verdict/agreement.h"

#include <string.h>

#include "base/core/memory.h"

typedef struct entry {
  char *name;
  bool gap;
  bool uncounted;  // a gap of things whose number is not known
  bool anchor;
  hsc_finding finding;
  json_t *row;  // of a gap, with its reason
} entry;

struct hsc_agreement {
  char *unit;
  entry *entries;  // [count], in the order in which they were reported
  size_t count, capacity;
  bool failed;  // an entry was lost for want of memory
};

static const char *const finding_texts[] = {"equal", "close", "rounding", "different"};
static const char *const verdict_texts[] = {"equal", "close", "different", "partly", "unknown"};

const char *hsc_finding_text(hsc_finding finding) {
  return finding_texts[finding];
}

bool hsc_finding_parse(const char *text, hsc_finding *out_finding) {
  for (size_t i = 0; text && i < HSC_COUNT_OF(finding_texts); i++)
    if (!strcmp(text, finding_texts[i])) {
      *out_finding = (hsc_finding)i;
      return true;
    }
  return false;
}

const char *hsc_agreement_text(hsc_agreement_verdict verdict) {
  return verdict_texts[verdict];
}

hsc_status *hsc_agreement_create(const char *unit, hsc_agreement **out_agreement) {
  hsc_agreement *agreement = hsc_alloc(sizeof *agreement);
  *out_agreement = NULL;
  if (!agreement)
    return hsc_status_out_of_memory();
  *agreement = (hsc_agreement){.unit = hsc_strdup(unit)};
  if (!agreement->unit) {
    hsc_free(agreement);
    return hsc_status_out_of_memory();
  }
  *out_agreement = agreement;
  return NULL;
}

void hsc_agreement_destroy(hsc_agreement *agreement) {
  if (!agreement)
    return;
  for (size_t i = 0; i < agreement->count; i++) {
    hsc_free(agreement->entries[i].name);
    json_decref(agreement->entries[i].row);
  }
  hsc_free(agreement->entries);
  hsc_free(agreement->unit);
  hsc_free(agreement);
}

// The next entry, named; NULL = no memory, which the agreement remembers.
static entry *next_entry(hsc_agreement *agreement, const char *name) {
  if (!HSC_GROW(agreement->entries, agreement->count, agreement->capacity)) {
    agreement->failed = true;
    return NULL;
  }
  char *copy = hsc_strdup(name);
  if (!copy) {
    agreement->failed = true;
    return NULL;
  }
  entry *added = &agreement->entries[agreement->count++];
  *added = (entry){.name = copy};
  return added;
}

void hsc_agreement_compared(hsc_agreement *agreement, const char *name, hsc_finding finding) {
  entry *added = next_entry(agreement, name);
  if (added)
    added->finding = finding;
}

void hsc_agreement_anchor(hsc_agreement *agreement, const char *name) {
  entry *added = next_entry(agreement, name);
  if (added)
    added->anchor = true;
}

void hsc_agreement_gap(hsc_agreement *agreement,
                       json_t *key,
                       const char *name,
                       const char *reason) {
  json_t *row = key ? key : json_object();
  entry *added = next_entry(agreement, name);
  if (!row || json_object_set_new(row, "reason", json_string(reason)))
    agreement->failed = true;
  if (!added) {
    json_decref(row);
    return;
  }
  added->gap = true;
  added->row = row;
}

void hsc_agreement_gap_uncounted(hsc_agreement *agreement,
                                 json_t *key,
                                 const char *name,
                                 const char *reason) {
  size_t before = agreement->count;
  hsc_agreement_gap(agreement, key, name, reason);
  if (agreement->count > before)
    agreement->entries[before].uncounted = true;
}

size_t hsc_agreement_wanted(const hsc_agreement *agreement) {
  size_t count = 0;
  for (size_t i = 0; i < agreement->count; i++)
    count += !agreement->entries[i].uncounted;
  return count;
}

static size_t agreement_compared_count(const hsc_agreement *agreement) {
  size_t compared = 0;
  for (size_t i = 0; i < agreement->count; i++)
    compared += !agreement->entries[i].gap;
  return compared;
}

// The worst finding; *out_shown: entries that showed something.
static hsc_finding worst_finding(const hsc_agreement *agreement, size_t *out_shown) {
  hsc_finding worst = HSC_FINDING_EQUAL;
  *out_shown = 0;
  for (size_t i = 0; i < agreement->count; i++) {
    const entry *e = &agreement->entries[i];
    if (e->gap || e->anchor)
      continue;
    ++*out_shown;
    if (e->finding > worst)
      worst = e->finding;
  }
  return worst;
}

static size_t differing(const hsc_agreement *agreement) {
  size_t count = 0;
  for (size_t i = 0; i < agreement->count; i++)
    count += !agreement->entries[i].gap && agreement->entries[i].finding == HSC_FINDING_DIFFERENT;
  return count;
}

static size_t anchors(const hsc_agreement *agreement) {
  size_t count = 0;
  for (size_t i = 0; i < agreement->count; i++)
    count += agreement->entries[i].anchor;
  return count;
}

hsc_agreement_verdict hsc_agreement_verdict_of(const hsc_agreement *agreement) {
  size_t shown = 0;
  hsc_finding worst = worst_finding(agreement, &shown);
  bool whole = agreement_compared_count(agreement) == agreement->count;
  if (worst == HSC_FINDING_DIFFERENT)
    return HSC_AGREEMENT_DIFFERENT;
  // a compile that changed nothing has its anchor and no more to be compared
  bool empty = shown == 0 && !(whole && anchors(agreement) > 0);
  if (agreement->failed || empty)
    return HSC_AGREEMENT_UNKNOWN;
  if (!whole)
    return HSC_AGREEMENT_PARTLY;
  return worst == HSC_FINDING_EQUAL ? HSC_AGREEMENT_EQUAL : HSC_AGREEMENT_CLOSE;
}

static int exit_code(hsc_agreement_verdict verdict) {
  switch (verdict) {
    case HSC_AGREEMENT_EQUAL:
    case HSC_AGREEMENT_CLOSE:
      return 0;
    case HSC_AGREEMENT_DIFFERENT:
      return 1;
    default:
      return 3;
  }
}

int hsc_agreement_exit_code(const hsc_agreement *agreement) {
  return exit_code(hsc_agreement_verdict_of(agreement));
}

int hsc_agreement_exit_code_of(const char *verdict) {
  for (size_t i = 0; verdict && i < HSC_COUNT_OF(verdict_texts); i++)
    if (!strcmp(verdict, verdict_texts[i]))
      return exit_code((hsc_agreement_verdict)i);
  return exit_code(HSC_AGREEMENT_UNKNOWN);
}

// ---- the sentence -------------------------------------------------------------------------------

static const char *reason_of(const entry *e) {
  const char *reason = json_string_value(json_object_get(e->row, "reason"));
  return reason ? reason : "no reason was kept";
}

// Whether nothing after the first gap was compared.
static bool ends_at(const hsc_agreement *agreement, size_t first) {
  for (size_t i = first; i < agreement->count; i++)
    if (!agreement->entries[i].gap)
      return false;
  return true;
}

// The first line of a reason: a message's notes are in the row, and a headline is one line.
static int first_line(const entry *e) {
  return (int)strcspn(reason_of(e), "\n");
}

// The gaps by reason, in the order of their first: "6 from fusion on: no known meaning: f".
static void write_gaps(const hsc_agreement *agreement, hsc_bytes *out) {
  enum { MOST_REASONS = 3 };
  int told = 0;
  size_t left_out = 0;
  for (size_t i = 0; i < agreement->count; i++) {
    const entry *e = &agreement->entries[i];
    size_t same = 0;
    bool before = false;
    if (!e->gap)
      continue;
    for (size_t k = 0; k < agreement->count; k++) {
      if (!agreement->entries[k].gap || strcmp(reason_of(&agreement->entries[k]), reason_of(e)))
        continue;
      same++;
      before |= k < i;
    }
    if (before)
      continue;
    if (told++ >= MOST_REASONS) {
      left_out += same;
      continue;
    }
    const char *join = told == 1 ? "; not compared: " : "; ";
    if (same > 1 && ends_at(agreement, i))
      hsc_bytes_printf(out, "%snone from %s on (%zu): %.*s", join, e->name, same, first_line(e),
                       reason_of(e));
    else if (same > 1)
      hsc_bytes_printf(out, "%s%s and %zu more: %.*s", join, e->name, same - 1, first_line(e),
                       reason_of(e));
    else
      hsc_bytes_printf(out, "%s%s: %.*s", join, e->name, first_line(e), reason_of(e));
  }
  if (left_out)
    hsc_bytes_printf(out, "; and %zu more", left_out);
}

void hsc_agreement_sentence(const hsc_agreement *agreement, hsc_bytes *out) {
  size_t shown = 0;
  size_t compared = agreement_compared_count(agreement);
  hsc_finding worst = worst_finding(agreement, &shown);
  size_t wanted = hsc_agreement_wanted(agreement);
  size_t missing = wanted - anchors(agreement);
  const char *plural = hsc_plural((double)wanted, "", "s");
  switch (hsc_agreement_verdict_of(agreement)) {
    case HSC_AGREEMENT_EQUAL:
    case HSC_AGREEMENT_CLOSE:
      hsc_bytes_printf(out, "%s: all of %zu %s%s compared",
                       worst == HSC_FINDING_ROUNDING ? "close, by rounding" : finding_texts[worst],
                       wanted, agreement->unit, plural);
      break;
    case HSC_AGREEMENT_DIFFERENT:
      hsc_bytes_printf(out, "different in %zu of %zu %s%s", differing(agreement), wanted,
                       agreement->unit, plural);
      break;
    case HSC_AGREEMENT_PARTLY:
      hsc_bytes_printf(out, "%s as far as compared: %zu of %zu %s%s", finding_texts[worst],
                       compared, wanted, agreement->unit, plural);
      break;
    case HSC_AGREEMENT_UNKNOWN:
      if (missing)
        hsc_bytes_printf(out, "unknown: none of %zu %s%s could be compared", missing,
                         agreement->unit, hsc_plural((double)missing, "", "s"));
      else
        hsc_bytes_printf(out, "unknown: no %s could be compared", agreement->unit);
      break;
  }
  write_gaps(agreement, out);
}

json_t *hsc_agreement_coverage(const hsc_agreement *agreement) {
  json_t *coverage = json_object();
  json_t *gaps = json_array();
  hsc_bytes key = {0};
  hsc_bytes_printf(&key, "%ss", agreement->unit);
  for (size_t i = 0; gaps && i < agreement->count; i++)
    if (agreement->entries[i].gap)
      json_array_append(gaps, agreement->entries[i].row);
  bool failed =
      !coverage || !gaps || hsc_bytes_text(&key)[0] == 0 ||
      json_object_set_new(coverage, hsc_bytes_text(&key),
                          json_integer((json_int_t)hsc_agreement_wanted(agreement))) ||
      json_object_set_new(coverage, "compared",
                          json_integer((json_int_t)agreement_compared_count(agreement))) ||
      json_object_set(coverage, "not_compared", gaps);
  json_decref(gaps);
  hsc_bytes_deinit(&key);
  if (!failed)
    return coverage;
  json_decref(coverage);
  return NULL;
}

hsc_status *hsc_agreement_into(const hsc_agreement *agreement, json_t *document) {
  json_t *coverage = hsc_agreement_coverage(agreement);
  hsc_bytes sentence = {0};
  if (!coverage || agreement->failed) {
    json_decref(coverage);
    return hsc_status_out_of_memory();
  }
  hsc_agreement_sentence(agreement, &sentence);
  hsc_status *status = hsc_bytes_status(&sentence);
  if (!status) {
    const char *verdict = hsc_agreement_text(hsc_agreement_verdict_of(agreement));
    json_object_set_new(document, "verdict", json_string(verdict));
    json_object_set_new(document, "headline", json_string(hsc_bytes_text(&sentence)));
    json_object_set(document, "coverage", coverage);
  }
  json_decref(coverage);
  hsc_bytes_deinit(&sentence);
  return status;
}
