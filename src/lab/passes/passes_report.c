// passes_report.c - a directory of pictures and a text about the passes of one or more compilers.
#include "base/text/text.h"
#include "base/files/file_io.h"
#include "lab/passes/passes_report.h"

#include <math.h>

#include "lab/run/json_tree.h"

static bool is_list(const json_t *d) {
  return json_is_array(json_object_get(d, "pipelines")) &&
         json_is_object(json_object_get(d, "totals"));
}
static bool is_ablation(const json_t *d) {
  return json_is_array(json_object_get(d, "variants")) &&
         json_is_array(json_object_get(d, "placebos"));
}

typedef struct report {
  const char *directory;
  hsc_bytes md;
} report;

static void heading(report *r, int level, const char *text) {
  hsc_bytes_printf(&r->md, "%s%.*s %s\n\n", r->md.size ? "\n" : "", level, "####", text);
}

// A picture as a file beside the text, which names it.
static hsc_status *picture(report *r, const char *what, const char *device, const hsc_bytes *svg) {
  hsc_bytes path = {0};
  hsc_bytes file = {0};
  hsc_bytes_printf(&file, "%s-", what);
  for (const char *p = device; *p; p++)
    hsc_bytes_append_char(&file, strchr("/:?=& ", *p) ? '-' : *p);
  hsc_bytes_append_text(&file, ".svg");
  hsc_bytes_printf(&path, "%s/%s", r->directory, hsc_bytes_text(&file));
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_bytes_status(svg);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), svg->data, svg->size);
  if (!status)
    hsc_bytes_printf(&r->md, "![%s on %s](%s)\n\n", what, device, hsc_bytes_text(&file));
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&file);
  return status;
}

// One row of a table; cells end with NULL.
static void row_of(report *r, const char *const *cells) {
  hsc_bytes_append_text(&r->md, "|");
  for (size_t i = 0; cells[i]; i++) {
    hsc_bytes_append_char(&r->md, ' ');
    for (const char *p = cells[i]; *p; p++) {
      if (*p == '|')
        hsc_bytes_append_char(&r->md, '\\');
      hsc_bytes_append_char(&r->md, *p == '\n' ? ' ' : *p);
    }
    hsc_bytes_append_text(&r->md, " |");
  }
  hsc_bytes_append_char(&r->md, '\n');
}

static void begin_table(report *r, const char *const *heads) {
  row_of(r, heads);
  hsc_bytes_append_text(&r->md, "|");
  for (size_t i = 0; heads[i]; i++)
    hsc_bytes_append_text(&r->md, "---|");
  hsc_bytes_append_char(&r->md, '\n');
}

static void end_table(report *r) {
  hsc_bytes_append_char(&r->md, '\n');
}

static void number_text(double value, bool sign, char out[32]) {
  if (isnan(value))
    snprintf(out, 32, "-");
  else
    snprintf(out, 32, sign ? "%+.6g" : "%.6g", value);
}

// ---- one ablation -------------------------------------------------------------------------------

static void time_text(json_t *time, char out[96]) {
  double ratio = hsc_json_number(json_object_get(time, "ratio"));
  if (isnan(ratio))
    snprintf(out, 96, "-");
  else
    snprintf(out, 96, "%.3f [%.3f, %.3f] %s", ratio, hsc_json_number(json_object_get(time, "low")),
             hsc_json_number(json_object_get(time, "high")),
             hsc_json_text_or_empty(time, "verdict"));
}

static void ablation_rows(report *r, json_t *rows, bool timed, bool same_too) {
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row) {
    char counts[4][32], total[96], kernel[96], numbers[64];
    static const char *const keys[] = {"instructions", "fusions", "kernels", "temp_bytes"};
    if (!same_too && !strcmp(hsc_json_text_or_empty(row, "outcome"), "same"))
      continue;
    for (size_t k = 0; k < 4; k++)
      number_text(hsc_json_number(hsc_json_path(row, "delta", keys[k], NULL)), true, counts[k]);
    time_text(json_object_get(row, "total_time"), total);
    time_text(json_object_get(row, "kernel_time"), kernel);
    const char *verdict = hsc_json_text_or_empty(json_object_get(row, "numbers"), "verdict");
    const char *where = hsc_json_text_or_empty(row, "where");
    const char *same_as = hsc_json_text_or_empty(row, "same_as");
    double ulp = hsc_json_number(hsc_json_path(row, "numbers", "max_ulp", NULL));
    snprintf(numbers, sizeof numbers, ulp > 0 ? "%s, %.0f ulp" : "%s", verdict, ulp);
    char message[128];
    snprintf(message, sizeof message, "%.*s",
             (int)strcspn(hsc_json_text_or_empty(row, "message"), "\n"),
             hsc_json_text_or_empty(row, "message"));
    const char *note;
    if (*where)
      note = where;
    else if (*same_as && strcmp(same_as, "baseline"))
      note = same_as;
    else
      note = message;
    const char *outcome = hsc_json_text_or_empty(row, "outcome");
    if (timed)
      row_of(r, (const char *const[]){hsc_json_text_or_empty(row, "pass"), outcome, counts[0],
                                      counts[1], counts[2], counts[3], numbers, total, kernel, note,
                                      NULL});
    else
      row_of(r, (const char *const[]){hsc_json_text_or_empty(row, "pass"), outcome, counts[0],
                                      counts[1], counts[2], counts[3], note, NULL});
  }
}

static hsc_status *ablation_part(report *r, const json_t *d) {
  static const char *const keys[] = {"total_time", "kernel_time", "instructions", "kernels",
                                     "temp_bytes"};
  bool timed = json_is_object(json_object_get(d, "timing"));
  char title[300];
  hsc_bytes line = {0};
  json_t *count;
  const char *outcome;
  snprintf(title, sizeof title, "Without each pass: %s", hsc_json_text_or_empty(d, "device"));
  heading(r, 2, title);
  // libtpu's has two lines
  for (const char *c = hsc_json_text_or_empty(d, "platform_version"); *c; c++)
    hsc_bytes_append_char(&line, *c == '\n' ? ' ' : *c);
  hsc_bytes_printf(&line,
                   ", program %s. Switched off one by one: ", hsc_json_text_or_empty(d, "program"));
  json_object_foreach (hsc_json_path(d, "totals", "outcomes", NULL), outcome, count)
    hsc_bytes_printf(&line, "%lld %s, ", (long long)json_integer_value(count), outcome);
  hsc_bytes_printf(&line, "in %.0f s.",
                   hsc_json_number(hsc_json_path(d, "totals", "wall_seconds", NULL)));
  if (!strcmp(hsc_json_text_or_empty(d, "status"), "interrupted"))
    hsc_bytes_append_text(&line, " The sweep was interrupted; what is here was measured.");
  if (timed) {
    json_t *t = json_object_get(d, "timing");
    double processes = hsc_json_number(json_object_get(t, "processes"));
    double blocks = hsc_json_number(json_object_get(t, "blocks"));
    double iterations = hsc_json_number(json_object_get(t, "iterations"));
    double programs = hsc_json_number(json_object_get(t, "programs"));
    hsc_bytes_printf(&line,
                     " Timed in %.0f %s of %.0f %s of %.0f %s, interleaved, %.0f %s; ended by %s. "
                     "Grade of the machine: %s.",
                     processes, hsc_plural(processes, "process", "processes"), blocks,
                     hsc_plural(blocks, "block", "blocks"), iterations,
                     hsc_plural(iterations, "iteration", "iterations"), programs,
                     hsc_plural(programs, "program", "programs"),
                     hsc_json_text_or_empty(t, "ended_by"),
                     hsc_json_text_or_empty(json_object_get(d, "environment"), "grade"));
  }
  hsc_bytes_printf(&r->md, "%s\n\n", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
  for (size_t k = 0; k < HSC_COUNT_OF(keys); k++) {
    hsc_bytes svg = {0};
    hsc_status *status = hsc_svg_ablation(d, keys[k], &svg)
                             ? picture(r, keys[k], hsc_json_text_or_empty(d, "device"), &svg)
                             : NULL;
    hsc_bytes_deinit(&svg);
    HSC_TRY(status);
  }
  begin_table(r, timed ? (const char *const[]){"off", "outcome", "instructions", "fusions",
                                               "kernels", "temp bytes", "numbers", "total time",
                                               "kernel time", "where", NULL}
                       : (const char *const[]){"off", "outcome", "instructions", "fusions",
                                               "kernels", "temp bytes", "where", NULL});
  ablation_rows(r, json_object_get(d, "placebos"), timed, true);
  ablation_rows(r, json_object_get(d, "variants"), timed, false);
  end_table(r);
  if (json_array_size(json_object_get(d, "pairs"))) {
    json_t *row;
    size_t i;
    heading(r, 3, "Two at a time, beyond what each does alone");
    begin_table(
        r, (const char *const[]){"off together", "outcome", "instructions", "fusions", "kernels",
                                 "total time", "over the product of both alone", NULL});
    json_array_foreach (json_object_get(d, "pairs"), i, row) {
      char counts[3][32], total[96], beyond[32];
      static const char *const names[] = {"instructions", "fusions", "kernels"};
      for (size_t k = 0; k < 3; k++)
        number_text(hsc_json_number(hsc_json_path(row, "interaction", names[k], NULL)), true,
                    counts[k]);
      number_text(hsc_json_number(hsc_json_path(row, "interaction", "total_time_ratio", NULL)),
                  false, beyond);
      time_text(json_object_get(row, "total_time"), total);
      row_of(r, (const char *const[]){hsc_json_text_or_empty(row, "pass"),
                                      hsc_json_text_or_empty(row, "outcome"), counts[0], counts[1],
                                      counts[2], total, beyond, NULL});
    }
    end_table(r);
  }
  return NULL;
}

// ---- lists --------------------------------------------------------------------------------------

static hsc_status *list_part(report *r, const json_t *d) {
  hsc_bytes svg = {0};
  char title[300];
  snprintf(title, sizeof title, "Passes that ran: %s", hsc_json_text_or_empty(d, "device"));
  heading(r, 2, title);
  hsc_svg_call_order(d, &svg);
  hsc_status *status = picture(r, "call_order", hsc_json_text_or_empty(d, "device"), &svg);
  hsc_bytes_reset(&svg);
  if (!status)
    hsc_svg_call_counts(d, &svg);
  if (!status)
    status = picture(r, "calls", hsc_json_text_or_empty(d, "device"), &svg);
  hsc_bytes_deinit(&svg);
  return status;
}

// ---- compilers side by side ---------------------------------------------------------------------

typedef struct compared {
  const char *name, *keys[4];  // a path in the document, ended by NULL
} compared;

static const compared of_lists[] = {
    {"pipelines", {"totals", "pipelines"}},
    {"passes", {"totals", "passes"}},
    {"runs", {"totals", "runs"}},
    {"changed", {"totals", "changed"}},
};
static const compared of_programs[] = {
    {"instructions", {"baseline", "instructions"}},
    {"fusions", {"baseline", "fusions"}},
    {"kernels", {"baseline", "kernels"}},
    {"flops", {"baseline", "flops"}},
    {"bytes", {"baseline", "bytes"}},
    {"temp_bytes", {"baseline", "temp_bytes"}},
    {"peak_bytes", {"baseline", "peak_bytes"}},
    {"code_bytes", {"baseline", "code_bytes"}},
    {"compile_seconds", {"baseline", "compile_seconds"}},
    {"median run, s", {"baseline", "total_time", "median_seconds"}},
};

static void compared_row(hsc_table *table,
                         const compared *row,
                         json_t *const *documents,
                         size_t count) {
  hsc_table_row(table);
  hsc_table_text(table, row->name);
  for (size_t i = 0; i < count; i++) {
    char text[32];
    number_text(hsc_json_number(
                    hsc_json_path(documents[i], row->keys[0], row->keys[1], row->keys[2], NULL)),
                false, text);
    hsc_table_text(table, text);
  }
}

hsc_status *hsc_passes_compared(json_t *const *documents,
                                size_t count,
                                bool programs,
                                hsc_table **out_table) {
  enum { MOST = 12 };
  json_t *some[MOST];
  size_t found = 0;
  const compared *rows = programs ? of_programs : of_lists;
  size_t row_count = programs ? HSC_COUNT_OF(of_programs) : HSC_COUNT_OF(of_lists);
  for (size_t i = 0; i < count && found < MOST; i++)
    if (programs ? is_ablation(documents[i]) : is_list(documents[i]))
      some[found++] = documents[i];
  HSC_TRY(hsc_table_create(programs ? "programs" : "passes", out_table));
  hsc_table_column(*out_table, programs ? "with every pass on" : "of one compile", "");
  for (size_t i = 0; i < found; i++) {
    // a device may be there twice, and columns are told by their names
    char name[160];
    size_t before = 0;
    for (size_t k = 0; k < i; k++)
      before += !strcmp(hsc_json_text_or_empty(some[k], "device"),
                        hsc_json_text_or_empty(some[i], "device"));
    snprintf(name, sizeof name, before ? "%s (%zu)" : "%s",
             hsc_json_text_or_empty(some[i], "device"), before + 1);
    hsc_table_column(*out_table, name, "");
  }
  for (size_t k = 0; k < row_count && found; k++)
    compared_row(*out_table, &rows[k], some, found);
  return NULL;
}

static hsc_status *comparison(report *r, json_t *const *documents, size_t count, bool programs) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_passes_compared(documents, count, programs, &table));
  hsc_status *status = NULL;
  if (hsc_table_row_count(table)) {
    heading(r, 2, programs ? "Compilers side by side: programs" : "Compilers side by side: passes");
    status =
        hsc_table_print(table, HSC_FORMAT_MARKDOWN, &(hsc_text_style){.unicode = true}, &r->md);
    hsc_bytes_append_char(&r->md, '\n');
  }
  hsc_table_destroy(table);
  return status;
}

hsc_status *hsc_passes_report(json_t *const *documents, size_t count, const char *directory) {
  report r = {.directory = directory};
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  const char *program = count ? hsc_json_text_or_empty(documents[0], "program") : "";
  for (size_t i = 0; i < count; i++)
    if (!is_list(documents[i]) && !is_ablation(documents[i]))
      return hsc_status_hint(
          HSC_ERR(INVALID_ARGUMENT, "document %zu is neither a list of passes nor an ablation",
                  i + 1),
          "hloscope passes list PROGRAM --format=json, and passes ablate PROGRAM -o FILE, write "
          "such documents");
  HSC_TRY(hsc_dir_make(directory));
  char title[300];
  snprintf(title, sizeof title, "Passes of %s", program);
  heading(&r, 1, title);
  for (int programs = 0; programs < 2; programs++)
    HSC_GOTO(comparison(&r, documents, count, programs));
  for (size_t i = 0; i < count; i++)
    if (is_ablation(documents[i]))
      HSC_GOTO(ablation_part(&r, documents[i]));
  for (size_t i = 0; i < count; i++)
    if (is_list(documents[i]))
      HSC_GOTO(list_part(&r, documents[i]));
  hsc_bytes_printf(&path, "%s/report.md", directory);
  HSC_GOTO(hsc_bytes_status(&r.md));
  HSC_GOTO(hsc_file_write_atomic(hsc_bytes_text(&path), r.md.data, r.md.size));
done:
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&r.md);
  return status;
}
