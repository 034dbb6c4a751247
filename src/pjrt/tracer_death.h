// tracer_death.h - what a profiler holds in memory is written before the process dies.
//
// A profile lies in the memory of the profiler until its session ends. atexit covers an orderly
// end; this covers _exit, fatal signals (SEGV, BUS, ILL, FPE, ABRT) and those that ask to end
// (TERM, HUP, INT, XCPU), each only where the program left it at its default. The process then dies
// as it would have, of the same signal or with the same code. SIGKILL leaves no moment for
// anything.
#pragma once

// `write` is called once, on the dying thread or on one of ours, at most ten seconds long. Called
// again with the same function it does nothing. Any thread; at most four functions.
void hsc_tracer_at_death(void (*write)(void));
