// check_script.c - settings that a Python program makes after they were read.
//
// A variable is read at a certain point: when its reader is imported, when its reader touches a
// device for the first time, or at every compilation. A setting is late when that point is
// above it. The rows of `readers` say who reads what when; what fits no row is not judged.
#include <ctype.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"

typedef enum read_when {
  AT_IMPORT,     // set after the import: not seen
  AT_FIRST_USE,  // set after the first device, array or compilation: not seen
  AT_COMPILE,    // read again at each compilation: never late
} read_when;
typedef enum framework { JAX = 1, TORCH_XLA = 2 } framework;

static const struct reader_row {
  const char *prefix;  // the first row that fits counts
  unsigned readers;    // frameworks that read it
  read_when when;
} readers[] = {
    {"JAX_", JAX, AT_IMPORT},
    {"XLA_PYTHON_CLIENT_", JAX, AT_FIRST_USE},
    {"XLA_CLIENT_", JAX, AT_FIRST_USE},
    {"XLA_FLAGS", JAX | TORCH_XLA, AT_FIRST_USE},
    {"XLA_FDO_PROFILE", JAX, AT_FIRST_USE},
    {"XLA_REGISTER_INSTALLED_PLUGINS", TORCH_XLA, AT_IMPORT},
    {"XLA_", TORCH_XLA, AT_FIRST_USE},
    {"PT_XLA_", TORCH_XLA, AT_FIRST_USE},
    {"PTXLA_", TORCH_XLA, AT_FIRST_USE},
    {"PJRT_NAMES_AND_LIBRARY_PATHS", JAX, AT_FIRST_USE},
    {"PJRT_DYNAMIC_PLUGINS", TORCH_XLA, AT_IMPORT},
    {"PJRT_", TORCH_XLA, AT_FIRST_USE},
    {"NEURON_CC_FLAGS", TORCH_XLA | JAX, AT_COMPILE},
    {"NEURON_COMPILE_CACHE_URL", TORCH_XLA | JAX, AT_COMPILE},
    {"NEURON_FRAMEWORK_DEBUG", TORCH_XLA | JAX, AT_COMPILE},
    {"NEURON_", TORCH_XLA | JAX, AT_FIRST_USE},
    {"LIBTPU_", TORCH_XLA | JAX, AT_FIRST_USE},
    {"TPU_", TORCH_XLA | JAX, AT_FIRST_USE},
    {"HLOSCOPE_OUTPUT_PATH", TORCH_XLA | JAX, AT_FIRST_USE},
};

// Packages whose import is the import of a reader as well.
static const struct import_row {
  const char *module;
  framework brings;
} imports[] = {{"jax", JAX},   {"jaxlib", JAX},  {"flax", JAX},           {"optax", JAX},
               {"haiku", JAX}, {"equinox", JAX}, {"torch_xla", TORCH_XLA}};

// What touches a device, as it is in a program. Names after "jnp." and "jax.random." make
// arrays; "jax.config." and decorators do not.
static const struct use_row {
  const char *text;
  framework of;
} uses[] = {{"jax.devices(", JAX},
            {"jax.local_devices(", JAX},
            {"jax.device_count(", JAX},
            {"jax.device_put(", JAX},
            {"jax.default_backend(", JAX},
            {"jnp.", JAX},
            {"jax.numpy.", JAX},
            {"jax.random.", JAX},
            {"jax.local_device_count(", JAX},
            {"xm.xla_device(", TORCH_XLA},
            {"torch_xla.device(", TORCH_XLA},
            {"xla_model.xla_device(", TORCH_XLA},
            {"xm.get_xla_supported_devices(", TORCH_XLA},
            {"xr.world_size(", TORCH_XLA}};

typedef struct sighting {
  int line;  // 0 = not seen
  char text[48];
} sighting;

typedef struct script {
  sighting imported[3];  // by framework
  sighting used[3];
} script;

// "XLA_FLAGS" out of `os.environ["XLA_FLAGS"] = ...`, os.environ.setdefault(...), os.putenv(...),
// os.environ.update({...}).
static bool setting_in(const char *row, char *out_name, size_t room) {
  const char *at = strstr(row, "environ");
  if (!at)
    at = strstr(row, "putenv");
  if (!at)
    return false;
  at += strcspn(at, "\"'");
  if (!*at)
    return false;
  size_t length = strcspn(at + 1, "\"'");
  snprintf(out_name, room, "%.*s", (int)length, at + 1);
  const char *rest = at + 1 + length;
  const char *bracket = strchr(rest, ']');
  const char *equals = bracket ? strchr(bracket, '=') : NULL;
  bool assigned = equals && equals[1] != '=';
  return strstr(row, "setdefault") || strstr(row, "putenv") || strstr(row, "update") || assigned;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

// Whether `import a.b as c, d` or `from a.b import c` names the module `a`.
static bool imports_module(const char *statement, const char *module) {
  size_t length = strlen(module);
  if (hsc_starts_with(statement, "from ")) {
    const char *name = statement + 5 + strspn(statement + 5, " ");
    return !strncmp(name, module, length) && !is_word(name[length]);
  }
  if (!hsc_starts_with(statement, "import "))
    return false;
  for (const char *at = statement + 7; *at; at += *at == ',') {
    at += strspn(at, " \t");
    if (!strncmp(at, module, length) && !is_word(at[length]))
      return true;
    at += strcspn(at, ",");
  }
  return false;
}

static void note(sighting *seen, int line, const char *text) {
  if (seen->line)
    return;
  seen->line = line;
  snprintf(seen->text, sizeof seen->text, "%.*s", (int)strcspn(text, "("), text);
}

// What is in a function is not run where it is; only lines of the program's own level and
// of its ifs, withs and loops count as uses.
static void look_at_row(script *s, const char *start, int line, bool in_function) {
  for (size_t i = 0; i < HSC_COUNT_OF(imports); i++)
    if (imports_module(start, imports[i].module))
      note(&s->imported[imports[i].brings], line, imports[i].module);
  if (in_function || *start == '@' || hsc_starts_with(start, "import ") ||
      hsc_starts_with(start, "from ") || hsc_starts_with(start, "def "))
    return;
  for (size_t i = 0; i < HSC_COUNT_OF(uses); i++) {
    const char *at = strstr(start, uses[i].text);
    if (at && (at == start || !is_word(at[-1])) && strchr(at, '('))
      note(&s->used[uses[i].of], line, at);
  }
}

// The first place at which the variable was read already; NULL = none above.
static const sighting *read_at(const script *s, const char *name, bool *out_import) {
  const sighting *first = NULL;
  const struct reader_row *row = NULL;
  for (size_t i = 0; !row && i < HSC_COUNT_OF(readers); i++)
    if (hsc_starts_with(name, readers[i].prefix))
      row = &readers[i];
  if (!row || row->when == AT_COMPILE)
    return NULL;
  *out_import = row->when == AT_IMPORT;
  for (unsigned of = JAX; of <= TORCH_XLA; of++) {
    if (!(row->readers & of))
      continue;
    const sighting *seen = row->when == AT_IMPORT ? &s->imported[of] : &s->used[of];
    if (seen->line && (!first || seen->line < first->line))
      first = seen;
  }
  return first;
}

void hsc__check_late_settings(hsc__check_context *cx) {
  if (!cx->options.script) {
    hsc__say(cx, HSC_VERDICT_NOT_APPLICABLE, "no script was given");
    return;
  }
  const char *text = hsc__read(cx, cx->options.script);
  if (!text) {
    hsc__say(cx, HSC_VERDICT_ERROR, "%s cannot be read", cx->options.script);
    hsc__fix(cx, "give the path of a Python program");
    return;
  }
  script seen = {0};
  int line = 0;
  int settings = 0;
  size_t function_indent = SIZE_MAX;  // of the def that the row lies in
  while (*text) {
    size_t length = strcspn(text, "\n");
    char row[1024];
    snprintf(row, sizeof row, "%.*s", (int)length, text);
    text += length + (text[length] == '\n');
    line++;
    size_t indent = strspn(row, " \t");
    char *start = row + indent;
    if (*start == '#' || !*start)
      continue;
    if (indent <= function_indent)
      function_indent = SIZE_MAX;
    bool in_function = function_indent != SIZE_MAX;
    if (!in_function && (hsc_starts_with(start, "def ") || hsc_starts_with(start, "async def ") ||
                         hsc_starts_with(start, "class ")))
      function_indent = indent;
    char name[64];
    if (setting_in(start, name, sizeof name) && hsc__env_is_known(name)) {
      bool at_import = false;
      const sighting *before = read_at(&seen, name, &at_import);
      settings++;
      if (before) {
        hsc__say(cx, HSC_VERDICT_WARNING, "%s:%d sets %s, which line %d (%s%s) has read already",
                 cx->options.script, line, name, before->line, at_import ? "import " : "",
                 before->text);
        hsc__fix(cx, "move line %d before line %d", line, before->line);
      }
    }
    look_at_row(&seen, start, line, in_function);
  }
  if (!cx->evidence.size)
    hsc__say(cx, HSC_VERDICT_OK, "%s: %d %s before the code that reads %s", cx->options.script,
             settings, hsc_plural(settings, "setting, and it stands", "settings, all of them"),
             hsc_plural(settings, "it", "them"));
}
