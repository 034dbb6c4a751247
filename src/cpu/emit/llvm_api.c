// llvm_api.c - see llvm_api.h.
#include "cpu/emit/llvm_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/files/places.h"

hsc_llvm_functions hsc_ll;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char problem[512];

#if defined(__aarch64__)
#define TARGET "AArch64"
#else
#define TARGET "X86"
#endif

static const struct {
  const char *name;
  size_t offset;
} functions[] = {
#define FN(name) {"LLVM" #name, offsetof(hsc_llvm_functions, name)},
#define TARGET_FN(name) \
  {"LLVMInitialize" TARGET #name, offsetof(hsc_llvm_functions, Initialize##name)},
#include "cpu/emit/llvm_functions.def"
#undef FN
#undef TARGET_FN
};

static void load(void) {
  const char *wanted = getenv("HLOSCOPE_LLVM_LIBRARY");
  static const char *const system[] = {"libLLVM.so.19.1",
                                       "libLLVM-19.so.1",
                                       "libLLVM-19.so",
                                       "libLLVM.so.19",
                                       "/usr/lib/llvm-19/lib/libLLVM.so.19.1",
                                       NULL};
  void *library = wanted && *wanted ? dlopen(wanted, RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (!library)
    library = hsc_place_open("libhloscope_llvm.so", system, RTLD_LAZY | RTLD_LOCAL, problem,
                             sizeof problem);
  if (!library)
    return;
  for (size_t i = 0; i < HSC_COUNT_OF(functions); i++) {
    void *address = dlsym(library, functions[i].name);
    if (!address) {
      snprintf(problem, sizeof problem, "libLLVM has no %s", functions[i].name);
      return;
    }
    memcpy((char *)&hsc_ll + functions[i].offset, &address, sizeof address);
  }
  hsc_ll.InitializeTargetInfo();
  hsc_ll.InitializeTarget();
  hsc_ll.InitializeTargetMC();
  hsc_ll.InitializeAsmPrinter();
  // Loop strength reduction takes a third of the time of code generation and finds nothing in loops
  // whose addresses are sums already. The optimising register allocator is worth its time even
  // where nothing else of code generation is.
  static const char *const arguments[] = {"hloscope", "-disable-lsr", "-optimize-regalloc"};
  hsc_ll.ParseCommandLineOptions(HSC_COUNT_OF(arguments), arguments, NULL);
  loaded = true;
}

hsc_status *hsc_llvm_load(void) {
  pthread_once(&once, load);
  if (loaded)
    return NULL;
  return hsc_status_hint(
      HSC_ERR(UNAVAILABLE, "LLVM 19, which compiles kernels, cannot be loaded: %s", problem),
      "apt-get install libllvm19");
}
