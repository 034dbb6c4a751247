// samples_json.c - series out of JSON: results of hloscope, plain lists, records and tables.
#include <jansson.h>
#include <math.h>

#include "base/text/text.h"
#include "lab/run/samples_internal.h"

typedef struct walk {
  hsc_samples *set;
  const char *path;
  const hsc_samples_options *options;
  bool known_only;  // only lists that are samples by their name
  bool found_known;
  hsc_arena *arena;
} walk;

// NaN and Infinity, which Python writes, are no JSON; they become null, and null is a sample that
// is not finite. Nothing but their letters stands outside of strings where they can be, so the
// search is for the words.
static hsc_status *without_nan(hsc_view text, hsc_bytes *out) {
  bool quoted = false;
  bool any = false;
  for (const char *word = "NI"; *word && !any; word++)
    any = memchr(text.data, *word, text.size) != NULL;
  if (!any)
    return NULL;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (quoted && c == '\\' && i + 1 < text.size) {
      hsc_bytes_append(out, text.data + i++, 2);
      continue;
    }
    if (c == '"')
      quoted = !quoted;
    size_t skip = 0;
    if (!quoted) {
      size_t sign = c == '-' || c == '+';
      if (text.size - i >= 3 + sign && !memcmp(text.data + i + sign, "NaN", 3))
        skip = 3 + sign;
      else if (text.size - i >= 8 + sign && !memcmp(text.data + i + sign, "Infinity", 8))
        skip = 8 + sign;
    }
    if (skip) {
      hsc_bytes_append_text(out, "null");
      i += skip - 1;
    } else
      hsc_bytes_append_char(out, c);
  }
  return hsc_bytes_status(out);
}

static bool is_sample(const json_t *value) {
  return json_is_number(value) || json_is_null(value);
}

// A list of numbers with one at least.
static bool is_series(const json_t *list) {
  bool any = false;
  size_t i;
  json_t *value;
  json_array_foreach ((json_t *)list, i, value) {
    if (!is_sample(value))
      return false;
    any = any || json_is_number(value);
  }
  return any;
}

// A list of such lists.
static bool is_blocks(const json_t *list) {
  size_t i;
  json_t *value;
  json_array_foreach ((json_t *)list, i, value)
    if (!json_is_array(value) || !is_series(value))
      return false;
  return json_array_size(list) > 0;
}

static double *numbers_of(const json_t *list, double *to) {
  size_t i;
  json_t *value;
  json_array_foreach ((json_t *)list, i, value)
    *to++ = json_is_number(value) ? json_number_value(value) : NAN;
  return to;
}

static bool is_wanted(const walk *w, const char *name) {
  return !w->options->column || strstr(name, w->options->column);
}

static hsc_status *add_list(
    walk *w, const char *name, const char *unit, const json_t *list, hsc_sample_series **out) {
  *out = NULL;
  if (!is_wanted(w, name))
    return NULL;
  bool blocks = json_is_array(json_array_get(list, 0));
  size_t count = blocks ? 0 : json_array_size(list);
  size_t n = json_array_size(list);
  size_t *sizes = NULL;
  if (blocks) {
    sizes = hsc_alloc(n * sizeof *sizes);
    if (!sizes)
      return hsc_status_out_of_memory();
    for (size_t b = 0; b < n; b++)
      count += sizes[b] = json_array_size(json_array_get(list, b));
  }
  double *samples = hsc_alloc((count + 1) * sizeof(double));
  double *to = samples;
  hsc_status *status = samples ? NULL : hsc_status_out_of_memory();
  for (size_t b = 0; blocks && samples && b < n; b++)
    to = numbers_of(json_array_get(list, b), to);
  if (!blocks && samples)
    numbers_of(list, samples);
  if (!status)
    status = hsc__samples_add(w->set, name, unit, w->path, samples, count, sizes, blocks ? n : 0,
                              w->options, out);
  hsc_free(sizes);
  return status;
}

// What a member of a list is called: its own word for itself, else its number.
static const char *label_of(walk *w, const json_t *item, size_t i) {
  static const char *const keys[] = {"name", "device", "pass", "pattern", "id", "label"};
  for (size_t k = 0; k < HSC_COUNT_OF(keys); k++) {
    const char *text = json_string_value(json_object_get(item, keys[k]));
    if (text)
      return text;
  }
  return hsc_arena_printf(w->arena, "%zu", i + 1);
}

static bool is_known(const char *key) {
  return !strcmp(key, "samples") || hsc_ends_with(key, "_times") ||
         hsc_ends_with(key, "samples_ns");
}

// slow_runs: [{"run": "first_run", "trial": 3, "cause": text}] beside "first_run_times".
static void take_causes(walk *w, const json_t *holder, const char *key, hsc_sample_series *series) {
  const json_t *slow = json_object_get(holder, "slow_runs");
  size_t i;
  json_t *row;
  json_array_foreach ((json_t *)slow, i, row) {
    const char *run = json_string_value(json_object_get(row, "run"));
    const char *cause = json_string_value(json_object_get(row, "cause"));
    json_int_t trial = json_integer_value(json_object_get(row, "trial"));
    if (!run || !cause || strncmp(key, run, strlen(run)) || strcmp(key + strlen(run), "_times") ||
        trial < 1 || (size_t)trial > series->count)
      continue;
    if (!series->causes) {
      series->causes = HSC_NEW_ARRAY(w->set->arena, const char *, series->count);
      if (!series->causes)
        return;
      memset(series->causes, 0, series->count * sizeof *series->causes);
    }
    series->causes[trial - 1] = hsc_arena_strdup(w->set->arena, cause);
  }
}

// {"samples": [...], "process_sizes": [3, 3]}, as `run` writes them: which process each is of.
static hsc_status *take_processes(walk *w, const json_t *holder, hsc_sample_series *series) {
  const json_t *sizes = json_object_get(holder, "process_sizes");
  size_t count = json_array_size(sizes);
  size_t sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (size_t)json_integer_value(json_array_get(sizes, i));
  if (!count || sum != series->count)
    return NULL;
  series->one_process = count == 1;
  if (count == 1)
    return NULL;
  series->block_sizes = HSC_NEW_ARRAY(w->set->arena, size_t, count);
  if (!series->block_sizes)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    series->block_sizes[i] = (size_t)json_integer_value(json_array_get(sizes, i));
  series->block_count = count;
  return NULL;
}

static const char *joined(walk *w, const char *name, const char *key) {
  return *name ? hsc_arena_printf(w->arena, "%s.%s", name, key) : key;
}

static hsc_status *visit(walk *w, const json_t *value, const char *name, int depth) {
  if (depth > 64)
    return NULL;
  const char *key;
  json_t *child;
  size_t i;
  if (json_is_object(value)) {
    json_object_foreach ((json_t *)value, key, child) {
      if (json_is_array(child) && (is_series(child) || is_blocks(child))) {
        bool known = is_known(key);
        w->found_known = w->found_known || known;
        if (w->known_only && !known)
          continue;
        hsc_sample_series *series;
        const char *unit = json_string_value(json_object_get(value, "unit"));
        if (!unit && known)
          unit = hsc_ends_with(key, "_ns") ? "ns" : "s";
        // "devices.cpu.run.samples" is the run of cpu: the last word says nothing.
        const char *series_name = !strcmp(key, "samples") && *name ? name : joined(w, name, key);
        HSC_TRY(add_list(w, series_name, unit, child, &series));
        if (series)
          take_causes(w, value, key, series);
        if (series && !strcmp(key, "samples"))
          HSC_TRY(take_processes(w, value, series));
      } else if (json_is_object(child) || json_is_array(child)) {
        HSC_TRY(visit(w, child, joined(w, name, key), depth + 1));
      }
    }
  } else if (json_is_array(value)) {
    json_array_foreach ((json_t *)value, i, child)
      if (json_is_object(child) || json_is_array(child))
        HSC_TRY(visit(w, child, joined(w, name, label_of(w, child, i)), depth + 1));
  }
  return NULL;
}

// ---- records ------------------------------------------------------------------------------------

static hsc_status *put_value(hsc__frame *frame, size_t column, const json_t *value) {
  if (json_is_number(value))
    return hsc__frame_number(frame, column, json_number_value(value));
  if (json_is_string(value))
    return hsc__frame_text(frame, column,
                           (hsc_view){json_string_value(value), json_string_length(value)});
  if (json_is_boolean(value))
    return hsc__frame_text(frame, column, hsc_view_of(json_is_true(value) ? "true" : "false"));
  return frame->columns[column].is_text ? hsc__frame_text(frame, column, (hsc_view){"", 0})
                                        : hsc__frame_number(frame, column, NAN);
}

// Rows that are objects, with the columns of the first one or of `columns`.
static hsc_status *read_records(walk *w, const json_t *rows, const json_t *columns) {
  const json_t *first = json_array_get(rows, 0);
  size_t count = columns ? json_array_size(columns) : json_object_size(first);
  size_t r;
  size_t c = 0;
  hsc__frame frame;
  hsc_status *status = hsc__frame_create(count, &frame);
  const char *key;
  json_t *value, *row;
  if (columns) {
    json_array_foreach ((json_t *)columns, c, value) {
      const char *name = json_string_value(json_object_get(value, "name"));
      const char *unit = json_string_value(json_object_get(value, "unit"));
      if (!status) {
        frame.columns[c].name = name ? name : "";
        frame.columns[c].unit = unit ? unit : "";
      }
    }
  } else {
    json_object_foreach ((json_t *)first, key, value)
      if (!status)
        frame.columns[c++].name = key;
  }
  json_array_foreach ((json_t *)rows, r, row) {
    for (c = 0; c < count && !status; c++)
      status = put_value(&frame, c, json_object_get(row, frame.columns[c].name));
    if (status) {
      status = hsc_status_note(hsc_status_at(status, w->path, 0, 0, NULL), "in record %zu", r + 1);
      break;
    }
    frame.row_count++;
  }
  if (!status)
    status = hsc__frame_series(w->set, &frame, w->path, w->options);
  hsc__frame_deinit(&frame);
  return status;
}

static bool is_record(const json_t *value) {
  const char *key;
  json_t *child;
  if (!json_is_object(value))
    return false;
  json_object_foreach ((json_t *)value, key, child)
    if (json_is_object(child) || json_is_array(child))
      return false;
  return json_object_size(value) > 0;
}

static hsc_status *read_document(walk *w, const json_t *document) {
  const char *grade =
      json_string_value(json_object_get(json_object_get(document, "environment"), "grade"));
  if (grade && grade[0] >= 'A' && grade[0] <= 'D' && !grade[1] && grade[0] > w->set->grade[0])
    w->set->grade[0] = grade[0];
  hsc_sample_series *series;
  if (json_is_array(document) && (is_series(document) || is_blocks(document)))
    return add_list(w, hsc_path_file(w->path), "", document, &series);
  if (json_is_array(json_object_get(document, "columns")) &&
      json_is_array(json_object_get(document, "rows")))
    return json_array_size(json_object_get(document, "rows"))
               ? read_records(w, json_object_get(document, "rows"),
                              json_object_get(document, "columns"))
               : NULL;
  if (json_is_array(document) && is_record(json_array_get(document, 0)))
    return read_records(w, document, NULL);
  // A result of hloscope has lists that are samples by name; only where there are none, every list
  // of numbers is one.
  size_t before = w->set->count;
  w->known_only = true;
  if (json_is_array(json_object_get(document, "series"))) {
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(document, "series"), i, item) {
      const json_t *samples = json_object_get(item, "samples");
      if (json_is_array(samples) && (is_series(samples) || is_blocks(samples)))
        HSC_TRY(add_list(w, label_of(w, item, i), json_string_value(json_object_get(item, "unit")),
                         samples, &series));
    }
    return NULL;
  }
  HSC_TRY(visit(w, document, "", 0));
  if (w->set->count > before || w->found_known)
    return NULL;
  w->known_only = false;
  return visit(w, document, "", 0);
}

// One document a line.
static json_t *load_lines(hsc_view text, const char *path, hsc_status **out_status) {
  json_t *rows = json_array();
  int line = 1;
  for (const char *at = text.data, *end = text.data + text.size; at < end; line++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop)
      stop = end;
    const char *from = at;
    while (from < stop && strchr(" \t\r", *from))
      from++;
    if (from < stop) {
      json_error_t error;
      json_t *row =
          json_loadb(from, (size_t)(stop - from), JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
      if (!row) {
        *out_status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "this is no JSON: %s", error.text),
                                    path, line, error.column, NULL);
        json_decref(rows);
        return NULL;
      }
      json_array_append_new(rows, row);
    }
    at = stop + 1;
  }
  return rows;
}

hsc_status *hsc__samples_json(hsc_samples *set,
                              const char *path,
                              hsc_view text,
                              const hsc_samples_options *options) {
  walk w = {.set = set, .path = path, .options = options};
  hsc_bytes clean = {0};
  json_t *document = NULL;
  hsc_status *status = hsc_arena_create(&w.arena);
  if (!status)
    status = without_nan(text, &clean);
  if (status)
    goto done;
  if (clean.size)
    text = hsc_bytes_view(&clean);
  json_error_t error;
  document = json_loadb(text.data, text.size, JSON_ALLOW_NUL, &error);
  if (!document && strstr(error.text, "end of file expected")) {
    document = load_lines(text, path, &status);
    if (status)
      goto done;
  }
  if (!document) {
    status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "this is no JSON: %s", error.text), path,
                           error.line, error.column, NULL);
    goto done;
  }
  status = read_document(&w, document);

done:
  json_decref(document);
  hsc_bytes_deinit(&clean);
  if (w.arena)
    hsc_arena_destroy(w.arena);
  return status;
}
