// tracer_host.c - XLA:CPU inside jaxlib, which is no plugin: calls of jitted functions and
// compilations, told by the Python hook of `hloscope trace`.
//
// The hook (python/hloscope/site) cannot stand in the way of every call: Python's fast path calls a
// PjitFunction's vectorcall pointer. So the hook gives us that pointer's place in each function
// that JAX makes, and it becomes ours: note the time, call on, note the time. Some 40 ns, no lock,
// no Python. A call of a function inside of another one (while that is traced) is not an execution.
// One that JAX makes to execute an operation for an outer call that has no program of its own
// (`jax.grad(f)(x)`) is: the hook marks those functions, and the second and later ones of an outer
// call count.
// Source: CPython's Include/cpython/object.h (vectorcall), stable since 3.8.
#include <stdatomic.h>

#include "base/core/base.h"
#include "pjrt/tracer.h"

typedef void *vectorcall(void *callable, void *const *arguments, size_t flags, void *keywords);

enum { FUNCTION_SLOTS = 1 << 16, EXECUTES_FLAG = 1u << 31 };

static struct {
  _Atomic(uintptr_t) function;
  _Atomic uint32_t name;  // string number, with EXECUTES_FLAG
} functions[FUNCTION_SLOTS];

static vectorcall *call_on;
static hsc_recorder *recorder;
static uint32_t execute_name, executable_key, run_key, error_key, raised_text;
static _Atomic bool on;
static _Atomic int64_t calls, calls_until;
static void (*at_limit)(void *result);
static _Thread_local int depth, executed;

static uintptr_t slot_of(const void *function) {
  return (uintptr_t)function * 0x9E3779B97F4A7C15ull >> 44 & (FUNCTION_SLOTS - 1);
}

// A function that died leaves its place to whoever gets its address.
static void remember(const void *function, uint32_t name) {
  uintptr_t slot = slot_of(function);
  for (int probe = 0; probe < 32; probe++, slot = (slot + 1) & (FUNCTION_SLOTS - 1)) {
    uintptr_t known = atomic_load_explicit(&functions[slot].function, memory_order_acquire);
    if (known && known != (uintptr_t)function)
      continue;
    if (!known &&
        !atomic_compare_exchange_strong(&functions[slot].function, &known, (uintptr_t)function) &&
        known != (uintptr_t)function)
      continue;
    atomic_store_explicit(&functions[slot].name, name, memory_order_release);
    return;
  }
}

static uint32_t name_of(const void *function) {
  uintptr_t slot = slot_of(function);
  for (int probe = 0; probe < 32; probe++, slot = (slot + 1) & (FUNCTION_SLOTS - 1)) {
    uintptr_t known = atomic_load_explicit(&functions[slot].function, memory_order_acquire);
    if (known == (uintptr_t)function)
      return atomic_load_explicit(&functions[slot].name, memory_order_acquire);
    if (!known)
      return 0;
  }
  return 0;
}

static void *watched(void *function, void *const *arguments, size_t flags, void *keywords) {
  if (!atomic_load_explicit(&on, memory_order_relaxed))
    return call_on(function, arguments, flags, keywords);
  uint32_t name = name_of(function);
  bool outer = depth == 0;
  bool counted = outer;
  if (!outer && name & EXECUTES_FLAG)
    counted = executed++ > 0;
  if (!counted)
    return call_on(function, arguments, flags, keywords);
  int64_t number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
  hsc_trace_attr attrs[2] = {
      {.key = executable_key, .type = HSC_ATTR_STRING, .value.string = name & ~EXECUTES_FLAG},
      {.key = run_key, .type = HSC_ATTR_INT, .value.i = number}};
  uint64_t span = hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, execute_name, attrs, 2);
  if (outer)
    executed = 0;
  depth++;
  void *result = call_on(function, arguments, flags, keywords);
  depth--;
  hsc_trace_attr raised = {.key = error_key, .type = HSC_ATTR_STRING, .value.string = raised_text};
  hsc_span_end(recorder, span, &raised, result ? 0 : 1);
  // The hook ends the profiler's session, or a part of it; not while an exception is on its way.
  if (outer && result && number >= atomic_load_explicit(&calls_until, memory_order_relaxed)) {
    atomic_store(&calls_until, INT64_MAX);
    at_limit(result);
  }
  return result;
}

// ---- what the hook calls ------------------------------------------------------------------------

// False when nothing is to be recorded. `limit` (calls from now on; 0 = none) is when `callback` is
// called, once, on the thread of that call and with what it returned, borrowed;
// hsc_tracer_host_limit sets it again.
HSC_EXPORT bool hsc_tracer_host_open(int64_t limit, void (*callback)(void *result)) {
  recorder = hsc_tracer_recorder();
  if (!recorder)
    return false;
  execute_name = hsc_recorder_intern(recorder, "execute");
  executable_key = hsc_recorder_intern(recorder, "executable");
  run_key = hsc_recorder_intern(recorder, "run_id");
  error_key = hsc_recorder_intern(recorder, "error");
  raised_text = hsc_recorder_intern(recorder, "the call raised an exception");
  at_limit = callback;
  atomic_store(&calls_until, limit > 0 && callback ? atomic_load(&calls) + limit : INT64_MAX);
  atomic_store(&on, true);
  return true;
}

// The callback is called again when hsc_tracer_host_calls is `until`, 0: after the next call;
// negative: no more, the session has ended by itself (time, the program's own profile).
HSC_EXPORT void hsc_tracer_host_limit(int64_t until) {
  atomic_store(&calls_until, until < 0 ? INT64_MAX : until);
}

// Calls that were recorded in this process so far.
HSC_EXPORT int64_t hsc_tracer_host_calls(void) {
  return atomic_load(&calls);
}

// `place`: where the function keeps its vectorcall pointer. `executes`: JAX calls it to execute,
// whatever is around it. Before hsc_tracer_host_open the function's calls are passed on unrecorded.
HSC_EXPORT void hsc_tracer_host_watch(void *function,
                                      void **place,
                                      const char *name,
                                      bool executes) {
  hsc_recorder *names = hsc_tracer_recorder();
  vectorcall *now;
  memcpy(&now, place, sizeof now);
  if (!names || !now || now == watched)
    return;
  if (!call_on)
    call_on = now;
  if (now != call_on)
    return;  // another kind of function than the first
  remember(function, hsc_recorder_intern(names, name) | (executes ? EXECUTES_FLAG : 0));
  vectorcall *ours = watched;
  memcpy(place, &ours, sizeof ours);
}

// `options`: CompileOptionsProto; NULL = not known.
HSC_EXPORT uint64_t hsc_tracer_host_compile_begin(const char *format,
                                                  const void *code,
                                                  size_t code_bytes,
                                                  const void *options,
                                                  size_t options_bytes) {
  return recorder ? hsc_tracer_compile_begin(format, code, code_bytes, options, options_bytes) : 0;
}

// `error` NULL: compiled.
HSC_EXPORT void hsc_tracer_host_compile_end(uint64_t span,
                                            const char *executable,
                                            const char *error) {
  hsc_trace_attr attr =
      error ? (hsc_trace_attr){.key = error_key,
                               .type = HSC_ATTR_STRING,
                               .value.string = hsc_recorder_intern(recorder, error)}
            : (hsc_trace_attr){.key = executable_key,
                               .type = HSC_ATTR_STRING,
                               .value.string = hsc_recorder_intern(recorder, executable)};
  hsc_span_end(recorder, span, &attr, 1);
}

// Why the framework will compile `executable` (once more), in its own words; before it does so.
HSC_EXPORT void hsc_tracer_host_explain(const char *executable, const char *why) {
  hsc_recorder *to = hsc_tracer_recorder();
  if (!to)
    return;
  hsc_trace_attr attrs[] = {{.key = hsc_recorder_intern(to, "executable"),
                             .type = HSC_ATTR_STRING,
                             .value.string = hsc_recorder_intern(to, executable)},
                            {.key = hsc_recorder_intern(to, "why"),
                             .type = HSC_ATTR_STRING,
                             .value.string = hsc_recorder_intern(to, why)}};
  hsc_trace_instant(to, HSC_CATEGORY_FRAMEWORK, hsc_recorder_intern(to, "tracing cache miss"),
                    attrs, 2);
}

// A session that will be written to DIR/profiles/`file` begins at the wall clock's `wall_ns`: joins
// the two clocks.
HSC_EXPORT void hsc_tracer_host_session(const char *file, int64_t wall_ns) {
  hsc_tracer_note_profile(file, wall_ns);
}
