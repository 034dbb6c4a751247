// lower.h - how a kind of thunk takes part in choosing. Each hsc__cpu_choose_<what> looks at one
// step: if it can do it, it fills the choice (kind, payload), sets in_place and scratch of the
// step, and says so.
#pragma once

#include "cpu/core/cpu_internal.h"

typedef hsc_status *(*hsc_cpu_chooser)(hsc_cpu_compiler *compiler,
                                       hsc_cpu_step *step,
                                       hsc_cpu_choice *choice,
                                       bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_moves(hsc_cpu_compiler *compiler,
                                               hsc_cpu_step *step,
                                               hsc_cpu_choice *choice,
                                               bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_contraction(hsc_cpu_compiler *compiler,
                                                     hsc_cpu_step *step,
                                                     hsc_cpu_choice *choice,
                                                     bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_convolution(hsc_cpu_compiler *compiler,
                                                     hsc_cpu_step *step,
                                                     hsc_cpu_choice *choice,
                                                     bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_windows(hsc_cpu_compiler *compiler,
                                                 hsc_cpu_step *step,
                                                 hsc_cpu_choice *choice,
                                                 bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_scatter(hsc_cpu_compiler *compiler,
                                                 hsc_cpu_step *step,
                                                 hsc_cpu_choice *choice,
                                                 bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_sort(hsc_cpu_compiler *compiler,
                                              hsc_cpu_step *step,
                                              hsc_cpu_choice *choice,
                                              bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_fft(hsc_cpu_compiler *compiler,
                                             hsc_cpu_step *step,
                                             hsc_cpu_choice *choice,
                                             bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_linalg(hsc_cpu_compiler *compiler,
                                                hsc_cpu_step *step,
                                                hsc_cpu_choice *choice,
                                                bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_kernel(hsc_cpu_compiler *compiler,
                                                hsc_cpu_step *step,
                                                hsc_cpu_choice *choice,
                                                bool *out_chosen);
HSC_MUST_USE hsc_status *hsc__cpu_choose_tiny(hsc_cpu_compiler *compiler,
                                              hsc_cpu_step *step,
                                              hsc_cpu_choice *choice,
                                              bool *out_chosen);
// Of a program of several devices: pairs of -start and -done become plain collectives
// (async_collectives.c).
HSC_MUST_USE hsc_status *hsc__cpu_finish_collectives(hsc_module *module);
HSC_MUST_USE hsc_status *hsc__cpu_choose_collective(hsc_cpu_compiler *compiler,
                                                    hsc_cpu_step *step,
                                                    hsc_cpu_choice *choice,
                                                    bool *out_chosen);
