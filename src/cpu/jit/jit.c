// jit.c - see jit.h.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "cpu/core/relocation.h"
#include "cpu/jit/jit.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "cpu/emit/emit_llvm.h"
#include "cpu/kernels/linalg/small_linalg.h"
#include "cpu/kernels/vmath/vmath.h"

enum { MAX_COMPILERS = 16, STORE_BUCKETS = 1024 };
#if defined(__aarch64__)
static const char *const TRIPLE = "aarch64-unknown-linux-gnu";
static const char *const cpus[] = {"generic"};  // by level of instructions, of which there is one
static const char *const features[] = {""};
#else
static const char *const TRIPLE = "x86_64-unknown-linux-gnu";
static const char *const cpus[] = {"x86-64", "haswell", "skylake-avx512"};
static const char *const features[] = {
    "", "+avx2,+fma,+f16c", "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c,-prefer-256-bit"};
#endif

typedef struct compiler {  // one per thread that compiles; used under jit->compile_lock
  LLVMContextRef context;
  LLVMTargetMachineRef machine;
} compiler;

struct hsc_cpu_jit {
  hsc_cpu_isa isa;
  int optimization_level;
  pthread_mutex_t compile_lock;  // one hsc_cpu_jit_compile generates code at a time
  pthread_mutex_t store_lock;
  hsc_cpu_stored *store[STORE_BUCKETS];  // entries live until their unit goes
  compiler compilers[MAX_COMPILERS];
  hsc_cpu_symbol *symbols;  // what generated code may call
  size_t symbol_count;
};

// "k" and the key in hex.
static void kernel_name(hsc_hash128 key, char out_text[40]) {
  out_text[0] = 'k';
  hsc_hash128_hex(key, out_text + 1);
}

static hsc_status *collect_symbols(hsc_cpu_jit *jit) {
  size_t count = 0;
  const hsc_cpu_symbol *functions = hsc_vmath_symbols(jit->isa.level, &count);
  jit->symbols = hsc_alloc((count + 1) * sizeof *jit->symbols);
  if (!jit->symbols)
    return hsc_status_out_of_memory();
  memcpy(jit->symbols, functions, count * sizeof *functions);
  jit->symbol_count = count + 1;
  jit->symbols[count].name = HSC_SMALL_LINALG_SYMBOL;
  hsc_small_linalg_one one = hsc_small_linalg_kernels_for(jit->isa.level)->one;
  memcpy(&jit->symbols[count].address, &one, sizeof one);
  return NULL;
}

hsc_status *hsc_cpu_jit_create(const hsc_cpu_isa *isa,
                               int optimization_level,
                               hsc_cpu_jit **out_jit) {
  *out_jit = NULL;
  hsc_cpu_jit *jit = hsc_alloc(sizeof *jit);
  if (!jit)
    return hsc_status_out_of_memory();
  jit->isa = *isa;
  jit->optimization_level = optimization_level;
  hsc_status *status = collect_symbols(jit);
  if (status) {
    hsc_free(jit);
    return status;
  }
  pthread_mutex_init(&jit->compile_lock, NULL);
  pthread_mutex_init(&jit->store_lock, NULL);
  *out_jit = jit;
  return NULL;
}

void hsc_cpu_jit_destroy(hsc_cpu_jit *jit) {
  if (!jit)
    return;
  for (int i = 0; i < MAX_COMPILERS; i++) {
    if (jit->compilers[i].machine)
      hsc_ll.DisposeTargetMachine(jit->compilers[i].machine);
    if (jit->compilers[i].context)
      hsc_ll.ContextDispose(jit->compilers[i].context);
  }
  pthread_mutex_destroy(&jit->compile_lock);
  pthread_mutex_destroy(&jit->store_lock);
  hsc_free(jit->symbols);
  hsc_free(jit);
}

// ---- the store ----------------------------------------------------------------------------------

struct hsc_cpu_stored {  // one kernel of a unit
  hsc_hash128 key;
  hsc_cpu_unit *unit;
  void *function, *combine;
  struct hsc_cpu_stored *next;  // in its bucket
  struct hsc_cpu_stored *next_of_unit;
};

static hsc_cpu_stored **bucket_of(hsc_cpu_jit *jit, hsc_hash128 key) {
  return &jit->store[key.low % STORE_BUCKETS];
}

bool hsc_cpu_jit_find(hsc_cpu_jit *jit, hsc_cpu_jit_kernel *kernel) {
  pthread_mutex_lock(&jit->store_lock);
  hsc_cpu_stored *at = *bucket_of(jit, kernel->key);
  while (at && (at->key.low != kernel->key.low || at->key.high != kernel->key.high))
    at = at->next;
  if (at) {
    at->unit->reference_count++;
    kernel->unit = at->unit;
    kernel->function = at->function;
    kernel->combine = at->combine;
  }
  pthread_mutex_unlock(&jit->store_lock);
  return at != NULL;
}

static hsc_status *add_to_store(hsc_cpu_jit *jit, hsc_cpu_unit *unit, hsc_hash128 key) {
  char name[40], combine[64];
  kernel_name(key, name);
  snprintf(combine, sizeof combine, "%s_combine", name);
  hsc_cpu_stored *entry = hsc_alloc(sizeof *entry);
  if (!entry)
    return hsc_status_out_of_memory();
  *entry = (hsc_cpu_stored){.key = key,
                            .unit = unit,
                            .function = hsc_cpu_code_find(unit->code, name),
                            .combine = hsc_cpu_code_find(unit->code, combine)};
  if (!entry->function) {
    hsc_free(entry);
    return HSC_ERR(DATA_LOSS, "object code: kernel %s is not in it", name);
  }
  pthread_mutex_lock(&jit->store_lock);
  entry->next = *bucket_of(jit, key);
  *bucket_of(jit, key) = entry;
  entry->next_of_unit = unit->stored;
  unit->stored = entry;
  pthread_mutex_unlock(&jit->store_lock);
  return NULL;
}

void hsc_cpu_unit_release(hsc_cpu_unit *unit) {
  if (!unit)
    return;
  hsc_cpu_jit *jit = unit->jit;
  pthread_mutex_lock(&jit->store_lock);
  bool last = --unit->reference_count == 0;
  for (hsc_cpu_stored *entry = last ? unit->stored : NULL, *next; entry; entry = next) {
    next = entry->next_of_unit;
    hsc_cpu_stored **link = bucket_of(jit, entry->key);
    while (*link != entry)
      link = &(*link)->next;
    *link = entry->next;
    hsc_free(entry);
  }
  pthread_mutex_unlock(&jit->store_lock);
  if (!last)
    return;
  hsc_cpu_code_destroy(unit->code);
  hsc_bytes_deinit(&unit->object);
  hsc_free(unit);
}

hsc_status *hsc_cpu_unit_link(hsc_cpu_jit *jit,
                              hsc_view object,
                              const hsc_hash128 *keys,
                              int key_count,
                              hsc_cpu_unit **out_unit) {
  hsc_status *status = NULL;
  *out_unit = NULL;
  hsc_cpu_unit *unit = hsc_alloc(sizeof *unit);
  if (!unit)
    return hsc_status_out_of_memory();
  unit->reference_count = 1;
  unit->jit = jit;
  hsc_bytes_append(&unit->object, object.data, object.size);
  HSC_GOTO(hsc_bytes_status(&unit->object));
  HSC_GOTO(hsc_cpu_code_link(hsc_bytes_view(&unit->object), jit->symbols, jit->symbol_count,
                             &unit->code));
  for (int i = 0; i < key_count; i++)
    HSC_GOTO(add_to_store(jit, unit, keys[i]));
  *out_unit = unit;
  return NULL;
done:
  hsc_cpu_unit_release(unit);
  return status;
}

// ---- generating code ----------------------------------------------------------------------------

// Up to level 2 instructions are selected one by one, with the optimising register allocator
// (llvm_api.c): three to five times as fast as the next level in llc on four of the pattern
// programs, whose kernels, vectors already, ran as fast.
static LLVMCodeGenOptLevel codegen_level(int level) {
  return level <= 2 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
}

static hsc_status *start_compiler(const hsc_cpu_jit *jit, compiler *c) {
  if (c->machine)
    return NULL;
  LLVMTargetRef target;
  char *message = NULL;
  if (hsc_ll.GetTargetFromTriple(TRIPLE, &target, &message)) {
    hsc_status *status =
        HSC_ERR(UNAVAILABLE, "LLVM cannot compile for %s: %s", TRIPLE, message ? message : "");
    hsc_ll.DisposeMessage(message);
    return status;
  }
  // The host's name chooses the scheduling model; the features are those of our level, whatever
  // else the host has.
  char *host = hsc_ll.GetHostCPUName();
  const char *cpu = jit->isa.level == HSC_CPU_ISA_BASELINE || !host ? cpus[jit->isa.level] : host;
  c->context = hsc_ll.ContextCreate();
  c->machine = hsc_ll.CreateTargetMachine(target, TRIPLE, cpu, features[jit->isa.level],
                                          codegen_level(jit->optimization_level), LLVMRelocPIC,
                                          LLVMCodeModelSmall);
  hsc_ll.DisposeMessage(host);
  return c->machine ? NULL
                    : HSC_ERR(INTERNAL, "LLVM made no target machine for %s", cpus[jit->isa.level]);
}

typedef struct share {  // what one thread compiles
  hsc_cpu_jit_kernel **kernels;
  int count;
  double size;
  hsc_bytes object;
  hsc_status *status;
} share;

typedef struct compilation {
  hsc_cpu_jit *jit;
  share shares[MAX_COMPILERS];
  int share_count;
} compilation;

static hsc_status *compile_share(hsc_cpu_jit *jit, compiler *c, share *s) {
  HSC_TRY(start_compiler(jit, c));
  hsc_status *status = NULL;
  char *message = NULL;
  LLVMMemoryBufferRef object = NULL;
  LLVMModuleRef module = hsc_ll.ModuleCreateWithNameInContext("kernels", c->context);
  LLVMBuilderRef builder = hsc_ll.CreateBuilderInContext(c->context);
  hsc_ll.SetTarget(module, TRIPLE);
  LLVMTargetDataRef layout = hsc_ll.CreateTargetDataLayout(c->machine);
  hsc_ll.SetModuleDataLayout(module, layout);
  hsc_ll.DisposeTargetData(layout);
  for (int i = 0; i < s->count; i++) {
    char name[40];
    kernel_name(s->kernels[i]->key, name);
    status = hsc_kernel_emit(s->kernels[i]->instr, &jit->isa, c->context, module, builder, name);
    if (status) {
      status =
          hsc_status_note(status, "while: emitting a kernel for %s", s->kernels[i]->instr->name);
      goto done;
    }
  }
  const char *dump = getenv("HLOSCOPE_CPU_DUMP_IR");
  if (dump) {
    char path[512];
    char first[40];
    kernel_name(s->kernels[0]->key, first);
    snprintf(path, sizeof path, "%s/%s.ll", dump, first);
    char *text = hsc_ll.PrintModuleToString(module);
    HSC_GOTO(hsc_file_write_atomic(path, text, strlen(text)));
    hsc_ll.DisposeMessage(text);
    if (hsc_ll.VerifyModule(module, LLVMReturnStatusAction, &message))
      HSC_GOTO(HSC_ERR(INTERNAL, "a kernel's code is not valid: %s", message));
    hsc_ll.DisposeMessage(message);
    message = NULL;
  }
  if (hsc_ll.TargetMachineEmitToMemoryBuffer(c->machine, module, LLVMObjectFile, &message, &object))
    HSC_GOTO(HSC_ERR(INTERNAL, "LLVM cannot generate code: %s", message ? message : ""));
  hsc_bytes_append(&s->object, hsc_ll.GetBufferStart(object), hsc_ll.GetBufferSize(object));
  status = hsc_bytes_status(&s->object);
done:
  if (message)
    hsc_ll.DisposeMessage(message);
  if (object)
    hsc_ll.DisposeMemoryBuffer(object);
  hsc_ll.DisposeBuilder(builder);
  hsc_ll.DisposeModule(module);
  return status;
}

static void do_share(void *context, int64_t chunk, int worker) {
  compilation *c = context;
  share *s = &c->shares[chunk];
  s->status = compile_share(c->jit, &c->jit->compilers[chunk], s);
}

static int by_size(const void *a, const void *b) {
  const hsc_cpu_jit_kernel *x = *(hsc_cpu_jit_kernel *const *)a;
  const hsc_cpu_jit_kernel *y = *(hsc_cpu_jit_kernel *const *)b;
  if (x->size < y->size)
    return 1;
  if (x->size > y->size)
    return -1;
  return 0;
}

// Large kernels first, each to the share that has least.
static hsc_status *share_out(
    compilation *c, hsc_cpu_jit_kernel **missing, int count, int threads, hsc_arena *arena) {
  qsort(missing, (size_t)count, sizeof *missing, by_size);
  c->share_count = threads < count ? threads : count;
  if (c->share_count > MAX_COMPILERS)
    c->share_count = MAX_COMPILERS;
  for (int s = 0; s < c->share_count; s++)
    c->shares[s].kernels = HSC_NEW_ARRAY(arena, hsc_cpu_jit_kernel *, count);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    int least = 0;
    for (int s = 1; s < c->share_count; s++)
      if (c->shares[s].size < c->shares[least].size)
        least = s;
    c->shares[least].kernels[c->shares[least].count++] = missing[i];
    c->shares[least].size += missing[i]->size;
  }
  return NULL;
}

// What is not made for this processor is said by name, before LLVM is looked for.
static hsc_status *check_machine(void) {
  if (hsc_cpu_machine())
    return NULL;
  return hsc_status_hint(HSC_ERR(UNIMPLEMENTED,
                                 "the built-in device's code generator: not built yet for this "
                                 "processor; it makes code for x86-64 and AArch64"),
                         "--device reference runs the program on the evaluator");
}

static hsc_status *compile_missing(hsc_cpu_jit *jit,
                                   hsc_cpu_pool *pool,
                                   hsc_cpu_jit_kernel **missing,
                                   int count,
                                   int64_t *codegen_ns,
                                   int64_t *link_ns) {
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  compilation c = {.jit = jit};
  int64_t start = hsc_now_ns();
  HSC_GOTO(check_machine());
  HSC_GOTO(hsc_llvm_load());
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(share_out(&c, missing, count, hsc_cpu_pool_thread_count(pool), arena));
  hsc_cpu_pool_run(pool, c.share_count, do_share, &c);
  *codegen_ns += hsc_now_ns() - start;
  start = hsc_now_ns();
  for (int s = 0; s < c.share_count; s++) {
    if (c.shares[s].status) {
      if (!status)
        status = c.shares[s].status;
      else
        hsc_status_free(c.shares[s].status);
      continue;
    }
    if (status)
      continue;
    hsc_cpu_unit *unit = NULL;
    hsc_hash128 *keys = HSC_NEW_ARRAY(arena, hsc_hash128, c.shares[s].count + 1);
    status = hsc_arena_status(arena);
    if (status)
      continue;
    for (int k = 0; k < c.shares[s].count; k++)
      keys[k] = c.shares[s].kernels[k]->key;
    status =
        hsc_cpu_unit_link(jit, hsc_bytes_view(&c.shares[s].object), keys, c.shares[s].count, &unit);
    if (status)
      continue;
    for (int k = 0; k < c.shares[s].count && !status; k++)
      if (!hsc_cpu_jit_find(jit, c.shares[s].kernels[k]))
        status = HSC_ERR(INTERNAL, "the compiled object lacks a kernel for %s",
                         c.shares[s].kernels[k]->instr->name);
    hsc_cpu_unit_release(unit);
  }
  *link_ns += hsc_now_ns() - start;
done:
  for (int s = 0; s < c.share_count; s++)
    hsc_bytes_deinit(&c.shares[s].object);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_cpu_jit_compile(hsc_cpu_jit *jit,
                                hsc_cpu_pool *pool,
                                hsc_cpu_jit_kernel *kernels,
                                int count,
                                int64_t *codegen_ns,
                                int64_t *link_ns) {
  hsc_status *status = NULL;
  hsc_cpu_jit_kernel **missing = hsc_alloc(sizeof *missing * (size_t)(count + 1));
  if (!missing)
    return hsc_status_out_of_memory();
  pthread_mutex_lock(&jit->compile_lock);
  int missing_count = 0;
  for (int i = 0; i < count; i++) {
    kernels[i].unit = NULL;
    if (!hsc_cpu_jit_find(jit, &kernels[i]))
      missing[missing_count++] = &kernels[i];
  }
  if (missing_count)
    status = compile_missing(jit, pool, missing, missing_count, codegen_ns, link_ns);
  pthread_mutex_unlock(&jit->compile_lock);
  hsc_free(missing);
  if (!status)
    return NULL;
  for (int i = 0; i < count; i++) {
    hsc_cpu_unit_release(kernels[i].unit);
    kernels[i].unit = NULL;
  }
  return status;
}
