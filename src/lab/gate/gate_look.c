// gate_look.c - one process of a device with one program: times, memory, outputs.
#include <math.h>

#include "base/files/file_io.h"
#include "lab/gate/gate_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/scratch.h"

static const double BLOCK_S = 0.05;
enum { MOST_RUNS = 5000, COMPILES = 5 };

void hsc__gate_seen_deinit(hsc__gate_seen *seen) {
  json_decref(seen->outputs);
  json_decref(seen->moved);
  json_decref(seen->structure);
  hsc_free(seen->fingerprint);
  hsc_free(seen->failure);
}

// ---- outputs: as many elements as a file in a repository can hold -------------------------------

static int64_t elements_of(const char *shape) {
  int64_t count = 1;
  for (const char *at = strchr(shape, '['); at && *at && at[1] != ']';) {
    char *end;
    count *= strtoll(at + 1, &end, 10);
    at = *end == ',' ? end : NULL;
  }
  return count;
}

// Evenly spread elements of an output's file, as hexadecimal digits; "kept" 0 where its type does
// not fill bytes.
static hsc_status *keep_output(json_t *output, json_t *out) {
  const char *shape = json_string_value(json_object_get(output, "shape"));
  const char *file = json_string_value(json_object_get(output, "file"));
  hsc_bytes data = {0};
  hsc_bytes text = {0};
  HSC_TRY(hsc_file_read(file, &data));
  int64_t count = elements_of(shape);
  bool whole = count > 0 && data.size % (size_t)count == 0 && data.size >= (size_t)count;
  size_t width = whole ? data.size / (size_t)count : 0;
  int64_t kept = count < HSC__GATE_KEPT_ELEMENTS ? count : HSC__GATE_KEPT_ELEMENTS;
  for (int64_t i = 0; whole && i < kept; i++)
    for (size_t b = 0; b < width; b++)
      hsc_bytes_printf(&text, "%02x",
                       (unsigned)(unsigned char)data.data[(size_t)(i * count / kept) * width + b]);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    json_array_append_new(out, json_pack("{s:s, s:O, s:I, s:I, s:s}", "shape", shape, "digest",
                                         json_object_get(output, "digest"), "elements",
                                         (json_int_t)count, "kept", (json_int_t)(whole ? kept : 0),
                                         "values", text.size ? hsc_bytes_text(&text) : ""));
  hsc_bytes_deinit(&data);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *keep_outputs(json_t *answer, json_t **out) {
  json_t *output;
  size_t i;
  hsc_status *status = NULL;
  *out = json_array();
  json_array_foreach (json_object_get(answer, "outputs"), i, output)
    if (!status)
      status = keep_output(output, *out);
  return status;
}

// The kept elements as a file that hsc_compare_outputs reads.
static hsc_status *write_kept(json_t *output,
                              const char *directory,
                              const char *name,
                              json_t **out) {
  const char *shape = json_string_value(json_object_get(output, "shape"));
  const char *hex = json_string_value(json_object_get(output, "values"));
  hsc_bytes path = {0};
  hsc_bytes data = {0};
  hsc_bytes kept = {0};
  for (const char *at = hex; at && at[0] && at[1]; at += 2) {
    char pair[3] = {at[0], at[1], 0};
    hsc_bytes_append_char(&data, (char)strtol(pair, NULL, 16));
  }
  hsc_bytes_printf(&path, "%s/%s", directory, name);
  hsc_bytes_printf(&kept, "%.*s[%lld]", (int)strcspn(shape, "["), shape,
                   (long long)json_integer_value(json_object_get(output, "kept")));
  hsc_status *status = hsc_bytes_status(&data);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), data.data ? data.data : "", data.size);
  if (!status)
    *out = json_pack("[{s:s, s:s}]", "shape", hsc_bytes_text(&kept), "file", hsc_bytes_text(&path));
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&data);
  hsc_bytes_deinit(&kept);
  return status;
}

static hsc_status *compare_kept(json_t *before, json_t *now, json_t *rows) {
  char *scratch = NULL;
  json_t *left = NULL;
  json_t *right = NULL;
  HSC_TRY(hsc_scratch_create(&scratch));
  hsc_status *status = NULL;
  HSC_GOTO(write_kept(before, scratch, "before.bin", &left));
  HSC_GOTO(write_kept(now, scratch, "now.bin", &right));
  HSC_GOTO(hsc_compare_outputs(left, right, "baseline", "device", rows));
done:
  json_decref(left);
  json_decref(right);
  hsc_scratch_destroy(scratch);
  return status;
}

// A file may have been edited: elements that are not those of `now` cannot be compared with them.
static bool holds_same_elements(json_t *before, json_t *now) {
  const char *a = json_string_value(json_object_get(before, "values"));
  const char *b = json_string_value(json_object_get(now, "values"));
  bool alike = json_equal(json_object_get(before, "kept"), json_object_get(now, "kept")) &&
               json_equal(json_object_get(before, "elements"), json_object_get(now, "elements"));
  return alike && a && b && *b && strlen(a) == strlen(b);
}

static hsc_status *compare_one(
    json_t *before, json_t *now, json_t *moved, size_t index, hsc_agreement *agreement) {
  char name[32];
  snprintf(name, sizeof name, "output %zu", index);
  if (json_equal(json_object_get(before, "digest"), json_object_get(now, "digest")) &&
      json_equal(json_object_get(before, "shape"), json_object_get(now, "shape"))) {
    hsc_agreement_compared(agreement, name, HSC_FINDING_EQUAL);
    return NULL;
  }
  if (!json_equal(json_object_get(before, "shape"), json_object_get(now, "shape"))) {
    hsc_agreement_compared(agreement, name, HSC_FINDING_DIFFERENT);
    return NULL;
  }
  json_t *rows = json_array();
  json_t *moved_rows = json_array();
  int64_t kept = json_integer_value(json_object_get(before, "kept"));
  int64_t elements = json_integer_value(json_object_get(before, "elements"));
  bool held = holds_same_elements(before, now);
  hsc_status *status = held ? compare_kept(before, now, rows) : NULL;
  if (!status && held && moved && holds_same_elements(moved, now))
    status = compare_kept(now, moved, moved_rows);
  json_t *row = json_array_get(rows, 0);
  const char *word = json_string_value(json_object_get(row, "verdict"));
  hsc_finding finding = HSC_FINDING_DIFFERENT;
  if (word)
    hsc_finding_parse(word, &finding);
  if (finding == HSC_FINDING_DIFFERENT && json_array_size(moved_rows) &&
      hsc_is_rounding(moved_rows, row, 0))
    finding = HSC_FINDING_ROUNDING;
  if (status) {
    // it is reported above
  } else if (word && (kept == elements || finding == HSC_FINDING_DIFFERENT)) {
    hsc_agreement_compared(agreement, name, finding);
  } else {
    char reason[128];
    snprintf(reason, sizeof reason,
             "it differs, and the baseline keeps %lld of %lld elements to say by how much",
             (long long)(held ? kept : 0), (long long)elements);
    hsc_agreement_gap(agreement, json_pack("{s:I}", "output", (json_int_t)index), name, reason);
  }
  json_decref(rows);
  json_decref(moved_rows);
  return status;
}

hsc_status *hsc__gate_compare_outputs(json_t *before,
                                      json_t *now,
                                      json_t *moved,
                                      hsc_agreement *agreement) {
  size_t count = json_array_size(before);
  if (count != json_array_size(now)) {
    hsc_agreement_compared(agreement, "the number of outputs", HSC_FINDING_DIFFERENT);
    return NULL;
  }
  for (size_t i = 0; i < count; i++)
    HSC_TRY(compare_one(json_array_get(before, i), json_array_get(now, i), json_array_get(moved, i),
                        i, agreement));
  return NULL;
}

// ---- a process ----------------------------------------------------------------------------------

static hsc_status *call(const hsc_gate_options *o,
                        hsc_lab_worker *worker,
                        const char *program,
                        json_t *more,
                        hsc__gate_seen *seen,
                        json_t **out_body) {
  hsc_answer answer = {0};
  *out_body = NULL;
  if (!more || json_object_set_new(more, "program", json_string(program))) {
    json_decref(more);
    return hsc_status_out_of_memory();
  }
  hsc_status *status = hsc_lab_worker_call(worker, more, (int64_t)(o->limit_s * 1e9), &answer);
  json_decref(more);
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK)
    *out_body = json_incref(answer.body);
  else if (!seen->failure)
    seen->failure = hsc_strdup(answer.status ? hsc_status_message(answer.status)
                                             : hsc_outcome_text(answer.outcome));
  hsc_answer_deinit(&answer);
  return NULL;
}

static void take_first_compile(json_t *body, hsc__gate_seen *seen) {
  const char *fingerprint = json_string_value(json_object_get(body, "fingerprint"));
  double need = hsc_answer_memory_need(body);
  seen->memory_bytes = need < 0 ? NAN : need;
  seen->fingerprint = hsc_strdup(fingerprint ? fingerprint : "");
  seen->structure =
      json_pack("{s:o, s:o}", "instructions",
                hsc_json_real(hsc_json_number(json_object_get(body, "instructions"))), "fusions",
                hsc_json_real(hsc_json_number(json_object_get(body, "fusions"))));
}

// The least of several compiles, as many as a block's time allows, the first among them.
static hsc_status *take_compiles(const hsc_gate_options *o,
                                 hsc_lab_worker *worker,
                                 const char *program,
                                 hsc__gate_seen *seen) {
  double least = INFINITY;
  double spent = 0;
  for (int i = 0; i < COMPILES && (i == 0 || spent < 4 * BLOCK_S); i++) {
    json_t *body = NULL;
    HSC_TRY(call(o, worker, program, json_pack("{s:s}", "job", "compile"), seen, &body));
    if (!body)
      return NULL;
    double ns = hsc_json_number(json_object_get(body, "compile_processor_ns"));
    if (ns > 0)
      least = fmin(least, ns / 1e9);
    spent += hsc_json_number(json_object_get(body, "compile_ns")) / 1e9;
    if (!seen->structure)
      take_first_compile(body, seen);
    json_decref(body);
  }
  if (isfinite(least))
    seen->compile_s[seen->compile_count++] = least;
  return NULL;
}

static hsc_status *take_runs(const hsc_gate_options *o,
                             hsc_lab_worker *worker,
                             const char *program,
                             json_t *first,
                             hsc__gate_seen *seen) {
  double once_s = hsc_answer_execute_ns(first, 0) / 1e9;
  int runs = (int)fmin(MOST_RUNS, fmax(3, BLOCK_S / fmax(once_s, 1e-7)));
  json_t *body = NULL;
  HSC_TRY(call(o, worker, program,
               json_pack("{s:s, s:i, s:i, s:i, s:s, s:b}", "job", "run", "records", 0, "series",
                         runs, "warmups", 1, "inputs", "keep", "fetch", 0),
               seen, &body));
  double least = hsc_json_least(hsc_json_path(body, "series", "processor_ns", NULL));
  if (isfinite(least) && least > 0)
    seen->run_s[seen->run_count++] = least / 1e9;
  json_decref(body);
  return NULL;
}

hsc_status *hsc__gate_look(const hsc_gate_options *o,
                           const hsc_device_spec *spec,
                           const char *program,
                           hsc__gate_seen *seen) {
  hsc_lab_worker *worker = NULL;
  json_t *body = NULL;
  json_t *moved = NULL;
  char *scratch = NULL;
  hsc_status *status = NULL;
  if (seen->compile_count == HSC__GATE_MOST || seen->run_count == HSC__GATE_MOST)
    return NULL;
  HSC_TRY(hsc_scratch_create(&scratch));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = spec, .executable = o->executable, .no_disk_cache = true},
      &worker));
  HSC_GOTO(take_compiles(o, worker, program, seen));
  if (seen->failure)
    goto done;
  if (spec->topology)
    goto done;
  HSC_GOTO(call(o, worker, program, json_pack("{s:s, s:s}", "job", "run", "save_to", scratch), seen,
                &body));
  if (!body)
    goto done;
  if (!seen->outputs)
    HSC_GOTO(keep_outputs(body, &seen->outputs));
  HSC_GOTO(take_runs(o, worker, program, body, seen));
  if (!seen->moved) {  // what a last place of the inputs makes of the outputs
    HSC_GOTO(call(o, worker, program,
                  json_pack("{s:s, s:s, s:f}", "job", "run", "save_to", scratch, "perturb", 1e-30),
                  seen, &moved));
    if (moved)
      HSC_GOTO(keep_outputs(moved, &seen->moved));
  }
done:
  json_decref(body);
  json_decref(moved);
  hsc_lab_worker_destroy(worker);
  hsc_scratch_destroy(scratch);
  return status;
}
