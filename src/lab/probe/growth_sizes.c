// growth_sizes.c - one program in several sizes: which file has which size, or copies of one file
// with a number replaced; and what the programs compute, counted.
//
// A file says its size by its parameters: the one dimension that differs between the files. A copy
// has every number of the text replaced that is the size: dimensions, bounds of loops and slices.
// That is a guess about what a number means, which the verifier checks, as in probe_cut.c. A
// symbolic dimension needs no guess: the program is read at each of the sizes.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/probe/growth_internal.h"

// What the user gave does not make sizes of one program: a usage error.
#define size_error(...) hsc_status_usage(HSC_ERR(INVALID_ARGUMENT, __VA_ARGS__))

// ---- counts -------------------------------------------------------------------------------------

static bool growth_cost(const hsc_module *module, hsc_cost *out_cost) {
  hsc_count count;
  hsc_status *status = hsc_module_count(module, &count);
  *out_cost = count.cost;
  bool known = !status && count.guessed_loops + count.guessed_branches == 0;
  hsc_status_free(status);
  return known;
}

// ---- sizes --------------------------------------------------------------------------------------

// "x.0": dimension 0 of parameter x, by its name or its number; "x" alone: its only dimension.
static hsc_status *named_size(const char *name, size_t length, const char *path, double *out) {
  hsc_module *module = NULL;
  hsc_bytes known = {0};
  HSC_TRY(hsc_program_read_file(path, &module));
  const hsc_computation *entry = module->entry;
  *out = NAN;
  for (int p = 0; p < entry->parameter_count; p++) {
    const hsc_instr *parameter = entry->parameters[p];
    const char *own = parameter->name;
    if (parameter->metadata && parameter->metadata->op_name && *parameter->metadata->op_name)
      own = parameter->metadata->op_name;
    for (int d = 0; hsc_shape_is_array(&parameter->shape) && d < parameter->shape.rank; d++) {
      char names[3][256];
      snprintf(names[0], sizeof names[0], "%s.%d", own, d);
      snprintf(names[1], sizeof names[1], "%d.%d", p, d);
      snprintf(names[2], sizeof names[2], "%s", parameter->shape.rank == 1 ? own : "");
      hsc_bytes_printf(&known, "%s%s=%lld", known.size ? ", " : "", names[0],
                       (long long)parameter->shape.dims[d]);
      for (int k = 0; k < 3; k++)
        if (strlen(names[k]) == length && !strncmp(names[k], name, length))
          *out = (double)parameter->shape.dims[d];
    }
  }
  hsc_status *status = NULL;
  if (isnan(*out))
    status = hsc_status_hint(size_error("%s has no dimension '%.*s'", path, (int)length, name),
                             "dimensions of its parameters: %s; or write the number that stands "
                             "for the size: --sizes 1000=1000,2000,4000",
                             known.size ? hsc_bytes_text(&known) : "none");
  else if (*out < 2)
    status = hsc_status_hint(
        size_error("%.*s is %.0f, which cannot be told from other numbers of the program",
                   (int)length, name, *out),
        "export the program in several sizes and give the files");
  hsc_bytes_deinit(&known);
  hsc_module_destroy(module);
  return status;
}

// Whether the program has dimensions without sizes, those that the user gives aside.
static bool is_symbolic(const hsc_growth_options *o, const char *path) {
  hsc_bytes bytes = {0};
  hsc_module *module = NULL;
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    status = hsc_program_read_sized(hsc_bytes_view(&bytes), path, o->dims, o->dim_count, &module);
  bool symbolic = status && hsc_status_code(status) == HSC_FAILED_PRECONDITION;
  hsc_status_free(status);  // what else is wrong with it is said where it is read
  hsc_module_destroy(module);
  hsc_bytes_deinit(&bytes);
  return symbolic;
}

hsc_status *hsc__growth_size_symbol(const hsc_growth_options *o,
                                    const char *name,
                                    double size,
                                    const char *directory,
                                    hsc_arena *arena,
                                    const char **out_path) {
  hsc_bytes bytes = {0};
  hsc_bytes written = {0};
  hsc_module *module = NULL;
  hsc_status *status = NULL;
  hsc_dim_size *dims = HSC_NEW_ARRAY(arena, hsc_dim_size, o->dim_count + 1);
  *out_path = hsc_arena_printf(arena, "%s/n%.0f.hlo.pb", directory, size);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < o->dim_count; i++)
    dims[i] = o->dims[i];
  dims[o->dim_count] = (hsc_dim_size){name, (int64_t)size};
  HSC_GOTO(hsc_file_read(o->programs[0], &bytes));
  HSC_GOTO(hsc_program_read_sized(hsc_bytes_view(&bytes), o->programs[0], dims, o->dim_count + 1,
                                  &module));
  HSC_GOTO(hsc_program_write(module, HSC_FORMAT_HLO_PROTO, &written));
  HSC_GOTO(hsc_file_write_atomic(*out_path, written.data, written.size));
done:
  hsc_module_destroy(module);
  hsc_bytes_deinit(&written);
  hsc_bytes_deinit(&bytes);
  return hsc_status_usage(status);
}

// What the sizes are of.
typedef struct size_source {
  double number;       // NAN: not a number in the program's text
  const char *symbol;  // a symbolic dimension; in the arena
} size_source;

static bool is_scaled(const size_source *source) {
  return source->symbol || !isnan(source->number);
}

static hsc_status *parse_sizes(const hsc_growth_options *o,
                               hsc_arena *arena,
                               size_source *source,
                               double *sizes,
                               size_t *count) {
  const char *text = o->sizes;
  const char *path = o->programs[0];
  const char *list = strchr(text, '=');
  double *out_from = &source->number;
  *out_from = NAN;
  *count = 0;
  if (list) {
    size_t length = (size_t)(list - text);
    *out_from = strspn(text, "0123456789") == length ? strtod(text, NULL) : NAN;
    if (is_symbolic(o, path)) {
      source->symbol = hsc_arena_strndup(arena, text, length);
      *out_from = NAN;
      HSC_TRY(hsc_arena_status(arena));
    } else if (o->dim_count)
      return size_error("%s has no symbolic dimension that --dim leaves for --sizes %s", path,
                        text);
    else if (isnan(*out_from))
      HSC_TRY(named_size(text, length, path, out_from));
    else if (!(*out_from >= 2))
      return hsc_status_hint(
          size_error("'%.*s' is not a size of a program", (int)(list - text), text),
          "write the number that stands for the size in the program: --sizes 1000=1000,2000,4000");
    list++;
  } else {
    list = text;
  }
  while (*list) {
    char *end;
    double size = strtod(list, &end);
    if (end == list || (*end && *end != ',') || !(size > 0) || size != floor(size) || size > 1e12)
      return size_error("--sizes: '%s' does not begin with a whole number above 0", list);
    if (*count == HSC__GROWTH_MOST_SIZES)
      return size_error("--sizes: more than %d", HSC__GROWTH_MOST_SIZES);
    sizes[(*count)++] = size;
    list = *end ? end + 1 : end;
  }
  return NULL;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '%' || c == '#';
}

// A number that stands by itself, or in a type of MLIR, where x divides dimensions.
static bool stands_alone(const char *text, size_t size, size_t at, size_t length) {
  char before = at ? text[at - 1] : ' ';
  char after = at + length < size ? text[at + length] : ' ';
  bool left = !is_word(before) || (before == 'x' && at > 1 && isdigit((unsigned char)text[at - 2]));
  bool dimension = before == '<' || before == 'x';
  bool right = !is_word(after) || (after == 'x' && dimension);
  return left && right;
}

static size_t replace_number(hsc_view text, double from, double to, hsc_bytes *out) {
  char old[32];
  int length = snprintf(old, sizeof old, "%.0f", from);
  size_t replaced = 0;
  for (size_t i = 0; i < text.size; i++) {
    bool fits = text.size - i >= (size_t)length && !memcmp(text.data + i, old, (size_t)length);
    if (!fits || !stands_alone(text.data, text.size, i, (size_t)length)) {
      hsc_bytes_append_char(out, text.data[i]);
      continue;
    }
    hsc_bytes_printf(out, "%.0f", to);
    i += (size_t)length - 1;
    replaced++;
  }
  return replaced;
}

static hsc_status *scale_program(const char *path,
                                 double from,
                                 hsc_view text,
                                 const char *directory,
                                 hsc_arena *arena,
                                 hsc__growth_size *size) {
  hsc_bytes scaled = {0};
  hsc_module *module = NULL;
  hsc_status *status = NULL;
  const char *ending = strrchr(path, '.');
  if (!replace_number(text, from, size->size, &scaled))
    HSC_GOTO(hsc_status_hint(
        size_error("%s: the number %.0f does not occur in it", path, from),
        "name a size that it has; binary programs are made text by hloscope convert"));
  HSC_GOTO(hsc_bytes_status(&scaled));
  status = hsc_program_read(hsc_bytes_view(&scaled), path, &module);
  if (status) {
    status = hsc_status_hint(
        hsc_status_note(hsc_status_usage(status),
                        "%.0f in place of %.0f: the program does not scale so", size->size, from),
        "export it in several sizes and give the files: hloscope probe --exponent n1.mlir n2.mlir");
    goto done;
  }
  size->path = hsc_arena_printf(arena, "%s/n%.0f%s", directory, size->size,
                                ending && !strchr(ending, '/') ? ending : ".hlo");
  HSC_GOTO(hsc_arena_status(arena));
  HSC_GOTO(hsc_file_write_atomic(size->path, scaled.data, scaled.size));
done:
  hsc_module_destroy(module);
  hsc_bytes_deinit(&scaled);
  return status;
}

// The dimension of the parameters that differs between the files; all that differ must be alike.
static hsc_status *sizes_of_files(hsc_module *const *modules, size_t count, double *sizes) {
  const hsc_computation *first = modules[0]->entry;
  bool found = false;
  for (size_t f = 1; f < count; f++)
    if (modules[f]->entry->parameter_count != first->parameter_count)
      return size_error(
          "the files are not one program in several sizes: they have "
          "%d and %d parameters",
          first->parameter_count, modules[f]->entry->parameter_count);
  for (int p = 0; p < first->parameter_count; p++) {
    const hsc_shape *shape = &first->parameters[p]->shape;
    for (int d = 0; hsc_shape_is_array(shape) && d < shape->rank; d++) {
      double here[HSC__GROWTH_MOST_SIZES];
      bool differs = false;
      for (size_t f = 0; f < count; f++) {
        const hsc_shape *other = &modules[f]->entry->parameters[p]->shape;
        here[f] = other->rank == shape->rank ? (double)other->dims[d] : NAN;
        differs |= here[f] != here[0];
      }
      if (!differs)
        continue;
      for (size_t f = 0; found && f < count; f++)
        if (here[f] != sizes[f])
          return hsc_status_hint(size_error("several sizes differ between the files"),
                                 "say which size each has: --sizes 1000,2000,4000");
      memcpy(sizes, here, count * sizeof *sizes);
      found = true;
    }
  }
  if (!found)
    return hsc_status_hint(size_error("the files' parameters have the same sizes"),
                           "say which size each file has: --sizes 1000,2000,4000");
  return NULL;
}

static int by_size(const void *a, const void *b) {
  double x = ((const hsc__growth_size *)a)->size;
  double y = ((const hsc__growth_size *)b)->size;
  return (x > y) - (x < y);
}

static hsc_status *check_sizes(hsc__growth_size *sizes, size_t count) {
  qsort(sizes, count, sizeof *sizes, by_size);
  for (size_t i = 0; i < count; i++)
    if (!(sizes[i].size > 0) || (i && sizes[i].size == sizes[i - 1].size))
      return size_error("two programs have the size %.0f; each needs its own", sizes[i].size);
  return NULL;
}

hsc_status *hsc__growth_sizes(const hsc_growth_options *o,
                              const char *directory,
                              hsc_arena *arena,
                              hsc__growth_size *sizes,
                              size_t *out_count,
                              const char **out_symbol) {
  static const char *const how =
      "give the program in several sizes (hloscope probe --exponent n1.mlir n2.mlir n3.mlir), or "
      "one file and the number in it, or the dimension of a parameter, that is the size: --sizes "
      "1000=1000,2000,4000, --sizes x.0=1000,2000,4000; of a program with symbolic shapes the "
      "dimension: --sizes b=8,16,32";
  hsc_module *modules[HSC__GROWTH_MOST_SIZES] = {0};
  double values[HSC__GROWTH_MOST_SIZES];
  size_source source = {.number = NAN};
  size_t value_count = 0;
  size_t count = o->program_count;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  if (count > HSC__GROWTH_MOST_SIZES)
    return size_error("more than %d programs", HSC__GROWTH_MOST_SIZES);
  if (o->sizes)
    HSC_TRY(parse_sizes(o, arena, &source, values, &value_count));
  bool scaled = is_scaled(&source);
  if (scaled && count != 1)
    return size_error("--sizes %s scales one program, not %zu", o->sizes, count);
  if (!scaled && o->sizes && value_count != count && count > 1)
    return size_error("--sizes names %zu sizes for %zu files", value_count, count);
  if ((scaled ? value_count : count) < 2)
    return hsc_status_hint(size_error("one size has no exponent"), "%s", how);
  if (scaled) {
    HSC_GOTO(hsc_file_read(o->programs[0], &text));
    count = value_count;
  }
  for (size_t i = 0; i < count; i++) {
    sizes[i] = (hsc__growth_size){.size = o->sizes ? values[i] : NAN, .path = o->programs[0]};
    if (source.symbol)
      HSC_GOTO(
          hsc__growth_size_symbol(o, source.symbol, values[i], directory, arena, &sizes[i].path));
    else if (scaled)
      HSC_GOTO(scale_program(o->programs[0], source.number, hsc_bytes_view(&text), directory, arena,
                             &sizes[i]));
    else
      sizes[i].path = o->programs[i];
    HSC_GOTO(hsc_program_read_file(sizes[i].path, &modules[i]));
    sizes[i].cost_known = growth_cost(modules[i], &sizes[i].cost);
  }
  if (!o->sizes) {
    HSC_GOTO(sizes_of_files(modules, count, values));
    for (size_t i = 0; i < count; i++)
      sizes[i].size = values[i];
  }
  HSC_GOTO(check_sizes(sizes, count));
  *out_count = count;
  *out_symbol = source.symbol;
done:
  for (size_t i = 0; i < HSC__GROWTH_MOST_SIZES; i++)
    hsc_module_destroy(modules[i]);
  hsc_bytes_deinit(&text);
  return status;
}

hsc_status *hsc_growth_programs(const hsc_growth_options *o,
                                const char *directory,
                                hsc_arena *arena,
                                hsc_growth_program **out_programs,
                                size_t *out_count) {
  hsc__growth_size sizes[HSC__GROWTH_MOST_SIZES];
  const char *symbol;
  HSC_TRY(hsc__growth_sizes(o, directory, arena, sizes, out_count, &symbol));
  *out_programs = HSC_NEW_ARRAY(arena, hsc_growth_program, *out_count);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < *out_count; i++)
    (*out_programs)[i] = (hsc_growth_program){.path = sizes[i].path, .size = sizes[i].size};
  return NULL;
}
