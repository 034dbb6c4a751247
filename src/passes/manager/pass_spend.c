// pass_spend.c - counts the rewrites of passes and rules, and stops them when their fuel is spent.
#include "base/core/log.h"
#include "passes/manager/passes_internal.h"

bool hsc__pass_spend(hsc_pass_context *cx) {
  if (cx->fuel == 0 || cx->pass_fuel == 0)
    return false;
  if (cx->fuel > 0)
    cx->fuel--;
  if (cx->pass_fuel > 0)
    cx->pass_fuel--;
  cx->rewrites++;
  cx->changed = true;
  return true;
}

// The log is a report: losing rows must not lose the compilation.
static bool note(hsc_pass_log *log, int32_t rule, const hsc_instr *instr) {
  if (!HSC_GROW(log->rewrites, log->rewrite_count, log->rewrite_capacity))
    return false;
  hsc_pass_rewrite *rewrite = &log->rewrites[log->rewrite_count++];
  *rewrite = (hsc_pass_rewrite){.run = log->run_count, .rule = rule};
  snprintf(rewrite->instr, sizeof rewrite->instr, "%s", instr->name ? instr->name : "");
  return true;
}

bool hsc__rule_spend(hsc_pass_context *cx, int32_t rule, const hsc_instr *instr) {
  if (cx->rule_fuel[rule] == 0 || !hsc__pass_spend(cx))
    return false;
  if (cx->rule_fuel[rule] > 0)
    cx->rule_fuel[rule]--;
  cx->rule_rewrites[rule]++;
  hsc_log("passes", 2, "%s: %s", hsc_rule_get(rule)->name, instr->name ? instr->name : "");
  if (cx->rewrite_log && !note(cx->rewrite_log, rule, instr))
    cx->log_is_short = true;
  return true;
}
