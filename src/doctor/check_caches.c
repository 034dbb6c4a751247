// check_caches.c - compile caches: there, writable, how large, and what in them is of no use any
// more.
#include <stdlib.h>
#include <unistd.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"

enum { LOOK_NS = 1000000000 };

// Size and whether it can be written; false when it is not there.
static bool describe(hsc__check_context *cx, const char *what, const char *path) {
  if (!hsc__exists(path))
    return false;
  int64_t bytes, files;
  bool whole = hsc__tree_size(path, LOOK_NS, &bytes, &files);
  hsc__say(cx, HSC_VERDICT_OK, "%s %s: %s%s in %lld %s", what, path, whole ? "" : "more than ",
           hsc__bytes_text(cx, (double)bytes), (long long)files,
           hsc_plural((double)files, "file", "files"));
  if (access(path, W_OK)) {
    hsc__say(cx, HSC_VERDICT_ERROR, "it cannot be written: every program compiles again");
    hsc__fix(cx, "make %s writable, or choose another directory", path);
  }
  if (bytes > INT64_C(50) << 30) {
    hsc__say(cx, HSC_VERDICT_WARNING, "it is large");
    hsc__fix(cx, "hloscope cache prune");
  }
  return true;
}

static const char *neuron_cache_dir(hsc__check_context *cx) {
  const char *flags = hsc__env(cx, "NEURON_CC_FLAGS");
  const char *url = hsc__env(cx, "NEURON_COMPILE_CACHE_URL");
  const char *given = flags ? strstr(flags, "--cache_dir") : NULL;
  if (given) {
    given += strlen("--cache_dir");
    given += strspn(given, "= ");
    return hsc__path(cx, "%.*s", (int)strcspn(given, " "), given);
  }
  if (url && *url == '/')
    return hsc__path(cx, "%s", url);
  if (url && hsc_starts_with(url, "s3://"))
    return NULL;
  return hsc__path(cx, "/var/tmp/neuron-compile-cache");
}

void hsc__check_neuron_cache(hsc__check_context *cx) {
  const char *directory = neuron_cache_dir(cx);
  if (!directory) {
    hsc__say(cx, HSC_VERDICT_OK, "the cache is in an object store: %s",
             hsc__env(cx, "NEURON_COMPILE_CACHE_URL"));
    return;
  }
  if (!describe(cx, "Neuron's cache", directory))
    return;
  hsc__python python;
  const hsc__package *compiler =
      hsc__python_find(cx, &python) ? hsc__python_package(&python, "neuronx-cc") : NULL;
  const char *versions[64];
  size_t count = hsc__list(cx, directory, "neuronxcc-", versions, HSC_COUNT_OF(versions));
  size_t failed = 0;
  size_t modules = 0;
  size_t stale = 0;
  size_t unfinished = 0;
  for (size_t v = 0; v < count; v++) {
    const char **names = HSC_NEW_ARRAY(cx->arena, const char *, 4096);
    size_t in_version = names ? hsc__list(cx, hsc__path(cx, "%s/%s", directory, versions[v]),
                                          "MODULE_", names, 4096)
                              : 0;
    modules += in_version;
    if (compiler && strcmp(versions[v] + strlen("neuronxcc-"), compiler->version) != 0)
      stale += in_version;
    for (size_t i = 0; i < in_version; i++) {
      const char *module = hsc__path(cx, "%s/%s/%s", directory, versions[v], names[i]);
      bool done = hsc__exists(hsc__path(cx, "%s/model.done", module));
      bool neff = hsc__exists(hsc__path(cx, "%s/model.neff", module));
      if (done && !neff)
        failed++;
      else if (!done)
        unfinished++;
    }
  }
  hsc__say(cx, HSC_VERDICT_OK, "%zu %s of %zu %s", modules,
           hsc_plural((double)modules, "module", "modules"), count,
           hsc_plural((double)count, "compiler version", "compiler versions"));
  if (failed) {
    hsc__say(cx, HSC_VERDICT_WARNING, "%zu of them %s not be tried again", failed,
             hsc_plural((double)failed, "is a remembered failure that will",
                        "are remembered failures that will"));
    hsc__fix(cx, "NEURON_CC_FLAGS=--retry_failed_compilation for one run");
  }
  if (unfinished)
    hsc__say(cx, HSC_VERDICT_OK, "%zu are being compiled or were left unfinished", unfinished);
  if (stale) {
    hsc__say(cx, HSC_VERDICT_WARNING, "%zu %s than the installed neuronx-cc %s", stale,
             hsc_plural((double)stale, "is of another version", "are of other versions"),
             compiler->version);
    hsc__fix(cx, "remove the folders of versions that you no longer use");
  }
}

void hsc__check_jax_cache(hsc__check_context *cx) {
  const char *directory = hsc__env(cx, "JAX_COMPILATION_CACHE_DIR");
  if (!directory || !*directory) {
    hsc__python python;
    if (hsc__python_find(cx, &python) && hsc__python_package(&python, "jax"))
      hsc__say(
          cx, HSC_VERDICT_OK,
          "not set up: JAX_COMPILATION_CACHE_DIR=DIR would keep compiled programs between runs");
    return;
  }
  if (strstr(directory, "://")) {
    hsc__say(cx, HSC_VERDICT_OK, "in an object store: %s", directory);
    return;
  }
  if (describe(cx, "JAX's cache", hsc__path(cx, "%s", directory)))
    return;
  hsc__say(cx, HSC_VERDICT_WARNING, "JAX_COMPILATION_CACHE_DIR=%s is not there yet", directory);
  hsc__fix(cx, "JAX makes it at the first compile over a second; the parent must be writable");
}

void hsc__check_hloscope_cache(hsc__check_context *cx) {
  const char *own = hsc__env(cx, "HLOSCOPE_CACHE_DIR");
  const char *base = hsc__env(cx, "XDG_CACHE_HOME");
  const char *home = hsc__env(cx, "HOME");
  const char *directory;
  if (own && *own)
    directory = hsc__path(cx, "%s", own);
  else if (base && *base)
    directory = hsc__path(cx, "%s/hloscope", base);
  else if (home && *home)
    directory = hsc__path(cx, "%s/.cache/hloscope", home);
  else
    directory = NULL;
  if (!directory) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "there is no home directory to keep compiled programs and results in");
    hsc__fix(cx, "set HLOSCOPE_CACHE_DIR");
    return;
  }
  if (!describe(cx, "hloscope's cache", directory))
    hsc__say(cx, HSC_VERDICT_OK, "%s is made when it is needed", directory);
}
