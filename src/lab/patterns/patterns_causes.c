// patterns_causes.c - why a run was slow: from what was recorded of this very run, never from a
// guess.
//
// A run is slow when it takes more than 1.5 times, and 3.5 deviations more than, what is typical of
// its kind: first runs of trials are compared with first runs, cached ones and warm-up runs with
// cached ones. Its excess is then laid out over what it did beyond the typical: compile, load,
// transfer, setup; what is left of its execution goes to page faults or context switches when there
// were any, else it has no recorded cause.
#include <math.h>

#include "lab/patterns/patterns_internal.h"

enum { COMPILE, LOAD, TRANSFER_IN, SETUP, PHASES, EXECUTE = PHASES, TOTAL };

typedef struct typical_run {   // medians over the trials
  double total_ns, spread_ns;  // spread: MAD
  double phase_ns[PHASES];
  double execute_ns;  // enqueue and wait
} typical_run;

// What a worker does not count is 0.
static double known(int64_t count) {
  return count > 0 ? (double)count : 0;
}

// A phase of a recorded run, what its executions took, or all of it; in nanoseconds.
static double time_of(const hsc_answer_record *record, int which) {
  switch (which) {
    case COMPILE:
      return known(record->compile_ns);
    case LOAD:
      return known(record->load_ns);
    case TRANSFER_IN:
      return known(record->transfer_in_ns);
    case SETUP:
      return known(record->setup_ns);
    case EXECUTE:
      return known(record->enqueue_ns) + known(record->wait_ns);
    default:
      return known(record->total_ns);
  }
}

// Starts the next part of a sentence.
static void next_part(hsc_bytes *text) {
  if (text->size)
    hsc_bytes_append_text(text, "; ");
}

static void append_time(hsc_bytes *text, const char *before, double ns) {
  char time[32];
  hsc_format_quantity(ns, "ns", false, time);
  hsc_bytes_printf(text, "%s%s", before, time);
}

// What others took from the process during the whole run: it was stopped, throttled, or others had
// the processor. It explains the run, in whatever phase it hit, when it is at least half of the
// excess; a stop has no duration of its own, so it explains what the processor's time does not.
static bool explain_from_outside(const hsc_answer_record *record, double excess, hsc_bytes *out) {
  double stops = known(record->stops);
  double throttled = known(record->throttled_ns);
  double queued = known(record->runqueue_ns);
  double pressure = known(record->pressure_ns);
  double memory = known(record->memory_pressure_ns);
  if (stops > 0) {
    hsc_bytes_printf(out, "the worker was stopped %.0f time%s (SIGSTOP) while it ran", stops,
                     stops > 1 ? "s" : "");
  } else if (throttled >= 0.5 * excess) {
    append_time(out, "throttled: the control group's processor quota was used up, ", throttled);
  } else if (queued >= 0.5 * excess) {
    append_time(out, "ready to run, but others had the processor, ", queued);
  } else if (memory >= 0.5 * excess) {
    append_time(out, "memory pressure: the machine reclaimed or swapped memory for ", memory);
    return false;
  } else if (pressure >= 0.5 * excess) {
    append_time(out, "pressure: somebody on the machine waited for a processor for ", pressure);
    return false;  // somebody need not be this process: the phases are reported as well
  }
  return out->size > 0;
}

// `fresh` says why the program was not in memory.
static void explain(const hsc_answer_record *record,
                    const typical_run *typical,
                    const char *fresh,
                    hsc_bytes *out) {
  const char *fingerprint = record->fingerprint;
  double excess = known(record->total_ns) - typical->total_ns;
  double floor = 0.05 * excess;
  double more[PHASES];
  for (int p = 0; p < PHASES; p++)
    more[p] = time_of(record, p) - typical->phase_ns[p];
  double execute = time_of(record, EXECUTE) - typical->execute_ns;
  double faults = known(record->page_faults);
  double switches = known(record->involuntary_switches);
  bool compiled = more[0] > floor;
  // a first compile is a cause of its own, whatever else happened
  if (explain_from_outside(record, excess - (compiled ? more[0] : 0), out) && !compiled)
    return;
  if (compiled) {
    next_part(out);
    hsc_bytes_printf(out, "compiled: %s (%.8s...)", fresh, fingerprint ? fingerprint : "?");
    append_time(out, ", ", more[0]);
  }
  if (more[1] > floor) {
    next_part(out);
    append_time(out, "loaded from the compile cache on disk, ", more[1] + known(record->disk_ns));
  }
  if (more[2] > floor) {
    next_part(out);
    hsc_bytes_printf(out, "transferred %.1f kB of inputs", known(record->transfer_in_bytes) / 1e3);
    append_time(out, ", ", more[2]);
  }
  if (more[3] > floor) {
    next_part(out);
    append_time(out, "prepared the call, ", more[3]);
  }
  if (execute > floor) {
    next_part(out);
    if (faults > 0)
      hsc_bytes_printf(out, "first touch of %.1f kB: %.0f page faults", faults * 4.096, faults);
    else if (switches > 0)
      hsc_bytes_printf(out, "%.0f involuntary context switches while it ran", switches);
    else
      hsc_bytes_append_text(out, compiled ? "cold code and data"
                                          : "its execution took longer, without a recorded cause");
    append_time(out, ", ", execute);
  }
  if (out->size == 0)
    hsc_bytes_append_text(out, "no recorded cause");
}

static bool was_in_memory(const hsc_answer_record *record) {
  return record->compile && !strcmp(record->compile, "memory");
}

// Records of one kind: those that found their program in memory, or, where there is none, all.
// Returns how many.
static size_t usual_records(const patterns_run *run,
                            const pattern_config *config,
                            int which,
                            hsc_answer_record *out_records) {
  for (int all = 0; all < 2; all++) {
    size_t n = 0;
    for (int64_t t = 0; t < run->trials; t++) {
      const json_t *record = hsc_answer_run_record(config->trials[t], which);
      hsc_answer_read(&hsc_answer_record_layout, record, &out_records[n]);
      if (record && (all || was_in_memory(&out_records[n])))
        n++;
    }
    if (n)
      return n;
  }
  return 0;
}

static double median_of(const hsc_answer_record *records, size_t n, int which, double *scratch) {
  for (size_t i = 0; i < n; i++)
    scratch[i] = time_of(&records[i], which);
  return hsc_stats_median(scratch, n);
}

static hsc_status *typical_of(const patterns_run *run,
                              const pattern_config *config,
                              int which,
                              typical_run *out) {
  size_t room = (size_t)run->trials + 1;
  double *scratch = hsc_alloc(room * sizeof(double));
  hsc_answer_record *records = hsc_alloc(room * sizeof *records);
  hsc_status *status = scratch && records ? NULL : hsc_status_out_of_memory();
  size_t n = status ? 0 : usual_records(run, config, which, records);
  if (n > 0) {
    out->total_ns = median_of(records, n, TOTAL, scratch);
    out->spread_ns = hsc_stats_mad(scratch, n);
    for (int p = 0; p < PHASES; p++)
      out->phase_ns[p] = median_of(records, n, p, scratch);
    out->execute_ns = median_of(records, n, EXECUTE, scratch);
  }
  hsc_free(scratch);
  hsc_free(records);
  return status;
}

static void add_cause(json_t *causes,
                      const char *run_name,
                      int64_t trial,
                      const json_t *answered,
                      const typical_run *typical,
                      const char *fresh) {
  hsc_answer_record record;
  hsc_answer_read(&hsc_answer_record_layout, answered, &record);
  double total = time_of(&record, TOTAL);
  if (!(total > 1.5 * typical->total_ns && total > typical->total_ns + 3.5 * typical->spread_ns))
    return;
  hsc_bytes text = {0};
  explain(&record, typical, fresh, &text);
  json_array_append_new(
      causes, json_pack("{s:s, s:I, s:f, s:f, s:s}", "run", run_name, "trial", (json_int_t)trial,
                        "seconds", hsc__seconds(total), "excess",
                        hsc__seconds(total - typical->total_ns), "cause", hsc_bytes_text(&text)));
  hsc_bytes_deinit(&text);
}

hsc_status *hsc__patterns_causes(const patterns_run *run,
                                 const pattern_config *config,
                                 json_t *out_causes) {
  typical_run typical[2] = {{0}};
  for (int which = 0; which < 2; which++)
    HSC_TRY(typical_of(run, config, which, &typical[which]));
  if (!(typical[1].total_ns > 0))
    return NULL;
  json_t *records = json_object_get(config->warmup, "records");
  json_t *record;
  size_t i;
  if (run->options->warmup_iterations > 0) {
    json_array_foreach (records, i, record)
      add_cause(out_causes, "warmup", (int64_t)i + 1, record, &typical[1],
                "new program fingerprint");
  }
  const char *client = NULL;
  for (int64_t t = 0; t < run->trials; t++) {
    json_t *answer = config->trials[t];
    const char *now = json_string_value(json_object_get(answer, "client"));
    const char *fresh;
    if (!client)
      fresh = "new program fingerprint in this client, which was created anew after the warm-up";
    else if (now && strcmp(now, client) != 0)
      fresh = "the worker or its client was started anew, so nothing was in memory";
    else
      fresh = "it was not in memory";
    for (int which = 0; which < 2; which++) {
      record = hsc_answer_run_record(answer, which);
      if (record)
        add_cause(out_causes, which ? "cached_run" : "first_run", t + 1, record, &typical[which],
                  fresh);
    }
    if (now)
      client = now;
  }
  return NULL;
}
