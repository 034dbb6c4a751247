// knowledge.h - the knowledge base: what is known about messages of XLA compilers, runtimes and
// frameworks, one file an entry.
//
//   hsc_knowledge *kb = NULL;
//   HSC_TRY(hsc_knowledge_load(NULL, &kb));                   // where it is installed, and the
//   user's own
//   const hsc_entry *entry = hsc_knowledge_find(kb, "neuron-ten404-sunda-size-tiling");
//   hsc_knowledge_destroy(kb);
//
// docs/formats/knowledge.md describes the files. Everything an entry points to lives as long as the
// base. Reading after loading is thread-safe; loading is not. A malformed entry is left out and
// kept as a problem with its file and line.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef enum hsc_event {
#define EVENT(id, name, doc) HSC_EVENT_##id,
#include "doctor/events.def"
#undef EVENT
  HSC_EVENT_COUNT
} hsc_event;
const char *hsc_event_name(hsc_event event);
bool hsc_event_of_name(const char *name, hsc_event *out_event);

typedef enum hsc_severity {
  HSC_SEVERITY_INFO,     // expected; nothing to do
  HSC_SEVERITY_WARNING,  // works, but costs time, hides something, or will break later
  HSC_SEVERITY_ERROR,    // a compilation or a run failed
} hsc_severity;
const char *hsc_severity_name(hsc_severity severity);  // "info", "warning", "error"
bool hsc_severity_of_name(const char *name, hsc_severity *out_severity);

// One way in which a line is recognised: all literals are in it, and the expression (if any)
// matches.
typedef struct hsc_match {
  hsc_view *literals;  // the first one of at least HSC_ANCHOR_BYTES leads the search
  size_t literal_count;
  hsc_view *absent;  // none of these is in the line
  size_t absent_count;
  const char *regex;  // Perl-compatible; NULL = none
  int line;           // where it is in the file
} hsc_match;
// "ERROR:" has six: the level at the beginning of a line must be findable.
enum { HSC_ANCHOR_BYTES = 6 };

typedef struct hsc_reference {
  const char *url, *note;  // note may be ""
} hsc_reference;

// A log in which the entry must be found, and no other entry (but those of `also`).
typedef struct hsc_proof_log {
  hsc_view text;
  int line;
} hsc_proof_log;

// A program on which a real compiler shows the message.
typedef struct hsc_proof_program {
  const char *device;   // as --device takes it
  const char *options;  // further arguments of `hloscope run`, may be ""
  hsc_view text;        // the program
  int line;
} hsc_proof_program;

// What hloscope can do by itself about the error: one step of a fallback.
typedef struct hsc_remedy {
  const char *name, *value;  // a compile option and its value, as in `--option NAME=VALUE`
} hsc_remedy;

typedef struct hsc_entry {
  const char *id, *title, *path;
  hsc_severity severity;
  hsc_event event;
  // 0..100: how directly the line names the cause; higher comes first among equals
  int rank;
  bool generic;    // counts only on lines that no other entry recognises
  bool transient;  // the same thing may work when tried again
  bool by_text;  // lines are distinguished by their text (numbers aside), each a finding of its own
  const char *const *systems;  // "neuron", "jax", ...; NULL-terminated
  // "neuronx-cc 2.15": no earlier (later) version of this package shows it. Or alone "any",
  // "unknown", of `until` "open". NULL-terminated.
  const char *const *since;
  const char *const *until;
  const char *const *seen;  // versions that showed it; they exclude nothing
  const char *const *also;  // entries that may recognise the proof as well
  // "" = not given; next and workaround are single paragraphs or lists
  const char *meaning, *matters, *cause, *workaround, *before, *after, *next;
  const hsc_match *matches;
  size_t match_count;
  const hsc_reference *references;
  size_t reference_count;
  const hsc_proof_log *logs;
  size_t log_count;
  const hsc_proof_program *programs;
  size_t program_count;
  const hsc_remedy *remedies;
  size_t remedy_count;
} hsc_entry;

// Reads one entry from `text`; `path` names it in errors and gives the expected id (its file name
// without ".entry"; NULL = any). Everything in *out_entry lies in `arena`. Errors: INVALID_ARGUMENT
// with file and line, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_entry_parse(hsc_view text,
                                         const char *path,
                                         hsc_arena *arena,
                                         hsc_entry *out_entry);

typedef struct hsc_knowledge_problem {
  const char *path, *message;
  int line;  // 0 = the whole file
} hsc_knowledge_problem;

typedef struct hsc_knowledge hsc_knowledge;
// Reads every *.entry file of the directory and of its folders. directory NULL:
// $HLOSCOPE_KNOWLEDGE, else ../knowledge or ../share/hloscope/knowledge beside the program; and
// after it the user's own (hsc_knowledge_user_dir), which replace entries of the same id.
// Errors: NOT_FOUND (no such directory), RESOURCE_EXHAUSTED. A malformed entry is no error but a
// problem.
HSC_MUST_USE hsc_status *hsc_knowledge_load(const char *directory, hsc_knowledge **out_knowledge);
void hsc_knowledge_destroy(hsc_knowledge *knowledge);
size_t hsc_knowledge_count(const hsc_knowledge *knowledge);
// in the order of their ids
const hsc_entry *hsc_knowledge_at(const hsc_knowledge *knowledge, size_t index);
const hsc_entry *hsc_knowledge_find(const hsc_knowledge *knowledge, const char *id);
// "did you mean"; NULL = nothing near
const char *hsc_knowledge_near(const hsc_knowledge *knowledge, const char *id);
const hsc_knowledge_problem *hsc_knowledge_problems(const hsc_knowledge *knowledge,
                                                    size_t *out_count);
// $XDG_DATA_HOME/hloscope/knowledge, else ~/.local/share/hloscope/knowledge; not made. NULL when
// there is no home. In `arena`.
const char *hsc_knowledge_user_dir(hsc_arena *arena);
