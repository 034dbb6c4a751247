// passes_pictures.c - SVG of call order, call counts and ablations.
#include <math.h>
#include <stdlib.h>

#include "base/core/memory.h"
#include "lab/run/json_tree.h"
#include "lab/passes/passes_report.h"

// At most `most` bytes of the text.
static void escaped(hsc_bytes *out, const char *text, size_t most) {
  char cut[256];
  snprintf(cut, sizeof cut, "%.*s", (int)most, text);
  hsc_bytes_append_markup(out, cut);
}

static void begin_svg(hsc_bytes *out, int width, int height, const char *title) {
  hsc_bytes_printf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"11\" role=\"img\"><title>",
      width, height, width, height);
  escaped(out, title, 200);
  hsc_bytes_printf(out, "</title><rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width,
                   height);
}

static void label(
    hsc_bytes *out, double x, double y, const char *anchor, const char *color, const char *text) {
  hsc_bytes_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor,
                   color);
  escaped(out, text, 60);
  hsc_bytes_append_text(out, "</text>\n");
}

static void box(hsc_bytes *out, double x, double y, double width, double height, const char *fill) {
  hsc_bytes_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
                   y, width, height, fill);
}

// ---- call order ---------------------------------------------------------------------------------

void hsc_svg_call_order(const json_t *list, hsc_bytes *out) {
  enum { ROW = 16, ROWS = 56, COLUMN = 250, TOP = 34 };
  json_t *pipelines = json_object_get(list, "pipelines");
  json_t *pipeline;
  json_t *pass;
  size_t i;
  size_t k;
  size_t cells = 0;
  json_array_foreach (pipelines, i, pipeline)
    cells += 1 + json_array_size(json_object_get(pipeline, "passes"));
  int columns = (int)((cells + ROWS - 1) / ROWS);
  int rows = cells < ROWS ? (int)cells : ROWS;
  char title[300];
  snprintf(title, sizeof title, "Passes in call order: %s on %s",
           hsc_json_text_or_empty(list, "program"), hsc_json_text_or_empty(list, "device"));
  begin_svg(out, (columns ? columns : 1) * COLUMN + 10, TOP + rows * ROW + 10, title);
  label(out, 8, 20, "start", "#000", title);
  size_t at = 0;
  json_array_foreach (pipelines, i, pipeline) {
    double depth = 10.0 * (double)json_integer_value(json_object_get(pipeline, "depth"));
    double x = 8 + (double)(at / ROWS) * COLUMN;
    double y = TOP + (double)(at % ROWS) * ROW;
    box(out, x + depth, y, COLUMN - 16 - depth, ROW - 2, "#ffd54a");
    label(out, x + depth + 4, y + 11, "start", "#000", hsc_json_text_or_empty(pipeline, "name"));
    at++;
    json_array_foreach (json_object_get(pipeline, "passes"), k, pass) {
      bool changed = json_is_true(json_object_get(pass, "changed"));
      bool nested = json_is_true(json_object_get(pass, "pipeline"));
      x = 8 + (double)(at / ROWS) * COLUMN;
      y = TOP + (double)(at % ROWS) * ROW;
      const char *own = changed ? "#3f7fd1" : "#d6e4f7";
      box(out, x + depth + 10, y, COLUMN - 26 - depth, ROW - 2, nested ? "#fff0b8" : own);
      label(out, x + depth + 14, y + 11, "start", changed && !nested ? "#fff" : "#000",
            hsc_json_text_or_empty(pass, "name"));
      at++;
    }
  }
  hsc_bytes_append_text(out, "</svg>\n");
}

// ---- bars ---------------------------------------------------------------------------------------

typedef struct bar {
  const char *name;
  double value, low, high;
  const char *color, *note;
} bar;

static int by_value(const void *a, const void *b) {
  double x = ((const bar *)a)->value;
  double y = ((const bar *)b)->value;
  return (x < y) - (x > y);
}

// Horizontal bars from `origin`; `band` (low, high) is shaded behind them when low < high.
static void draw_bars(const bar *bars,
                      int count,
                      const char *title,
                      double origin,
                      const double band[2],
                      const char *format,
                      hsc_bytes *out) {
  enum { ROW = 18, NAMES = 260, WIDTH = 480, VALUES = 200, TOP = 34 };
  double least = origin;
  double most = origin;
  for (int i = 0; i < count; i++) {
    least = fmin(least, fmin(bars[i].value, isnan(bars[i].low) ? bars[i].value : bars[i].low));
    most = fmax(most, fmax(bars[i].value, isnan(bars[i].high) ? bars[i].value : bars[i].high));
  }
  if (band[0] < band[1]) {
    least = fmin(least, band[0]);
    most = fmax(most, band[1]);
  }
  double span = most > least ? most - least : 1;
  begin_svg(out, NAMES + WIDTH + VALUES, TOP + count * ROW + 20, title);
  label(out, 8, 20, "start", "#000", title);
#define AT(v) (NAMES + ((v) - least) / span * WIDTH)
  if (band[0] < band[1])
    box(out, AT(band[0]), TOP - 4, fmax(AT(band[1]) - AT(band[0]), 1), count * ROW + 8, "#e8e8e8");
  for (int i = 0; i < count; i++) {
    double y = TOP + i * ROW;
    double from = AT(fmin(origin, bars[i].value));
    double to = AT(fmax(origin, bars[i].value));
    char text[64];
    label(out, NAMES - 6, y + 12, "end", "#000", bars[i].name);
    box(out, from, y + 2, fmax(to - from, 1), ROW - 5, bars[i].color);
    if (!isnan(bars[i].low))
      hsc_bytes_printf(
          out,
          "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\" stroke=\"#000\" fill=\"none\"/>\n",
          AT(bars[i].low), y + 8.5, AT(bars[i].high), AT(bars[i].low), y + 5.5, AT(bars[i].high),
          y + 5.5);
    snprintf(text, sizeof text, format, bars[i].value);
    double end = fmax(to, isnan(bars[i].high) ? to : AT(bars[i].high));
    hsc_bytes_printf(out, "<text x=\"%.1f\" y=\"%.1f\">%s", end + 5, y + 12, text);
    if (bars[i].note) {
      hsc_bytes_append_char(out, ' ');
      escaped(out, bars[i].note, 40);
    }
    hsc_bytes_append_text(out, "</text>\n");
  }
  hsc_bytes_printf(out, "<path d=\"M%.1f %dV%d\" stroke=\"#444\"/>\n</svg>\n", AT(origin), TOP - 4,
                   TOP + count * ROW + 4);
#undef AT
}

void hsc_svg_call_counts(const json_t *list, hsc_bytes *out) {
  enum { MOST = 60 };
  json_t *counts = json_object();
  json_t *changed = json_object();
  json_t *pipeline;
  json_t *pass;
  json_t *value;
  size_t i, k;
  const char *name;
  json_array_foreach (json_object_get(list, "pipelines"), i, pipeline)
    json_array_foreach (json_object_get(pipeline, "passes"), k, pass) {
      if (json_is_true(json_object_get(pass, "pipeline")))
        continue;
      name = hsc_json_text_or_empty(pass, "name");
      json_object_set_new(counts, name,
                          json_integer(json_integer_value(json_object_get(counts, name)) + 1));
      if (json_is_true(json_object_get(pass, "changed")))
        json_object_set_new(changed, name,
                            json_integer(json_integer_value(json_object_get(changed, name)) + 1));
    }
  bar *bars = hsc_alloc((json_object_size(counts) + 1) * sizeof(bar));
  int count = 0;
  char title[300];
  json_object_foreach (counts, name, value) {
    if (!bars)
      break;
    bool did = json_object_get(changed, name) != NULL;
    bars[count++] =
        (bar){name, (double)json_integer_value(value), NAN,
              NAN,  did ? "#3f7fd1" : "#b9cfe9",       did ? "changed something" : NULL};
  }
  if (count)
    qsort(bars, (size_t)count, sizeof *bars, by_value);
  snprintf(title, sizeof title, "Calls per pass: %s on %s%s",
           hsc_json_text_or_empty(list, "program"), hsc_json_text_or_empty(list, "device"),
           count > MOST ? " (the 60 most called)" : "");
  draw_bars(bars, count > MOST ? MOST : count, title, 0, (double[2]){0, 0}, "%.0f", out);
  hsc_free(bars);
  json_decref(counts);
  json_decref(changed);
}

static const char RED[] = "#d33";
static const char GREEN[] = "#4f8f5b";
static const char GREY[] = "#9ab";

// Of the whole time what was found to stand out is red; kernels have a verdict alone.
static const char *color_of_time(const json_t *row, const char *key) {
  const char *verdict = hsc_json_text_or_empty(json_object_get(row, key), "verdict");
  bool bad = strcmp(key, "total_time") ? !strcmp(verdict, "slower")
                                       : json_is_number(json_object_get(row, "highlight"));
  if (bad)
    return RED;
  return !strcmp(verdict, "faster") ? GREEN : GREY;
}

static const char *color_of_count(double more) {
  return more > 0 ? "#c0504d" : GREEN;
}

// The least and the greatest ratio of what was measured without any change; 0 and 0 for none.
static void band_of_placebos(const json_t *ablation, const char *key, double *band) {
  json_t *row;
  size_t i;
  bool any = false;
  json_array_foreach (json_object_get(ablation, "placebos"), i, row) {
    double value = hsc_json_number(hsc_json_path(row, key, "ratio", NULL));
    if (isnan(value))
      continue;
    band[0] = any ? fmin(band[0], value) : value;
    band[1] = any ? fmax(band[1], value) : value;
    any = true;
  }
}

bool hsc_svg_ablation(const json_t *ablation, const char *key, hsc_bytes *out) {
  enum { MOST = 60 };
  json_t *variants = json_object_get(ablation, "variants");
  json_t *row;
  bool timed = !strcmp(key, "total_time") || !strcmp(key, "kernel_time");
  bar *bars = hsc_alloc((json_array_size(variants) + 1) * sizeof(bar));
  int count = 0;
  size_t i;
  double band[2] = {0, 0};
  json_array_foreach (variants, i, row) {
    const char *outcome = hsc_json_text_or_empty(row, "outcome");
    if (!bars || !strcmp(outcome, "same"))
      continue;
    json_t *time = json_object_get(row, key);
    double value = hsc_json_number(timed ? json_object_get(time, "ratio")
                                         : hsc_json_path(row, "delta", key, NULL));
    if (isnan(value) || (!timed && value == 0))
      continue;
    const char *color = timed ? color_of_time(row, key) : color_of_count(value);
    const char *differ = !strcmp(outcome, "numbers") ? "numbers differ" : NULL;
    bars[count++] = (bar){hsc_json_text_or_empty(row, "pass"),
                          value,
                          timed ? hsc_json_number(json_object_get(time, "low")) : NAN,
                          timed ? hsc_json_number(json_object_get(time, "high")) : NAN,
                          color,
                          timed ? hsc_json_text_or_empty(time, "verdict") : differ};
  }
  if (timed)
    band_of_placebos(ablation, key, band);
  if (count) {
    char title[300];
    qsort(bars, (size_t)count, sizeof *bars, by_value);
    const char *kind_of_time = strcmp(key, "total_time") ? "Kernel time" : "Total time";
    snprintf(title, sizeof title,
             timed ? "%s without each pass, over the time with all (grey: placebos): %s on %s"
                   : "%s without each pass, against all on: %s on %s",
             timed ? kind_of_time : key, hsc_json_text_or_empty(ablation, "program"),
             hsc_json_text_or_empty(ablation, "device"));
    draw_bars(bars, count > MOST ? MOST : count, title, timed ? 1 : 0, band,
              timed ? "%.3f" : "%+.6g", out);
  }
  hsc_free(bars);
  return count > 0;
}
