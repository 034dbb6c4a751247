// cache_why.c - see cache_why.h.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "lab/cache_why/cache_why.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/disk_cache.h"
#include "base/wire/wire.h"
#include "lab/cache_why/cache_why_internal.h"

static const char *const kind_texts[] = {"an entry of hloscope's cache",
                                         "a module of Neuron's cache", "a log of JAX", "a program"};

static void put(why_side *s, const char *name, hsc_view value) {
  hsc__why_put(&s->text, name, value);
}

// ---- reading a side -----------------------------------------------------------------------------

// "--a=1 --b": each flag is an input by its name.
static void put_flags_of_variable(why_side *s, const char *variable, hsc_view flags) {
  char what[192];
  for (size_t at = 0; at < flags.size;) {
    const char *flag = flags.data + at;
    size_t length = 0;
    size_t name = 0;
    while (at + length < flags.size && flag[length] != ' ')
      length++;
    while (name < length && flag[name] != '=')
      name++;
    snprintf(what, sizeof what, "%s %.*s", variable, (int)name, flag);
    if (length)
      put(s, what,
          name < length ? (hsc_view){flag + name + 1, length - name - 1} : HSC_VIEW("given"));
    at += length + 1;
  }
}

// CompileOptionsProto, field numbers as in pjrt/pjrt_options.c: replicas, partitions, and each
// override by its name; what else there is as a hash.
static void put_override(why_side *s, hsc_view entry) {
  hsc_wire in = hsc_wire_of(entry);
  char what[192] = "option ";
  char value[64] = "";
  hsc_view text = {NULL, 0};
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      snprintf(what, sizeof what, "option %.*s", (int)f.bytes.size, f.bytes.data);
    if (f.number != 2)
      continue;
    hsc_wire inner = hsc_wire_of(f.bytes);
    for (hsc_wire_field v; hsc_wire_next(&inner, &v);) {
      if (v.number == 1)
        text = v.bytes;
      if (v.number == 2)
        snprintf(value, sizeof value, "%s", v.value ? "true" : "false");
      if (v.number == 3)
        snprintf(value, sizeof value, "%lld", (long long)v.value);
      if (v.number == 4)
        snprintf(value, sizeof value, "%.17g", hsc_wire_double(&v));
    }
  }
  put(s, what, text.data ? text : hsc_view_of(value));
}

static void put_options(why_side *s, hsc_view hex) {
  hsc_bytes bytes = {0};
  hsc_bytes rest = {0};
  for (size_t i = 0; i + 1 < hex.size; i += 2) {
    char digits[3] = {hex.data[i], hex.data[i + 1], 0};
    hsc_bytes_append_char(&bytes, (char)strtol(digits, NULL, 16));
  }
  hsc_wire in = hsc_wire_of(hsc_bytes_view(&bytes));
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    char number[32];
    if (f.number == 7 && f.type == HSC_WIRE_BYTES) {
      put_override(s, f.bytes);
    } else if (f.number == 3 && f.type == HSC_WIRE_BYTES) {
      hsc_wire inner = hsc_wire_of(f.bytes);
      for (hsc_wire_field v; hsc_wire_next(&inner, &v);) {
        snprintf(number, sizeof number, "%lld", (long long)v.value);
        if (v.number == 4)
          put(s, "replicas", hsc_view_of(number));
        else if (v.number == 5)
          put(s, "partitions", hsc_view_of(number));
        else if (v.type == HSC_WIRE_BYTES)
          hsc_bytes_append(&rest, v.bytes.data, v.bytes.size);
        else
          hsc_bytes_append(&rest, &v.value, sizeof v.value);
      }
    } else if (f.type == HSC_WIRE_BYTES) {
      hsc_bytes_append(&rest, f.bytes.data, f.bytes.size);
    } else {
      hsc_bytes_append(&rest, &f.value, sizeof f.value);
    }
  }
  if (rest.size || in.error) {
    char hash[33];
    hsc_hash128_hex(hsc_hash128_of(in.error ? hsc_bytes_text(&bytes) : rest.data,
                                   in.error ? bytes.size : rest.size, 0),
                    hash);
    put(s, "other options", hsc_view_of(hash));
  }
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&rest);
}

static hsc_status *read_entry(why_side *s) {
  static const char *const flag_variables[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "NEURON_CC_FLAGS"};
  hsc_status *status = hsc_disk_cache_read(s->path, &s->key, NULL, NULL);
  for (const char *at = hsc_bytes_text(&s->key); !status && *at;) {
    size_t length = strcspn(at, "\n");
    size_t name = strcspn(at, " \n");
    char what[64];
    bool flags = false;
    snprintf(what, sizeof what, "%.*s", (int)name, at);
    hsc_view value =
        name < length ? (hsc_view){at + name + 1, length - name - 1} : (hsc_view){"", 0};
    for (size_t i = 0; i < HSC_COUNT_OF(flag_variables); i++)
      flags |= !strcmp(what, flag_variables[i]);
    bool hex = !strcmp(what, "options") && value.size % 2 == 0;
    for (size_t i = 0; i < value.size && hex; i++)
      hex = strchr("0123456789abcdef", value.data[i]) != NULL;
    if (flags)
      put_flags_of_variable(s, what, value);
    else if (hex)
      put_options(s, value);
    else
      put(s, what, value);
    at += length + (at[length] == '\n');
  }
  return status;
}

// ["--target=trn1", "-O2"]: each flag is an input by its name.
static void put_flags(why_side *s, const char *text) {
  for (const char *at = text; (at = strchr(at, '"'));) {
    size_t length = strcspn(++at, "\"");
    size_t name = strcspn(at, "=\"");
    char what[128];
    snprintf(what, sizeof what, "flag %.*s", (int)(name < length ? name : length), at);
    put(s, what, name < length ? (hsc_view){at + name + 1, length - name - 1} : HSC_VIEW("given"));
    at += length;
    if (*at)
      at++;
  }
}

static void read_program(why_side *s, const char *path) {
  hsc_status *status = hsc_program_read_file(path, &s->module);
  if (status)
    s->module = NULL;
  hsc_status_free(status);
}

static hsc_status *read_neuron(why_side *s) {
  const char *end = s->path + strlen(s->path);
  while (end > s->path && end[-1] == '/')
    end--;
  const char *name = end;
  while (name > s->path && name[-1] != '/')
    name--;
  const char *compiler_end = name > s->path ? name - 1 : name;
  const char *compiler = compiler_end;
  while (compiler > s->path && compiler[-1] != '/')
    compiler--;
  if (hsc_starts_with(compiler, "neuronxcc-"))
    put(s, "compiler", (hsc_view){compiler, (size_t)(compiler_end - compiler)});
  const char *plus = memchr(name, '+', (size_t)(end - name));
  put(s, "program", (hsc_view){name + 7, (size_t)((plus ? plus : end) - name) - 7});
  if (plus)
    put(s, "flags", (hsc_view){plus + 1, (size_t)(end - plus) - 1});
  static const char *const flag_files[] = {"compile_flags.json", "compile_flags.txt"};
  static const char *const programs[] = {"model.hlo_module.pb", "model.hlo.pb",
                                         "model.hlo_module.pb.gz"};
  for (size_t i = 0; i < HSC_COUNT_OF(flag_files); i++) {
    hsc_bytes path = {0};
    hsc_bytes text = {0};
    hsc_bytes_printf(&path, "%s/%s", s->path, flag_files[i]);
    hsc_status *status = hsc_file_read_regular(hsc_bytes_text(&path), &text);
    if (!status)
      put_flags(s, hsc_bytes_text(&text));
    hsc_status_free(status);
    hsc_bytes_deinit(&path);
    hsc_bytes_deinit(&text);
  }
  for (size_t i = 0; i < HSC_COUNT_OF(programs) && !s->module; i++) {
    hsc_bytes path = {0};
    hsc_bytes_printf(&path, "%s/%s", s->path, programs[i]);
    if (hsc_file_exists(hsc_bytes_text(&path)))
      read_program(s, hsc_bytes_text(&path));
    hsc_bytes_deinit(&path);
  }
  return hsc_bytes_status(&s->text);
}

static void put_program_facts(why_side *s) {
  if (!s->module)
    return;
  char fingerprint[33];
  hsc_bytes shapes = {0};
  hsc_hash128_hex(hsc_module_fingerprint(s->module), fingerprint);
  put(s, "fingerprint", hsc_view_of(fingerprint));
  for (int p = 0; p < s->module->entry->parameter_count; p++) {
    if (p)
      hsc_bytes_append_text(&shapes, ", ");
    hsc_shape_print(&s->module->entry->parameters[p]->shape, false, &shapes);
  }
  put(s, "parameters", hsc_bytes_view(&shapes));
  hsc_bytes_reset(&shapes);
  hsc_bytes_printf(&shapes, "%lld", (long long)hsc_module_instr_count(s->module));
  put(s, "instructions", hsc_bytes_view(&shapes));
  hsc_bytes_deinit(&shapes);
}

static hsc_status *read_side(const char *path, why_side *s) {
  struct stat info;
  s->path = path;
  if (stat(path, &info))
    return HSC_ERR(NOT_FOUND, "%s: there is no such entry, folder or file", path);
  if (S_ISDIR(info.st_mode)) {
    const char *name = strstr(path, "MODULE_");
    if (!name)
      return HSC_ERR(INVALID_ARGUMENT, "%s: a folder, but not one of Neuron's modules (MODULE_...)",
                     path);
    s->kind = SIDE_NEURON;
    HSC_TRY(read_neuron(s));
    put_program_facts(s);
    return hsc_bytes_status(&s->text);
  }
  if (hsc_ends_with(path, ".hsx")) {
    s->kind = SIDE_ENTRY;
    return read_entry(s);
  }
  hsc_bytes text = {0};
  HSC_TRY(hsc_file_read(path, &text));
  if (hsc__why_is_jax_log(hsc_bytes_text(&text))) {
    s->kind = SIDE_JAX_LOG;
    hsc_status *status = hsc__why_read_jax_log(s, hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
    return status;
  }
  s->kind = SIDE_PROGRAM;
  hsc_status *status = hsc_program_read(hsc_bytes_view(&text), path, &s->module);
  hsc_bytes_deinit(&text);
  HSC_TRY_NOTE(status, "while: reading %s as an entry (.hsx), a log of JAX, or a program", path);
  put_program_facts(s);
  return hsc_bytes_status(&s->text);
}

// ---- comparing ----------------------------------------------------------------------------------

// The first line in which two programs differ, as XLA prints them without names of source lines.
static void note_first_difference(hsc_table *table, const why_side *a, const why_side *b) {
  if (!a->module || !b->module)
    return;
  hsc_bytes x = {0};
  hsc_bytes y = {0};
  const hsc_print_options options = {.no_metadata = true, .no_layouts = true};
  hsc_module_print(a->module, &options, &x);
  hsc_module_print(b->module, &options, &y);
  const char *p = hsc_bytes_text(&x);
  const char *q = hsc_bytes_text(&y);
  int line = 1;
  // the first line names the module
  for (p += strcspn(p, "\n"), q += strcspn(q, "\n"); *p && *q; line++) {
    size_t n = strcspn(p + 1, "\n");
    size_t m = strcspn(q + 1, "\n");
    if (n != m || memcmp(p + 1, q + 1, n)) {
      hsc_table_note(table, "the programs differ first in line %d:", line + 1);
      hsc_table_note(table, "  first  %.*s", (int)(n > 300 ? 300 : n), p + 1);
      hsc_table_note(table, "  second %.*s", (int)(m > 300 ? 300 : m), q + 1);
      break;
    }
    p += 1 + n;
    q += 1 + m;
  }
  hsc_bytes_deinit(&x);
  hsc_bytes_deinit(&y);
}

static hsc_status *fill(hsc_table *table, const why_side *a, const why_side *b, bool *out_same) {
  static const char *const columns[] = {"program", "input", "first", "second", "same"};
  bool programs = a->kind == SIDE_JAX_LOG;
  for (size_t i = programs ? 0 : 1; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i], "");
  *out_same = true;
  if (programs) {
    hsc__why_jax_programs(table, a, b, out_same);
    return NULL;
  }
  hsc__why_rows(table, NULL, hsc_bytes_text(&a->text), hsc_bytes_text(&b->text), out_same);
  note_first_difference(table, a, b);
  if (*out_same && !hsc_view_equals(hsc_bytes_view(&a->key), hsc_bytes_view(&b->key))) {
    *out_same = false;
    hsc_table_note(
        table, "the flags are the same, but in another order, and the key has them as they stand");
  }
  if (*out_same)
    hsc_table_note(table,
                   "nothing differs: the second should have been found; if it was not, it was "
                   "removed, damaged, or looked for elsewhere");
  return NULL;
}

hsc_status *hsc_cache_why(const char *first_path,
                          const char *second_path,
                          hsc_table **out_table,
                          bool *out_same) {
  why_side sides[2] = {{0}};
  hsc_status *status = NULL;
  *out_table = NULL;
  HSC_GOTO(read_side(first_path, &sides[0]));
  HSC_GOTO(read_side(second_path, &sides[1]));
  if (sides[0].kind != sides[1].kind)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "%s is %s, %s is %s: two of a kind are needed", first_path,
                     kind_texts[sides[0].kind], second_path, kind_texts[sides[1].kind]));
  HSC_GOTO(hsc_table_create("why", out_table));
  HSC_GOTO(fill(*out_table, &sides[0], &sides[1], out_same));
done:
  for (int i = 0; i < 2; i++) {
    hsc_bytes_deinit(&sides[i].text);
    hsc_bytes_deinit(&sides[i].key);
    hsc__why_jax_deinit(&sides[i]);
    hsc_module_destroy(sides[i].module);
  }
  return status;
}
