// samples_frame.c - tables of columns: from CSV, bare numbers and Parquet, and the series that they
// hold.
//
// How to read: cells come in by hsc__frame_number and hsc__frame_text; a column is of numbers until
// a text comes. find_roles decides which columns are samples, groups and blocks, and
// hsc__frame_series makes a series of each. The readers of the forms are in sections of their own.
#include <math.h>

#include "base/text/text.h"
#include "base/parquet/parquet_read.h"
#include "lab/run/samples_internal.h"

hsc_status *hsc__frame_create(size_t column_count, hsc__frame *out) {
  *out = (hsc__frame){.column_count = column_count};
  HSC_TRY(hsc_arena_create(&out->arena));
  out->columns = hsc_alloc((column_count + 1) * sizeof *out->columns);
  if (!out->columns)
    return hsc_status_out_of_memory();
  memset(out->columns, 0, (column_count + 1) * sizeof *out->columns);
  for (size_t c = 0; c < column_count; c++)
    out->columns[c].name = out->columns[c].unit = "";
  return NULL;
}

void hsc__frame_deinit(hsc__frame *frame) {
  for (size_t c = 0; frame->columns && c < frame->column_count; c++) {
    hsc_free(frame->columns[c].numbers);
    hsc_free(frame->columns[c].codes);
    if (frame->columns[c].names)
      hsc_map_destroy(frame->columns[c].names);
  }
  hsc_free(frame->columns);
  if (frame->arena)
    hsc_arena_destroy(frame->arena);
  *frame = (hsc__frame){0};
}

// Room for row `row` of a column.
static bool grow(hsc__frame_column *c, size_t row) {
  return c->is_text ? HSC_RESERVE(c->codes, row, 1, c->room)
                    : HSC_RESERVE(c->numbers, row, 1, c->room);
}

hsc_status *hsc__frame_number(hsc__frame *frame, size_t column, double value) {
  hsc__frame_column *c = &frame->columns[column];
  c->is_decided = c->is_decided || !isnan(value);  // what is empty or NaN may be in any column
  if (c->is_text) {
    char text[32];
    int length = hsc_format_double(value, text);
    return hsc__frame_text(frame, column, (hsc_view){text, (size_t)length});
  }
  if (!grow(c, frame->row_count))
    return hsc_status_out_of_memory();
  c->numbers[frame->row_count] = value;
  return NULL;
}

hsc_status *hsc__frame_text(hsc__frame *frame, size_t column, hsc_view text) {
  hsc__frame_column *c = &frame->columns[column];
  if (!c->is_decided) {
    c->is_decided = c->is_text = true;
    hsc_free(c->numbers);
    c->numbers = NULL;
    c->room = 0;
    size_t rows = frame->row_count;  // those above were empty
    hsc_status *status = NULL;
    for (frame->row_count = 0; frame->row_count < rows && !status; frame->row_count++)
      status = hsc__frame_text(frame, column, (hsc_view){"", 0});
    frame->row_count = rows;
    HSC_TRY(status);
  }
  if (!c->is_text)
    return HSC_ERR(INVALID_ARGUMENT, "'%.*s' is not a number (column '%s')",
                   hsc_view_shown(text, 60), text.data, c->name);
  if (!grow(c, frame->row_count))
    return hsc_status_out_of_memory();
  if (!c->names)
    HSC_TRY(hsc_map_create(&c->names));
  uintptr_t code = (uintptr_t)hsc_map_get(c->names, text);
  if (!code) {
    code = hsc_map_count(c->names) + 1;
    // the map borrows its keys; all bytes of them, zero bytes too, which a format would end at
    const char *copy = hsc_arena_strndup(frame->arena, text.data, text.size);
    HSC_TRY(hsc_arena_status(frame->arena));
    HSC_TRY(hsc_map_put(c->names, (hsc_view){copy, text.size}, (void *)code));
  }
  c->codes[frame->row_count] = (uint32_t)(code - 1);
  return NULL;
}

// ---- series -------------------------------------------------------------------------------------

static hsc_status *find_column(hsc__frame *frame, const char *path, const char *name, size_t *out) {
  const char *names[64] = {0};
  size_t count = 0;
  for (size_t c = 0; c < frame->column_count; c++) {
    if (!strcmp(frame->columns[c].name, name)) {
      *out = c;
      return NULL;
    }
    if (count < HSC_COUNT_OF(names))
      names[count++] = frame->columns[c].name;
  }
  const char *near = hsc_did_you_mean(name, names, count);
  hsc_status *status = hsc_status_at(
      near ? HSC_ERR(NOT_FOUND, "there is no column '%s'; did you mean '%s'?", name, near)
           : HSC_ERR(NOT_FOUND, "there is no column '%s'", name),
      path, 1, 0, NULL);
  const char *list = "";
  for (size_t c = 0; c < count && strlen(list) < 200; c++)
    list = hsc_arena_printf(frame->arena, "%s%s%s", list, c ? ", " : "", names[c]);
  return near ? status : hsc_status_hint(status, "there are: %s", list);
}

// What tells two rows of a column apart: a code, or the number's bits.
static uint64_t key_of(const hsc__frame_column *c, size_t row) {
  uint64_t bits = 0;
  if (c->is_text)
    return c->codes[row];
  memcpy(&bits, &c->numbers[row], sizeof bits);
  return bits;
}

static const char *text_of_code(const hsc__frame_column *c, size_t code) {
  hsc_view text = {"", 0};
  (void)hsc_map_at(c->names, code, &text);
  return text.data ? text.data : "";
}

// The rows [0, n) of `value` whose group is `code` (all when group is NULL), with the sizes of
// blocks: runs of rows with the same value of `blocks`.
static hsc_status *one_series(hsc_samples *set,
                              const hsc__frame *frame,
                              const char *path,
                              size_t value,
                              const hsc__frame_column *group,
                              size_t code,
                              const hsc__frame_column *blocks,
                              const char *name,
                              const hsc_samples_options *options) {
  const hsc__frame_column *v = &frame->columns[value];
  size_t count = 0;
  size_t block_count = 0;
  size_t n = frame->row_count;
  for (size_t i = 0; i < n; i++)
    count += !group || group->codes[i] == code;
  double *samples = hsc_alloc((count + 1) * sizeof(double));
  size_t *sizes = blocks ? hsc_alloc((count + 1) * sizeof(size_t)) : NULL;
  if (!samples || (blocks && !sizes)) {
    hsc_free(samples);
    hsc_free(sizes);
    return hsc_status_out_of_memory();
  }
  uint64_t last = 0;
  for (size_t i = 0, at = 0; i < n; i++) {
    if (group && group->codes[i] != code)
      continue;
    samples[at++] = v->numbers[i];
    if (!blocks)
      continue;
    uint64_t key = key_of(blocks, i);
    if (!block_count || key != last)
      sizes[block_count++] = 0;
    sizes[block_count - 1]++;
    last = key;
  }
  hsc_status *status = hsc__samples_add(set, *name ? name : "(none)",
                                        *v->unit ? v->unit : hsc__unit_of_name(v->name), path,
                                        samples, count, sizes, block_count, options, NULL);
  hsc_free(sizes);
  return status;
}

// Which columns are what; SIZE_MAX = none.
typedef struct roles {
  size_t by;      // a series for each of its texts
  size_t blocks;  // which block a sample is of
  size_t named;   // the one that was asked for
  size_t only;    // the samples, where one column holds numbers
  size_t numbers, texts;
  bool counts_left_out;  // groups named *_count: which block, which variant; not what was measured
} roles;

static hsc_status *find_roles(hsc__frame *frame,
                              const char *path,
                              const hsc_samples_options *options,
                              roles *out) {
  size_t only_text = SIZE_MAX;
  *out = (roles){.by = SIZE_MAX, .blocks = SIZE_MAX, .named = SIZE_MAX, .only = SIZE_MAX};
  if (options->by)
    HSC_TRY(find_column(frame, path, options->by, &out->by));
  if (options->blocks)
    HSC_TRY(find_column(frame, path, options->blocks, &out->blocks));
  if (options->column)
    HSC_TRY(find_column(frame, path, options->column, &out->named));
  if (out->named != SIZE_MAX && frame->columns[out->named].is_text)
    return hsc_status_at(
        HSC_ERR(INVALID_ARGUMENT, "column '%s' holds texts, not numbers", options->column), path, 1,
        0, NULL);
  for (size_t c = 0; c < frame->column_count; c++) {
    if (c == out->by || c == out->blocks || !frame->columns[c].is_decided)
      continue;
    if (frame->columns[c].is_text) {
      out->texts++;
      only_text = c;
    } else {
      out->numbers++;
      out->only = c;
    }
  }
  if (out->named != SIZE_MAX) {
    out->numbers = 1;
    out->only = out->named;
  }
  if (out->by == SIZE_MAX && out->texts == 1 && out->numbers == 1)
    out->by = only_text;
  if (out->by != SIZE_MAX && out->numbers != 1)
    return hsc_status_hint(
        hsc_status_at(HSC_ERR(INVALID_ARGUMENT,
                              "%zu columns hold numbers; which one are the samples?", out->numbers),
                      path, 1, 0, NULL),
        "--column NAME chooses it");
  return NULL;
}

// A column of numbers as one of texts: numbers that name groups.
static hsc_status *make_texts(hsc__frame *frame, size_t column) {
  hsc__frame_column *c = &frame->columns[column];
  double *values = c->numbers;
  size_t rows = frame->row_count;
  hsc_status *status = NULL;
  c->numbers = NULL;
  c->room = 0;
  c->is_text = true;
  for (frame->row_count = 0; frame->row_count < rows && !status; frame->row_count++)
    status = hsc__frame_number(frame, column, values[frame->row_count]);
  frame->row_count = rows;
  hsc_free(values);
  return status;
}

static hsc_status *series_by_group(hsc_samples *set,
                                   hsc__frame *frame,
                                   const char *path,
                                   const roles *r,
                                   const hsc__frame_column *block_column,
                                   const hsc_samples_options *options) {
  if (!frame->columns[r->by].is_text)
    HSC_TRY(make_texts(frame, r->by));
  const hsc__frame_column *group = &frame->columns[r->by];
  size_t groups = hsc_map_count(group->names);
  if (groups > 10000)
    return hsc_status_at(
        HSC_ERR(INVALID_ARGUMENT, "column '%s' has %zu different texts; a series each is too many",
                group->name, groups),
        path, 1, 0, NULL);
  for (size_t g = 0; g < groups; g++)
    if (!r->counts_left_out || !hsc_ends_with(text_of_code(group, g), "_count"))
      HSC_TRY(one_series(set, frame, path, r->only, group, g, block_column, text_of_code(group, g),
                         options));
  return NULL;
}

static size_t column_named(const hsc__frame *frame, const char *name) {
  for (size_t c = 0; c < frame->column_count; c++)
    if (!strcmp(frame->columns[c].name, name))
      return c;
  return SIZE_MAX;
}

// What `hloscope results show ID --samples` prints is read as what it is: a series for each thing
// that was measured, with its tasks as processes. Its column "position" is no sample.
static bool is_own_form(const hsc__frame *frame, const hsc_samples_options *options) {
  static const char *const names[] = {"task", "position", "value", "what"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (column_named(frame, names[i]) == SIZE_MAX)
      return false;
  return !options->column && !options->by && !options->blocks;
}

hsc_status *hsc__frame_series(hsc_samples *set,
                              hsc__frame *frame,
                              const char *path,
                              const hsc_samples_options *given) {
  hsc_samples_options of_form = *given;
  const hsc_samples_options *options = &of_form;
  roles r;
  if (frame->row_count == 0)
    return NULL;
  for (size_t c = 0; c < frame->column_count; c++)
    frame->columns[c].is_decided = frame->columns[c].is_decided || frame->columns[c].numbers;
  bool own = is_own_form(frame, given);
  if (own) {
    of_form.column = "value";
    of_form.by = "what";
    of_form.blocks = "task";
  }
  HSC_TRY(find_roles(frame, path, options, &r));
  r.counts_left_out = own;
  const hsc__frame_column *block_column = r.blocks == SIZE_MAX ? NULL : &frame->columns[r.blocks];
  if (r.by != SIZE_MAX)
    return series_by_group(set, frame, path, &r, block_column, options);
  for (size_t c = 0; c < frame->column_count; c++) {
    const hsc__frame_column *of = &frame->columns[c];
    if (c == r.blocks || of->is_text || !of->is_decided || (r.named != SIZE_MAX && c != r.named))
      continue;
    HSC_TRY(one_series(set, frame, path, c, NULL, 0, block_column,
                       *of->name ? of->name : hsc_path_file(path), options));
  }
  return NULL;
}

// ---- text ---------------------------------------------------------------------------------------

typedef struct text_reader {
  const char *at, *end, *path;
  int line;
  char separator;  // ' ' stands for blanks of any number
  hsc_bytes unquoted;
} text_reader;

static bool at_line_end(const text_reader *r) {
  return r->at == r->end || *r->at == '\n' || *r->at == '\r' ||
         (r->separator == ' ' && *r->at == '#');
}

static void skip_blanks(text_reader *r) {
  while (r->at < r->end && (*r->at == ' ' || (*r->at == '\t' && r->separator != '\t')))
    r->at++;
}

// One field of the line; quotes of RFC 4180. The view lies in the text or in `unquoted`.
static hsc_view next_field(text_reader *r) {
  skip_blanks(r);
  if (r->at < r->end && *r->at == '"') {
    r->unquoted.size = 0;
    for (r->at++; r->at < r->end; r->at++) {
      if (*r->at == '"' && !(r->at + 1 < r->end && r->at[1] == '"'))
        break;
      if (*r->at == '"')
        r->at++;
      if (*r->at == '\n')
        r->line++;
      hsc_bytes_append_char(&r->unquoted, *r->at);
    }
    if (r->at < r->end)
      r->at++;
    skip_blanks(r);
    return hsc_bytes_view(&r->unquoted);
  }
  const char *from = r->at;
  while (!at_line_end(r) && *r->at != r->separator && !(r->separator == ' ' && *r->at == '\t'))
    r->at++;
  const char *to = r->at;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
    to--;
  return (hsc_view){from, (size_t)(to - from)};
}

// Past the separator: false at the end of the line.
static bool more_fields(text_reader *r) {
  if (r->separator == ' ') {
    skip_blanks(r);
    return !at_line_end(r);
  }
  if (at_line_end(r))
    return false;
  r->at++;
  return true;
}

static void next_line(text_reader *r) {
  while (r->at < r->end && *r->at != '\n')
    r->at++;
  if (r->at < r->end) {
    r->at++;
    r->line++;
  }
}

// To the next line that says something.
static bool find_line(text_reader *r) {
  while (r->at < r->end) {
    const char *at = r->at;
    while (at < r->end && (*at == ' ' || *at == '\t' || *at == '\r'))
      at++;
    if (at < r->end && *at != '\n' && *at != '#')
      return true;
    next_line(r);
  }
  return false;
}

static bool is_number(hsc_view field) {
  double value;
  return field.size &&
         hsc__parse_number(field.data, field.data + field.size, &value) == field.data + field.size;
}

static hsc_status *put_field(hsc__frame *frame, size_t column, hsc_view field) {
  double value;
  if (!field.size && !frame->columns[column].is_text)
    return hsc__frame_number(frame, column, NAN);
  bool number = field.size && hsc__parse_number(field.data, field.data + field.size, &value) ==
                                  field.data + field.size;
  return number ? hsc__frame_number(frame, column, value) : hsc__frame_text(frame, column, field);
}

static hsc_status *read_rows(text_reader *r, hsc__frame *frame) {
  while (find_line(r)) {
    size_t column = 0;
    const char *line = r->at;
    do {
      skip_blanks(r);
      const char *from = r->at;
      int at_line = r->line;
      hsc_view field = next_field(r);
      hsc_status *status =
          column < frame->column_count
              ? put_field(frame, column, field)
              : HSC_ERR(INVALID_ARGUMENT, "more fields than columns: there are %zu",
                        frame->column_count);
      if (status)
        return hsc_status_at(status, r->path, at_line, (int)(from - line) + 1, NULL);
      column++;
    } while (more_fields(r));
    if (column < frame->column_count)
      return hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "%zu fields where %zu columns are", column,
                                   frame->column_count),
                           r->path, r->line, 1, NULL);
    frame->row_count++;
    next_line(r);
  }
  return hsc_bytes_status(&r->unquoted);
}

// Bare numbers, any number in a line, are one series.
static hsc_status *read_bare(text_reader *r, hsc__frame *frame) {
  while (find_line(r)) {
    const char *line = r->at;
    do {
      skip_blanks(r);
      const char *from = r->at;
      hsc_view field = next_field(r);
      hsc_status *status;
      if (is_number(field))
        status = put_field(frame, 0, field);
      else
        status = HSC_ERR(INVALID_ARGUMENT, "'%.*s' is not a number", hsc_view_shown(field, 60),
                         field.data);
      if (status)
        return hsc_status_at(status, r->path, r->line, (int)(from - line) + 1, NULL);
      frame->row_count++;
    } while (more_fields(r));
    next_line(r);
  }
  return NULL;
}

hsc_status *hsc__samples_text(hsc_samples *set,
                              const char *path,
                              hsc_view text,
                              const hsc_samples_options *options) {
  text_reader r = {
      .at = text.data, .end = text.data + text.size, .path = path, .line = 1, .separator = ' '};
  if (text.size >= 3 && !memcmp(text.data, "\xef\xbb\xbf", 3))
    r.at += 3;
  if (!find_line(&r))
    return NULL;
  // The first line tells the separator, whether there is a heading, and how many columns.
  const char *line = r.at;
  const char *stop = memchr(line, '\n', (size_t)(r.end - line));
  if (!stop)
    stop = r.end;
  for (const char *c = ",;\t"; *c; c++)
    if (r.separator == ' ' && memchr(line, *c, (size_t)(stop - line)))
      r.separator = *c;
  size_t columns = 0;
  size_t numbers = 0;
  do {
    numbers += is_number(next_field(&r));
    columns++;
  } while (more_fields(&r));
  bool heading = numbers == 0;
  hsc__frame frame;
  hsc_status *status = hsc__frame_create(r.separator == ' ' && !heading ? 1 : columns, &frame);
  r.at = line;
  r.line = 1;
  for (const char *at = text.data; at < line; at++)
    r.line += *at == '\n';
  for (size_t c = 0; heading && c < columns && !status; c++) {
    hsc_view field = next_field(&r);
    frame.columns[c].name =
        hsc_arena_printf(frame.arena, "%.*s", hsc_view_shown(field, 200), field.data);
    (void)more_fields(&r);
  }
  if (heading)
    next_line(&r);
  for (size_t c = 0;
       !heading && columns > 1 && c < frame.column_count && frame.column_count > 1 && !status; c++)
    frame.columns[c].name = hsc_arena_printf(frame.arena, "column %zu", c + 1);
  if (!status)
    status = r.separator == ' ' && !heading ? read_bare(&r, &frame) : read_rows(&r, &frame);
  if (!status)
    status = hsc__frame_series(set, &frame, path, options);
  hsc__frame_deinit(&frame);
  hsc_bytes_deinit(&r.unquoted);
  return status;
}

// ---- Parquet ------------------------------------------------------------------------------------

hsc_status *hsc__samples_parquet(hsc_samples *set,
                                 const char *path,
                                 hsc_view bytes,
                                 const hsc_samples_options *options) {
  hsc_parquet_file *file = NULL;
  hsc__frame frame = {0};
  hsc_view *texts = NULL;
  hsc_status *status = hsc_parquet_open(bytes, &file);
  if (status)
    goto done;
  size_t columns = hsc_parquet_column_count(file);
  size_t rows = hsc_parquet_row_count(file);
  status = hsc__frame_create(columns, &frame);
  for (size_t c = 0; c < columns && !status; c++) {
    hsc__frame_column *to = &frame.columns[c];
    const char *name = hsc_parquet_column_name(file, c);
    to->name = name;
    const char *unit =
        hsc_parquet_get_metadata(file, hsc_arena_printf(frame.arena, "hloscope.unit.%s", name));
    if (unit)
      to->unit = unit;
    hsc_parquet_kind kind = hsc_parquet_column_kind(file, c);
    bool wanted = !options->column || !strcmp(name, options->column) ||
                  (options->by && !strcmp(name, options->by)) ||
                  (options->blocks && !strcmp(name, options->blocks)) ||
                  (!options->by && kind == HSC_PARQUET_KIND_TEXT);
    if (!wanted || kind == HSC_PARQUET_KIND_OTHER)
      continue;
    to->is_decided = true;
    if (kind == HSC_PARQUET_KIND_NUMBER) {
      to->numbers = hsc_alloc((rows + 1) * sizeof(double));
      status =
          to->numbers ? hsc_parquet_read_doubles(file, c, to->numbers) : hsc_status_out_of_memory();
      to->room = rows;
    } else {
      to->is_text = true;
      if (!texts)
        texts = hsc_alloc((rows + 1) * sizeof *texts);
      status = texts ? hsc_parquet_read_texts(file, c, texts) : hsc_status_out_of_memory();
      for (frame.row_count = 0; frame.row_count < rows && !status; frame.row_count++)
        status = hsc__frame_text(
            &frame, c, texts[frame.row_count].data ? texts[frame.row_count] : (hsc_view){"", 0});
    }
  }
  frame.row_count = rows;
  if (!status)
    status = hsc__frame_series(set, &frame, path, options);

done:
  if (status && !hsc_status_path(status))
    status = hsc_status_at(status, path, 0, 0, NULL);
  hsc_free(texts);
  hsc__frame_deinit(&frame);
  hsc_parquet_close(file);
  return status;
}
