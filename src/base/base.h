// base.h - what every part of hloscope stands on: status, arena, bytes, strings, JSON, clock, hash map, threads, child processes, files.
//
// Ownership, once for the whole project:
//   create/destroy   a heap object; the caller of create owns it and calls destroy (NULL is fine).
//   init/deinit      storage that the caller provides.
//   open/close       something outside of memory (a file, a plugin).
//   get              borrowed: valid as long as the thing it came from.
//   take             ownership moves to the caller.
//   An argument is borrowed for the duration of the call unless its comment says otherwise.
//   Whatever comes from an arena lives as long as the arena.
// Errors: every function that can fail returns `hsc_status *`; NULL is success. The caller owns a status and either returns it or frees it.
//   Libraries never exit, abort or print. `assert` is for programmer errors, never for input.
// Threads: objects are thread-compatible (one thread at a time per object) unless a header says thread-safe.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HSC_MUST_USE __attribute__((warn_unused_result))
#define HSC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HSC_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HSC_STRINGIFY_(x) #x
#define HSC_STRINGIFY(x) HSC_STRINGIFY_(x)
#define HSC_EXPORT __attribute__((visibility("default")))

// ---- status ---------------------------------------------------------------------------------------------------------------------

typedef enum hsc_code {
#define CODE(id, number, text, advice) HSC_##id = number,
#include "base/codes.def"
#undef CODE
} hsc_code;

// An error: code, message, where in hloscope it was made, where in the user's input it points (optional), and notes added on the way up.
// Out of memory is a static status whose free does nothing.
typedef struct hsc_status hsc_status;

#define HSC_ERR(code, ...) hsc_status_make(HSC_##code, __FILE__, __LINE__, __VA_ARGS__)
#define HSC_TRY(expr)                      \
  do {                                     \
    hsc_status *hsc_try_status = (expr);   \
    if (hsc_try_status) return hsc_try_status; \
  } while (0)
#define HSC_TRY_NOTE(expr, ...)            \
  do {                                     \
    hsc_status *hsc_try_status = (expr);   \
    if (hsc_try_status) return hsc_status_note(hsc_try_status, __VA_ARGS__); \
  } while (0)
// For functions with one `done:` label and a local `hsc_status *status`.
#define HSC_GOTO(expr)                     \
  do {                                     \
    status = (expr);                       \
    if (status) goto done;                 \
  } while (0)

HSC_MUST_USE hsc_status *hsc_status_make(hsc_code code, const char *file, int line, const char *format, ...) HSC_PRINTF(4, 5);
HSC_MUST_USE hsc_status *hsc_status_make_v(hsc_code code, const char *file, int line, const char *format, va_list args) HSC_PRINTF(4, 0);
HSC_MUST_USE hsc_status *hsc_status_out_of_memory(void);
// Adds a line of context ("while: compiling module x"). Returns `status` itself, so that it can be used in a return. NULL stays NULL.
HSC_MUST_USE hsc_status *hsc_status_note(hsc_status *status, const char *format, ...) HSC_PRINTF(2, 3);
// Points the status at the user's input. `path` may be NULL; line and column count from 1, 0 = unknown. `source_line` (may be NULL) is the text of the line.
HSC_MUST_USE hsc_status *hsc_status_at(hsc_status *status, const char *path, int line, int column, const char *source_line);
// What the user should do ("hloscope devices lists what is here"). Replaces an earlier hint.
HSC_MUST_USE hsc_status *hsc_status_hint(hsc_status *status, const char *format, ...) HSC_PRINTF(2, 3);
// "PATH: WHAT: strerror", with the code that fits `error` (ENOENT is NOT_FOUND, EACCES is PERMISSION_DENIED, ...).
HSC_MUST_USE hsc_status *hsc_status_errno(int error, const char *what, const char *path);
void hsc_status_free(hsc_status *status);

hsc_code hsc_status_code(const hsc_status *status);            // HSC_OK for NULL
const char *hsc_status_message(const hsc_status *status);      // "" for NULL; borrowed
const char *hsc_status_path(const hsc_status *status);         // NULL when it points nowhere
int hsc_status_line(const hsc_status *status);                 // 0 = unknown
int hsc_status_column(const hsc_status *status);               // 0 = unknown
const char *hsc_status_source_line(const hsc_status *status);  // NULL = unknown
const char *hsc_status_hint_text(const hsc_status *status);    // NULL = none
const char *hsc_status_notes(const hsc_status *status);        // newline-separated, outermost last; "" = none
// Where in hloscope it was made: the source file ("" for NULL) and, when out_line is not NULL, its line. For logs and bug reports.
const char *hsc_status_made_at(const hsc_status *status, int *out_line);
const char *hsc_code_text(hsc_code code);                      // "not found"
const char *hsc_code_name(hsc_code code);                      // "NOT_FOUND"
hsc_code hsc_code_of_name(const char *name);                   // HSC_UNKNOWN where there is none of that name, or NULL
const char *hsc_code_advice(hsc_code code);

// ---- memory ---------------------------------------------------------------------------------------------------------------------

// Checked size arithmetic: false on overflow, then *out is not written.
HSC_MUST_USE bool hsc_mul_size(size_t a, size_t b, size_t *out);
HSC_MUST_USE bool hsc_add_size(size_t a, size_t b, size_t *out);

// A bump allocator. Blocks double up to 1 MiB; large requests get their own block. Everything is freed at once.
// Running out of memory is sticky: hsc_arena_alloc then returns zeroed memory of a small static dummy area for requests that fit in it, else
// NULL, and hsc_arena_status tells. Memory from it is zeroed and aligned to 16 bytes.
typedef struct hsc_arena hsc_arena;
HSC_MUST_USE hsc_status *hsc_arena_create(hsc_arena **out_arena);
void hsc_arena_destroy(hsc_arena *arena);
void hsc_arena_reset(hsc_arena *arena);  // frees what was allocated, keeps the first block
void *hsc_arena_alloc(hsc_arena *arena, size_t size_bytes);
void *hsc_arena_copy(hsc_arena *arena, const void *data, size_t size_bytes);
char *hsc_arena_strdup(hsc_arena *arena, const char *text);
char *hsc_arena_strndup(hsc_arena *arena, const char *text, size_t length);
char *hsc_arena_printf(hsc_arena *arena, const char *format, ...) HSC_PRINTF(2, 3);
size_t hsc_arena_used_bytes(const hsc_arena *arena);
HSC_MUST_USE hsc_status *hsc_arena_status(const hsc_arena *arena);  // NULL, or RESOURCE_EXHAUSTED
#define HSC_NEW(arena, type) ((type *)hsc_arena_alloc((arena), sizeof(type)))
#define HSC_NEW_ARRAY(arena, type, count) ((type *)hsc_arena_alloc_array((arena), sizeof(type), (size_t)(count)))
void *hsc_arena_alloc_array(hsc_arena *arena, size_t element_bytes, size_t count);  // checks the product

// Heap allocation for objects outside of arenas; zeroed; NULL when there is none. Goes through a hook so that tests can fail the n-th one.
void *hsc_alloc(size_t size_bytes);
void *hsc_realloc(void *memory, size_t size_bytes);
void *hsc_alloc_pages(size_t size_bytes, size_t alignment);   // not zeroed; a power of two that divides the size
void hsc_free(void *memory);
char *hsc_strdup(const char *text);
// Fault injection: the n-th allocation from now (1 = the next) fails, and all after it until reset with 0. Not thread-safe; tests only.
void hsc_alloc_fail_after(uint64_t n);

// A borrowed run of bytes. Not NUL-terminated.
typedef struct hsc_view {
  const char *data;
  size_t size;
} hsc_view;
#define HSC_VIEW(literal) ((hsc_view){(literal), sizeof(literal) - 1})
hsc_view hsc_view_of(const char *text);  // NULL gives the empty view
bool hsc_view_equals(hsc_view a, hsc_view b);
bool hsc_view_equals_text(hsc_view a, const char *text);
bool hsc_starts_with(const char *text, const char *prefix);
bool hsc_ends_with(const char *text, const char *suffix);

// A growing byte buffer with a sticky error: after an allocation fails, appends do nothing and hsc_bytes_status tells. Always NUL-terminated
// (data is never NULL after the first append; hsc_bytes_text gives "" before).
typedef struct hsc_bytes {
  char *data;
  size_t size;
  size_t capacity;
  bool failed;
} hsc_bytes;
void hsc_bytes_deinit(hsc_bytes *bytes);
void hsc_bytes_reset(hsc_bytes *bytes);  // size 0, keeps capacity
void hsc_bytes_append(hsc_bytes *bytes, const void *data, size_t size);
void hsc_bytes_append_text(hsc_bytes *bytes, const char *text);
void hsc_bytes_append_char(hsc_bytes *bytes, char c);
void hsc_bytes_printf(hsc_bytes *bytes, const char *format, ...) HSC_PRINTF(2, 3);
void hsc_bytes_printf_v(hsc_bytes *bytes, const char *format, va_list args) HSC_PRINTF(2, 0);
void hsc_bytes_append_markup(hsc_bytes *bytes, const char *text);  // with & < > " as HTML and XML write them
void hsc_bytes_reserve(hsc_bytes *bytes, size_t size);   // so many more bytes will come: exactly that room at once, where there is memory
void *hsc_bytes_extend(hsc_bytes *bytes, size_t size);  // uninitialised room at the end; NULL on failure
const char *hsc_bytes_text(const hsc_bytes *bytes);
hsc_view hsc_bytes_view(const hsc_bytes *bytes);
char *hsc_bytes_take(hsc_bytes *bytes);  // heap string, free with hsc_free; NULL on failure
HSC_MUST_USE hsc_status *hsc_bytes_status(const hsc_bytes *bytes);

// Shortest decimal text that reads back as the same number ("100", "0.1", "1e+30", "-0", "inf", "-inf", "nan"). Plain notation for magnitudes
// from 1e-4 up to 1e15 (1e9 for float). Fills at most 32 bytes, returns the length.
int hsc_format_double(double value, char *out_text);
int hsc_format_float(float value, char *out_text);

// A hash map from byte strings to pointers; keys are borrowed (they must outlive the map). Insertion order is kept for iteration.
typedef struct hsc_map hsc_map;
HSC_MUST_USE hsc_status *hsc_map_create(hsc_map **out_map);
void hsc_map_destroy(hsc_map *map);
void *hsc_map_get(const hsc_map *map, hsc_view key);                       // NULL = not there
HSC_MUST_USE hsc_status *hsc_map_put(hsc_map *map, hsc_view key, void *value);  // replaces
// Puts unless the key has a value other than NULL already; *out_added says whether. One lookup.
HSC_MUST_USE hsc_status *hsc_map_add(hsc_map *map, hsc_view key, void *value, bool *out_added);
size_t hsc_map_count(const hsc_map *map);
void *hsc_map_at(const hsc_map *map, size_t index, hsc_view *out_key);     // in insertion order; out_key may be NULL

// 64-bit and 128-bit hashes of bytes (stable across machines and versions: they name cache entries). Own implementation, not cryptographic.
uint64_t hsc_hash64(const void *data, size_t size, uint64_t seed);
typedef struct hsc_hash128 {
  uint64_t low, high;
} hsc_hash128;
hsc_hash128 hsc_hash128_of(const void *data, size_t size, uint64_t seed);
void hsc_hash128_hex(hsc_hash128 hash, char out_text[33]);

// Deterministic random numbers (xoshiro256**), seeded by splitmix64.
typedef struct hsc_random {
  uint64_t state[4];
} hsc_random;
void hsc_random_init(hsc_random *random, uint64_t seed);
uint64_t hsc_random_u64(hsc_random *random);
double hsc_random_double(hsc_random *random);                      // uniform in [0, 1)
double hsc_random_normal(hsc_random *random);                      // mean 0, standard deviation 1
uint64_t hsc_random_below(hsc_random *random, uint64_t bound);     // uniform in [0, bound), bound > 0

// Nearest of `candidates` to `text` by edit distance, for "did you mean"; NULL when none is near (distance over a third of the length).
const char *hsc_did_you_mean(const char *text, const char *const *candidates, size_t count);

// ---- JSON writing ---------------------------------------------------------------------------------------------------------------

// Streams JSON into a byte buffer, with commas, escapes and indentation done. Doubles in shortest form; NaN and infinities as null.
// Errors are sticky in the buffer. Reading JSON is jansson's.
typedef struct hsc_json {
  hsc_bytes *out;
  int depth;
  int indent;            // spaces per level; 0 = one line
  bool has_items[64];    // per level: a comma is due
  bool after_key;
} hsc_json;
void hsc_json_init(hsc_json *json, hsc_bytes *out, int indent);
void hsc_json_begin_object(hsc_json *json);
void hsc_json_end_object(hsc_json *json);
void hsc_json_begin_array(hsc_json *json);
void hsc_json_end_array(hsc_json *json);
void hsc_json_key(hsc_json *json, const char *key);
void hsc_json_string(hsc_json *json, const char *text);            // NULL writes null; invalid UTF-8 is replaced by U+FFFD
void hsc_json_string_n(hsc_json *json, const char *text, size_t length);
void hsc_json_int(hsc_json *json, int64_t value);
void hsc_json_uint(hsc_json *json, uint64_t value);
void hsc_json_double(hsc_json *json, double value);
void hsc_json_bool(hsc_json *json, bool value);
void hsc_json_null(hsc_json *json);
void hsc_json_raw(hsc_json *json, const char *json_text);          // already JSON; not checked
// key + value in one call
void hsc_json_kv_string(hsc_json *json, const char *key, const char *text);
void hsc_json_kv_int(hsc_json *json, const char *key, int64_t value);
void hsc_json_kv_double(hsc_json *json, const char *key, double value);
void hsc_json_kv_bool(hsc_json *json, const char *key, bool value);

// ---- clock ----------------------------------------------------------------------------------------------------------------------

int64_t hsc_now_ns(void);        // CLOCK_MONOTONIC_RAW; durations are signed differences
int64_t hsc_wall_ns(void);       // CLOCK_REALTIME since the epoch
void hsc_sleep_ns(int64_t duration_ns);

// Page faults, context switches and CPU time of the calling process so far (getrusage).
typedef struct hsc_usage {
  int64_t minor_faults, major_faults;                  // count
  int64_t voluntary_switches, involuntary_switches;    // count
  int64_t user_ns, system_ns;
  int64_t max_rss_bytes;
} hsc_usage;
void hsc_usage_get(hsc_usage *out_usage);

// ---- files ----------------------------------------------------------------------------------------------------------------------

HSC_MUST_USE hsc_status *hsc_file_read(const char *path, hsc_bytes *out_bytes);  // whole file; "-" reads standard input
// Writes beside the target and renames over it, so that readers see the old or the new file, never a part.
HSC_MUST_USE hsc_status *hsc_file_write_atomic(const char *path, const void *data, size_t size);
HSC_MUST_USE hsc_status *hsc_dir_make(const char *path);      // mkdir -p
bool hsc_file_exists(const char *path);
// $HLOSCOPE_CACHE_DIR, else $XDG_CACHE_HOME/hloscope, else ~/.cache/hloscope; made when missing. Heap string in *out_path.
HSC_MUST_USE hsc_status *hsc_cache_dir(char **out_path);
// The directory of the running executable or shared object that contains `address` (dladdr), heap string.
HSC_MUST_USE hsc_status *hsc_self_dir(const void *address, char **out_path);
// Which build of hloscope runs: the linker's build id of the program or library that this is part of, in hex (any change of the code changes it);
// the version where it has none. Static. What a build writes for itself alone carries it.
const char *hsc_build_id(void);
// The same of an ELF file, NUL-terminated; "" where there is none, or no such file.
void hsc_build_id_of_file(const char *path, char out_text[41]);
// Reads gzip, zlib, zstd or plain bytes, by magic number. Errors: DATA_LOSS for corrupt data, RESOURCE_EXHAUSTED over `limit_bytes`.
HSC_MUST_USE hsc_status *hsc_decompress(hsc_view data, size_t limit_bytes, hsc_bytes *out_bytes);

// ---- child processes ------------------------------------------------------------------------------------------------------------

// A child with a request pipe (its standard input), an answer pipe (descriptor 3 in the child: its own standard output may be polluted by
// libraries) and its stderr kept. Started with posix_spawn, never fork without exec.
typedef struct hsc_child hsc_child;
typedef struct hsc_child_options {
  const char *const *argv;         // NULL-terminated; argv[0] is looked up in PATH when it has no slash
  const char *const *extra_env;    // NULL-terminated "NAME=value" added to or replacing the parent's; may be NULL
  size_t memory_limit_bytes;       // RLIMIT_AS in the child; 0 = none
  size_t stderr_keep_bytes;        // how much of the end of stderr (and stdout) to keep; 0 = 64 KiB
  bool echo_stderr;                // also copy it to our stderr
} hsc_child_options;
typedef struct hsc_child_exit {
  bool exited;               // false: still running
  int exit_code;             // when it exited by itself, else -1
  int signal;                // when a signal ended it, else 0
  bool timed_out;            // we killed it for the time limit
  int64_t max_rss_bytes;
  int64_t user_ns, system_ns;
} hsc_child_exit;
HSC_MUST_USE hsc_status *hsc_child_start(const hsc_child_options *options, hsc_child **out_child);
HSC_MUST_USE hsc_status *hsc_child_send_line(hsc_child *child, hsc_view line);       // UNAVAILABLE when it is dead
// One answer line without its newline, appended to *out_line. timeout_ns < 0 waits for ever.
// Errors: DEADLINE_EXCEEDED (the child is left running), UNAVAILABLE (it closed or died; hsc_child_wait tells how).
HSC_MUST_USE hsc_status *hsc_child_read_line(hsc_child *child, int64_t timeout_ns, hsc_bytes *out_line);
const char *hsc_child_stderr(hsc_child *child);                                      // the last words so far; borrowed until the next call
// The child also gets HSC_CHILD_NOTE_BYTES of memory shared with us, as a file at descriptor HSC_CHILD_NOTE_FD: what it last wrote there, as text.
// It costs the child no system call and is there after any death. "" when it wrote nothing. Borrowed until the next call.
#define HSC_CHILD_NOTE_FD 4
#define HSC_CHILD_NOTE_BYTES 256
#define HSC_CHILD_NOTE_NAME "hloscope-note"
const char *hsc_child_note(hsc_child *child);
int hsc_child_pid(const hsc_child *child);
void hsc_child_close_input(hsc_child *child);                                        // end of file for the child; later sends are UNAVAILABLE
void hsc_child_kill(hsc_child *child);                                               // SIGKILL
// timeout_ns < 0 waits for ever, 0 only looks. When the time passes, the child is left running and out_exit->exited is false. A child that is
// killed after a time limit passed (in read_line or here) reports timed_out.
HSC_MUST_USE hsc_status *hsc_child_wait(hsc_child *child, int64_t timeout_ns, hsc_child_exit *out_exit);
void hsc_child_destroy(hsc_child *child);                                            // closes its input, waits 1 s, then kills

// ---- logging --------------------------------------------------------------------------------------------------------------------

// HLOSCOPE_LOG=worker=2,pass=1 (or a number for all). Goes to the sink, by default none in libraries; the CLI sets one to stderr.
typedef void (*hsc_log_sink)(void *user, const char *domain, int level, const char *text);
void hsc_log_set_sink(hsc_log_sink sink, void *user);
bool hsc_log_enabled(const char *domain, int level);
void hsc_log(const char *domain, int level, const char *format, ...) HSC_PRINTF(3, 4);
