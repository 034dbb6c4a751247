// doctor_internal.h - what checks are written with.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "doctor/doctor.h"

typedef struct hsc__check_context {
  hsc_check_options options;
  hsc_arena *arena;
  // of a fake root: NAME=value, separated by NUL or newline; NULL = the process's own
  const char *environment;
  size_t environment_size;
  // a python whose environment is meant; NULL = the one that python3 would run in
  const char *python;
  hsc_verdict verdict;
  hsc_bytes evidence, fix;
} hsc__check_context;

// Adds a piece of evidence; the check's verdict is the worst of its pieces.
void hsc__say(hsc__check_context *cx, hsc_verdict verdict, const char *format, ...)
    HSC_PRINTF(3, 4);
// Adds what to do.
void hsc__fix(hsc__check_context *cx, const char *format, ...) HSC_PRINTF(2, 3);
const char *hsc__env(const hsc__check_context *cx, const char *name);  // NULL = not set
// Calls `each` for every NAME=value of the environment.
void hsc__each_env(hsc__check_context *cx,
                   void (*each)(hsc__check_context *cx, const char *name, const char *value));
bool hsc__env_is_known(const char *name);  // a row of env_names.def
// below the root
const char *hsc__path(hsc__check_context *cx, const char *format, ...) HSC_PRINTF(2, 3);
bool hsc__exists(const char *path);
// A small file as text (at most 1 MiB); NULL = not there. In the arena.
const char *hsc__read(hsc__check_context *cx, const char *path);
const char *hsc__read_line(hsc__check_context *cx, const char *path);  // its first line
// Names in a directory that begin with `prefix`, sorted, at most `room`. Returns how many.
size_t hsc__list(hsc__check_context *cx,
                 const char *directory,
                 const char *prefix,
                 const char **names,
                 size_t room);
// Size and number of the files below a directory, looked at for at most `limit_ns`; false = stopped
// early.
bool hsc__tree_size(const char *directory,
                    int64_t limit_ns,
                    int64_t *out_bytes,
                    int64_t *out_files);
const char *hsc__bytes_text(hsc__check_context *cx, double bytes);  // "1.5 GiB"

// ---- Python environments (python_site.c) ----
typedef struct hsc__package {
  const char *name;  // as pip writes it, lower case with '-'
  const char *version;
  const char *site;      // directory that holds it
  const char *metadata;  // its METADATA, "" = unreadable
} hsc__package;
typedef struct hsc__python {
  const char *prefix;  // "/opt/venv", as found
  const char *how;     // "VIRTUAL_ENV", "CONDA_PREFIX", "python3 on PATH"
  const char *sites[8];
  size_t site_count;
  hsc__package *packages;  // those that concern XLA
  size_t package_count;
} hsc__python;
// The environment that `python3` would run in: HLOSCOPE_PYTHON, VIRTUAL_ENV, CONDA_PREFIX, python3
// on PATH. False = none. Starts no Python.
bool hsc__python_find(hsc__check_context *cx, hsc__python *out_python);
// NULL = not installed
const hsc__package *hsc__python_package(const hsc__python *python, const char *name);
// Compares versions as pip does, for release numbers: -1, 0, 1. A local part (+cu121) is ignored;
// 2.0rc1 < 2.0.
int hsc__version_compare(const char *a, const char *b);
// Whether `version` satisfies "<=0.4.30,>=0.4.28".
bool hsc__version_satisfies(const char *version, const char *specifiers);

#define CHECK(id, function, group, when, limit_ms, doc) \
  void hsc__check_##function(hsc__check_context *cx);
#include "doctor/checks.def"
#undef CHECK
