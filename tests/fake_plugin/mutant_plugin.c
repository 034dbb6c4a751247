// mutant_plugin.c - our plugin with one fault, for measuring what `hloscope conform` notices.
//
//   HLOSCOPE_MUTANT_OF=build/libhloscope_cpu_pjrt.so HLOSCOPE_MUTANT=FUNCTION:FAULT[:FIELD]
//
// Every function goes through one wrapper, which does the fault of the one that is named:
//   error        an error each time                     nothing      success, and nothing done
//   field:NAME   what it gives in that field is wrong: one more, not, or NULL
//   null:NAME    what it gives in that field is 0
//   after       writes eight bytes past the struct
//   deaf         takes a struct that is too short       late         sleeps two minutes
//   once         works at the first call, then fails    crash        ends the process with a signal
// HLOSCOPE_MUTANT_MARK=FILE: lines "called", and "changed" where a field came out otherwise, are
// added to it. mutant_list of the same library prints the names of all mutants, one a line.
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/conform/conform_fields.h"
#include "pjrt/abi.h"

enum { ROOM = 40, MINUTES_S = 120 };

static const PJRT_Api *real;
static PJRT_Api table;
static int mutated = -1;
static char fault[32];
static char faulty_field[64];

static PJRT_Error *call_real(hsc_pjrt_function function, void *args) {
  PJRT_Error *(*call)(void *);
  memcpy(&call, (const char *)real + hsc_pjrt_function_get(function)->offset, sizeof call);
  return call(args);
}

// An error of the real plugin's making: a function called with a struct that is too short.
static PJRT_Error *some_error(void) {
  PJRT_Plugin_Attributes_Args args = {.struct_size = sizeof(size_t)};
  return real->PJRT_Plugin_Attributes(&args);
}

// Leaves a file behind that says how far the mutant came: "called" or "changed".
static void mark(const char *what) {
  const char *path = getenv("HLOSCOPE_MUTANT_MARK");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  fprintf(file, "%s\n", what);
  fclose(file);
}

static void spoil(hsc_pjrt_function function, void *args, bool to_zero) {
  conform_field fields[ROOM];
  size_t count = hsc__conform_fields(function, fields, ROOM);
  size_t struct_size;
  memcpy(&struct_size, args, sizeof struct_size);
  for (size_t i = 0; i < count; i++) {
    const conform_field *f = &fields[i];
    if (strcmp(f->name, faulty_field) != 0 || f->offset + f->bytes > struct_size)
      continue;
    uint64_t value = hsc__conform_value(args, f);
    bool is_zeroed = to_zero || f->pointer;
    value = is_zeroed ? 0 : value + 1;
    if (!is_zeroed && !strcmp(f->type, "bool"))
      value = !(value - 1);
    if (memcmp((char *)args + f->offset, &value, f->bytes) != 0)
      mark("changed");
    memcpy((char *)args + f->offset, &value, f->bytes);
  }
}

static PJRT_Error *mutant(hsc_pjrt_function function, void *args) {
  static _Atomic int calls;
  size_t struct_size;
  memcpy(&struct_size, args, sizeof struct_size);
  mark("called");
  if (!strcmp(fault, "error"))
    return some_error();
  if (!strcmp(fault, "nothing"))
    return NULL;
  if (!strcmp(fault, "crash"))
    raise(SIGSEGV);
  if (!strcmp(fault, "late"))
    sleep(MINUTES_S);
  if (!strcmp(fault, "once") && atomic_fetch_add(&calls, 1) > 0)
    return some_error();
  if (!strcmp(fault, "deaf") && struct_size <= sizeof(size_t))
    return NULL;
  PJRT_Error *error = call_real(function, args);
  if (!strcmp(fault, "after") && struct_size > sizeof(size_t))
    memset((char *)args + struct_size, 0x77, sizeof(size_t));
  if (!error && (!strcmp(fault, "field") || !strcmp(fault, "null")))
    spoil(function, args, !strcmp(fault, "null"));
  return error;
}

#define FN(function, need, minor, doc) \
  static PJRT_Error *wrap_##function(void *args) { \
    return HSC_FN_##function == mutated ? mutant(HSC_FN_##function, args) \
                                        : call_real(HSC_FN_##function, args); \
  }
#include "pjrt/functions.def"
#undef FN

static PJRT_Error *(*const wrappers[])(void *) = {
#define FN(function, need, minor, doc) wrap_##function,
#include "pjrt/functions.def"
#undef FN
};

static void read_mutant(const char *text) {
  char name[96];
  size_t length = strcspn(text, ":");
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++)
    if (!strcmp(hsc_pjrt_function_get((hsc_pjrt_function)f)->name, name))
      mutated = f;
  text += length + (text[length] == ':');
  length = strcspn(text, ":");
  snprintf(fault, sizeof fault, "%.*s", (int)length, text);
  text += length + (text[length] == ':');
  snprintf(faulty_field, sizeof faulty_field, "%s", text);
}

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  const char *path = getenv("HLOSCOPE_MUTANT_OF");
  const char *text = getenv("HLOSCOPE_MUTANT");
  if (real)
    return &table;
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!symbol)
    return NULL;
  GetPjrtApi_Fn *get;
  memcpy(&get, &symbol, sizeof get);
  real = get();
  memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++)
    memcpy((char *)&table + hsc_pjrt_function_get((hsc_pjrt_function)f)->offset, &wrappers[f],
           sizeof wrappers[f]);
  if (text)
    read_mutant(text);
  return &table;
}

// Every mutant's name, one a line.
HSC_EXPORT void mutant_list(void);
void mutant_list(void) {
  static const char *const whole[] = {"error", "nothing", "after", "deaf", "late", "once", "crash"};
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const char *name = hsc_pjrt_function_get((hsc_pjrt_function)f)->name;
    conform_field fields[ROOM];
    size_t count = hsc__conform_fields((hsc_pjrt_function)f, fields, ROOM);
    for (size_t w = 0; w < HSC_COUNT_OF(whole); w++)
      printf("%s:%s\n", name, whole[w]);
    for (size_t i = 0; i < count; i++)
      if (fields[i].out) {
        printf("%s:field:%s\n", name, fields[i].name);
        if (!fields[i].pointer)
          printf("%s:null:%s\n", name, fields[i].name);
      }
  }
  fflush(stdout);
}
