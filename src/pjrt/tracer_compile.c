// tracer_compile.c - compilations: the program and its options as they came, what came out, and the
// limit of --max-compiles.
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "pjrt/tracer_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

// Writes bytes into the capture's folder programs/, once per content. A full disk must not stop the
// traced program: then the name stands for nothing.
static void keep(const char *name, const void *bytes, size_t size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/programs", hsc__tracing.output);
  hsc_status *status = hsc_dir_make(path);
  snprintf(path, sizeof path, "%s/programs/%s", hsc__tracing.output, name);
  if (!status && !hsc_file_exists(path))
    status = hsc_file_write_atomic(path, bytes, size);
  hsc_status_free(status);
}

static uint32_t keep_named(const void *bytes, size_t size, const char *ending) {
  char hex[33], name[80];
  hsc_hash128_hex(hsc_hash128_of(bytes, size, 0), hex);
  snprintf(name, sizeof name, "%s%s", hex, ending);
  keep(name, bytes, size);
  return hsc_recorder_intern(hsc__tracing.recorder, name);
}

// Keeps the program's bytes in the capture for the recompile ledger and for `hloscope run`.
static uint32_t keep_program(const PJRT_Program *program) {
  bool mlir = program->format_size == 4 && !memcmp(program->format, "mlir", 4);
  bool bytecode = mlir && program->code_size >= 4 && !memcmp(program->code, "ML\xefR", 4);
  const char *suffix = mlir ? ".mlir" : ".hlo.pb";
  return keep_named(program->code, program->code_size, bytecode ? ".mlirbc" : suffix);
}

// More compilations than HLOSCOPE_TRACE_MAX_COMPILES allows: the program is told to end, with what
// was recorded.
static void count_compile(void) {
  static _Atomic int64_t compiles;
  const char *text = getenv("HLOSCOPE_TRACE_MAX_COMPILES");
  int64_t most = text ? strtoll(text, NULL, 10) : 0;
  if (!most || atomic_fetch_add(&compiles, 1) < most)
    return;
  char line[160];
  snprintf(line, sizeof line,
           "hloscope: compilation %lld, and %lld are allowed: the program ends here\n",
           (long long)most + 1, (long long)most);
  ssize_t written = write(STDERR_FILENO, line, strlen(line));
  (void)written;
  kill(getpid(), SIGTERM);
}

uint64_t hsc__tracer_begin_compile(uint32_t call,
                                   const PJRT_Program *program,
                                   const void *options,
                                   size_t options_bytes) {
  const hsc__tracer_names *n = &hsc__tracing.known;
  if (!hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_COMPILE) || !program)
    return 0;
  hsc_trace_attr attrs[5] = {
      hsc__attr_string(n->program, keep_program(program)),
      hsc__attr_string(n->format, hsc__tracer_intern(program->format, program->format_size)),
      hsc__attr_int(n->program_bytes, (int64_t)program->code_size),
      hsc__attr_int(n->options_bytes, (int64_t)options_bytes)};
  int count = 4;
  if (options && options_bytes)
    attrs[count++] =
        hsc__attr_string(n->options, keep_named(options, options_bytes, ".options.pb"));
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_COMPILE, call, attrs, count);
  count_compile();
  return span;
}

// ---- what came out ------------------------------------------------------------------------------

typedef struct facts {
  hsc_trace_attr attrs[HSC_MAX_ATTRS];
  int count;
} facts;

static void add(facts *f, hsc_trace_attr attr) {
  if (f->count < HSC_MAX_ATTRS)
    f->attrs[f->count++] = attr;
}

static void add_bytes(facts *f, uint32_t key, int64_t bytes) {
  if (bytes >= 0)
    add(f, hsc__attr_int(key, bytes));
}

static void add_fingerprint(const hsc__tracer *t, PJRT_Executable *executable, facts *f) {
  if (!HSC__TRACED_HAS(t, PJRT_Executable_Fingerprint))
    return;
  PJRT_Executable_Fingerprint_Args args = {
      .struct_size = PJRT_Executable_Fingerprint_Args_STRUCT_SIZE, .executable = executable};
  PJRT_Error *error = t->real->PJRT_Executable_Fingerprint(&args);
  hsc__tracer_drop(t, error);
  if (error || !args.executable_fingerprint || !args.executable_fingerprint_size)
    return;
  // Some plugins give text, some raw bytes.
  char text[129];
  size_t size = args.executable_fingerprint_size;
  size_t length = 0;
  bool plain = true;
  for (size_t i = 0; i < size && plain; i++)
    plain = args.executable_fingerprint[i] > 0x20 && args.executable_fingerprint[i] < 0x7f;
  if (plain)
    length = (size_t)snprintf(text, sizeof text, "%.*s",
                              (int)(size < sizeof text - 1 ? size : sizeof text - 1),
                              args.executable_fingerprint);
  for (size_t i = 0; !plain && i < size && length + 2 < sizeof text; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, "%02x",
                               (unsigned char)args.executable_fingerprint[i]);
  add(f, hsc__attr_string(hsc__tracing.known.fingerprint, hsc__tracer_intern(text, length)));
}

static void add_optimized(const hsc__tracer *t, PJRT_Executable *executable, facts *f) {
  enum { MOST_BYTES = 1 << 28 };
  if (!HSC__TRACED_HAS(t, PJRT_Executable_OptimizedProgram))
    return;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  PJRT_Executable_OptimizedProgram_Args args = {
      .struct_size = PJRT_Executable_OptimizedProgram_Args_STRUCT_SIZE,
      .executable = executable,
      .program = &program};
  PJRT_Error *error = t->real->PJRT_Executable_OptimizedProgram(&args);
  if (!error && program.code_size > 0 && program.code_size <= MOST_BYTES &&
      (program.code = malloc(program.code_size)))
    error = t->real->PJRT_Executable_OptimizedProgram(&args);
  hsc__tracer_drop(t, error);
  if (!error && program.code) {
    // Its name says the form, as far as it is known: HloModuleProto, one with its configuration,
    // text.
    bool configured = program.format_size == 15 && !memcmp(program.format, "hlo_with_config", 15);
    bool proto = program.format_size == 3 && !memcmp(program.format, "hlo", 3);
    const char *suffix = proto ? ".optimized.hlo.pb" : ".optimized.mlir";
    if (configured)
      suffix = ".optimized.hlo_config.pb";
    add(f, hsc__attr_string(hsc__tracing.known.optimized,
                            keep_named(program.code, program.code_size, suffix)));
  }
  free(program.code);
}

static void add_cost(const hsc__tracer *t, PJRT_Executable *executable, facts *f) {
  if (!HSC__TRACED_HAS(t, PJRT_Executable_GetCostAnalysis))
    return;
  PJRT_Executable_GetCostAnalysis_Args args = {
      .struct_size = PJRT_Executable_GetCostAnalysis_Args_STRUCT_SIZE, .executable = executable};
  PJRT_Error *error = t->real->PJRT_Executable_GetCostAnalysis(&args);
  hsc__tracer_drop(t, error);
  for (size_t i = 0; !error && i < args.num_properties; i++) {
    const PJRT_NamedValue *value = &args.properties[i];
    bool flops = value->name_size == 5 && !memcmp(value->name, "flops", 5);
    bool accessed = value->name_size == 14 && !memcmp(value->name, "bytes accessed", 14);
    if ((flops || accessed) && value->type == PJRT_NamedValue_kFloat)
      add(f, hsc__attr_double(flops ? hsc__tracing.known.flops : hsc__tracing.known.bytes_accessed,
                              (double)value->float_value));
  }
}

static void add_memory(const hsc__tracer *t, PJRT_Executable *executable, facts *f) {
  if (!HSC__TRACED_HAS(t, PJRT_Executable_GetCompiledMemoryStats))
    return;
  const hsc__tracer_names *n = &hsc__tracing.known;
  // Preset: a plugin of an older version leaves the later fields alone.
  PJRT_Executable_GetCompiledMemoryStats_Args args = {
      .struct_size = PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE,
      .executable = executable,
      .generated_code_size_in_bytes = -1,
      .argument_size_in_bytes = -1,
      .output_size_in_bytes = -1,
      .temp_size_in_bytes = -1,
      .peak_memory_in_bytes = -1};
  PJRT_Error *error = t->real->PJRT_Executable_GetCompiledMemoryStats(&args);
  hsc__tracer_drop(t, error);
  if (error)
    return;
  add_bytes(f, n->code_bytes, args.generated_code_size_in_bytes);
  add_bytes(f, n->argument_bytes, args.argument_size_in_bytes);
  add_bytes(f, n->output_bytes, args.output_size_in_bytes);
  add_bytes(f, n->temp_bytes, args.temp_size_in_bytes);
  add_bytes(f, n->peak_bytes, args.peak_memory_in_bytes);
}

void hsc__tracer_note_compiled(const hsc__tracer *t, PJRT_Executable *executable, uint32_t name) {
  if (!executable || !hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_COMPILE))
    return;
  facts f = {.count = 0};
  add(&f, hsc__attr_string(hsc__tracing.known.executable, name));
  add_fingerprint(t, executable, &f);
  add_optimized(t, executable, &f);
  add_cost(t, executable, &f);
  add_memory(t, executable, &f);
  hsc_trace_instant(hsc__tracing.recorder, HSC_CATEGORY_COMPILE, hsc__tracing.known.compiled,
                    f.attrs, f.count);
}
