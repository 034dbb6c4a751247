// tracer_preload.c - puts the tracer in front of every plugin of a process:
// LD_PRELOAD=libhloscope_pjrt_tracer.so.
//
// Frameworks load plugins with dlopen and ask dlsym for "GetPjrtApi"; we answer that one question
// and pass all others on. The vendor's library stays where it is and what it is. dlsym looks at its
// return address for RTLD_DEFAULT and RTLD_NEXT, so those calls must not go through a function of
// ours: a trampoline in assembly jumps on with the caller's stack untouched.
//
// Also usable as the plugin itself: with HLOSCOPE_TRACED_PLUGIN naming the real library, GetPjrtApi
// of this one answers with the wrapped table (TPU_LIBRARY_PATH, NEURON_LIBRARY_PATH and the like
// point here then).
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/base.h"
#include "pjrt/tracer.h"

typedef void *(*dlsym_function)(void *handle, const char *name);

__attribute__((visibility("hidden"))) dlsym_function hsc__real_dlsym;

__attribute__((visibility("hidden"), used)) void *hsc__find_real_dlsym(void) {
  if (!hsc__real_dlsym) {
    static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.17"};
    void *found = NULL;
    for (size_t i = 0; i < HSC_COUNT_OF(versions) && !found; i++)
      found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&hsc__real_dlsym, &found, sizeof found);
  }
  return (void *)hsc__real_dlsym;
}

__attribute__((constructor)) static void find_early(void) {
  hsc__find_real_dlsym();
}

// Called by the trampoline for real handles and names that begin with G.
__attribute__((visibility("hidden"), used)) void *hsc__dlsym_of_handle(void *handle,
                                                                       const char *name) {
  hsc__find_real_dlsym();
  void *found = hsc__real_dlsym(handle, name);
  if (!found || strcmp(name, "GetPjrtApi"))
    return found;
  GetPjrtApi_Fn *get_api;
  memcpy(&get_api, &found, sizeof found);
  extern const PJRT_Api *GetPjrtApi(void);
  if (get_api == GetPjrtApi)
    return found;  // ourselves, as a plugin
  Dl_info info = {0};
  dladdr(found, &info);
  GetPjrtApi_Fn *entry = hsc_tracer_entry(get_api, info.dli_fname);
  if (entry)
    memcpy(&found, &entry, sizeof found);
  return found;
}

#if defined(__x86_64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym,@function\ndlsym:\n"
    "  endbr64\n"
    "  cmpq $0, hsc__real_dlsym(%rip)\n"
    "  je 3f\n"
    "1:\n"
    "  lea 1(%rdi), %rax\n"  // RTLD_NEXT is -1, RTLD_DEFAULT is 0
    "  cmp $1, %rax\n"
    "  jbe 2f\n"
    "  test %rsi, %rsi\n"
    "  je 2f\n"
    "  cmpb $0x47, (%rsi)\n"  // 'G'
    "  je hsc__dlsym_of_handle\n"
    "2:\n"
    "  jmp *hsc__real_dlsym(%rip)\n"
    "3:\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  sub $8, %rsp\n"
    "  call hsc__find_real_dlsym\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  jmp 1b\n"
    ".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl dlsym\n.type dlsym,%function\ndlsym:\n"
    "  adrp x16, hsc__real_dlsym\n"
    "  ldr x16, [x16, :lo12:hsc__real_dlsym]\n"
    "  cbz x16, 3f\n"
    "1:\n"
    "  add x17, x0, #1\n"
    "  cmp x17, #1\n"
    "  b.ls 2f\n"
    "  cbz x1, 2f\n"
    "  ldrb w17, [x1]\n"
    "  cmp w17, #0x47\n"
    "  b.eq hsc__dlsym_of_handle\n"
    "2:\n"
    "  br x16\n"
    "3:\n"
    "  stp x0, x1, [sp, #-32]!\n"
    "  str x30, [sp, #16]\n"
    "  bl hsc__find_real_dlsym\n"
    "  mov x16, x0\n"
    "  ldr x30, [sp, #16]\n"
    "  ldp x0, x1, [sp], #32\n"
    "  b 1b\n"
    ".size dlsym, .-dlsym\n");
#endif

HSC_EXPORT const PJRT_Api *GetPjrtApi(void) {
  const char *path = getenv("HLOSCOPE_TRACED_PLUGIN");
  void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return NULL;
  void *found = hsc__real_dlsym(library, "GetPjrtApi");
  GetPjrtApi_Fn *get_api;
  memcpy(&get_api, &found, sizeof found);
  return found ? hsc_tracer_wrap(get_api, path) : NULL;
}

// For programs that load plugins themselves (the Python package): the table of the library at
// `path`, wrapped. NULL when it cannot be loaded or is no plugin; dlerror says why.
HSC_EXPORT const PJRT_Api *hsc_tracer_wrap_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *found = library ? hsc__real_dlsym(library, "GetPjrtApi") : NULL;
  GetPjrtApi_Fn *get_api;
  memcpy(&get_api, &found, sizeof found);
  return found ? hsc_tracer_wrap(get_api, path) : NULL;
}

// The same for a plugin that is loaded and in use. False when `path` is none, or cannot be wrapped.
HSC_EXPORT bool hsc_tracer_attach(const char *path, const char *platform) {
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  void *found = library ? hsc__real_dlsym(library, "GetPjrtApi") : NULL;
  extern const PJRT_Api *GetPjrtApi(void);
  GetPjrtApi_Fn *get_api;
  memcpy(&get_api, &found, sizeof found);
  return found && get_api != GetPjrtApi && hsc_tracer_attach_to(get_api, path, platform);
}
