// autotune_results.c - see autotune_results.h.
#include "formats/common/autotune_results.h"

#include "formats/common/textproto.h"

static const char *const failure_texts[] = {"UNKNOWN", "REDZONE_MODIFIED", "WRONG_RESULT",
                                            "DISQUALIFIED"};
const char *hsc_autotune_failure_text(hsc_autotune_failure failure) {
  return failure < 0 ? "" : failure_texts[failure];
}

// ---- writing ------------------------------------------------------------------------------------

static void write_text(hsc_bytes *out, const char *indent, const char *name, const char *text) {
  hsc_bytes_printf(out, "%s%s: ", indent, name);
  hsc_textproto_quote(out, text ? text : "");
  hsc_bytes_append_char(out, '\n');
}

static void write_duration(hsc_bytes *out, const char *indent, int64_t ns) {
  hsc_bytes_printf(out, "%srun_time {", indent);
  if (ns >= 1000000000)
    hsc_bytes_printf(out, " seconds: %lld", (long long)(ns / 1000000000));
  hsc_bytes_printf(out, " nanos: %lld }\n", (long long)(ns % 1000000000));
}

static void write_result(hsc_bytes *out,
                         const char *indent,
                         const hsc_autotune_result *r,
                         bool is_conv) {
  if (r->scratch_bytes)
    hsc_bytes_printf(out, "%sscratch_bytes: %lld\n", indent, (long long)r->scratch_bytes);
  if (r->run_time_ns > 0)
    write_duration(out, indent, r->run_time_ns);
  if (r->failure >= 0) {
    hsc_bytes_printf(out, "%sfailure {\n%s  kind: %s\n", indent, indent,
                     hsc_autotune_failure_text(r->failure));
    if (r->message) {
      hsc_bytes_printf(out, "%s  msg: ", indent);
      hsc_textproto_quote(out, r->message);
      hsc_bytes_append_char(out, '\n');
    }
    if (r->failure == HSC_AUTOTUNE_WRONG_RESULT) {
      if (is_conv)
        hsc_bytes_printf(out, "%s  reference_algorithm { algo_id: %lld }\n", indent,
                         (long long)r->reference);
      else
        hsc_bytes_printf(out, "%s  reference_gemm { algorithm: %lld }\n", indent,
                         (long long)r->reference);
    }
    if (r->buffer_address)
      hsc_bytes_printf(out, "%s  buffer_address: %lld\n", indent, (long long)r->buffer_address);
    hsc_bytes_printf(out, "%s}\n", indent);
  }
  if (is_conv)
    hsc_bytes_printf(out, "%salgorithm { algo_id: %lld }\n", indent, (long long)r->algorithm);
  else
    hsc_bytes_printf(out, "%sgemm { algorithm: %lld }\n", indent, (long long)r->algorithm);
}

void hsc_autotune_results_write(const hsc_autotune_entry *entries, int count, hsc_bytes *out) {
  hsc_bytes_append_text(out, "version: 3\n");
  for (int i = 0; i < count; i++) {
    const hsc_autotune_entry *e = &entries[i];
    if (e->best < 0)
      continue;
    hsc_bytes_append_text(out, "results {\n");
    write_text(out, "  ", "device", e->device);
    write_text(out, "  ", "hlo", e->hlo);
    hsc_bytes_append_text(out, "  result {\n");
    write_result(out, "    ", &e->results[e->best], e->is_conv);
    hsc_bytes_append_text(out, "  }\n}\n");
  }
}

void hsc_autotune_logs_write(const hsc_autotune_entry *entries, int count, hsc_bytes *out) {
  for (int i = 0; i < count; i++) {
    const hsc_autotune_entry *e = &entries[i];
    hsc_bytes_append_text(out, "logs {\n");
    for (int r = 0; r < e->result_count; r++) {
      hsc_bytes_append_text(out, "  results {\n");
      write_result(out, "    ", &e->results[r], e->is_conv);
      hsc_bytes_append_text(out, "  }\n");
    }
    write_text(out, "  ", "device_pci_bus_id", e->device);
    write_text(out, "  ", "fusion_name", e->hlo);
    if (e->best >= 0)
      hsc_bytes_printf(out, "  selected_backend: \"%lld\"\n",
                       (long long)e->results[e->best].algorithm);
    hsc_bytes_append_text(out, "}\n");
  }
}

// ---- reading ------------------------------------------------------------------------------------

static const hsc_textproto *message_of(const hsc_textproto *first, const char *name) {
  const hsc_textproto *field = hsc_textproto_find(first, name);
  return field && field->is_message ? field : NULL;
}

static const char *text_of(const hsc_textproto *first, const char *name, hsc_arena *arena) {
  hsc_view text = hsc_textproto_text(first, name);
  return text.data ? hsc_arena_strndup(arena, text.data, text.size) : NULL;
}

static hsc_status *read_result(const hsc_textproto *field,
                               const char *path,
                               hsc_arena *arena,
                               hsc_autotune_result *out,
                               bool *out_is_conv) {
  *out =
      (hsc_autotune_result){.failure = HSC_AUTOTUNE_OK,
                            .scratch_bytes = hsc_textproto_int(field->first, "scratch_bytes", 0)};
  const hsc_textproto *gemm = message_of(field->first, "gemm");
  const hsc_textproto *conv = message_of(field->first, "algorithm");
  const hsc_textproto *time = message_of(field->first, "run_time");
  if (!gemm && !conv) {
    static const char *const foreign[] = {"triton", "cuda_conv_plan", "custom_kernel_fusion",
                                          "conv", "other"};
    for (size_t i = 0; i < HSC_COUNT_OF(foreign); i++)
      if (hsc_textproto_find(field->first, foreign[i]))
        return HSC_ERR(UNIMPLEMENTED,
                       "autotune results: not built yet: %s, a kind of algorithm that this device "
                       "does not have (%s:%d)",
                       foreign[i], path, field->line);
    return HSC_ERR(
        INVALID_ARGUMENT,
        "autotune results: a result without gemm { algorithm } or algorithm { algo_id } (%s:%d)",
        path, field->line);
  }
  *out_is_conv = conv != NULL;
  out->algorithm = conv ? hsc_textproto_int(conv->first, "algo_id", 0)
                        : hsc_textproto_int(gemm->first, "algorithm", 0);
  if (time) {
    int64_t seconds = hsc_textproto_int(time->first, "seconds", 0);
    int64_t nanos = hsc_textproto_int(time->first, "nanos", 0);
    if (seconds < 0 || seconds > 1 << 20 || nanos < 0 || nanos >= 1000000000)
      return HSC_ERR(INVALID_ARGUMENT, "autotune results: run_time is no duration (%s:%d)", path,
                     time->line);
    out->run_time_ns = seconds * 1000000000 + nanos;
  }
  const hsc_textproto *failure = message_of(field->first, "failure");
  if (!failure)
    return NULL;
  hsc_view kind = hsc_textproto_text(failure->first, "kind");
  out->failure = HSC_AUTOTUNE_UNKNOWN;
  for (size_t i = 0; i < HSC_COUNT_OF(failure_texts); i++)
    if (hsc_view_equals_text(kind, failure_texts[i]))
      out->failure = (hsc_autotune_failure)i;
  int64_t number = hsc_textproto_int(failure->first, "kind", 0);
  if (number > 0 && number < (int64_t)HSC_COUNT_OF(failure_texts))
    out->failure = (hsc_autotune_failure)number;
  out->message = text_of(failure->first, "msg", arena);
  out->buffer_address = hsc_textproto_int(failure->first, "buffer_address", 0);
  const hsc_textproto *reference = message_of(failure->first, "reference_algorithm");
  if (reference)
    out->reference = hsc_textproto_int(reference->first, "algo_id", 0);
  else if ((reference = message_of(failure->first, "reference_gemm")))
    out->reference = hsc_textproto_int(reference->first, "algorithm", 0);
  return NULL;
}

static hsc_status *read_entry(const hsc_textproto *field,
                              const char *path,
                              hsc_arena *arena,
                              hsc_autotune_entry *out) {
  const hsc_textproto *only = message_of(field->first, "result");
  bool is_log = hsc_view_equals_text(field->name, "logs");
  *out = (hsc_autotune_entry){.best = -1};
  out->device = text_of(field->first, is_log ? "device_pci_bus_id" : "device", arena);
  out->hlo = text_of(field->first, is_log ? "fusion_name" : "hlo", arena);
  if (!out->device)
    out->device = "";
  if (!out->hlo)
    return HSC_ERR(INVALID_ARGUMENT, "autotune results: an entry without %s (%s:%d)",
                   is_log ? "fusion_name" : "hlo", path, field->line);
  int count = 0;
  for (const hsc_textproto *f = field->first; f; f = f->next)
    count += f->is_message && hsc_view_equals_text(f->name, "results");
  if (!is_log && !only)
    return HSC_ERR(INVALID_ARGUMENT, "autotune results: an entry without a result (%s:%d)", path,
                   field->line);
  hsc_autotune_result *results = HSC_NEW_ARRAY(arena, hsc_autotune_result, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  out->results = results;
  if (!is_log) {
    HSC_TRY(read_result(only, path, arena, &results[out->result_count++], &out->is_conv));
    out->best = results[0].failure < 0 ? 0 : -1;
    return NULL;
  }
  for (const hsc_textproto *f = field->first; f; f = f->next)
    if (f->is_message && hsc_view_equals_text(f->name, "results"))
      HSC_TRY(read_result(f, path, arena, &results[out->result_count++], &out->is_conv));
  if (!hsc_textproto_find(field->first, "selected_backend"))
    return NULL;
  int64_t best = hsc_textproto_int(field->first, "selected_backend", -1);
  for (int r = 0; r < out->result_count; r++)
    if (results[r].algorithm == best)
      out->best = r;
  return NULL;
}

hsc_status *hsc_autotune_read(hsc_view text,
                              const char *path,
                              hsc_arena *arena,
                              hsc_autotune_entry **out_entries,
                              int *out_count) {
  const hsc_textproto *first = NULL;
  *out_count = 0;
  if (!path)
    path = "autotune results";
  HSC_TRY(hsc_textproto_parse(text, path, arena, &first));
  int count = 0;
  for (const hsc_textproto *f = first; f; f = f->next)
    count += f->is_message;
  bool logs = hsc_textproto_find(first, "logs") != NULL;
  int64_t version = hsc_textproto_int(first, "version", logs ? 3 : 0);
  if (version != 3)
    return HSC_ERR(UNIMPLEMENTED,
                   "%s: not built yet: autotune results of version %lld; version 3 is", path,
                   (long long)version);
  *out_entries = HSC_NEW_ARRAY(arena, hsc_autotune_entry, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (const hsc_textproto *f = first; f; f = f->next)
    if (f->is_message &&
        (hsc_view_equals_text(f->name, "results") || hsc_view_equals_text(f->name, "logs")))
      HSC_TRY(read_entry(f, path, arena, &(*out_entries)[(*out_count)++]));
  return hsc_arena_status(arena);
}

hsc_status *hsc_autotune_denylist_read(hsc_view text,
                                       const char *path,
                                       hsc_arena *arena,
                                       hsc_autotune_denied **out_denied,
                                       int *out_count) {
  const hsc_textproto *first = NULL;
  *out_count = 0;
  if (!path)
    path = "algorithm denylist";
  HSC_TRY(hsc_textproto_parse(text, path, arena, &first));
  int count = 0;
  for (const hsc_textproto *e = first; e; e = e->next)
    for (const hsc_textproto *f = e->first; f; f = f->next)
      count += hsc_view_equals_text(f->name, "algos");
  *out_denied = HSC_NEW_ARRAY(arena, hsc_autotune_denied, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (const hsc_textproto *e = first; e; e = e->next) {
    if (!e->is_message || !hsc_view_equals_text(e->name, "entries"))
      return HSC_ERR(INVALID_ARGUMENT,
                     "%s:%d: expected entries { hlo: \"...\" algos { id: N } }, found %.*s", path,
                     e->line, (int)e->name.size, e->name.data);
    if (hsc_textproto_find(e->first, "cc") || hsc_textproto_find(e->first, "cudnn_version") ||
        hsc_textproto_find(e->first, "blas_version"))
      continue;
    const char *hlo = text_of(e->first, "hlo", arena);
    if (!hlo)
      return HSC_ERR(INVALID_ARGUMENT, "%s:%d: an entry without hlo", path, e->line);
    for (const hsc_textproto *f = e->first; f; f = f->next)
      if (f->is_message && hsc_view_equals_text(f->name, "algos"))
        (*out_denied)[(*out_count)++] =
            (hsc_autotune_denied){hlo, hsc_textproto_int(f->first, "id", 0)};
  }
  return hsc_arena_status(arena);
}
