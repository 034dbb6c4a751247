// cache_why.c - see cache_why.h.
#include "lab/cache_why.h"

#include <sys/stat.h>

#include "base/disk_cache.h"
#include "formats/formats.h"

typedef enum side_kind { SIDE_ENTRY, SIDE_NEURON, SIDE_JAX_LOG, SIDE_PROGRAM } side_kind;
static const char *const kind_texts[] = {"an entry of hloscope's cache", "a module of Neuron's cache", "a log of JAX", "a program"};
static const char JAX_LINE[] = "get_cache_key hash of serialized ";

// A side is a list of inputs in order, and maybe a program.
typedef struct side {
  const char *path;
  side_kind kind;
  hsc_bytes text;       // lines "name\tvalue\n"
  hsc_module *module;   // NULL = none, or not readable
} side;

static void put(side *s, const char *name, hsc_view value) {
  hsc_bytes_printf(&s->text, "%s\t%.*s\n", name, (int)value.size, value.data);
}

// ---- reading a side ---------------------------------------------------------------------------------------------------------------------------

static hsc_status *read_entry(side *s) {
  hsc_bytes key = {0}, information = {0};
  hsc_status *status = hsc_disk_cache_read(s->path, &key, &information, NULL);
  for (const char *at = hsc_bytes_text(&key); !status && *at;) {
    size_t length = strcspn(at, "\n"), name = strcspn(at, " \n");
    char what[64];
    snprintf(what, sizeof what, "%.*s", (int)name, at);
    put(s, what, name < length ? (hsc_view){at + name + 1, length - name - 1} : (hsc_view){"", 0});
    at += length + (at[length] == '\n');
  }
  hsc_bytes_deinit(&key);
  hsc_bytes_deinit(&information);
  return status;
}

// ["--target=trn1", "-O2"]: each flag is an input by its name.
static void put_flags(side *s, const char *text) {
  for (const char *at = text; (at = strchr(at, '"'));) {
    size_t length = strcspn(++at, "\"");
    size_t name = strcspn(at, "=\"");
    char what[128];
    snprintf(what, sizeof what, "flag %.*s", (int)(name < length ? name : length), at);
    put(s, what, name < length ? (hsc_view){at + name + 1, length - name - 1} : HSC_VIEW("given"));
    at += length;
    if (*at) at++;
  }
}

static void read_program(side *s, const char *path) {
  hsc_status *status = hsc_program_read_file(path, &s->module);
  if (status) s->module = NULL;
  hsc_status_free(status);
}

static hsc_status *read_neuron(side *s) {
  const char *end = s->path + strlen(s->path);
  while (end > s->path && end[-1] == '/') end--;
  const char *name = end;
  while (name > s->path && name[-1] != '/') name--;
  const char *compiler_end = name > s->path ? name - 1 : name, *compiler = compiler_end;
  while (compiler > s->path && compiler[-1] != '/') compiler--;
  if (hsc_starts_with(compiler, "neuronxcc-")) put(s, "compiler", (hsc_view){compiler, (size_t)(compiler_end - compiler)});
  const char *plus = memchr(name, '+', (size_t)(end - name));
  put(s, "program", (hsc_view){name + 7, (size_t)((plus ? plus : end) - name) - 7});
  if (plus) put(s, "flags", (hsc_view){plus + 1, (size_t)(end - plus) - 1});
  static const char *const flag_files[] = {"compile_flags.json", "compile_flags.txt"}, *const programs[] = {"model.hlo_module.pb", "model.hlo.pb", "model.hlo_module.pb.gz"};
  for (size_t i = 0; i < HSC_COUNT_OF(flag_files); i++) {
    hsc_bytes path = {0}, text = {0};
    hsc_bytes_printf(&path, "%s/%s", s->path, flag_files[i]);
    hsc_status *status = hsc_file_read(hsc_bytes_text(&path), &text);
    if (!status) put_flags(s, hsc_bytes_text(&text));
    hsc_status_free(status);
    hsc_bytes_deinit(&path);
    hsc_bytes_deinit(&text);
  }
  for (size_t i = 0; i < HSC_COUNT_OF(programs) && !s->module; i++) {
    hsc_bytes path = {0};
    hsc_bytes_printf(&path, "%s/%s", s->path, programs[i]);
    if (hsc_file_exists(hsc_bytes_text(&path))) read_program(s, hsc_bytes_text(&path));
    hsc_bytes_deinit(&path);
  }
  return hsc_bytes_status(&s->text);
}

static const char *value_of(const side *s, const char *name, size_t name_length, size_t *out_length);

// The last line of each input counts: a process compiles many programs, the last is the one that is asked about.
static hsc_status *read_jax_log(side *s, const char *text) {
  for (const char *at = text; (at = strstr(at, JAX_LINE));) {
    at += sizeof JAX_LINE - 1;
    size_t line = strcspn(at, "\n"), name = strcspn(at, ":\n");
    if (name + 2 > line) continue;
    size_t old_length;
    const char *old = value_of(s, at, name, &old_length);
    hsc_view value = {at + name + 2, strspn(at + name + 2, "0123456789abcdef")};
    char what[64];
    snprintf(what, sizeof what, "%.*s", (int)name, at);
    if (!old) put(s, what, value);
    else if (old_length == value.size) memcpy(s->text.data + (old - s->text.data), value.data, value.size);
  }
  return hsc_bytes_status(&s->text);
}

static void put_program_facts(side *s) {
  if (!s->module) return;
  char fingerprint[33];
  hsc_bytes shapes = {0};
  hsc_hash128_hex(hsc_module_fingerprint(s->module), fingerprint);
  put(s, "fingerprint", hsc_view_of(fingerprint));
  for (int p = 0; p < s->module->entry->parameter_count; p++) {
    if (p) hsc_bytes_append_text(&shapes, ", ");
    hsc_shape_print(&s->module->entry->parameters[p]->shape, false, &shapes);
  }
  put(s, "parameters", hsc_bytes_view(&shapes));
  hsc_bytes_reset(&shapes);
  hsc_bytes_printf(&shapes, "%lld", (long long)hsc_module_instr_count(s->module));
  put(s, "instructions", hsc_bytes_view(&shapes));
  hsc_bytes_deinit(&shapes);
}

static hsc_status *read_side(const char *path, side *s) {
  struct stat info;
  s->path = path;
  if (stat(path, &info)) return HSC_ERR(NOT_FOUND, "%s: there is no such entry, folder or file", path);
  if (S_ISDIR(info.st_mode)) {
    const char *name = strstr(path, "MODULE_");
    if (!name) return HSC_ERR(INVALID_ARGUMENT, "%s: a folder, but not one of Neuron's modules (MODULE_...)", path);
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
  if (strstr(hsc_bytes_text(&text), JAX_LINE)) {
    s->kind = SIDE_JAX_LOG;
    hsc_status *status = read_jax_log(s, hsc_bytes_text(&text));
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

// ---- comparing --------------------------------------------------------------------------------------------------------------------------------

static const char *value_of(const side *s, const char *name, size_t name_length, size_t *out_length) {
  for (const char *at = hsc_bytes_text(&s->text); *at;) {
    size_t line = strcspn(at, "\n"), tab = strcspn(at, "\t");
    if (tab == name_length && !memcmp(at, name, tab)) {
      *out_length = line - tab - 1;
      return at + tab + 1;
    }
    at += line + (at[line] == '\n');
  }
  return NULL;
}

static void add_row(hsc_table *table, const char *name, size_t name_length, const char *a, size_t a_length, const char *b, size_t b_length, bool *same) {
  bool equal = a && b && a_length == b_length && !memcmp(a, b, a_length);
  hsc_table_row(table);
  hsc_table_printf(table, "%.*s", (int)name_length, name);
  if (a) hsc_table_printf(table, "%.*s", (int)a_length, a);
  else hsc_table_missing(table);
  if (b) hsc_table_printf(table, "%.*s", (int)b_length, b);
  else hsc_table_missing(table);
  hsc_table_text(table, equal ? "yes" : "NO");
  *same &= equal;
}

// The first line in which two programs differ, as XLA prints them without names of source lines.
static void note_first_difference(hsc_table *table, const side *a, const side *b) {
  if (!a->module || !b->module) return;
  hsc_bytes x = {0}, y = {0};
  const hsc_print_options options = {.no_metadata = true, .no_layouts = true};
  hsc_module_print(a->module, &options, &x);
  hsc_module_print(b->module, &options, &y);
  const char *p = hsc_bytes_text(&x), *q = hsc_bytes_text(&y);
  int line = 1;
  for (p += strcspn(p, "\n"), q += strcspn(q, "\n"); *p && *q; line++) {   // the first line names the module
    size_t n = strcspn(p + 1, "\n"), m = strcspn(q + 1, "\n");
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

static hsc_status *fill(hsc_table *table, const side *a, const side *b, bool *out_same) {
  static const char *const columns[] = {"input", "first", "second", "same"};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++) hsc_table_column(table, columns[i], "");
  *out_same = true;
  for (int pass = 0; pass < 2; pass++) {   // all of the first, then what only the second has
    const side *from = pass ? b : a, *other = pass ? a : b;
    for (const char *at = hsc_bytes_text(&from->text); *at;) {
      size_t line = strcspn(at, "\n"), tab = strcspn(at, "\t"), length = 0;
      const char *value = value_of(other, at, tab, &length);
      if (!pass) add_row(table, at, tab, at + tab + 1, line - tab - 1, value, length, out_same);
      else if (!value) add_row(table, at, tab, NULL, 0, at + tab + 1, line - tab - 1, out_same);
      at += line + (at[line] == '\n');
    }
  }
  note_first_difference(table, a, b);
  if (*out_same) hsc_table_note(table, "nothing differs: the second should have been found; if it was not, it was removed, damaged, or looked for elsewhere");
  return NULL;
}

hsc_status *hsc_cache_why(const char *first_path, const char *second_path, hsc_table **out_table, bool *out_same) {
  side sides[2] = {{0}};
  hsc_status *status = NULL;
  *out_table = NULL;
  HSC_GOTO(read_side(first_path, &sides[0]));
  HSC_GOTO(read_side(second_path, &sides[1]));
  if (sides[0].kind != sides[1].kind)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "%s is %s, %s is %s: two of a kind are needed", first_path, kind_texts[sides[0].kind], second_path, kind_texts[sides[1].kind]));
  HSC_GOTO(hsc_table_create("why", out_table));
  HSC_GOTO(fill(*out_table, &sides[0], &sides[1], out_same));
done:
  for (int i = 0; i < 2; i++) {
    hsc_bytes_deinit(&sides[i].text);
    hsc_module_destroy(sides[i].module);
  }
  return status;
}
