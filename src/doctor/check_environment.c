// check_environment.c - environment variables and compiler flags: misspelt, obsolete,
// contradicting.
#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"

static const char *const known_names[] = {
#define ENV(name, what) #name,
#include "doctor/env_names.def"
#undef ENV
};

// Names that begin like this are ours to know; others belong to other worlds.
static const char *const prefixes[] = {
    "XLA_",         "JAX_",    "PJRT_", "PT_XLA_",  "NEURON_CC_", "NEURON_RT_", "NEURON_COMPILE_",
    "NEURON_PJRT_", "LIBTPU_", "TPU_",  "HLOSCOPE_"};

static const struct obsolete_row {
  const char *name, *instead;
} obsolete[] = {
    {"JAX_PLATFORM_NAME", "JAX_PLATFORMS does the same"},
    {"XLA_USE_BF16", "gone since torch_xla 2.6: convert the model with .to(torch.bfloat16)"},
    {"XLA_DOWNCAST_BF16", "gone since torch_xla 2.6: convert the model with .to(torch.bfloat16)"},
    {"XRT_TPU_CONFIG", "XRT is gone: set PJRT_DEVICE=TPU"},
    {"XRT_DEVICE_MAP", "XRT is gone: set PJRT_DEVICE"},
    {"XRT_WORKERS", "XRT is gone: set PJRT_DEVICE"},
    {"GPU_NUM_DEVICES", "torch_xla no longer supports CUDA by itself"},
    {"USE_TORCH_XLA_EXPERIMENTAL", "no version reads it"}};

bool hsc__env_is_known(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(known_names); i++)
    if (!strcmp(known_names[i], name))
      return true;
  return false;
}

static void one_variable(hsc__check_context *cx, const char *name, const char *value) {
  for (size_t i = 0; i < HSC_COUNT_OF(obsolete); i++) {
    if (strcmp(name, obsolete[i].name) != 0)
      continue;
    hsc__say(cx, HSC_VERDICT_WARNING, "%s is obsolete", name);
    hsc__fix(cx, "%s: %s", name, obsolete[i].instead);
    return;
  }
  if (hsc__env_is_known(name)) {
    hsc__say(cx, HSC_VERDICT_OK, "%s=%.80s%s", name, value, strlen(value) > 80 ? "..." : "");
    return;
  }
  bool ours = false;
  for (size_t i = 0; i < HSC_COUNT_OF(prefixes); i++)
    ours |= hsc_starts_with(name, prefixes[i]);
  const char *near = hsc_did_you_mean(name, known_names, HSC_COUNT_OF(known_names));
  if (near && strlen(near) > 5 && (ours || !strncasecmp(name, near, 4))) {
    hsc__say(cx, HSC_VERDICT_WARNING, "%s is read by nothing; did you mean %s?", name, near);
    hsc__fix(cx, "set %s, unset %s", near, name);
  } else if (ours) {
    hsc__say(cx, HSC_VERDICT_OK, "%s is set and not known here", name);
  }
}

static bool is_on(const char *value) {
  return value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

static void contradictions_of_gpus(hsc__check_context *cx) {
  const char *platforms = hsc__env(cx, "JAX_PLATFORMS");
  const char *cuda = hsc__env(cx, "CUDA_VISIBLE_DEVICES");
  if (platforms && strstr(platforms, "gpu")) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "JAX_PLATFORMS=%s: 'gpu' is an alias that fails where no GPU plugin is installed",
             platforms);
    hsc__fix(cx, "JAX_PLATFORMS=cuda,cpu (or rocm,cpu)");
  }
  if (platforms && (strstr(platforms, "cuda") || strstr(platforms, "gpu")) && cuda && !*cuda) {
    hsc__say(cx, HSC_VERDICT_ERROR, "JAX_PLATFORMS wants a GPU, but CUDA_VISIBLE_DEVICES is empty");
    hsc__fix(cx, "unset CUDA_VISIBLE_DEVICES or give it numbers");
  }
}

static void contradictions_of_memory(hsc__check_context *cx) {
  const char *fraction = hsc__env(cx, "XLA_PYTHON_CLIENT_MEM_FRACTION");
  const char *preallocate = hsc__env(cx, "XLA_PYTHON_CLIENT_PREALLOCATE");
  const char *allocator = hsc__env(cx, "XLA_PYTHON_CLIENT_ALLOCATOR");
  double share = fraction ? strtod(fraction, NULL) : 1;
  if (share > 1 || share <= 0) {
    hsc__say(cx, HSC_VERDICT_ERROR, "XLA_PYTHON_CLIENT_MEM_FRACTION=%s is no share between 0 and 1",
             fraction);
    hsc__fix(cx, "XLA_PYTHON_CLIENT_MEM_FRACTION=.75");
  }
  if (preallocate && !is_on(preallocate) && allocator && !strcmp(allocator, "platform")) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "the allocator 'platform' asks the driver for every buffer: slow");
    hsc__fix(cx, "unset XLA_PYTHON_CLIENT_ALLOCATOR when memory is not what you look for");
  }
}

// torch_xla's choice of a device.
static void contradictions_of_pjrt_device(hsc__check_context *cx) {
  static const char *const devices[] = {"CPU", "TPU", "NEURON", "XPU", "CUDA", "HLOSCOPE", "GPU"};
  const char *device = hsc__env(cx, "PJRT_DEVICE");
  if (!device || !*device)
    return;
  bool known = false;
  for (size_t i = 0; i < HSC_COUNT_OF(devices); i++)
    known |= !strcmp(device, devices[i]);
  const char *near = known ? NULL : hsc_did_you_mean(device, devices, HSC_COUNT_OF(devices));
  if (near) {
    hsc__say(cx, HSC_VERDICT_ERROR, "PJRT_DEVICE=%s: no such device; did you mean %s?", device,
             near);
    hsc__fix(cx, "PJRT_DEVICE=%s", near);
  }
  if (!strcmp(device, "CUDA") || !strcmp(device, "GPU")) {
    hsc__say(cx, HSC_VERDICT_WARNING, "PJRT_DEVICE=%s: torch_xla 2.9 has no CUDA device any more",
             device);
    hsc__fix(cx, "use torch itself on CUDA, or an older torch_xla");
  }
}

static void contradictions(hsc__check_context *cx) {
  const char *cores = hsc__env(cx, "NEURON_RT_VISIBLE_CORES");
  const char *core_count = hsc__env(cx, "NEURON_RT_NUM_CORES");
  const char *cache = hsc__env(cx, "JAX_COMPILATION_CACHE_DIR");
  const char *cache_on = hsc__env(cx, "JAX_ENABLE_COMPILATION_CACHE");
  const char *without_jit = hsc__env(cx, "JAX_DISABLE_JIT");
  contradictions_of_gpus(cx);
  contradictions_of_memory(cx);
  if (cores && core_count) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "NEURON_RT_VISIBLE_CORES and NEURON_RT_NUM_CORES are both set; the first wins");
    hsc__fix(cx, "unset one of them");
  }
  contradictions_of_pjrt_device(cx);
  if (cache && *cache && cache_on && !is_on(cache_on)) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "JAX_COMPILATION_CACHE_DIR is set, but JAX_ENABLE_COMPILATION_CACHE switches the "
             "cache off");
    hsc__fix(cx, "unset JAX_ENABLE_COMPILATION_CACHE");
  }
  if (without_jit && is_on(without_jit)) {
    hsc__say(cx, HSC_VERDICT_WARNING, "JAX_DISABLE_JIT: nothing is compiled, everything is slow");
    hsc__fix(cx, "unset JAX_DISABLE_JIT");
  }
}

void hsc__check_variables(hsc__check_context *cx) {
  hsc__each_env(cx, one_variable);
  contradictions(cx);
  if (!cx->evidence.size)
    hsc__say(cx, HSC_VERDICT_OK, "none of XLA's variables is set");
}

// ---- flags --------------------------------------------------------------------------------------

enum { FLAGS_MAX = 8192 };

typedef struct flag_list {
  const char *names[FLAGS_MAX];
  size_t count;
} flag_list;

// Every text of a library that is a flag's name and nothing else: xla_ and letters between two NUL
// bytes. The flag parser holds them so. Adds the names with the prefix that are as strings of
// their own in a part of a library.
static void flags_in(hsc__check_context *cx, hsc_view part, const char *prefix, flag_list *list) {
  size_t length = strlen(prefix);
  const char *at = part.data;
  const char *end = part.data + part.size;
  char with_nul[32] = {0};
  memcpy(with_nul + 1, prefix, length);
  while (list->count < FLAGS_MAX && (at = memmem(at, (size_t)(end - at), with_nul, length + 1))) {
    const char *name = ++at;
    while (at < end && (islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_'))
      at++;
    if (at < end && *at == 0 && at - name > 6 && at - name < 120)
      list->names[list->count++] = hsc_arena_strndup(cx->arena, name, (size_t)(at - name));
  }
}

// The next section of an ELF file that holds constants (neither code nor written to), a tenth of a
// library of hundreds of megabytes. False: no more.
static bool next_constants(hsc_view file, size_t *io_index, hsc_view *out_part) {
  const Elf64_Ehdr *head = (const void *)file.data;
  if (memcmp(file.data, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
      head->e_shentsize != sizeof(Elf64_Shdr))
    return false;
  if (head->e_shoff % 8 || head->e_shoff > file.size ||
      (file.size - head->e_shoff) / sizeof(Elf64_Shdr) < head->e_shnum)
    return false;
  const Elf64_Shdr *sections = (const void *)(file.data + head->e_shoff);
  for (; *io_index < head->e_shnum; ++*io_index) {
    const Elf64_Shdr *section = &sections[*io_index];
    if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_ALLOC) ||
        (section->sh_flags & (SHF_EXECINSTR | SHF_WRITE)))
      continue;
    if (section->sh_offset > file.size || section->sh_size > file.size - section->sh_offset)
      continue;
    *out_part = (hsc_view){file.data + section->sh_offset, section->sh_size};
    ++*io_index;
    return true;
  }
  return false;
}

// `beginnings`: of the names, NULL-terminated.
static void flags_of_library(hsc__check_context *cx,
                             const char *path,
                             const char *const *beginnings,
                             flag_list *list) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return;
  if (fstat(fd, &info) || info.st_size < 64) {
    close(fd);
    return;
  }
  size_t size = (size_t)info.st_size;
  size_t index = 0;
  size_t parts = 0;
  char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED)
    return;
  hsc_view file = {data, size};
  hsc_view part;
  for (; next_constants(file, &index, &part); parts++)
    for (size_t i = 0; beginnings[i]; i++)
      flags_in(cx, part, beginnings[i], list);
  // no such sections: all of it
  for (size_t i = 0; !parts && beginnings[i]; i++)
    flags_in(cx, file, beginnings[i], list);
  munmap(data, size);
}

static bool is_flag(const flag_list *list, const char *name) {
  for (size_t i = 0; i < list->count; i++)
    if (!strcmp(list->names[i], name))
      return true;
  return false;
}

static void check_flags(hsc__check_context *cx,
                        const char *variable,
                        const char *value,
                        const flag_list *list,
                        const char *library) {
  size_t good = 0;
  for (const char *at = value; *at;) {
    at += strspn(at, " \t\n");
    size_t length = 0;
    char quote = 0;
    for (; at[length] && (quote || !isspace((unsigned char)at[length])); length++)
      if (at[length] == '\'' || at[length] == '"') {
        if (quote == at[length])
          quote = 0;
        else if (quote) {
        } else
          quote = at[length];
      }
    if (!length)
      break;
    char name[160];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    at += length;
    name[strcspn(name, "=")] = 0;
    char *start = name + strspn(name, "-");
    for (char *c = start; *c; c++)
      if (*c == '-')
        *c = '_';
    if (start == name) {
      hsc__say(cx, HSC_VERDICT_ERROR, "%s: '%s' does not begin with --", variable, name);
      hsc__fix(cx, "write --%s", name);
      continue;
    }
    bool known = !list->count || is_flag(list, start) ||
                 (hsc_starts_with(start, "no") && is_flag(list, start + 2));
    if (known) {
      good++;
      continue;
    }
    const char *near = hsc_did_you_mean(start, list->names, list->count);
    hsc__say(cx, HSC_VERDICT_ERROR,
             "%s: there is no flag --%s in %s%s%s; programs end at their first compile", variable,
             start, library, near ? ", did you mean --" : "", near ? near : "");
    if (near)
      hsc__fix(cx, "--%s", near);
    else
      hsc__fix(cx, "remove --%s", start);
  }
  if (good)
    hsc__say(cx, HSC_VERDICT_OK,
             list->count ? "%s: %zu %s found in %s" : "%s: %zu %s, not compared with a library",
             variable, good, good == 1 ? "flag" : "flags", library);
}

// torch_xla's library, _XLAC.<Python version>.so at the top of a site; NULL = not installed.
static const char *torch_library(hsc__check_context *cx, const hsc__python *python) {
  const char *name;
  for (size_t i = 0; i < python->site_count; i++)
    if (hsc__list(cx, python->sites[i], "_XLAC.", &name, 1))
      return hsc__path(cx, "%s/%s", python->sites[i], name);
  return NULL;
}

// One of the environment's libraries, NULL = not installed.
static const char *library_in(hsc__check_context *cx, const hsc__python *python, const char *file) {
  for (size_t i = 0; i < python->site_count; i++) {
    const char *path = hsc__path(cx, "%s/%s", python->sites[i], file);
    if (hsc__exists(path))
      return path;
  }
  return NULL;
}

// XLA_FLAGS that do not begin with a dash name a file that holds them. NULL = it is not there,
// which is said.
static const char *flags_of_file(hsc__check_context *cx, const char *flags) {
  if (flags[strspn(flags, " ")] == '-')
    return flags;
  const char *text = hsc__read(cx, hsc__path(cx, "%s", flags));
  if (text)
    return text;
  hsc__say(cx, HSC_VERDICT_ERROR,
           "XLA_FLAGS=%.80s is taken as the name of a file of flags, which is not there", flags);
  hsc__fix(cx, "flags begin with --");
  return NULL;
}

// The flags of all XLA libraries of an installation, and how to call these.
static const char *gather_xla_flags(hsc__check_context *cx, hsc__python *python, flag_list *list) {
  static const char *const xla_prefix[] = {"xla_", NULL};
  static const char *const places[] = {"jaxlib/libjax_common.so", "jaxlib/xla_extension.so",
                                       "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
                                       "jax_plugins/xla_cuda13/xla_cuda_plugin.so"};
  const char *library = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(places); i++) {
    const char *path = library_in(cx, python, places[i]);
    if (!path)
      continue;
    flags_of_library(cx, path, xla_prefix, list);
    library = library ? "the installed XLA libraries" : strrchr(places[i], '/') + 1;
  }
  const char *torch = torch_library(cx, python);
  if (torch) {
    flags_of_library(cx, torch, xla_prefix, list);
    library = library ? "the installed XLA libraries" : strrchr(torch, '/') + 1;
  }
  return library;
}

static void check_tpu_flags(hsc__check_context *cx,
                            const char *flags,
                            const char *library,
                            flag_list *list) {
  static const char *const tpu_prefixes[] = {"xla_", "tpu_", "megascale_", NULL};
  if (strstr(flags, "xla_dump_to")) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "LIBTPU_INIT_ARGS: --xla_dump_to is not among libtpu's start flags");
    hsc__fix(cx, "give it in XLA_FLAGS or as a compile option");
  }
  list->count = 0;
  if (library)
    flags_of_library(cx, library, tpu_prefixes, list);
  check_flags(cx, "LIBTPU_INIT_ARGS", flags, list, "libtpu.so");
}

void hsc__check_xla_flags(hsc__check_context *cx) {
  const char *flags = hsc__env(cx, "XLA_FLAGS");
  const char *tpu = hsc__env(cx, "LIBTPU_INIT_ARGS");
  bool has_flags = flags && *flags;
  bool has_tpu = tpu && *tpu;
  if (!has_flags && !has_tpu) {
    hsc__say(cx, HSC_VERDICT_NOT_APPLICABLE, "neither XLA_FLAGS nor LIBTPU_INIT_ARGS is set");
    return;
  }
  hsc__python python = {0};
  bool has_python = hsc__python_find(cx, &python);
  flag_list *list = HSC_NEW(cx->arena, flag_list);
  if (!list)
    return;
  flags = has_flags ? flags_of_file(cx, flags) : NULL;
  if (flags) {
    const char *library = has_python ? gather_xla_flags(cx, &python, list) : NULL;
    check_flags(cx, "XLA_FLAGS", flags, list, library ? library : "XLA");
  }
  if (has_tpu)
    check_tpu_flags(cx, tpu, has_python ? library_in(cx, &python, "libtpu/libtpu.so") : NULL, list);
}
