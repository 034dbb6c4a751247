// passes.h - the pass manager: named pipelines of named passes over a module, timed, counted,
// switchable, dumpable.
//
// A pass is a function of (module, context) in a file of its own, and a row in passes.def.
// Pipelines are rows in pipelines.def. Names are XLA's where XLA has the pass.
#pragma once

#include "hlo/ir/hlo.h"

typedef enum hsc_pass_id {
#define PASS(id, text, room, doc) HSC_PASS_##id,
#include "passes/manager/passes.def"
#undef PASS
  HSC_PASS_COUNT
} hsc_pass_id;
const char *hsc_pass_text(hsc_pass_id pass);
const char *hsc_pass_doc(hsc_pass_id pass);
// By its name, or by its row's (file's) name: "simplify-sorts", "sort_simplifier".
bool hsc_pass_parse(hsc_view text, hsc_pass_id *out_pass);
// Whether no pipeline runs it unless hsc_pass_options.enable or .enable_only names it: expanders
// whose result is slower than the device's kernel.
bool hsc_pass_is_on_request(hsc_pass_id pass);
// A module, as HLO text, that the pass changes: <id>.hlo beside <id>.c.
const char *hsc_pass_example(hsc_pass_id pass);
// UNIMPLEMENTED, with the reason, for a pass of XLA's that is known and not here (dynamic_padder);
// else NULL.
HSC_MUST_USE hsc_status *hsc_pass_refusal(const char *name);
bool hsc_pipeline_exists(const char *name);
// The name of a pass, a pipeline or a rule nearest to one that is none; NULL = none is near.
const char *hsc_pass_name_near(const char *name);

// One run of one pass, as `passes list` shows it.
typedef struct hsc_pass_run {
  const char *pipeline;  // "simplification"
  const char *pass;      // "algsimp"
  int32_t depth;         // nesting of the pipeline, 0 = top
  bool changed;
  int64_t start_ns, duration_ns;
  int32_t instructions_before, instructions_after, fusions_before, fusions_after;
  int64_t rewrites;  // fuel spent
} hsc_pass_run;

// ---- rules --------------------------------------------------------------------------------------
// What a pass rewrites, one by one; today those of the algebraic simplifier (algsimp/rules.def). A
// rule's name may stand wherever hsc_pass_options takes names of passes.
typedef struct hsc_rule {
  const char *name;    // "algsimp/add-zero"
  const char *option;  // of algsimp_options.def: the rule works while it is not 0; NULL = always
  const char *text;    // what becomes what: "A + 0 => A"
} hsc_rule;
int32_t hsc_rule_count(void);
const hsc_rule *hsc_rule_get(int32_t rule);
int32_t hsc_rule_find(hsc_view name);  // -1 = there is none
// Whether it works without an option that switches it on.
bool hsc_rule_is_default(const hsc_rule *rule);

// One rewrite by a rule.
typedef struct hsc_pass_rewrite {
  int32_t run;     // of the log's runs
  int32_t rule;    // hsc_rule_get
  char instr[64];  // the name of the instruction that was replaced, cut where it is longer
} hsc_pass_rewrite;

// What passes may ask of the device that the program is compiled for.
typedef struct hsc_pass_target {
  void *context;
  // The algorithm by which the device should do a dot or convolution, and its name (static); -1 =
  // as it likes.
  hsc_status *(*pick_algorithm)(void *context,
                                const hsc_instr *instr,
                                int64_t *out_algorithm,
                                const char **out_name);
} hsc_pass_target;
// The target of examples: a device on which algorithm 0 always wins.
extern const hsc_pass_target hsc_pass_example_target;

// The algebraic simplifier's switches, by XLA's names (algsimp_options.def).
typedef struct hsc_algsimp_options {
#define OPTION(name, value, doc) int32_t name;
#include "passes/manager/algsimp_options.def"
#undef OPTION
} hsc_algsimp_options;
hsc_algsimp_options hsc_algsimp_options_default(void);
// "enable_scalar_multiply_reduction=true,very_small_gather_size=4" over what is there; NULL =
// nothing. true, false or a whole number.
// Errors: NOT_FOUND with the nearest name, INVALID_ARGUMENT for what is no number.
HSC_MUST_USE hsc_status *hsc_algsimp_options_read(const char *text, hsc_algsimp_options *options);

typedef struct hsc_pass_options {
  const char *disable;  // comma list of names of passes, pipelines or rules; NULL = none
  // comma list; NULL = all; also brings in passes that run on request. Of a pass whose rules it
  // names, these alone work.
  const char *enable_only;
  // comma list of passes that run on request, beside the others; NULL = none
  const char *enable;
  // rewrites allowed by pass or rule, "algsimp=17,algsimp/add-zero=3,cse=0"; NULL = no limits
  const char *pass_fuel;
  // the algebraic simplifier's options, "name=value,..." (hsc_algsimp_options_read); NULL = the
  // defaults
  const char *algsimp;
  const char *dump_to;       // directory for before/after HLO; NULL = none
  const char *dump_pass_re;  // POSIX extended regex on pass names; NULL = none
  // with dump_to: also <dump_to>/module_0000.metadata.textproto, an entry for every run and its
  // times
  bool dump_module_metadata;
  bool verify;   // run the verifier after each pass that changed something
  int64_t fuel;  // rewrites allowed in all; < 0 = no limit
  // rematerialization makes cheap values again until a computation needs no more at once; <= 0 = no
  // limit
  int64_t memory_limit_bytes;
  const hsc_pass_target *target;  // NULL = none: passes that ask it do nothing
  bool record_fusion;             // write into kernels why they stay apart (hlo/ir/not_fused.h)
  bool record_rewrites;           // fill the log's rewrites
  bool record_counts;  // fill instruction and fusion counts of the runs (costs a walk a run)
} hsc_pass_options;

// What happened, in call order. Owned by the caller: hsc_pass_log_deinit.
typedef struct hsc_pass_log {
  hsc_pass_run *runs;  // [run_count]; heap
  int32_t run_count, run_capacity;
  hsc_pass_rewrite *rewrites;  // [rewrite_count], in their order; heap
  int32_t rewrite_count, rewrite_capacity;
} hsc_pass_log;
void hsc_pass_log_deinit(hsc_pass_log *log);

// Runs the whole pipeline of the built-in device, or one named pipeline or pass ("cse"). log may be
// NULL. A run of a pass is left out (of the log, too) when the module is still the one in which it
// last found nothing to do.
// Errors: NOT_FOUND (unknown name, with did-you-mean), INVALID_ARGUMENT (pass_fuel, dump_pass_re),
// what a pass reports, and in verify mode INTERNAL naming the pass that broke the module.
HSC_MUST_USE hsc_status *hsc_passes_run(hsc_module *module,
                                        const char *pipeline,
                                        const hsc_pass_options *options,
                                        hsc_pass_log *log);
