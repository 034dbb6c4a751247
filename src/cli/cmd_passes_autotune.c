// cmd_passes_autotune.c - hloscope passes autotune: which algorithm each product of a program gets
// on this machine, and how all of them did.
#include <math.h>

#include "base/files/file_io.h"
#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "formats/common/autotune_results.h"
#include "lab/run/json_tree.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

// The device's tables of candidates; a row's number is the algorithm.
static const char *const dot_names[] = {
#define CANDIDATE(id, text, doc) text,
#include "cpu/kernels/gemm/contraction_candidates.def"
#undef CANDIDATE
};
static const char *const conv_names[] = {
#define CANDIDATE(id, text, kernel, doc) text,
#include "cpu/kernels/conv/conv_candidates.def"
#undef CANDIDATE
};

static const char *algorithm_name(bool is_conv, int64_t algorithm) {
  // of hloscope_autotune_faults
  static const char *const fault_names[] = {"fault-wrong", "fault-redzone", "fault-error"};
  if (algorithm >= 1000 && algorithm < 1003)
    return fault_names[algorithm - 1000];
  if (algorithm < 0 ||
      algorithm >= (int64_t)(is_conv ? HSC_COUNT_OF(conv_names) : HSC_COUNT_OF(dot_names)))
    return "?";
  return is_conv ? conv_names[algorithm] : dot_names[algorithm];
}

static json_t *result_json(const hsc_autotune_entry *e, const hsc_autotune_result *r) {
  json_t *one = json_pack(
      "{s:I, s:s, s:b, s:o, s:I}", "algorithm", (json_int_t)r->algorithm, "name",
      algorithm_name(e->is_conv, r->algorithm), "chosen", e->best >= 0 && r == &e->results[e->best],
      "run_time", r->run_time_ns > 0 ? json_real((double)r->run_time_ns * 1e-9) : json_null(),
      "scratch_bytes", (json_int_t)r->scratch_bytes);
  if (r->failure < 0) {
    json_object_set_new(one, "failure", json_null());
    return one;
  }
  json_t *failure = json_pack("{s:s, s:s?}", "kind", hsc_autotune_failure_text(r->failure),
                              "message", r->message);
  if (r->failure == HSC_AUTOTUNE_WRONG_RESULT)
    json_object_set_new(failure, "reference", json_integer(r->reference));
  json_object_set_new(one, "failure", failure);
  return one;
}

static json_t *document(const passes_args *args,
                        const hsc_compiled *compiled,
                        const hsc_autotune_entry *entries,
                        int count) {
  json_t *products = json_array();
  for (int i = 0; i < count; i++) {
    const hsc_autotune_entry *e = &entries[i];
    json_t *results = json_array();
    for (int r = 0; r < e->result_count; r++)
      json_array_append_new(results, result_json(e, &e->results[r]));
    json_array_append_new(products,
                          json_pack("{s:s, s:s, s:o}", "hlo", e->hlo, "kind",
                                    e->is_conv ? "convolution" : "dot", "results", results));
  }
  return json_pack("{s:s, s:s?, s:I, s:f, s:o}", "program", args->program, "device",
                   count ? entries[0].device : NULL, "level", (json_int_t)args->level, "compile",
                   (double)compiled->compile_ns * 1e-9, "products", products);
}

static hsc_status *print_table(hsc_cli *cli, json_t *whole) {
  static const char *const columns[][2] = {{"product", ""},      {"algorithm", ""},
                                           {"run time", "s"},    {"of the best", "ratio"},
                                           {"scratch", "bytes"}, {"what", ""}};
  hsc_table *table = NULL;
  json_t *product, *result;
  size_t p, r;
  HSC_TRY(hsc_table_create("autotune", &table));
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  json_array_foreach (json_object_get(whole, "products"), p, product) {
    double best = NAN;
    json_array_foreach (json_object_get(product, "results"), r, result)
      if (json_is_true(json_object_get(result, "chosen")))
        best = hsc_json_number(json_object_get(result, "run_time"));
    json_array_foreach (json_object_get(product, "results"), r, result) {
      json_t *failure = json_object_get(result, "failure");
      double seconds = hsc_json_number(json_object_get(result, "run_time"));
      const char *message = json_string_value(json_object_get(failure, "message"));
      hsc_table_row(table);
      hsc_table_text(table, r == 0 ? json_string_value(json_object_get(product, "hlo")) : "");
      hsc_table_printf(table, "%lld %s",
                       (long long)json_integer_value(json_object_get(result, "algorithm")),
                       json_string_value(json_object_get(result, "name")));
      if (isnan(seconds))
        hsc_table_missing(table);
      else
        hsc_table_double(table, seconds);
      if (isnan(seconds) || isnan(best))
        hsc_table_missing(table);
      else
        hsc_table_double(table, seconds / best);
      hsc_table_int(table, json_integer_value(json_object_get(result, "scratch_bytes")));
      if (json_is_object(failure))
        hsc_table_printf(table, "%s: %.120s", json_string_value(json_object_get(failure, "kind")),
                         message ? message : "");
      else
        hsc_table_text(table, json_is_true(json_object_get(result, "chosen")) ? "chosen" : "");
    }
  }
  hsc_table_note(table, "device: %s; level %lld; the compile took %.3f s",
                 json_string_value(json_object_get(whole, "device"))
                     ? json_string_value(json_object_get(whole, "device"))
                     : "cpu",
                 (long long)json_integer_value(json_object_get(whole, "level")),
                 hsc_json_number(json_object_get(whole, "compile")));
  if (json_array_size(json_object_get(whole, "products")) == 0)
    hsc_table_note(table, "the program has no dot or convolution that there is a choice for");
  return hsc_cli_table(cli, table);
}

static hsc_override text_option(const char *name, const char *text) {
  return (hsc_override){.name = name, .type = HSC_OVERRIDE_TEXT, .text = text};
}

hsc_status *hsc__passes_autotune(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_lab_worker *worker = NULL;
  char *scratch = NULL;
  hsc_compiled compiled = {0};
  hsc_bytes text = {0};
  json_t *whole = NULL;
  hsc_autotune_entry *entries = NULL;
  int count = 0;
  hsc_status *status = NULL;
  if (!strcmp(args->program, "-"))
    return hsc_cli_usage(
        cli, "workers read programs themselves, so a file is needed, not standard input");
  if (args->settings.count)
    return hsc_cli_usage(cli, "passes autotune sets the options itself; for others set XLA_FLAGS");
  HSC_TRY(hsc__passes_device(args, cli, &device));
  if (device.source != HSC_DEVICE_BUILT_IN)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED,
                "passes autotune: not built yet: device %s; the autotuner is the built-in device's",
                device.text),
        "leave --device out, or --device cpu");
  HSC_GOTO(hsc_scratch_create(&scratch));
  const char *logs = hsc_arena_printf(cli->arena, "%s/logs.textproto", scratch);
  hsc_override options[8];
  size_t n = 0;
  options[n++] = (hsc_override){
      .name = "xla_gpu_autotune_level", .type = HSC_OVERRIDE_INT, .integer = args->level};
  options[n++] = text_option("xla_gpu_dump_autotune_logs_to", logs);
  if (args->export_to)
    options[n++] = text_option("xla_gpu_dump_autotune_results_to", args->export_to);
  if (args->import_from)
    options[n++] = text_option("xla_gpu_load_autotune_results_from", args->import_from);
  if (args->denylist)
    options[n++] = text_option("xla_gpu_algorithm_denylist_path", args->denylist);
  if (args->fresh)
    options[n++] = text_option("xla_gpu_experimental_autotuner_cache_dir", scratch);
  if (args->disable)
    options[n++] = text_option("xla_disable_hlo_passes", args->disable);
  HSC_GOTO(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = &device, .no_disk_cache = true, .stop = &hsc_cli_stop},
      &worker));
  hsc_cli_progress(cli, "measuring");
  hsc_compile_request request = {.program = args->program,
                                 .transforms = args->transforms.items,
                                 .transform_count = args->transforms.count,
                                 .overrides = options,
                                 .override_count = n,
                                 .limit_ns = (int64_t)(args->limit_s * 1e9)};
  HSC_GOTO(hsc_lab_compile(worker, &request, &compiled));
  if (compiled.outcome != HSC_OUTCOME_OK) {
    status = compiled.status;
    compiled.status = NULL;
    goto done;
  }
  HSC_GOTO(hsc_file_read(logs, &text));
  if (text.size)  // a program without anything to choose leaves an empty log
    HSC_GOTO(hsc_autotune_read(hsc_bytes_view(&text), logs, cli->arena, &entries, &count));
  whole = document(args, &compiled, entries, count);
  HSC_GOTO(whole ? NULL : hsc_status_out_of_memory());
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, whole) : print_table(cli, whole));
  if (args->export_to)
    hsc_cli_say(cli,
                "the chosen algorithms, to be loaded again with --import or "
                "xla_gpu_load_autotune_results_from: %s",
                args->export_to);
done:
  json_decref(whole);
  hsc_bytes_deinit(&text);
  hsc_compiled_deinit(&compiled);
  hsc_lab_worker_destroy(worker);
  hsc_scratch_destroy(scratch);
  return status;
}
