// passes_list.h - which passes of a compiler ran on a program, in call order, what they changed and
// how long they took.
//
// Three sources, whichever the device has: the module metadata file of XLA's compilers (and ours),
// an XSpace of the compile, and the numbered dumps of the HLO after each pass that changed it. They
// are given by hsc_passes_collect; each reader is a function of its own, so that files of other
// people can be read too. Everything lies in the list's arena.
#pragma once

#include <jansson.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "worker/worker_client.h"

typedef struct hsc_pass_row {
  const char *pipeline, *pass;
  int depth;  // of the pipeline, 0 = the outermost
  // which start of a pipeline this belongs to, from 0: hsc_pass_list.starts
  int pipeline_run;
  const char *module;   // that the pipeline says it runs on; NULL = not reported
  int line;             // of a profile: which of its lines (threads) it is on, from 0
  bool nested;          // a pipeline run as a pass: its time is that of the rows inside
  int changed;          // 1, 0; -1 = not known
  int64_t start_ns;     // any origin
  int64_t duration_ns;  // -1 = not known
  // -1 = not known
  int64_t instructions_before, instructions_after, fusions_before, fusions_after, rewrites;
  const char *dump;  // file with the HLO after it; NULL = none
  // of a phase that is no pass (buffer-assignment), "values 12, allocations 4": cannot be switched
  // off; NULL = a pass
  const char *counts;
  // of the pass that fired in this run, "algsimp/add-zero 3, algsimp/or-same 1"; NULL = not known
  const char *rules;
} hsc_pass_row;

// Where the time of a compile went, by a profile of it: a flame graph, and its top as phases. In
// the list's arena.
typedef struct hsc_compile_flame {
  hsc_map *stacks;  // "thread;event;event" -> int64_t *, nanoseconds of its own
  // "HLO passes", "buffer assignment", ... (compile_phases.def), "all else" -> int64_t *,
  // nanoseconds
  hsc_map *phases;
  hsc_map *threads;  // threads -> int64_t *, nanoseconds at work
} hsc_compile_flame;

// One start of a pipeline; a pipeline may have had no pass to run.
typedef struct hsc_pipeline_start {
  const char *name;
  int depth;
} hsc_pipeline_start;

typedef struct hsc_pass_list {
  hsc_arena *arena;
  hsc_compile_flame *flame;  // filled from profiles; NULL = not asked for
  hsc_pass_row *rows;        // [row_count], in order of their starts
  size_t row_count, row_capacity;
  hsc_pipeline_start *starts;  // [start_count], by pipeline_run; filled by hsc_pass_list_nest
  int start_count;
  const char *module;      // name of the module; NULL = not known
  const char *first_dump;  // HLO before the first pass; NULL = none
  int64_t compile_ns;      // of the compile that was watched; -1 = not known
  // {name: nanoseconds} of the built-in compiler and of reading the program; NULL = none
  json_t *phases;
  // what told: "module metadata", "profile", "module metadata and profile", "dumps"
  const char *from;
} hsc_pass_list;
HSC_MUST_USE hsc_status *hsc_pass_list_init(hsc_pass_list *list);
void hsc_pass_list_deinit(hsc_pass_list *list);
// Appends a row, texts copied. NULL = no memory (sticky in the arena).
hsc_pass_row *hsc_pass_list_add(hsc_pass_list *list, const char *pipeline, const char *pass);
// An empty flame in the list's arena; hsc_pass_list_deinit frees it.
HSC_MUST_USE hsc_status *hsc_pass_list_want_flame(hsc_pass_list *list);
// Fills depth, pipeline_run and nested of rows that were added in order of their starts, from names
// and "pipeline-start" rows, which are removed.
void hsc_pass_list_nest(hsc_pass_list *list);

// HloModuleMetadataProto as text ("module_0000.metadata.textproto"). Malformed text: DATA_LOSS with
// the line.
HSC_MUST_USE hsc_status *hsc_pass_list_read_metadata(hsc_view text,
                                                     const char *path,
                                                     hsc_pass_list *list);
// An XSpace of a compile: events of HLO pass pipelines (stat _src names hlo_pass_pipeline.cc) and
// their children. DATA_LOSS for malformed bytes.
HSC_MUST_USE hsc_status *hsc_pass_list_read_xspace(hsc_view bytes, hsc_pass_list *list);
// XLA:GPU's module metadata ends before scheduling: what `profile`, of the same compile, has after
// the list's last row on the same thread and module is appended; nothing where it does not have
// that row. Before hsc_pass_list_nest: the "pipeline-start" rows of both must still be there.
HSC_MUST_USE hsc_status *hsc_pass_list_append_tail(hsc_pass_list *list,
                                                   const hsc_pass_list *profile);
// The dumps of a directory, put beside the rows: counts, changed where it is not known, files.
// Without rows: makes them, of what was dumped.
HSC_MUST_USE hsc_status *hsc_pass_list_read_dumps(const char *directory, hsc_pass_list *list);

// Phases that are no passes are in no total.
typedef struct hsc_pass_totals {
  // distinct pipelines (idle of them never had a pass to run), distinct passes, runs that are no
  // nested pipelines, of them changed
  int pipelines, passes, runs, changed, nested, idle;
  // in passes, nested pipelines not counted twice; NaN = not known
  double seconds;
} hsc_pass_totals;
hsc_pass_totals hsc_pass_list_totals(const hsc_pass_list *list);
// Distinct names that can be switched off, in order of their first run: passes, and with
// `pipelines` those of pipelines. In the list's arena.
HSC_MUST_USE hsc_status *hsc_pass_list_names(hsc_pass_list *list,
                                             bool pipelines,
                                             const char ***out_names,
                                             size_t *out_count);

// Distinct rules of passes that fired, in order of their first run; the device must tell them. In
// the list's arena.
HSC_MUST_USE hsc_status *hsc_pass_list_rules(hsc_pass_list *list,
                                             const char ***out_names,
                                             size_t *out_count);
// How often the rule fired in all runs.
int64_t hsc_pass_list_fired(const hsc_pass_list *list, const char *rule);

typedef struct hsc_passes_collect_options {
  const char *program;
  const char *const *transforms;
  size_t transform_count;
  json_t *overrides;    // further compile options, an object; NULL = none. Borrowed.
  const char *scratch;  // a directory for the dumps, which stay there
  // also on devices that have module metadata: what is after the passes is in a profile only
  bool profile;
  bool dumps;  // HLO after each pass: counts, and `changed` where only dumps tell
  // dumps for counts only: without the instructions' metadata, which is half of the text
  bool bare;
  bool as_proto;        // dumps with all constants (HloProto) instead of text
  const char *pass_re;  // with dumps: only after passes that match; NULL = all
  int64_t limit_ns;
} hsc_passes_collect_options;
// Compiles once in the worker and reads what it left. Errors: what the compile came to;
// UNIMPLEMENTED for devices that tell nothing.
HSC_MUST_USE hsc_status *hsc_passes_collect(hsc_lab_worker *worker,
                                            const hsc_passes_collect_options *options,
                                            hsc_pass_list *list);

// The document of `passes list` (docs/schemas/passes.json).
HSC_MUST_USE hsc_status *hsc_pass_list_json(const hsc_pass_list *list,
                                            const char *program,
                                            const char *device,
                                            json_t **out_document);
// The pass that a compiler's log names last: "HLO pass NAME" (XLA), "pass NAME" (ours). NULL =
// none. Heap.
char *hsc_passes_running(const char *log);
