// text.h - numbers as text, prefixes, the nearest name.
#pragma once

#include "base/core/base.h"
#include "base/core/bytes.h"

// Shortest decimal text that reads back as the same number ("100", "0.1", "1e+30", "-0", "inf",
// "-inf", "nan"). Plain notation for magnitudes from 1e-4 up to 1e15 (1e9 for float). Fills at most
// 32 bytes, returns the length.
int hsc_format_double(double value, char *out_text);
int hsc_format_float(float value, char *out_text);

bool hsc_starts_with(const char *text, const char *prefix);
bool hsc_ends_with(const char *text, const char *suffix);
// What follows the last slash, borrowed; all of a path without one.
const char *hsc_path_file(const char *path);

// Appends the text as a C string has it between its quotes, as absl::CEscape does: printable ASCII
// as it is, the rest as \n \r \t \" \' \\ or three octal digits. XLA writes texts so in HLO.
void hsc_text_escape(hsc_view text, hsc_bytes *out);
// Appends text with words from elsewhere (names of files and instructions, lines of logs) as a
// terminal may get it: characters that move the cursor, change the terminal or turn the direction
// of writing as \xNN of each byte. Line ends and tabs stay, and with `colors` our own sequences of
// colours (ESC [ numbers m).
size_t hsc_text_control(hsc_view text, size_t at);  // bytes of such a character there; 0: none
void hsc_text_plain(hsc_view text, bool colors, hsc_bytes *out);

// The word that goes with a number: hsc_plural(n, "branch", "branches"),
// hsc_plural(n, "is", "are").
const char *hsc_plural(double count, const char *one, const char *many);

// Nearest of `candidates` to `text` by edit distance, for "did you mean"; NULL when none is near
// (distance over a third of the length).
const char *hsc_did_you_mean(const char *text, const char *const *candidates, size_t count);
