// conform_call.c - calls of the plugin, and the same calls as C for whoever has to mend it.
//
// conform_fields.h knows the fields of every argument struct. So a call can be written down with
// what went in, and what came out gets a name that later calls use. What a field points to is known
// where it is text or a list of extents with a length beside it,
// where an earlier call returned it, or where the check said so (hsc__conform_name,
// hsc__conform_data).
#include <stdarg.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "lab/conform/conform_fields.h"
#include "lab/conform/conform_internal.h"

// The field that holds how many things `f` points to; NULL = none does.
static const conform_field *length_of(const conform_field *fields,
                                      size_t count,
                                      const conform_field *f) {
  char name[80];
  const char *const forms[] = {"%s_size", "num_%s", "%s_num_dims"};
  for (size_t form = 0; form < HSC_COUNT_OF(forms); form++) {
    snprintf(name, sizeof name, forms[form], f->name);
    for (size_t i = 0; i < count; i++)
      if (!strcmp(fields[i].name, name))
        return &fields[i];
  }
  for (size_t i = 0; i < count; i++)
    if (!strcmp(f->name, "shape_dims") && !strcmp(fields[i].name, "shape_num_dims"))
      return &fields[i];
  return NULL;
}

static void remember(hsc_conform *c, const void *pointer, const char *text) {
  if (!pointer || c->known_count == CONFORM_KNOWN_MAX)
    return;
  conform_known *k = &c->known[c->known_count++];
  k->pointer = pointer;
  snprintf(k->text, sizeof k->text, "%s", text);
}

const char *hsc__conform_known(const hsc_conform *c, const void *pointer) {
  for (int i = c->known_count - 1; i >= 0; i--)
    if (c->known[i].pointer == pointer)
      return c->known[i].text;
  return NULL;
}

void hsc__conform_step(hsc_conform *c, const char *format, ...) {
  if (c->steps.size > CONFORM_STEPS_BYTES)
    return;
  va_list args;
  va_start(args, format);
  hsc_bytes_append_text(&c->steps, "  ");
  hsc_bytes_printf_v(&c->steps, format, args);
  hsc_bytes_append_char(&c->steps, '\n');
  va_end(args);
}

conform_place hsc__conform_silence(hsc_conform *c) {
  conform_place place = {c->steps.size, c->call_count, c->known_count, c->steps_fd};
  c->steps_fd = -1;
  return place;
}

void hsc__conform_resume(hsc_conform *c, conform_place place) {
  c->steps.size = place.steps;
  c->call_count = place.calls;
  c->known_count = place.known;
  c->steps_fd = place.fd;
}

void hsc__conform_name(hsc_conform *c, const void *pointer, const char *format, ...) {
  char text[64];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  remember(c, pointer, text);
}

static void put_text(hsc_bytes *out, const char *text, size_t size) {
  hsc_bytes_append_char(out, '"');
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '"' || byte == '\\')
      hsc_bytes_printf(out, "\\%c", byte);
    else if (byte == '\n')
      hsc_bytes_append_text(out, i + 1 < size ? "\\n\"\n    \"" : "\\n");
    else if (byte < 32 || byte > 126)
      hsc_bytes_printf(out, "\\%03o", byte);
    else
      hsc_bytes_append_char(out, (char)byte);
  }
  hsc_bytes_append_char(out, '"');
}

void hsc__conform_data(hsc_conform *c, const void *data, size_t bytes) {
  enum { SHOWN = 64 };
  hsc_bytes text = {0};
  for (size_t i = 0; i < bytes && i < SHOWN; i++)
    hsc_bytes_printf(&text, "%s%d", i ? ", " : "", ((const unsigned char *)data)[i]);
  hsc__conform_step(c, "static _Alignas(64) unsigned char data%d[%zu] = {%s};%s", c->data_count,
                    bytes ? bytes : 1, hsc_bytes_text(&text),
                    bytes > SHOWN ? "  // the rest does not matter" : "");
  hsc__conform_name(c, data, "data%d", c->data_count++);
  hsc_bytes_deinit(&text);
}

static void put_input(hsc_conform *c,
                      const void *args,
                      const conform_field *fields,
                      size_t count,
                      const conform_field *f,
                      hsc_bytes *out) {
  uint64_t value = hsc__conform_value(args, f);
  if (!f->pointer) {
    if (value)
      hsc_bytes_printf(out, ", .%s = %lld", f->name, (long long)value);
    return;
  }
  const void *pointer;
  memcpy(&pointer, (const char *)args + f->offset, sizeof pointer);
  if (!pointer)
    return;
  hsc_bytes_printf(out, ", .%s = ", f->name);
  const char *name = hsc__conform_known(c, pointer);
  const conform_field *length = length_of(fields, count, f);
  if (name) {
    hsc_bytes_printf(out, "(void *)%s", name);
  } else if (length && !strcmp(f->type, "const char *")) {
    put_text(out, pointer, (size_t)hsc__conform_value(args, length));
  } else if (length && !strcmp(f->type, "const int64_t *")) {
    size_t n = (size_t)hsc__conform_value(args, length);
    hsc_bytes_append_text(out, "(int64_t[]){");
    for (size_t i = 0; i < n; i++)
      hsc_bytes_printf(out, "%s%lld", i ? ", " : "", (long long)((const int64_t *)pointer)[i]);
    hsc_bytes_append_text(out, n ? "}" : "0}");
  } else {
    hsc_bytes_append_text(out, "NULL /* see the check */");
  }
}

// What goes in; of what comes out, the memory that the caller names for it.
static bool is_given(const hsc_conform *c, const void *args, const conform_field *f) {
  const void *pointer;
  if (!f->out)
    return true;
  if (!f->pointer)
    return hsc__conform_value(args, f) != 0;
  memcpy(&pointer, (const char *)args + f->offset, sizeof pointer);
  return pointer && hsc__conform_known(c, pointer);
}

static void write_call(hsc_conform *c, hsc_pjrt_function function, void *args) {
  enum { ROOM = 40 };
  conform_field fields[ROOM];
  size_t count = hsc__conform_fields(function, fields, ROOM);
  const char *name = hsc_pjrt_function_get(function)->name;
  hsc_bytes line = {0};
  size_t struct_size;
  memcpy(&struct_size, args, sizeof struct_size);
  hsc_bytes_printf(&line, "CALL(a%d, %s, .struct_size = %zu", c->call_count, name, struct_size);
  for (size_t i = 0; i < count; i++)
    if (fields[i].offset + fields[i].bytes <= struct_size && is_given(c, args, &fields[i]))
      put_input(c, args, fields, count, &fields[i], &line);
  hsc_bytes_append_text(&line, ");");
  hsc__conform_step(c, "%s", hsc_bytes_text(&line));
  hsc_bytes_deinit(&line);
}

// What came out gets a name; so do the elements of lists of objects.
static void name_results(hsc_conform *c, hsc_pjrt_function function, const void *args) {
  enum { ROOM = 40, ELEMENTS = 8 };
  conform_field fields[ROOM];
  size_t count = hsc__conform_fields(function, fields, ROOM);
  size_t struct_size;
  memcpy(&struct_size, args, sizeof struct_size);
  for (size_t i = 0; i < count; i++) {
    const conform_field *f = &fields[i];
    const void *pointer;
    if (!f->out || !f->pointer || f->offset + f->bytes > struct_size)
      continue;
    memcpy(&pointer, (const char *)args + f->offset, sizeof pointer);
    hsc__conform_name(c, pointer, "a%d.%s", c->call_count, f->name);
    const conform_field *length = length_of(fields, count, f);
    if (!pointer || !length || !strstr(f->type, "*const *") || strstr(f->type, "char"))
      continue;
    for (size_t e = 0; e < (size_t)hsc__conform_value(args, length) && e < ELEMENTS; e++)
      hsc__conform_name(c, ((void *const *)pointer)[e], "a%d.%s[%zu]", c->call_count, f->name, e);
  }
}

bool hsc__conform_has(const hsc_conform *c, hsc_pjrt_function function) {
  const hsc_pjrt_function_info *info = hsc_pjrt_function_get(function);
  const void *slot;
  if (c->api->struct_size < info->offset + sizeof slot)
    return false;
  memcpy(&slot, (const char *)c->api + info->offset, sizeof slot);
  return slot != NULL;
}

PJRT_Error *hsc__conform_call(hsc_conform *c,
                              hsc_pjrt_function function,
                              void *args,
                              bool *out_called) {
  const hsc_pjrt_function_info *info = hsc_pjrt_function_get(function);
  *out_called = hsc__conform_has(c, function);
  if (!*out_called) {
    hsc__conform_absent(c, "%s is not in the table", info->name);
    return NULL;
  }
  PJRT_Error *(*call)(void *);
  memcpy(&call, (const char *)c->api + info->offset, sizeof call);
  write_call(c, function, args);
  hsc__conform_tell(c);
  PJRT_Error *error = call(args);
  if (!error)
    name_results(c, function, args);
  c->call_count++;
  return error;
}

// UNIMPLEMENTED says that the plugin does not have it; so does NOT_FOUND where XLA's wrapper looks
// for a compiler of a topology ("No compiler registered for platform ...").
static bool is_lack(hsc_pjrt_function function, PJRT_Error_Code code) {
  return code == PJRT_Error_Code_UNIMPLEMENTED ||
         (code == PJRT_Error_Code_NOT_FOUND &&
          (function == HSC_FN_PJRT_Compile ||
           function == HSC_FN_PJRT_TopologyDescription_Deserialize));
}

// Ends the check with that error, as what the plugin lacks or as what failed.
static void end_with(hsc_conform *c, const char *name, PJRT_Error *error, bool is_lacking) {
  hsc_bytes message = {0};
  hsc__conform_message(c, error, &message);
  if (is_lacking)
    hsc__conform_absent(c, "%s: %s", name, hsc_bytes_text(&message));
  else
    hsc__conform_fail(c, "%s failed: %s", name, hsc_bytes_text(&message));
  hsc_bytes_deinit(&message);
  hsc__conform_error_free(c, error);
}

static bool ok_or_absent(hsc_conform *c, hsc_pjrt_function function, void *args, bool may_lack) {
  bool called;
  PJRT_Error *error = hsc__conform_call(c, function, args, &called);
  if (!called || !error)
    return called;
  end_with(c, hsc_pjrt_function_get(function)->name, error,
           may_lack && is_lack(function, hsc__conform_code(c, error)));
  return false;
}

bool hsc__conform_went_well(hsc_conform *c, const char *function, PJRT_Error *error) {
  if (error)
    end_with(c, function, error, hsc__conform_code(c, error) == PJRT_Error_Code_UNIMPLEMENTED);
  return !error;
}

bool hsc__conform_ok(hsc_conform *c, hsc_pjrt_function function, void *args) {
  return ok_or_absent(c, function, args, !hsc_pjrt_function_get(function)->required);
}

bool hsc__conform_offered(hsc_conform *c, hsc_pjrt_function function, void *args) {
  return ok_or_absent(c, function, args, true);
}

// An error with a code and a message; freed.
static bool was_refused(
    hsc_conform *c, const char *name, PJRT_Error *error, const char *what, bool may_lack) {
  if (!error) {
    hsc__conform_fail(c, "%s took %s without an error", name, what);
    return false;
  }
  PJRT_Error_Code code = hsc__conform_code(c, error);
  hsc_bytes message = {0};
  hsc__conform_message(c, error, &message);
  bool has_text = message.size > 0;
  hsc_bytes_deinit(&message);
  hsc__conform_error_free(c, error);
  if (code == PJRT_Error_Code_UNIMPLEMENTED && may_lack) {
    hsc__conform_absent(c, "%s is not implemented", name);
    return false;
  }
  if (code == PJRT_Error_Code_OK || code > PJRT_Error_Code_UNAUTHENTICATED) {
    hsc__conform_fail(c, "%s returned an error of code %d for %s", name, (int)code, what);
    return false;
  }
  if (!has_text)
    hsc__conform_fail(c, "%s returned an error without a message for %s", name, what);
  return has_text;
}

bool hsc__conform_refused(hsc_conform *c,
                          hsc_pjrt_function function,
                          void *args,
                          const char *what) {
  bool called;
  PJRT_Error *error = hsc__conform_call(c, function, args, &called);
  const hsc_pjrt_function_info *info = hsc_pjrt_function_get(function);
  return called && was_refused(c, info->name, error, what, !info->required);
}

bool hsc__conform_was_refused(hsc_conform *c,
                              const char *function,
                              PJRT_Error *error,
                              const char *what) {
  return was_refused(c, function, error, what, true);
}

PJRT_Error_Code hsc__conform_code(const hsc_conform *c, const PJRT_Error *error) {
  PJRT_Error_GetCode_Args args = ARGS_OF(PJRT_Error_GetCode, .error = error);
  PJRT_Error *second = c->api->PJRT_Error_GetCode(&args);
  return second ? PJRT_Error_Code_UNKNOWN : args.code;
}

void hsc__conform_message(const hsc_conform *c, const PJRT_Error *error, hsc_bytes *out) {
  PJRT_Error_Message_Args args = ARGS_OF(PJRT_Error_Message, .error = error);
  c->api->PJRT_Error_Message(&args);
  enum { MOST = 300 };
  if (args.message)
    hsc_bytes_append(out, args.message, args.message_size < MOST ? args.message_size : MOST);
}

void hsc__conform_error_free(const hsc_conform *c, PJRT_Error *error) {
  PJRT_Error_Destroy_Args args = ARGS_OF(PJRT_Error_Destroy, .error = error);
  c->api->PJRT_Error_Destroy(&args);
}

static void conclude(hsc_conform *c,
                     hsc_conform_outcome outcome,
                     const char *format,
                     va_list args) {
  if (c->outcome != HSC_CONFORM_PASS)
    return;  // the first word counts
  c->outcome = outcome;
  hsc_bytes_printf_v(&c->seen, format, args);
}

void hsc__conform_fail(hsc_conform *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  conclude(c, HSC_CONFORM_FAIL, format, args);
  va_end(args);
}

void hsc__conform_absent(hsc_conform *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  conclude(c, HSC_CONFORM_NOT_OFFERED, format, args);
  va_end(args);
}

void hsc__conform_repro(const hsc_conform *c, const char *id, const char *rule, hsc_bytes *out) {
  if (c->call_count == 0)
    return;
  hsc_bytes_printf(
      out,
      "// %s: %s\n"
      "// cc repro.c -ldl && ./a.out PLUGIN.so      with xla/pjrt/c/pjrt_c_api.h on the include "
      "path\n"
      "#include <dlfcn.h>\n#include <stdio.h>\n#include \"xla/pjrt/c/pjrt_c_api.h\"\n\n"
      "static const PJRT_Api *api;\n"
      "static void say(const char *name, PJRT_Error *error) {\n"
      "  PJRT_Error_Message_Args m = {.struct_size = sizeof m, .error = error};\n"
      "  if (error) api->PJRT_Error_Message(&m);\n"
      "  printf(\"%%s: %%.*s\\n\", name, error ? (int)m.message_size : 2, error ? m.message : "
      "\"ok\");\n}\n"
      "#define CALL(a, function, ...) \\\n"
      "  function##_Args a = {__VA_ARGS__}; say(#function, api->function(&a))\n"
      "int main(int argc, char **argv) {\n"
      "  void *plugin = dlopen(argc > 1 ? argv[1] : \"\", RTLD_NOW);\n"
      "  const PJRT_Api *(*get)(void) = plugin ? (const PJRT_Api *(*)(void))dlsym(plugin, "
      "\"GetPjrtApi\") : NULL;\n"
      "  if (!get) return 1;\n"
      "  api = get();\n",
      id, rule);
  hsc_bytes_append(out, c->steps.data, c->steps.size);
  hsc_bytes_printf(out, "  // %s: %s\n  return 0;\n}\n", hsc_conform_outcome_text(c->outcome),
                   hsc_bytes_text(&c->seen));
}

const char *hsc_conform_outcome_text(hsc_conform_outcome outcome) {
  static const char *const texts[] = {"pass", "fail", "crash", "hang", "not_offered"};
  return texts[outcome];
}
